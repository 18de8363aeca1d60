"""Calls of other servers: bounded in time and size, retried where that can help, never sent on to another host."""

import asyncio
import itertools
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, TypeVar
from weakref import finalize

import httpx

from clef_model.errors import InvalidRecord, RemoteFailed
from clef_model.json_paths import Json, counted
from clef_model.json_text import parse_json
from clef_model.remote_wire import server_error

MAX_REPLY_BYTES = 32 * 2**20  # 64 questions of 255 options at full precision take half a megabyte
MAX_REDIRECTS = 3
SECONDS_BETWEEN_LOOKS = 0.1  # at whether someone wants to stop

# How often a request is sent in all, by the status that came back. A 529 is Workers AI's failed pass, which rarely
# helps to repeat; what timed out or broke off may have been worked on, so it is repeated once.
ATTEMPTS = {429: 4, 503: 4, 529: 2}
ATTEMPTS_WHEN_BROKEN = 2

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one waits, in seconds: for a connection, for a whole reply, and before the second attempt."""

    connect_s: float = 10.0
    reply_s: float = 120.0
    first_wait_s: float = 1.0  # doubled for each further attempt, unless the server says how long
    longest_wait_s: float = 30.0  # a server that asks for more gets no further attempt


@dataclass(frozen=True, slots=True)
class HttpReply:
    """A reply that was read whole, without the key. `kind` is its media type; `body` is None when it is no JSON."""

    status: int
    kind: str
    is_json: bool
    body: Json
    retry_after_s: float | None = None
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class Destination:
    """Where requests go; `name` is what people call it, and the key never shows in a representation."""

    name: str
    url: str
    key: str | None = field(default=None, repr=False)
    final_codes: tuple[int, ...] = ()

    def without_key(self, said: Json) -> Json:
        """What a server said with the key taken out of every text: some echo the header that they refuse."""
        if not self.key:
            return said
        if isinstance(said, str):
            return said.replace(self.key, "…")
        if isinstance(said, list):
            return [self.without_key(item) for item in said]
        if isinstance(said, dict):
            return {self.without_key(name): self.without_key(item) for name, item in said.items()}
        return said


async def ask(client: httpx.AsyncClient, to: Destination, body: bytes, patience: Patience) -> HttpReply:
    """The server's last word, whatever its status.

    Raises: RemoteFailed: no reply came, it is too large, or it points to another host.
    """
    broken = 0
    for attempt in itertools.count(1):
        try:
            async with asyncio.timeout(patience.connect_s + patience.reply_s):
                reply = await _exchange(client, to, body, patience)
        except httpx.ConnectError as error:
            reason = to.without_key(str(error)) or "no connection"
            message = f"{to.name} cannot be reached: {reason}. Is it running, and is its address right?"
            raise RemoteFailed(message, is_unreachable=True) from error
        except (httpx.RequestError, TimeoutError) as error:
            broken += 1
            if broken >= ATTEMPTS_WHEN_BROKEN:
                raise _broken(to, error, broken, patience) from error
            continue
        seconds = _seconds_to_wait(reply, to, attempt, patience)
        if seconds is None:
            return replace(reply, attempts=attempt)
        await asyncio.sleep(seconds)
    raise AssertionError("the loop ends by returning or raising")


def _seconds_to_wait(reply: HttpReply, to: Destination, attempt: int, patience: Patience) -> float | None:
    """None when this reply is the last word."""
    code, _ = server_error(reply.body)
    if attempt >= ATTEMPTS.get(reply.status, 1) or code in to.final_codes:
        return None
    seconds = reply.retry_after_s if reply.retry_after_s is not None else patience.first_wait_s * 2 ** (attempt - 1)
    return seconds if seconds <= patience.longest_wait_s else None


def _broken(to: Destination, error: Exception, attempts: int, patience: Patience) -> RemoteFailed:
    tried = counted(attempts, "time")
    if isinstance(error, httpx.TimeoutException | TimeoutError):
        unreachable = isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout)
        waited = patience.connect_s if unreachable else patience.reply_s
        message = f"{to.name} did not answer within {waited:g} seconds (asked {tried})."
        return RemoteFailed(f"{message} Ask again, or send less at once.", is_unreachable=unreachable)
    reason = to.without_key(str(error)) or type(error).__name__
    return RemoteFailed(f"{to.name} broke the connection off (asked {tried}): {reason}. Ask again.")


async def _exchange(client: httpx.AsyncClient, to: Destination, body: bytes, patience: Patience) -> HttpReply:
    headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
    if to.key:
        headers["Authorization"] = f"Bearer {to.key}"
    url, limits = httpx.URL(to.url), httpx.Timeout(None, connect=patience.connect_s)
    for _ in range(MAX_REDIRECTS + 1):
        call = client.stream("POST", url, content=body, headers=headers, timeout=limits, follow_redirects=False)
        async with call as response:
            if not response.has_redirect_location:
                return await _read(response, to)
            url = _next_url(url, response, to)
    raise RemoteFailed(f"{to.name} redirects in a circle. Give the address that answers.", status=response.status_code)


def _next_url(url: httpx.URL, response: httpx.Response, to: Destination) -> httpx.URL:
    """Where a redirect leads, if it stays with the server that the operator named and keeps the request as it is."""
    target = url.join(response.headers["Location"])
    if (target.scheme, target.host, target.port) != (url.scheme, url.host, url.port):
        message = f"{to.name} redirects to another host, {target.host!r}. Neither the state nor the key was sent there."
        raise RemoteFailed(f"{message} Give that address if it is meant.", status=response.status_code)
    if response.status_code not in (307, 308):
        message = f"{to.name} redirects with status {response.status_code}, which loses the request"
        raise RemoteFailed(f"{message}. Give the address that answers.", status=response.status_code)
    return target


async def _read(response: httpx.Response, to: Destination) -> HttpReply:
    received = bytearray()
    async for chunk in response.aiter_bytes():
        received += chunk
        if len(received) > MAX_REPLY_BYTES:
            message = f"{to.name} sends more than {MAX_REPLY_BYTES // 2**20} MiB, which is no System One reply"
            raise RemoteFailed(f"{message}. Check its address.", status=response.status_code)
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip() or "nothing"
    retry_after_s = _retry_after(response.headers.get("Retry-After"))
    try:
        body = to.without_key(parse_json(bytes(received)).value)
    except InvalidRecord as error:
        if response.is_success and kind == "application/json":
            found = to.without_key(str(error.problems[0]))
            raise RemoteFailed(f"{to.name} sends no valid JSON: {found}", status=response.status_code) from error
        return HttpReply(response.status_code, kind, False, None, retry_after_s)
    return HttpReply(response.status_code, kind, True, body, retry_after_s)


def _retry_after(value: str | None) -> float | None:
    """Seconds from now, of either form that HTTP knows; None when there is none that can be read."""
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def status_words(status: int) -> str:
    """The status with its name: "413 (Content Too Large)"."""
    try:
        return f"{status} ({HTTPStatus(status).phrase})"
    except ValueError:
        return str(status)


class Loop:
    """An event loop on a thread of its own, so that connections stay open between calls and a call can be left.

    They end when nobody holds the loop any more. A process forked from this one gets its own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pid = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._clients: list[httpx.AsyncClient] = []  # one, once there was a call
        self._end: Callable[[], object] = _nothing

    def run(self, work: Callable[[httpx.AsyncClient], Coroutine[Any, Any, Result]], look: Callable[[], None]) -> Result:
        """What the work returns. `look` is called while it goes on; what it raises ends the work at once."""
        loop = self._started()
        running: Future[Result] = asyncio.run_coroutine_threadsafe(_with_client(self._clients, work), loop)
        try:
            while not wait([running], timeout=SECONDS_BETWEEN_LOOKS).done:
                look()
        finally:
            running.cancel()
        return running.result()

    def close(self) -> None:
        """Ends the connections and the thread; a later call begins anew."""
        with self._lock:
            self._end()
            self._end, self._loop = _nothing, None

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._pid != os.getpid():
                self._loop, self._clients, self._pid = asyncio.new_event_loop(), [], os.getpid()
                self._end = finalize(self, _end_loop, self._loop, self._clients, self._pid)
                threading.Thread(target=_serve, args=(self._loop,), name="remote-calls", daemon=True).start()
            return self._loop


async def _with_client(
    clients: list[httpx.AsyncClient], work: Callable[[httpx.AsyncClient], Coroutine[Any, Any, Result]]
) -> Result:
    if not clients:
        clients.append(httpx.AsyncClient(timeout=None, headers={"User-Agent": "clef-workbench"}))
    return await work(clients[0])


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


def _end_loop(loop: asyncio.AbstractEventLoop, clients: list[httpx.AsyncClient], pid: int) -> None:
    """Asks the loop to end, from any thread and without waiting for it."""

    async def end() -> None:
        for client in clients:
            await client.aclose()
        loop.stop()

    if pid == os.getpid() and loop.is_running():
        asyncio.run_coroutine_threadsafe(end(), loop)


def _nothing() -> None:
    pass
