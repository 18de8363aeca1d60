"""A run from the page: the draft in, what the answers panel draws and what the run bar says out."""

import json
import logging
from dataclasses import dataclass
from typing import Any, Protocol

from clef_model.decision import Decider, Decision, Limits
from clef_model.errors import ClefError, InvalidRecord, Problem
from clef_model.schema import Record
from clef_ui.calls import INTERNAL_ERROR, media_of
from clef_ui.draft_types import draft_view, read_draft
from clef_ui.drafts import read_parts
from clef_ui.gpu import gpu_seconds, on_gpu
from clef_ui.places import HERE, Places
from clef_ui.question_checks import problem_view
from clef_ui.runs import Runs, Stopped
from clef_ui.uploads import MediaStore
from clef_ui.views.answers import answers_view
from clef_ui.views.planned import Planner, without_record

log = logging.getLogger(__name__)


class PageDecider(Planner, Decider, Protocol):
    """A Decider whose tokenizer is at hand, since the page shows tokens."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """JSON texts. `answers` is None when the panel keeps what it shows; `feedback` is for the run bar."""

    answers: str | None
    feedback: str


@dataclass(frozen=True, slots=True)
class _Failed:
    """An error that has to cross a process: exceptions do not survive pickling with what they hold."""

    message: str
    stopped: bool


class Desk:
    """Decides drafts, one at a time; on a ZeroGPU Space each in the process that has the GPU."""

    def __init__(self, decider: PageDecider, store: MediaStore, runs: Runs, places: Places | None = None) -> None:
        self.decider = decider
        self.places = places or Places(decider)
        self.store = store
        self.runs = runs
        self._decide = on_gpu(self._decide_record, self._seconds)

    def run(self, draft_text: str) -> Outcome:
        """Never raises: what is wrong is in the outcome."""
        run_id = ""
        try:
            draft = read_draft(draft_text)
            run_id = str(draft.view.get("run", ""))
            reading = read_parts(draft, media_of(draft, self.store))
            if reading.problems or reading.record is None:
                return _refused(run_id, InvalidRecord(reading.problems))
            place = str(draft.view.get("place", HERE))
            decision = self.decide(reading.record, reading.limits or Limits(), run_id, place)
            view = answers_view(decision, draft_view(draft))
            return Outcome(_json(view), _json({"run": run_id, "ok": True}))
        except Stopped:
            return Outcome(None, _json({"run": run_id, "ok": False, "stopped": True}))
        except ClefError as error:
            return _refused(run_id, error)
        except Exception:
            log.exception("a run failed")
            return _refused(run_id, ClefError(INTERNAL_ERROR))

    def decide(self, record: Record, limits: Limits, run_id: str, place: str = HERE) -> Decision:
        """The decision of this machine, or of another place, which needs no GPU here.

        Raises: the ClefErrors of a Decider; Stopped; GpuRefused.
        """
        if place == HERE:
            decision = self._decide(record, limits, run_id)
        else:
            decision = self._decide_record(record, limits, run_id, place)
        if isinstance(decision, _Failed):
            raise Stopped(decision.message) if decision.stopped else ClefError(decision.message)
        return decision

    def _decide_record(self, record: Record, limits: Limits, run_id: str, place: str = HERE) -> Decision | _Failed:
        try:
            with self.runs.running(run_id) as progress:
                return self.places.decider(place).decide([record], limits, progress)[0]
        except InvalidRecord:
            raise
        except ClefError as error:
            return _Failed(str(error), isinstance(error, Stopped))

    def _seconds(self, record: Record, limits: Limits, run_id: str) -> int:
        return gpu_seconds(self.decider.plan(record, limits).budget.total)


def _refused(run_id: str, error: ClefError) -> Outcome:
    problems: tuple[Problem, ...] = error.problems if isinstance(error, InvalidRecord) else ()
    count = len(problems)
    message = (
        without_record(str(error))
        if not problems
        else f"Not run: {count} problem{'s' if count > 1 else ''}. {problems[0]}"
    )
    feedback = {"run": run_id, "ok": False, "message": message, "problems": [problem_view(p) for p in problems]}
    return Outcome(None, _json(feedback))


def _json(value: Any) -> str:
    # Gradio warns of "<script" in what an HTML component gets, though this is drawn as text.
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
