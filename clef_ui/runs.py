"""Runs that are going on: how far each is, and the wish to stop one."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from clef_model.decision import Progress
from clef_model.errors import ClefError

MAX_REMEMBERED = 256  # stop wishes of runs that never began: the queue holds 32
WAITING = "waiting for its turn"


class Stopped(ClefError):
    """The person stopped the run."""


@dataclass(slots=True)
class _Run:
    share: float | None = None
    stage: str = WAITING
    stopped: bool = False


class Runs:
    """Progress by run id. Safe to share between threads; one run at a time holds the model."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self._lock = threading.Lock()
        self._model = threading.Lock()

    @contextmanager
    def running(self, run_id: str) -> Iterator[Progress]:
        """The progress report of a run, which raises `Stopped` once the person wants it stopped."""
        run = self._run(run_id)

        def report(share: float, stage: str) -> None:
            if run.stopped:
                raise Stopped("Stopped.")
            run.share, run.stage = share, stage

        try:
            # A stopped run leaves the queue at once and the model a moment later.
            with self._model:
                report(0.0, "starting")
                yield report
        finally:
            with self._lock:
                self._runs.pop(run_id, None)

    def stop(self, run_id: str) -> None:
        """The run stops at its next step, or before it begins."""
        self._run(run_id).stopped = True

    def progress(self, run_id: str) -> tuple[float | None, str]:
        """The share done, None while unknown, and what is being done."""
        with self._lock:
            run = self._runs.get(run_id)
        return (run.share, run.stage) if run else (None, WAITING)

    def _run(self, run_id: str) -> _Run:
        with self._lock:
            run = self._runs.setdefault(run_id, _Run())
            while len(self._runs) > MAX_REMEMBERED:
                self._runs.popitem(last=False)
            return run
