"""The sweep in words: from where on nothing changes, and what the set limit loses."""

from typing import Any

import pytest
from ui.reading import ReadingDecider

from clef_model.decision import Limits
from clef_model.diagnostics.sweep import plan_sweep, sweep
from clef_model.parsing import parse_record
from clef_ui.views.sweep import closer_points, plan_view, sweep_view

DECIDER = ReadingDecider()
STATE = "one two three four five six seven eight"
QUESTIONS = {"two": {"type": "noul"}, "five": {"type": "noul"}}


def view(points: Any = (0, 7, 23, 39), limits: Limits | None = None, questions: Any = QUESTIONS) -> dict[str, Any]:
    record = parse_record({"state": STATE, "questions": questions})
    return sweep_view(sweep(DECIDER, plan_sweep(record, limits or Limits(), DECIDER.plan, points)))


def test_the_smallest_budget_from_which_all_stays_is_the_headline() -> None:
    shown = view()
    assert shown["headline"] == "From 23 of 39 state tokens on, every answer stays as it is."
    assert shown["sentences"] == ["With 7, the next smaller tried, five is answered otherwise."]
    assert [question["enough"] for question in shown["questions"]] == [1, 2]


@pytest.mark.parametrize(
    ("kept", "sentence"),
    [
        (7, "The limit that is set keeps 7, and more would change five."),
        (23, "The limit that is set keeps 23, which gives the same answers as 39."),
    ],
)
def test_the_set_limit_is_judged_when_it_cuts(kept: int, sentence: str) -> None:
    assert view(limits=Limits(max_state_tokens=kept))["sentences"][1] == sentence


@pytest.mark.parametrize(
    ("points", "questions", "headline"),
    [
        ([0, 39], {"never": {"type": "noul"}}, "No answer changes: without any state all are as with the whole state."),
        ([8, 39], {"two": {"type": "noul"}}, "No answer changes: with 8 kept tokens all are as with the whole state."),
        (
            [0, 20],
            {"never": {"type": "noul"}},
            "No answer changes: without any state all are as with the 20 tokens tried last.",
        ),
        ([0, 7, 39], QUESTIONS, "Answers change up to the last point: 7 tokens are not enough."),
        ([5], QUESTIONS, "One point was read, with 5 kept tokens: nothing to compare it with."),
    ],
)
def test_other_outcomes_are_said_in_words(points: Any, questions: Any, headline: str) -> None:
    assert view(points, questions=questions)["headline"] == headline


def test_each_number_of_the_chart_has_its_label_for_the_table() -> None:
    question = view()["questions"][0]
    assert [row[0] for row in question["p"]] == pytest.approx([0.268941, 0.731059, 0.731059, 0.731059], abs=1e-6)
    assert [row[0] for row in question["labels"]] == ["26.9 %", "73.1 %", "73.1 %", "73.1 %"]
    assert question["answers"] == ["false", "true", "true", "true"]


def test_a_closer_look_holds_both_ends_and_the_place_of_the_change() -> None:
    closer = view([0, 7, 23, 39])["closer"]
    assert (closer[0], closer[-1], len(closer)) == (0, 39, 16)
    assert {7, 23} <= set(closer)
    assert all(7 <= point <= 23 for point in closer[1:-1])


def test_there_is_no_closer_look_where_the_place_is_known() -> None:
    assert closer_points([0, 5, 6, 9], 2) == []
    assert closer_points([0, 5], 0) == []


def test_the_plan_says_what_is_read() -> None:
    record = parse_record({"state": STATE, "questions": QUESTIONS})
    shown = plan_view(plan_sweep(record, Limits(max_state_tokens=7), DECIDER.plan, [0, 39]))
    budget = DECIDER.plan(record).budget
    assert shown == {
        "state": 39,
        "asked": 7,
        "points": [0, 39],
        "tokens": 2 * budget.fixed + 39,
        "distinct": 2 * budget.fixed + 39 - budget.prefix,
    }
