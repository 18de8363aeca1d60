"""The Answers panel's view: labels, words, ties, definitions of confidence, the response."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from ui.scripted import STATUS, ScriptedDecider

from clef_model.decision import Limits
from clef_model.parsing import parse_record
from clef_ui.views.answers import answers_view
from clef_ui.views.numbers import decimal, percents

NOUL = {"type": "noul", "instructions": "Is it on?"}


def view(
    questions: dict[str, Any], logits: dict[str, list[float]], *, state: Any = "x", limits: Limits | None = None
) -> dict[str, Any]:
    record = parse_record({"state": state, "questions": questions})
    [decision] = ScriptedDecider(logits).decide([record], limits or Limits())
    return answers_view(decision, {"stateText": "x"})


def only(questions: dict[str, Any], logits: list[float]) -> dict[str, Any]:
    [question_id] = questions
    [answer] = view(questions, {question_id: logits})["answers"]
    return answer


def of(*probabilities: float) -> list[float]:
    return [math.log(p) if p else -math.inf for p in probabilities]


def test_a_probability_is_shown_with_one_decimal_of_a_percent() -> None:
    assert percents([0.874, 0.091, 0.035]) == ["87.4 %", "9.1 %", "3.5 %"]


def test_two_probabilities_that_would_look_the_same_get_more_digits() -> None:
    assert percents([0.50004, 0.49996]) == ["50.004 %", "49.996 %"]


def test_equal_probabilities_look_equal() -> None:
    assert percents([0.25, 0.25, 0.5]) == ["25.0 %", "25.0 %", "50.0 %"]


def test_a_small_probability_is_never_shown_as_zero_and_a_large_one_never_as_certain() -> None:
    assert percents([0.9999, 0.0001, 0.0]) == [">99.9 %", "<0.1 %", "0.0 %"]


def test_a_share_that_only_rounds_to_one_says_so() -> None:
    assert [decimal(0.99999), decimal(1.0), decimal(0.0), decimal(0.00001)] == [">0.999", "1.000", "0.000", "<0.001"]


def test_a_choice_names_its_top_option_and_its_lead() -> None:
    answer = only({"c": {"type": "choice", "criteria": {"a": "A", "b": None, "c": None}}}, of(0.61, 0.2, 0.19))
    assert (answer["headline"], answer["detail"]) == ("a", "61.0 %")
    assert (answer["margin"], answer["marginWord"]) == ("0.410", "lead")
    assert answer["type"] == "choice · 3"


def test_options_know_their_place_in_the_request_and_for_the_model() -> None:
    answer = only({"c": {"type": "choice", "criteria": {"z": None, "a": None}}}, [0.0, 1.0])
    assert [(o["id"], o["index"], o["request"]) for o in answer["options"]] == [("a", 0, 1), ("z", 1, 0)]


def test_an_exact_tie_is_said_and_the_first_of_the_request_is_the_headline() -> None:
    answer = only({"c": {"type": "choice", "criteria": {"no": None, "go": None}}}, [1.5, 1.5])
    assert answer["headline"] == "no"
    assert answer["marginWord"] == "exact tie"
    assert answer["remarks"] == ["Exact tie of 2: no, go. The first in the request's order is reported."]


def test_a_close_call_is_no_tie() -> None:
    answer = only({"c": {"type": "choice", "criteria": {"a": None, "b": None}}}, of(0.5002, 0.4998))
    assert answer["marginWord"] == "close call"
    assert [o["label"] for o in answer["options"]] == ["50.02 %", "49.98 %"]
    assert answer["remarks"] == ["The first two differ by 0.0004: no lead to rely on."]


def test_a_yes_no_question_shows_p_true_and_no_confidence() -> None:
    answer = only({"n": NOUL}, [2.0, -1.0])
    assert (answer["headline"], answer["detail"], answer["confidences"]) == ("true", "P(true) 0.953", [])


def test_an_even_yes_no_question_cannot_tell() -> None:
    assert only({"n": NOUL}, [0.0, 0.0])["headline"] == "cannot tell"


def test_a_score_shows_its_expected_and_its_most_likely_level() -> None:
    criteria = ["Can wait", "This week", "Today", "Right now"]
    answer = only({"s": {"type": "score", "criteria": criteria}}, of(0.011, 0.04, 0.276, 0.673))
    assert (answer["headline"], answer["detail"]) == ("2.61 of 3", "most likely level: 3 · Right now")
    gauge = answer["gauge"]
    assert (gauge["mode"], gauge["levels"]) == (3, 4)
    assert gauge["expectedShare"] == pytest.approx(2.611 / 3)


def test_levels_with_equal_texts_stay_apart() -> None:
    answer = only({"s": {"type": "score", "criteria": ["same", "same", None]}}, [0, 1, 2])
    assert [(o["id"], o["description"]) for o in answer["options"]] == [("0", "same"), ("1", "same"), ("2", None)]


def test_every_definition_of_confidence_is_named() -> None:
    answer = only({"c": {"type": "choice", "criteria": {"a": None, "b": None, "c": None}}}, of(0.61, 0.2, 0.19))
    assert [(c["name"], c["text"]) for c in answer["confidences"]] == [
        ("max_probability", "0.610"),
        ("rescaled_peak", "0.415"),
        ("entropy", "0.145"),
    ]


def test_the_only_option_is_called_so() -> None:
    answer = only({"c": {"type": "choice", "criteria": {"a": None}}}, [0.0])
    assert answer["remarks"] == ["There is one option only, so its probability is 1 whatever the state says."]


def test_a_question_without_instructions_is_read_by_its_id() -> None:
    answer = only({"is_spam": {"type": "noul"}}, [1.0, 0.0])
    assert (answer["instruction"], answer["instructionIsId"]) == ("is_spam", True)


def test_a_cut_state_is_said_with_both_numbers() -> None:
    cut = view({"n": NOUL}, {}, state="abcdefghij", limits=Limits(max_state_tokens=4))["cut"]
    assert cut == {"kept": 4, "lost": 6, "state": 10}


def test_a_state_read_in_full_has_no_cut() -> None:
    assert view({"n": NOUL}, {})["cut"] is None


@pytest.mark.parametrize(("state", "exact"), [("plain English", True), ("déjà vu", False)])
def test_counts_of_plain_english_are_exact_with_a_rebuilt_tokenizer_as_in_the_plan(state: str, exact: bool) -> None:
    rebuilt = ScriptedDecider(status=replace(STATUS, tokenizer_is_exact=False))
    [decision] = rebuilt.decide([parse_record({"state": state, "questions": {"n": NOUL}})], Limits())
    assert answers_view(decision, None)["meta"]["exact"] is exact


def test_the_demonstration_model_is_called_so_and_times_have_units() -> None:
    shown = view({"n": NOUL}, {})
    assert shown["model"]["demonstration"] is True
    assert (shown["meta"]["forward"], shown["meta"]["encode"], shown["meta"]["total"]) == ("41 ms", "1.2 ms", "43 ms")


def test_the_response_is_the_releases_own_as_text() -> None:
    response = json.loads(view({"n": NOUL}, {"n": [2.0, -1.0]})["response"])
    assert response["answers"] == {"n": {"type": "noul", "noul": 0.9526}}


def test_the_view_survives_json_with_every_digit() -> None:
    shown = view({"n": NOUL}, {"n": [0.3, -0.1]})
    assert json.loads(json.dumps(shown)) == shown


def test_a_long_description_is_shortened_with_its_length() -> None:
    answer = only({"c": {"type": "choice", "criteria": {"a": "y" * 1000, "b": None}}}, [1.0, 0.0])
    assert answer["options"][0]["description"] == "y" * 400 + "… (1,000 characters)"
