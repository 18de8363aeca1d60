"""A Decider that is loaded in the background, so that the page opens and plans before the weights are there."""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from clef_model.decision import Decider, Decision, Limits, ModelStatus, Progress
from clef_model.errors import BrokenRelease, ClefError, InvalidRecord, Problem
from clef_model.lane import Lane

if TYPE_CHECKING:
    from clef_model.encoding import EncodedRecord
    from clef_model.schema import Record
    from clef_model.tokenizer import Tokenizer

WAITING = "waiting for its turn"

log = logging.getLogger(__name__)


class Planner(Protocol):
    """The half of a Decider that needs no weights."""

    @property
    def status(self) -> ModelStatus: ...

    @property
    def tokenizer(self) -> "Tokenizer": ...

    def plan(self, record: "Record", limits: Limits = ...) -> "EncodedRecord": ...


@dataclass(frozen=True, slots=True)
class Loading:
    """How far the loading is: a share from 0 to 1 and what is being done, or the sentence why it failed."""

    stage: str = "reading the tokenizer"
    share: float = 0.0
    done: bool = False
    problem: str = ""


class LazyDecider:
    """A `Decider` whose `plan` waits for the tokenizer alone and whose `decide` waits for the weights.

    A failure to load is kept: `plan` goes on working when the tokenizer could be read, `decide` raises the same
    sentence each time. Whoever decides without a turn in the `lane` waits for one as the page.
    """

    def __init__(
        self,
        read_planner: Callable[[], Planner],
        load: Callable[[Progress], Decider],
        *,
        limits: Limits = Limits(),  # noqa: B008 (frozen)
        lane: Lane | None = None,
        highest_max_length: int | None = None,
        tells_why: bool = True,
    ) -> None:
        """`highest_max_length` is the most tokens that anyone may ask for; None leaves that to the model.

        With `tells_why` false the reason of a failure, which may name paths, goes to the log alone.
        """
        self.limits = limits  # the limits a new draft starts with
        self.lane = lane or Lane()
        self._highest_max_length = highest_max_length
        self._tells_why = tells_why
        self._read_planner = read_planner
        self._load = load
        self._planner: Planner | None = None
        self._decider: Decider | None = None
        self._planner_problem: ClefError | None = None
        self._problem: ClefError | None = None
        self._loading = Loading()
        self._planner_ready = threading.Event()
        self._ready = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def start(self) -> "LazyDecider":
        """Begins loading in a thread of its own, once."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="load-release", daemon=True)
                self._thread.start()
        return self

    def wait(self) -> "LazyDecider":
        """Returns when everything is loaded or has failed."""
        self.start()
        self._ready.wait()
        return self

    @property
    def can_plan(self) -> bool:
        """Whether the tokenizer has been read, or has failed to be."""
        return self._planner_ready.is_set()

    @property
    def tokenizer(self) -> "Tokenizer":
        """Raises: as `status`."""
        return self._ready_planner().tokenizer

    @property
    def loading(self) -> Loading:
        return self._loading

    @property
    def status(self) -> ModelStatus:
        """Raises: BrokenRelease, when the folder holds no readable tokenizer."""
        if self._decider is not None:
            return self._decider.status
        return self._ready_planner().status

    @property
    def cache_facts(self) -> Any:
        """What the loaded model keeps of texts it has read (`CacheFacts`); None where nothing is kept or loaded."""
        return getattr(self._decider, "cache_facts", None)

    def plan(self, record: "Record", limits: Limits | None = None) -> "EncodedRecord":
        """Raises: InvalidRecord: the limits are higher than may be asked for; and as the Decider."""
        planner = self._decider or self._ready_planner()
        return planner.plan(record, self._allowed(limits))

    def decide(
        self, records: "Sequence[Record]", limits: Limits | None = None, progress: Progress | None = None
    ) -> list[Decision]:
        """Raises: as `plan`; BrokenRelease; what `progress` raises ends the waiting too."""
        asked = self._allowed(limits)
        self.start()
        while not self._ready.wait(0.1):
            if progress is not None:
                progress(self._loading.share, f"loading the model: {self._loading.stage}")
        if self._decider is None:
            raise self._problem or BrokenRelease("the model was not loaded")
        with self.lane.turn("page", progress and partial(progress, 0.0, WAITING)):
            return self._decider.decide(records, asked, progress)

    def _allowed(self, limits: Limits | None) -> Limits:
        asked, highest = limits or self.limits, self._highest_max_length
        if highest is not None and asked.max_length > highest:
            found = f"found {asked.max_length:,} tokens; this server allows {highest:,}. Ask for fewer."
            raise InvalidRecord([Problem("max_length", found)])
        return asked

    def _ready_planner(self) -> Planner:
        self.start()
        self._planner_ready.wait()
        if self._planner is None:
            raise self._planner_problem or BrokenRelease("the tokenizer was not read")
        return self._planner

    def _work(self) -> None:
        try:
            self._planner = self._read_planner()
        except Exception as error:
            self._planner_problem = self._as_sentence(error)
        finally:
            self._planner_ready.set()
        try:
            self._decider = self._load(self._report)
            self._loading = Loading("loaded", 1.0, done=True)
        except Exception as error:
            self._problem = self._as_sentence(error)
            self._loading = replace(self._loading, done=True, problem=str(self._problem))
        finally:
            self._ready.set()

    def _report(self, share: float, stage: str) -> None:
        self._loading = Loading(stage, share)

    def _as_sentence(self, error: Exception) -> ClefError:
        if isinstance(error, ClefError) and self._tells_why:
            return error
        log.error("loading the release failed", exc_info=error)
        if isinstance(error, ClefError):
            return BrokenRelease("The model could not be loaded. The operator finds the reason in the log.")
        return BrokenRelease("Internal error while loading the release, see the log.")
