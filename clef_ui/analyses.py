"""Analyses that ask the model several times: what the page starts, follows and stops, draft in and view out."""

import json
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from clef_model.decision import Decider, Progress
from clef_model.diagnostics.cut_effect import cut_effect, variants
from clef_model.diagnostics.sweep import plan_sweep, sweep
from clef_model.errors import ClefError, InvalidRecord, Problem
from clef_model.json_paths import shown
from clef_ui.calls import INTERNAL_ERROR, Call, answering
from clef_ui.deciding import PageDecider
from clef_ui.gpu import gpu_seconds, on_gpu
from clef_ui.result_calls import asked
from clef_ui.runs import Runs, Stopped
from clef_ui.uploads import MediaStore
from clef_ui.views import cut_effect as effect_views
from clef_ui.views import sweep as sweep_views
from clef_ui.views.planned import Asked, Planner, problems_view

Options = Mapping[str, Any]  # what the panel's own fields hold, as text

MOST_DIGITS = 9
_SEPARATORS = re.compile(r"[\s;]+|,\s+")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Analysis:
    """`plan` says what it would read, in `tokens` too, and needs no weights; `run` does it. Both give views."""

    plan: Callable[[Planner, Asked, Options], dict[str, Any]]
    run: Callable[[Decider, Asked, Options, Progress], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _Failed:
    """An error that may have to cross a process, as exceptions cannot."""

    message: str
    problems: list[dict[str, Any]]
    stopped: bool


def analysis_calls(analysis: Analysis, planner: Planner, store: MediaStore, runs: Runs) -> list[Call]:
    """The functions of an analysis' panel, by the names its script uses."""

    def plan(text: str) -> Any:
        what, options, _ = _request(text, store)
        return analysis.plan(planner, what, options)

    def progress(run_id: str) -> Any:
        share, stage = runs.progress(run_id)
        return {"share": share, "stage": stage}

    def cancel(run_id: str) -> Any:
        runs.stop(run_id)
        return {}

    return [answering(call) for call in (plan, progress, cancel)]


def runner(analysis: Analysis, decider: PageDecider, store: MediaStore, runs: Runs) -> Callable[[str], str]:
    """What the panel's `submit` runs: JSON text of {draft, options, run} to JSON text of what came of it."""

    def work(what: Asked, options: Options, run_id: str) -> dict[str, Any] | _Failed:
        try:
            with runs.running(run_id) as progress:
                return analysis.run(decider, what, options, progress)
        except ClefError as error:
            return _Failed(str(error), problems_view(error), isinstance(error, Stopped))

    def seconds(what: Asked, options: Options, run_id: str) -> int:
        return gpu_seconds(analysis.plan(decider, what, options)["tokens"])

    on_model = on_gpu(work, seconds)

    def run(text: str) -> str:
        # Gradio warns of "<script" in what an HTML component gets, though this is drawn as text.
        return json.dumps(_outcome(text, store, on_model), ensure_ascii=False).replace("<", "\\u003c")

    return run


def _outcome(text: str, store: MediaStore, on_model: Callable[[Asked, Options, str], Any]) -> dict[str, Any]:
    """Never raises: what is wrong is in the outcome."""
    run_id = ""
    try:
        run_id = str(json.loads(text)["run"])
        what, options, sent = _request(text, store)
        found = on_model(what, options, run_id)
        if isinstance(found, _Failed):
            failure = {"message": found.message, "problems": found.problems, "stopped": found.stopped}
            return {"run": run_id, "ok": False, **failure}
        return {"run": run_id, "ok": True, "view": {**found, "sent": sent}}
    except ClefError as error:
        problems = problems_view(error) if isinstance(error, InvalidRecord) else []
        return {"run": run_id, "ok": False, "message": str(error), "problems": problems, "stopped": False}
    except Exception:
        log.exception("an analysis failed")
        return {"run": run_id, "ok": False, "message": INTERNAL_ERROR, "problems": [], "stopped": False}


def _request(text: str, store: MediaStore) -> tuple[Asked, Options, Any]:
    request = json.loads(text)
    return asked(json.dumps(request["draft"]), store), request.get("options") or {}, request["draft"]


def _whole_numbers(where: str, text: str) -> list[int]:
    """The whole numbers of a field, parted by white space.

    Raises: InvalidRecord.
    """
    parts = [part for part in _SEPARATORS.split(text.strip()) if part]
    wrong = [part for part in parts if not (part.isdecimal() and len(part) <= MOST_DIGITS)]
    if wrong:
        advice = "Write digits alone, and a space between two numbers."
        raise InvalidRecord([Problem(where, f"expected whole numbers of tokens, found {shown(wrong[0])}. {advice}")])
    return [int(part) for part in parts]


def _larger(options: Options) -> int | None:
    numbers = _whole_numbers("larger limit", str(options.get("larger", "")))
    if len(numbers) > 1:
        raise InvalidRecord([Problem("larger limit", f"expected one number of tokens, found {len(numbers)}.")])
    return numbers[0] if numbers else None


def _plan_effect(planner: Planner, what: Asked, options: Options) -> dict[str, Any]:
    return effect_views.plan_view(variants(what.record, what.limits, planner.plan, _larger(options)))


def _run_effect(decider: Decider, what: Asked, options: Options, progress: Progress) -> dict[str, Any]:
    planned = variants(what.record, what.limits, decider.plan, _larger(options))
    if not planned:
        raise ClefError("Nothing of the state is cut at these limits, so there is nothing to compare.")
    return effect_views.cut_effect_view(cut_effect(decider, planned, progress))


def _points(options: Options) -> list[int] | None:
    return _whole_numbers("points", str(options.get("points", ""))) or None


def _plan_sweep(planner: Planner, what: Asked, options: Options) -> dict[str, Any]:
    return sweep_views.plan_view(plan_sweep(what.record, what.limits, planner.plan, _points(options)))


def _run_sweep(decider: Decider, what: Asked, options: Options, progress: Progress) -> dict[str, Any]:
    plans = plan_sweep(what.record, what.limits, decider.plan, _points(options))
    return sweep_views.sweep_view(sweep(decider, plans, progress))


CUT_EFFECT = Analysis(_plan_effect, _run_effect)
SWEEP = Analysis(_plan_sweep, _run_sweep)
