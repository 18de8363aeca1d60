"""The one lane to the model: all surfaces take turns, fairly, and whoever waits can leave or be refused."""

import asyncio
import math
import os
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count

from clef_model.errors import ClefError
from clef_model.json_paths import counted

MAX_WAITING = 64  # of each surface
SECONDS_BETWEEN_LOOKS = 0.1  # at whether someone who waits wants to stop
FIRST_GUESS_SECONDS = 1.0  # of a turn, until one has been seen
MAX_RETRY_SECONDS = 60

_HOLDING: ContextVar["Lane | None"] = ContextVar("holding", default=None)


class LaneFull(ClefError):
    """Too many wait; `retry_after` is the seconds until there is probably room."""

    def __init__(self, message: str, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(message)


@dataclass(slots=True, eq=False)
class Ticket:
    """A place in the lane; `call` is called once when its turn comes, from any thread."""

    surface: str
    client: str
    number: int
    call: Callable[[], None]
    began: float | None = None  # when its turn came


@dataclass(frozen=True, slots=True)
class LaneState:
    """Who has the model and who waits; seconds are rounded to hundredths."""

    running: str | None
    running_seconds: float
    waiting: dict[str, int]
    turns: int  # ended so far
    mean_seconds: float  # of a turn, the latest counting most


@dataclass(slots=True)
class _Book:
    """What one process knows of its lane."""

    pid: int = field(default_factory=os.getpid)
    lock: threading.Lock = field(default_factory=threading.Lock)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    waiting: list[Ticket] = field(default_factory=list)
    running: Ticket | None = None
    served: dict[str, int] = field(default_factory=dict)  # when each surface and client last had a turn
    turns: int = 0
    mean_seconds: float = FIRST_GUESS_SECONDS


class Lane:
    """Gives out one turn at a time. Surfaces (page, API) alternate, and so do the clients of each.

    Safe to share between threads and event loops. A process forked from this one begins with an empty lane of its own.
    """

    def __init__(self, max_waiting: int = MAX_WAITING, max_waiting_per_client: int = MAX_WAITING) -> None:
        """Both limits are numbers of tickets that wait: of a surface, and of one of its clients."""
        self.max_waiting = max_waiting
        self.max_waiting_per_client = max_waiting_per_client
        self._own = _Book()

    def join(self, surface: str, client: str, call: Callable[[], None]) -> Ticket:
        """A place at the end; whoever takes it must `leave`, before its turn or after.

        Raises: LaneFull.
        """
        book = self._book()
        with book.lock:
            waiting = Counter(ticket.surface for ticket in book.waiting)[surface]
            of_client = sum((ticket.surface, ticket.client) == (surface, client) for ticket in book.waiting)
            if book.running is not None and waiting >= self.max_waiting:
                raise _full(counted(waiting, "request"), waiting, book)
            if book.running is not None and of_client >= self.max_waiting_per_client:
                raise _full(f"{counted(of_client, 'request')} of yours", of_client, book)
            ticket = Ticket(surface, client, next(book.numbers), call)
            book.waiting.append(ticket)
        self._advance(book)
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """Ends the ticket's turn, or its waiting."""
        book = self._book()
        with book.lock:
            if book.running is ticket:
                seconds = time.monotonic() - (ticket.began or 0.0)
                first = book.turns == 0
                book.mean_seconds = seconds if first else 0.8 * book.mean_seconds + 0.2 * seconds
                book.turns += 1
                book.running = None
            elif ticket in book.waiting:
                book.waiting.remove(ticket)
        self._advance(book)

    @contextmanager
    def turn(self, surface: str, look: Callable[[], None] | None = None) -> Iterator[None]:
        """A turn for the calling thread; who holds one already keeps it.

        `look` is called while waiting, ten times a second; what it raises ends the waiting.

        Raises: LaneFull.
        """
        if _HOLDING.get() is self:
            yield
            return
        came = threading.Event()
        ticket = self.join(surface, "", came.set)
        try:
            while not came.wait(SECONDS_BETWEEN_LOOKS):
                if look is not None:
                    look()
            token = _HOLDING.set(self)
            try:
                yield
            finally:
                _HOLDING.reset(token)
        finally:
            self.leave(ticket)

    @asynccontextmanager
    async def turn_of(self, surface: str, client: str) -> AsyncIterator[None]:
        """A turn for the calling task and the threads it starts; a cancelled task leaves the lane.

        Raises: LaneFull.
        """
        loop = asyncio.get_running_loop()
        came = asyncio.Event()
        ticket = self.join(surface, client, lambda: _tell(loop, came))
        try:
            await came.wait()
            token = _HOLDING.set(self)
            try:
                yield
            finally:
                _HOLDING.reset(token)
        finally:
            self.leave(ticket)

    def state(self) -> LaneState:
        """Now."""
        book = self._book()
        with book.lock:
            running = book.running
            seconds = 0.0 if running is None else time.monotonic() - (running.began or 0.0)
            return LaneState(
                running=None if running is None else running.surface,
                running_seconds=round(seconds, 2),
                waiting=dict(Counter(ticket.surface for ticket in book.waiting)),
                turns=book.turns,
                mean_seconds=round(book.mean_seconds, 2),
            )

    def _book(self) -> _Book:
        # A lock that another thread held at the fork stays locked in the child, and its turn would never end there.
        if self._own.pid != os.getpid():
            self._own = _Book()
        return self._own

    def _advance(self, book: _Book) -> None:
        """Gives the turn to the next ticket, if nobody has it."""
        with book.lock:
            if book.running is not None or not book.waiting:
                return
            ticket = min(book.waiting, key=lambda ticket: _rank(ticket, book.served))
            book.waiting.remove(ticket)
            ticket.began = time.monotonic()
            book.running = ticket
            # Clients come and go by the thousand; one with nothing waiting is forgotten.
            present = {_client(other) for other in book.waiting}
            book.served = {name: at for name, at in book.served.items() if name in present or "\0" not in name}
            book.served[ticket.surface] = book.served[_client(ticket)] = next(book.numbers)
        try:
            ticket.call()
        except RuntimeError:  # its event loop is closed, so nobody is there
            self.leave(ticket)


def _rank(ticket: Ticket, served: dict[str, int]) -> tuple[int, int, int]:
    """Whose surface, then whose client, has waited longest for a turn; then who came first."""
    return served.get(ticket.surface, 0), served.get(_client(ticket), 0), ticket.number


def _client(ticket: Ticket) -> str:
    return f"{ticket.surface}\0{ticket.client}"


def _tell(loop: asyncio.AbstractEventLoop, came: asyncio.Event) -> None:
    loop.call_soon_threadsafe(came.set)


def _full(found: str, waiting: int, book: _Book) -> LaneFull:
    seconds = min(MAX_RETRY_SECONDS, max(1, math.ceil(waiting * book.mean_seconds)))
    return LaneFull(
        f"The queue for the model holds {found} already, its limit. Try again in about {seconds} s.", seconds
    )
