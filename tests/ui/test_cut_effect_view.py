"""Did the cut matter, in words and numbers: the verdict, the columns and the shifts."""

from typing import Any

import pytest
from ui.reading import ReadingDecider
from ui.scripted import ScriptedDecider

from clef_model.decision import Limits
from clef_model.diagnostics.cut_effect import cut_effect, variants
from clef_model.parsing import parse_record
from clef_ui.views.cut_effect import cut_effect_view, plan_view
from clef_ui.views.shifts import direction, named, of_all, points

DECIDER = ReadingDecider()
QUESTIONS = {
    "first": {"type": "noul"},
    "last": {"type": "noul"},
    "level": {"type": "score", "criteria": ["low", "high"]},
}
STATE = "first word, many more words, last word"


def view(state: Any = STATE, kept: int = 10, questions: Any = QUESTIONS, larger: int | None = None) -> dict[str, Any]:
    record = parse_record({"state": state, "questions": questions})
    return cut_effect_view(cut_effect(DECIDER, variants(record, Limits(max_state_tokens=kept), DECIDER.plan, larger)))


def test_the_verdict_says_what_the_cut_changed_and_what_would_help() -> None:
    shown = view()
    assert shown["headline"] == "The cut changed 1 of 3 answers."
    assert shown["sentences"] == [
        "The whole state turns last from false to true.",
        "The end in place of the start changes 2 of 3 answers: first and last.",
        "Leaving the state out changes 1 of 3 answers: first.",
    ]


def test_an_end_that_answers_like_the_whole_is_named() -> None:
    shown = view(questions={"last": {"type": "noul"}})
    assert shown["headline"] == "The cut changed the answer."
    assert shown["sentences"] == [
        "The whole state turns last from false to true.",
        "The end alone gives the same answers as that: it holds what the start lacks.",
        "The end in place of the start changes the answer: last.",
        "Leaving the state out changes no answer. What was kept of the state decides none of them.",
    ]


def test_a_cut_that_changed_nothing_is_said_to_be_harmless() -> None:
    shown = view(questions={"first": {"type": "noul"}})
    assert shown["headline"] == (
        "The cut did not matter: the answer is the same, and no probability moved by half a point."
    )


def test_two_answers_are_called_both() -> None:
    questions = {"first": {"type": "noul"}, "many": {"type": "score", "criteria": ["low", "high"]}}
    assert view(questions=questions)["headline"].startswith("The cut did not matter: both answers are the same, ")


def test_a_shift_without_a_change_is_told_with_its_size() -> None:
    record = parse_record({"state": STATE, "questions": {"q": {"type": "noul"}}})

    class Scripted(ScriptedDecider):
        def _decision(self, encoded: Any) -> Any:
            self.logits = {"q": [2.0 + (encoded.budget.state_kept > 10), 0.0]}
            return super()._decision(encoded)

    decider = Scripted()
    shown = cut_effect_view(cut_effect(decider, variants(record, Limits(max_state_tokens=10), decider.plan)))
    assert shown["headline"] == "The cut changed no answer: the answer is the same. The largest shift is 7.2 points."
    [question] = shown["questions"]
    larger = question["columns"][1]
    assert [(cell["label"], cell["points"], cell["direction"]) for cell in larger["cells"]] == [
        ("95.3 %", "+7.2", "up"),
        ("4.7 %", "−7.2", "down"),
    ]


def test_the_columns_say_what_is_read() -> None:
    fixed = DECIDER.plan(parse_record({"state": "", "questions": QUESTIONS})).budget.fixed
    heads = [(each["title"], each["held"], each["notes"], each["tokens"] - fixed) for each in view()["readings"]]
    assert heads == [
        ("as asked", "the first 10 of 38 tokens", [], 10),
        ("the whole state", "38 tokens", [f"max_length {fixed + 38:,}"], 38),
        ("the end instead", "the last 10 tokens", [], 10),
        ("no state", "0 tokens", [], 0),
    ]


def test_a_larger_limit_that_cuts_still_says_so() -> None:
    fixed = DECIDER.plan(parse_record({"state": "", "questions": QUESTIONS})).budget.fixed
    shown = view(larger=fixed + 38 - 5)
    assert shown["readings"][1]["title"] == "more of it"
    assert shown["readings"][1]["held"] == "the first 33 of 38 tokens"
    assert shown["sentences"][0] == "Reading 33 tokens of the state turns last from false to true."


def test_a_reading_beyond_the_trained_length_says_so() -> None:
    shown = view(state="word " * 4_000, questions={"q": {"type": "noul"}})
    assert shown["readings"][1]["notes"][1] == "longer than the model was trained on"


def test_shifts_stand_beside_each_option_and_changes_beside_each_answer() -> None:
    last = view()["questions"][1]
    assert [(column["kind"], column["answer"], column["changed"]) for column in last["columns"]] == [
        ("cut", "false", False),
        ("larger", "true", True),
        ("end", "true", True),
        ("none", "false", False),
    ]
    assert [column["cells"][0]["points"] for column in last["columns"]] == ["", "+46.2", "+46.2", ""]
    assert last["columns"][1]["cells"][0]["label"] == "73.1 %"


def test_a_score_is_answered_with_its_mean() -> None:
    assert view()["questions"][2]["columns"][0]["answer"] == "0, mean 0.27"


def test_the_plan_counts_the_readings_and_what_is_lost() -> None:
    record = parse_record({"state": STATE, "questions": QUESTIONS})
    shown = plan_view(variants(record, Limits(max_state_tokens=10), DECIDER.plan))
    fixed = DECIDER.plan(record).budget.fixed
    assert (len(shown["readings"]), shown["tokens"], shown["lost"]) == (4, 4 * fixed + 10 + 38 + 10, 28)


def test_the_plan_of_a_whole_state_has_no_readings() -> None:
    assert plan_view(()) == {"readings": [], "tokens": 0, "lost": 0}


@pytest.mark.parametrize(
    ("shift", "text", "way"),
    [
        (0.123, "+12.3", "up"),
        (-0.00501, "−0.5", "down"),
        (0.0049, "", "same"),
        (0.0, "", "same"),
        (1.0, "+100.0", "up"),
    ],
)
def test_a_shift_is_written_in_points_beyond_half_a_point(shift: float, text: str, way: str) -> None:
    assert (points(shift), direction(shift)) == (text, way)


def test_names_and_counts_in_a_sentence() -> None:
    assert [named(list("abcdef")[:count]) for count in (1, 2, 3, 4, 6)] == [
        "a",
        "a and b",
        "a, b and c",
        "a, b, c and d",
        "a, b, c, d and 2 more",
    ]
    assert [of_all(1, 1), of_all(1, 3), of_all(2, 2)] == ["the answer", "1 of 3 answers", "2 of 2 answers"]
