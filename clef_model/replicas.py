"""Several addresses of one model as one Decider: used in turn, one record in flight each, order kept."""

import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Protocol

from clef_model.decision import Decider, Decision, Limits, ModelStatus, Progress
from clef_model.encoding import EncodedRecord
from clef_model.errors import InvalidRecord, Notice, RemoteFailed
from clef_model.json_paths import counted
from clef_model.lazy import Planner
from clef_model.remote import at_record
from clef_model.schema import Record
from clef_model.tokenizer import Tokenizer

SECONDS_BETWEEN_LOOKS = 0.1  # at whether someone wants to stop


class Replica(Planner, Decider, Protocol):
    """One address of the model; `decide` calls its progress while it waits."""


class ReplicatedDecider:
    """Servers of one model as a `Decider`. A record goes to whichever is free, and a single one to the next in turn.

    A server that cannot be reached is left out for the rest of the call, and the decisions say so.
    """

    def __init__(self, name: str, replicas: Sequence[Replica]) -> None:
        assert replicas, "at least one address"
        self.name = name
        self._replicas = tuple(replicas)
        self._next = 0
        self._lock = threading.Lock()

    @property
    def status(self) -> ModelStatus:
        first, number = self._replicas[0].status, len(self._replicas)
        note = f"{number} addresses of {self.name} are used in turn. {first.note}".rstrip()
        return replace(first, device=f"{self.name}, {number} addresses", note=note)

    @property
    def tokenizer(self) -> Tokenizer:
        return self._replicas[0].tokenizer

    def plan(self, record: Record, limits: Limits | None = None) -> EncodedRecord:
        return self._replicas[0].plan(record, limits or Limits())

    def decide(
        self, records: Sequence[Record], limits: Limits | None = None, progress: Progress | None = None
    ) -> list[Decision]:
        """The decisions, in the order of the records. What `progress` raises stops the work at all addresses.

        Raises: as the servers' own `decide`; RemoteFailed when none of them can be reached.
        """
        call = _Call(records, limits or Limits())
        replicas = self._in_turn()
        with ThreadPoolExecutor(len(replicas), thread_name_prefix="replica") as pool:
            workers = [pool.submit(call.serve, place, replica) for place, replica in enumerate(replicas)]
            try:
                while wait(workers, timeout=SECONDS_BETWEEN_LOOKS).not_done:
                    if progress is not None:
                        progress(call.share, f"{call.num_done} of {counted(len(records), 'record')} decided")
            finally:
                call.leave()
        decisions = call.decisions(len(replicas))
        if progress is not None:
            progress(1.0, f"{counted(len(records), 'record')} decided")
        return decisions

    def _in_turn(self) -> tuple[Replica, ...]:
        with self._lock:
            first = self._next
            self._next = (first + 1) % len(self._replicas)
        return self._replicas[first:] + self._replicas[:first]


class _Left(Exception):
    """The call has ended; whoever still waits for a server stops."""


class _Call:
    """The records of one call: who takes which, and what came back."""

    def __init__(self, records: Sequence[Record], limits: Limits) -> None:
        self._records = records
        self._limits = limits
        self._waiting = deque(range(len(records)))
        self._done: dict[int, Decision] = {}
        self._lost: list[RemoteFailed] = []
        self._error: Exception | None = None
        self._has_ended = len(records) == 0
        self._changed = threading.Condition()

    @property
    def num_done(self) -> int:
        return len(self._done)

    @property
    def share(self) -> float:
        return self.num_done / max(1, len(self._records))

    def leave(self) -> None:
        """Ends the call at all addresses; when all is done it changes nothing."""
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def serve(self, number: int, replica: Replica) -> None:
        """Decides records until there are none. The replica of a number begins with the record of that number, so that
        a single record goes to the one whose turn it is."""
        place = self._take(first=number)
        while place is not None:
            try:
                (decision,) = replica.decide([self._records[place]], self._limits, self._look)
            except _Left:
                return
            except RemoteFailed as error:
                self._failed(place, error, is_lost=error.is_unreachable)
                return
            except Exception as error:
                self._failed(place, error, is_lost=False)
                return
            with self._changed:
                self._done[place] = decision
                self._has_ended = self._has_ended or len(self._done) == len(self._records)
                self._changed.notify_all()
            place = self._take()

    def _take(self, first: int | None = None) -> int | None:
        """The next record to decide; waits while one may come back from an address that is lost."""
        with self._changed:
            if first is not None and first in self._waiting:
                self._waiting.remove(first)
                return first
            while not self._has_ended:
                # The first records belong to their replicas, which begin at the same moment.
                if self._waiting and first is None:
                    return self._waiting.popleft()
                first = None
                self._changed.wait(SECONDS_BETWEEN_LOOKS)
            return None

    def _failed(self, place: int, error: Exception, *, is_lost: bool) -> None:
        with self._changed:
            if is_lost and isinstance(error, RemoteFailed):
                self._lost.append(error)
                self._waiting.appendleft(place)
            else:
                if isinstance(error, InvalidRecord) and len(self._records) > 1:
                    error = InvalidRecord(at_record(place, error.problems))
                self._error = self._error or error
                self._has_ended = True
            self._changed.notify_all()

    def _look(self, share: float, stage: str) -> None:
        if self._has_ended:
            raise _Left

    def decisions(self, num_replicas: int) -> list[Decision]:
        """All of them, with a notice when addresses were lost on the way."""
        if self._error is not None:
            raise self._error
        if len(self._done) < len(self._records):
            raise self._lost[-1]
        decisions = [self._done[place] for place in range(len(self._records))]
        if not self._lost:
            return decisions
        message = f"{len(self._lost)} of {num_replicas} addresses could not be reached and were left out."
        notice = Notice("remote_address_lost", "", message)
        return [replace(decision, notices=(*decision.notices, notice)) for decision in decisions]
