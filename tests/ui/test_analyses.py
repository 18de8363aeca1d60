"""Analyses from the page: draft in, view out, stopped and failed ones, and what fields may hold."""

import json
import threading
from typing import Any

import pytest
from ui.reading import ReadingDecider

from clef_model.errors import Unsupported
from clef_ui.analyses import CUT_EFFECT, SWEEP, Analysis, analysis_calls, runner
from clef_ui.draft_types import Draft, draft_view
from clef_ui.pasting import from_request_text
from clef_ui.runs import Runs
from clef_ui.uploads import MediaStore

REQUEST = {"state": "first word, many more words, last word", "questions": {"last": {"type": "noul"}}}


def draft(request: Any = REQUEST, max_state_tokens: str = "10") -> dict[str, Any]:
    filled = from_request_text(json.dumps(request), Draft())
    assert filled is not None
    view = draft_view(filled.draft)
    view["limits"]["maxStateTokens"] = max_state_tokens
    return view


def asked(sent: Any = None, **options: str) -> str:
    return json.dumps({"draft": sent or draft(), "options": options, "run": "run-1"})


def ran(analysis: Analysis, text: str, decider: Any = None, runs: Runs | None = None) -> Any:
    return json.loads(runner(analysis, decider or ReadingDecider(), MediaStore(), runs or Runs())(text))


def call(analysis: Analysis, name: str, text: str) -> Any:
    calls = {each.__name__: each for each in analysis_calls(analysis, ReadingDecider(), MediaStore(), Runs())}
    return json.loads(calls[name](text))


def test_a_comparison_comes_with_the_draft_it_belongs_to() -> None:
    outcome = ran(CUT_EFFECT, asked())
    assert (outcome["run"], outcome["ok"]) == ("run-1", True)
    assert outcome["view"]["headline"] == "The cut changed the answer."
    assert outcome["view"]["sent"] == draft()


def test_a_sweep_takes_the_points_of_its_field() -> None:
    assert ran(SWEEP, asked(points="0  10; 38"))["view"]["points"] == [0, 10, 38]
    assert ran(SWEEP, asked(points="38, 0"))["view"]["points"] == [0, 38]
    assert len(ran(SWEEP, asked())["view"]["points"]) == 16


@pytest.mark.parametrize(
    ("analysis", "options", "message"),
    [
        (
            SWEEP,
            {"points": "1,000"},
            "points: expected whole numbers of tokens, found '1,000'. Write digits alone, and a space between two "
            "numbers.",
        ),
        (
            CUT_EFFECT,
            {"larger": "-5"},
            "larger limit: expected whole numbers of tokens, found '-5'. Write digits alone, and a space between two "
            "numbers.",
        ),
        (CUT_EFFECT, {"larger": "5 6"}, "larger limit: expected one number of tokens, found 2."),
        (SWEEP, {"points": "39"}, "points: found 39; the state can be kept from 0 to 38 tokens."),
    ],
)
def test_a_field_that_cannot_be_read_is_told_before_and_at_the_run(
    analysis: Analysis, options: dict[str, str], message: str
) -> None:
    assert call(analysis, "plan", asked(**options)) == {"error": message}
    outcome = ran(analysis, asked(**options))
    assert (outcome["ok"], outcome["message"]) == (False, message)


def test_a_whole_state_has_nothing_to_compare() -> None:
    outcome = ran(CUT_EFFECT, asked(draft(max_state_tokens="")))
    assert outcome["message"] == "Nothing of the state is cut at these limits, so there is nothing to compare."
    assert call(CUT_EFFECT, "plan", asked(draft(max_state_tokens="")))["readings"] == []


def test_the_problems_of_a_draft_are_told() -> None:
    broken = draft() | {"stateText": "{", "stateMode": "json"}
    outcome = ran(SWEEP, asked(broken))
    assert [problem["where"] for problem in outcome["problems"]] == ["state"]


def test_an_error_of_the_model_is_told_in_its_own_words() -> None:
    class Broken(ReadingDecider):
        def decide(self, *_: Any, **__: Any) -> Any:
            raise Unsupported("more memory than there is.")

    assert ran(SWEEP, asked(), Broken())["message"] == "more memory than there is."


def test_an_error_of_ours_tells_nothing_of_its_inside(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(ReadingDecider):
        def decide(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("secret")

    assert ran(SWEEP, asked(), Broken())["message"] == "Internal error, see the log."
    assert "secret" in caplog.text


def test_a_stopped_analysis_ends_at_its_next_step() -> None:
    runs, reached = Runs(), threading.Event()

    class Slow(ReadingDecider):
        def decide(self, records: Any, limits: Any = None, progress: Any = None) -> Any:
            reached.set()
            runs.stop("run-1")
            return super().decide(records, limits, progress)

    outcome = ran(SWEEP, asked(), Slow(), runs)
    assert reached.is_set()
    assert (outcome["ok"], outcome["stopped"]) == (False, True)


def test_nothing_in_a_result_looks_like_markup() -> None:
    request = {"state": "x" * 30, "questions": {"<script>": {"type": "noul"}}}
    assert "<" not in runner(SWEEP, ReadingDecider(), MediaStore(), Runs())(asked(draft(request)))
