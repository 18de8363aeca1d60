"""Asked records to decisions: read and planned beside the lane, decided in it, one turn at a time."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, TypeVar

import anyio.from_thread
import anyio.to_thread

from clef_model.decision import Decider, Decision, ModelStatus, to_response
from clef_model.encoding import EncodedRecord
from clef_model.errors import BudgetExceeded, ClefError, InvalidRecord, Problem
from clef_model.facts import decision_facts, plan_facts
from clef_model.lane import Lane
from clef_model.lazy import LazyDecider, Loading
from clef_model.service.asking import Asked, parse_asked
from clef_model.service.errors import Refused
from clef_model.service.settings import ServiceSettings

SURFACE = "api"
PREPARING_THREADS = 2  # that parse and plan; what more there is waits
TURN_TOKENS = 16_384  # of a batch that share a turn: one long record's worth, so that nobody waits for a whole batch
RETRY_LOADING_SECONDS = 5

Result = TypeVar("Result")


class Answering:
    """The service's work, without HTTP. For one event loop."""

    def __init__(self, decider: Decider, lane: Lane, settings: ServiceSettings) -> None:
        self.decider = decider
        self.lane = lane
        self.settings = settings
        self._preparing = anyio.CapacityLimiter(PREPARING_THREADS)
        self._deciding = anyio.CapacityLimiter(PREPARING_THREADS)

    def loading(self) -> Loading:
        """A decider that is not lazy is loaded."""
        return self.decider.loading if isinstance(self.decider, LazyDecider) else Loading("loaded", 1.0, done=True)

    def status(self) -> ModelStatus | None:
        """Which model it is; None while or when that is not known."""
        if isinstance(self.decider, LazyDecider) and not self.decider.can_plan:
            return None
        try:
            return self.decider.status
        except ClefError:
            return None

    def cache(self) -> dict[str, int] | None:
        """What the model keeps of states it has read, in bytes and tokens; None where nothing is kept or loaded."""
        facts = getattr(self.decider, "cache_facts", None)
        return None if facts is None else asdict(facts)

    def ready_status(self, *, weights: bool) -> ModelStatus:
        """Which model it is, once it can decide, or with `weights` false once it can plan.

        Raises: Refused (503).
        """
        status, loading = self.status(), self.loading()
        if loading.problem and (weights or status is None):
            raise Refused(503, "model_failed", loading.problem)
        if status is None or (weights and not loading.done):
            stage = f"{loading.stage}, {loading.share:.0%}" if loading.share else loading.stage
            message = f"The model is loading ({stage}). Try again in about {RETRY_LOADING_SECONDS} s."
            raise Refused(503, "loading", message, headers={"Retry-After": str(RETRY_LOADING_SECONDS)})
        return status

    async def systemone(self, body: bytes, status: ModelStatus, client: str, *, is_batch: bool = False) -> Any:
        """The response to a body, or to each request of a batch in order.

        Raises: Refused, ClefError.
        """
        asked, encoded = await self._prepared(partial(self._read, body, status, is_batch))
        started = time.monotonic()
        answers: list[Any] = []
        for start, stop in _turns(encoded):
            async with self.lane.turn_of(SURFACE, client):
                waiting_ms = (time.monotonic() - started) * 1000
                call = partial(self._decide, asked, start, stop)
                decisions = await anyio.to_thread.run_sync(call, limiter=self._deciding)
            answers += [_response(decision, asked, waiting_ms) for decision in decisions]
            started = time.monotonic()
        return {"responses": answers} if is_batch else answers[0]

    async def plan(self, body: bytes, status: ModelStatus) -> Any:
        """Where every token of a request goes.

        Raises: Refused, ClefError.
        """

        def work() -> Any:
            _, (encoded,) = self._read(body, status, is_batch=False)
            return plan_facts(encoded, status)

        return await self._prepared(work)

    async def _prepared(self, work: Callable[[], Result]) -> Result:
        return await anyio.to_thread.run_sync(work, limiter=self._preparing)

    def _read(self, body: bytes, status: ModelStatus, is_batch: bool) -> tuple[Asked, list[EncodedRecord]]:
        """What a body asks, and its plans, so that what cannot be answered is refused before anybody waits."""
        asked = parse_asked(body, status, self.settings, is_batch=is_batch)
        encoded, problems = [], []
        for place, record in enumerate(asked.records):
            try:
                encoded.append(self.decider.plan(record, asked.limits))
            except InvalidRecord as error:
                problems += _placed(error, place if is_batch else None)
            except BudgetExceeded as error:
                raise _named(error, place) if is_batch else error from None
        if problems:
            raise InvalidRecord(problems)
        return asked, encoded

    def _decide(self, asked: Asked, start: int, stop: int) -> list[Decision]:
        """The decisions of some of the records; runs in a thread, and ends early when the client has gone."""
        return self.decider.decide(asked.records[start:stop], asked.limits, _stop_if_cancelled)


def _stop_if_cancelled(share: float, stage: str) -> None:
    anyio.from_thread.check_cancelled()


def _response(decision: Decision, asked: Asked, waiting_ms: float) -> dict[str, Any]:
    response = to_response(decision)
    if asked.wants_facts:
        facts = decision_facts(decision)
        facts["timing"]["waiting_ms"] = round(waiting_ms, 3)
        response["x_clef"] = facts
    return response


def _turns(encoded: Sequence[EncodedRecord]) -> Iterator[tuple[int, int]]:
    """Parts [start, stop) of the records, each of at most TURN_TOKENS or of one record."""
    start, tokens = 0, 0
    for place, record in enumerate(encoded):
        tokens += len(record.input_ids)
        if place > start and tokens > TURN_TOKENS:
            yield start, place
            start, tokens = place, len(record.input_ids)
    yield start, len(encoded)


def _placed(error: InvalidRecord, place: int | None) -> list[Problem]:
    """The problems with the place of their record in the batch."""
    if place is None:
        return list(error.problems)
    here = f"requests[{place}]"
    return [replace(problem, where=f"{here}.{problem.where}" if problem.where else here) for problem in error.problems]


def _named(error: BudgetExceeded, place: int) -> BudgetExceeded:
    return type(error)(f"requests[{place}]: {error}", needed=error.needed, limit=error.limit)
