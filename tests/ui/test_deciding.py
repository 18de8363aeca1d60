"""Runs from the page: what comes back, what stops one, and the GPU of a Space."""

import json
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from ui.scripted import ScriptedDecider

from clef_model.errors import BrokenAnswer
from clef_ui.deciding import Desk, Outcome
from clef_ui.draft_types import Draft, write_draft
from clef_ui.gpu import MAX_SECONDS, gpu_seconds, plain_text
from clef_ui.pasting import from_request_text
from clef_ui.runs import Runs, Stopped
from clef_ui.uploads import MediaStore

REQUEST = {"state": {"n": 1.0}, "questions": {"q": {"type": "noul"}}}


def draft_text(request: Any = REQUEST, **changes: Any) -> str:
    filled = from_request_text(json.dumps(request), Draft())
    assert filled is not None
    return write_draft(replace(filled.draft, view={"run": "run-1"}, **changes))


def desk(decider: Any = None) -> Desk:
    return Desk(decider or ScriptedDecider(), MediaStore(), Runs())


def feedback(outcome: Outcome) -> Any:
    return json.loads(outcome.feedback)


def test_a_run_answers_with_the_draft_it_was_computed_on() -> None:
    outcome = desk().run(draft_text())
    assert outcome.answers is not None
    assert json.loads(outcome.answers)["sent"] == json.loads(draft_text())
    assert feedback(outcome) == {"run": "run-1", "ok": True}


def test_a_broken_draft_names_all_its_problems_and_leaves_the_answers_alone() -> None:
    outcome = desk().run(draft_text(state_text="{", state_mode="json"))
    assert outcome.answers is None
    assert feedback(outcome)["message"].startswith("Not run: 1 problem. state (line 1, column ")
    assert [problem["area"] for problem in feedback(outcome)["problems"]] == ["state"]


def test_an_error_of_the_model_is_told_in_its_own_words() -> None:
    class Broken(ScriptedDecider):
        def decide(self, *_: Any, **__: Any) -> Any:
            raise BrokenAnswer("questions.q: the model returned nan.")

    assert feedback(desk(Broken()).run(draft_text()))["message"] == "questions.q: the model returned nan."


def test_an_error_that_is_ours_tells_nothing_of_its_inside(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(ScriptedDecider):
        def decide(self, *_: Any, **__: Any) -> Any:
            raise KeyError("a secret")

    outcome = desk(Broken()).run(draft_text())
    assert feedback(outcome)["message"] == "Internal error, see the log."
    assert "a secret" in caplog.text


def test_text_that_is_no_draft_is_answered_too() -> None:
    assert feedback(desk().run("[]"))["ok"] is False


def test_a_run_that_was_stopped_before_it_began_does_not_run() -> None:
    runs, decider = Runs(), ScriptedDecider()
    runs.stop("run-1")
    outcome = Desk(decider, MediaStore(), runs).run(draft_text())
    assert feedback(outcome) == {"run": "run-1", "ok": False, "stopped": True}
    assert decider.decided == []


def test_a_run_that_is_stopped_on_its_way_stops_at_its_next_step() -> None:
    runs = Runs()

    class Stopping(ScriptedDecider):
        def decide(self, records: Any, limits: Any = None, progress: Any = None) -> Any:
            runs.stop("run-1")
            return super().decide(records, limits, progress)

    assert feedback(Desk(Stopping(), MediaStore(), runs).run(draft_text()))["stopped"]


def test_progress_is_told_while_a_run_lasts_and_forgotten_after_it() -> None:
    runs = Runs()
    assert runs.progress("run-1") == (None, "waiting for its turn")
    with runs.running("run-1") as progress:
        progress(0.5, "half way")
        assert runs.progress("run-1") == (0.5, "half way")
    assert runs.progress("run-1") == (None, "waiting for its turn")


def test_a_stop_of_one_run_leaves_the_others_alone() -> None:
    runs = Runs()
    runs.stop("other")
    with runs.running("run-1") as progress:
        progress(1.0, "done")
    with pytest.raises(Stopped), runs.running("other"):
        pass


def test_stop_wishes_are_bounded() -> None:
    runs = Runs()
    for number in range(2_000):
        runs.stop(str(number))
    with runs.running("0") as progress:  # forgotten long ago
        progress(1.0, "done")


def test_the_time_asked_of_a_gpu_grows_with_the_tokens_up_to_what_every_visitor_may_ask() -> None:
    assert gpu_seconds(100) < gpu_seconds(16_384) <= MAX_SECONDS
    assert gpu_seconds(1_000_000) == MAX_SECONDS == 60


def test_links_in_a_refusal_become_their_words() -> None:
    assert plain_text('Quota <a href="https://x">sign&nbsp;up</a> &lt;now&gt;<br>please') == "Quota sign up <now>please"


def test_the_gpu_is_asked_for_the_records_length(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def gpu(duration: Any) -> Any:
        return lambda task: lambda *args: (asked.append(duration(*args)), task(*args))[1]

    _install(monkeypatch, gpu)
    short, long = draft_text(), draft_text({**REQUEST, "state": "word " * 3_000})
    decided = desk()
    assert feedback(decided.run(short))["ok"]
    assert feedback(decided.run(long))["ok"]
    assert asked == sorted(asked)
    assert asked[0] < asked[1]


def _install(monkeypatch: pytest.MonkeyPatch, gpu: Any) -> None:
    monkeypatch.setitem(sys.modules, "spaces", SimpleNamespace(GPU=gpu))
    monkeypatch.setattr("clef_ui.gpu.find_spec", lambda name: object())
