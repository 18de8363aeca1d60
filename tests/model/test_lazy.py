"""A Decider that is loaded in the background."""

import threading
from typing import Any

import pytest
from ui.scripted import STATUS, ScriptedDecider

from clef_model.decision import Limits
from clef_model.errors import BrokenRelease, InvalidRecord
from clef_model.lazy import LazyDecider
from clef_model.schema import Record, noul

RECORD = Record("ok", (noul("q"),))


def test_a_plan_needs_the_tokenizer_alone() -> None:
    gate = threading.Event()

    def load(progress: Any) -> Any:
        gate.wait()
        return ScriptedDecider()

    lazy = LazyDecider(ScriptedDecider, load)
    try:
        assert lazy.plan(RECORD).budget.state == 2
        assert lazy.status == STATUS
        assert not lazy.loading.done
    finally:
        gate.set()


def test_a_decision_waits_for_the_weights_and_reports_how_far_they_are() -> None:
    reported: list[str] = []
    gate = threading.Event()

    def load(progress: Any) -> Any:
        progress(0.5, "reading weights")
        gate.wait()
        return ScriptedDecider()

    def progress(share: float, stage: str) -> None:
        reported.append(stage)
        gate.set()

    (decision,) = LazyDecider(ScriptedDecider, load).decide([RECORD], progress=progress)
    assert decision.answers
    assert reported[0].startswith("loading the model: ")


def test_a_decision_can_be_given_up_while_the_model_loads() -> None:
    gate = threading.Event()

    def load(_: Any) -> Any:
        gate.wait()
        return ScriptedDecider()

    def stop(share: float, stage: str) -> None:
        raise InterruptedError

    try:
        with pytest.raises(InterruptedError):
            LazyDecider(ScriptedDecider, load).decide([RECORD], progress=stop)
    finally:
        gate.set()


def test_a_failure_to_load_is_a_sentence_and_planning_goes_on() -> None:
    def load(_: Any) -> Any:
        raise BrokenRelease("joint_head.safetensors is missing.")

    lazy = LazyDecider(ScriptedDecider, load).wait()
    assert lazy.loading.problem == "joint_head.safetensors is missing."
    assert lazy.plan(RECORD).budget.state == 2
    for _ in range(2):
        with pytest.raises(BrokenRelease, match="is missing"):
            lazy.decide([RECORD])


def test_an_error_of_ours_is_logged_and_said_to_be_ours(caplog: pytest.LogCaptureFixture) -> None:
    def load(_: Any) -> Any:
        raise KeyError("inside")

    lazy = LazyDecider(ScriptedDecider, load).wait()
    assert lazy.loading.problem == "Internal error while loading the release, see the log."
    assert "inside" in caplog.text


def test_a_folder_without_a_tokenizer_says_so_to_whoever_plans() -> None:
    def planner() -> Any:
        raise BrokenRelease("tokenizer.json is missing.")

    lazy = LazyDecider(planner, lambda _: planner())
    with pytest.raises(BrokenRelease, match=r"tokenizer\.json is missing"):
        lazy.plan(RECORD)


def test_it_loads_once() -> None:
    loads: list[int] = []

    def load(_: Any) -> Any:
        loads.append(1)
        return ScriptedDecider()

    lazy = LazyDecider(ScriptedDecider, load)
    for _ in range(3):
        lazy.start().decide([RECORD])
    assert loads == [1]


def test_nobody_may_ask_for_more_tokens_than_the_operator_allows() -> None:
    lazy = LazyDecider(ScriptedDecider, lambda _: ScriptedDecider(), highest_max_length=16_384).wait()
    message = "max_length: found 16,385 tokens; this server allows 16,384. Ask for fewer."
    for ask in (lazy.plan, lambda record, limits: lazy.decide([record], limits)):
        with pytest.raises(InvalidRecord) as raised:
            ask(RECORD, Limits(max_length=16_385))
        assert str(raised.value) == message
        assert ask(RECORD, Limits(max_length=16_384))


def test_a_public_server_keeps_the_reason_of_a_failure_in_its_log(caplog: pytest.LogCaptureFixture) -> None:
    def load(_: Any) -> Any:
        raise BrokenRelease("/srv/private/joint_head.safetensors is missing.")

    lazy = LazyDecider(ScriptedDecider, load, tells_why=False).wait()
    assert lazy.loading.problem == "The model could not be loaded. The operator finds the reason in the log."
    assert "/srv/private" in caplog.text
