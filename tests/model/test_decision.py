import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clef_model.decision import (
    Answer,
    Decision,
    Limits,
    ModelStatus,
    Timing,
    answer,
    confidences,
    distance,
    expected_level,
    margin,
    normalised_entropy,
    parse_limits,
    predictions,
    requested,
    rescaled_peak,
    systemone_answer,
    tied,
    to_response,
    top,
)
from clef_model.encoding import EncodedRecord
from clef_model.errors import BrokenAnswer, InvalidRecord
from clef_model.ledger import TokenBudget
from clef_model.parsing import parse_record
from clef_model.schema import Question, choice, noul, score

FLOAT32 = 1e-6  # probabilities are rounded to 24 bits, and up to 300 of them are added


def of_options(*names: str) -> Question:
    return choice("c", dict.fromkeys(names))


def distributed(question: Question, *probabilities: float) -> Answer:
    return Answer(question, tuple(math.log(p) if p else -math.inf for p in probabilities), probabilities)


def decided(request: dict[str, Any], *logits: list[float]) -> Decision:
    record = parse_record(request)
    status = ModelStatus("clef-nano", "1", "cpu", "float32", True, False, "abc", True)
    return Decision(
        encoded=EncodedRecord((1, 2, 3), (), record.id, record, (), TokenBudget(16_384, 1, 0, 1, 1, 0)),
        answers=tuple(answer(question, row) for question, row in zip(record.questions, logits, strict=True)),
        timing=Timing(1.0, 2.0, 3.0),
        model=status,
    )


def test_probabilities_are_the_softmax_of_the_logits_in_the_models_order() -> None:
    given_answer = answer(of_options("b", "a"), [0.0, math.log(3)])
    assert given_answer.probabilities == pytest.approx((0.25, 0.75), abs=FLOAT32)
    assert requested(given_answer) == pytest.approx({"b": 0.75, "a": 0.25}, abs=FLOAT32)
    assert list(requested(given_answer)) == ["b", "a"]


def test_probabilities_that_the_device_computed_are_kept_as_they_are() -> None:
    assert answer(of_options("a", "b"), [0.0, 0.0], [0.4999999, 0.5000001]).probabilities == (0.4999999, 0.5000001)


@given(st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=300))
def test_probabilities_are_float32_and_sum_to_one(logits: list[float]) -> None:
    probabilities = answer(score("s", [None] * len(logits)), logits).probabilities
    assert math.fsum(probabilities) == pytest.approx(1, abs=FLOAT32)
    assert all(0 <= p <= 1 for p in probabilities)
    ranked = [p for _, p in sorted(zip(logits, probabilities, strict=True))]
    assert ranked == sorted(ranked)


def test_logits_beyond_every_exponential_give_finite_probabilities() -> None:
    assert answer(of_options("a", "b"), [3e38, -3e38]).probabilities == (1.0, 0.0)
    assert answer(of_options("a", "b"), [-math.inf, 0.0]).probabilities == (0.0, 1.0)


@pytest.mark.parametrize(
    ("logits", "found"),
    [
        ([0.0, math.nan], "nan for option 'b'"),
        ([math.inf, math.nan], "inf for option 'a' and 1 more"),
        ([-math.inf, -math.inf], "-inf for option 'a'"),
        ([1e300, 0.0], "1e+300 for option 'a'"),
    ],
)
def test_numbers_that_are_no_answer_name_question_and_option(logits: list[float], found: str) -> None:
    with pytest.raises(BrokenAnswer) as raised:
        answer(of_options("a", "b"), logits)
    assert str(raised.value) == (
        f"questions.c: the model returned {found}, which is no answer. Run it in float32, or load the release again."
    )


def test_of_equal_options_the_first_in_the_requests_order_wins() -> None:
    equal = answer(of_options("no", "go", "stop"), [1.5, 1.5, 0.0])
    assert [option.id for option in equal.question.options] == ["go", "no", "stop"]
    assert top(equal).id == "no"
    assert [option.id for option in tied(equal)] == ["no", "go"]


def test_a_close_call_is_no_tie() -> None:
    close = answer(of_options("a", "b"), [0.0, 1e-6])
    assert tied(close) == ()
    assert top(close).id == "b"
    assert 0 < margin(close) < 1e-6


def test_margin_is_the_lead_over_the_next_option() -> None:
    assert margin(distributed(of_options("a", "b", "c"), 0.2, 0.61, 0.19)) == pytest.approx(0.41)
    assert margin(distributed(of_options("a"), 1.0)) == 1.0


def test_normalised_entropy_goes_from_zero_to_one() -> None:
    names = ("a", "b", "c", "d")
    assert normalised_entropy(distributed(of_options(*names), 1.0, 0.0, 0.0, 0.0)) == 0.0
    assert normalised_entropy(distributed(of_options(*names), 0.25, 0.25, 0.25, 0.25)) == 1.0
    assert normalised_entropy(distributed(of_options("a"), 1.0)) == 0.0


def test_the_public_confidences_are_named_and_noul_has_none() -> None:
    picked = distributed(of_options("a", "b", "c"), 0.7, 0.2, 0.1)
    level = distributed(score("s", [1, 2, 3, 4]), 0.05, 0.15, 0.2, 0.6)
    assert {name: round(value, 4) for name, value in confidences(picked).items()} == {
        "max_probability": 0.7,
        "rescaled_peak": 0.55,
        "entropy": 0.2702,
    }
    assert {name: round(value, 4) for name, value in confidences(level).items()} == {
        "max_probability": 0.6,
        "distance": 0.35,
        "entropy": 0.2334,
    }
    assert confidences(distributed(noul("n"), 0.9, 0.1)) == {}


def test_a_single_option_is_certain_by_every_definition() -> None:
    assert confidences(distributed(of_options("a"), 1.0)) == {
        "max_probability": 1.0,
        "rescaled_peak": 1.0,
        "entropy": 1.0,
    }
    assert distance(distributed(score("s", ["only"]), 1.0)) == 1.0


def test_equal_options_have_no_confidence_above_chance() -> None:
    equal = distributed(score("s", [1, 2, 3, 4]), 0.25, 0.25, 0.25, 0.25)
    assert rescaled_peak(equal) == 0.0
    assert distance(equal) == 0.0


def test_the_expected_level_is_not_rounded() -> None:
    assert expected_level(distributed(score("s", ["a", "b", "c"]), 0.1, 0.2, 0.70001)) == 0.2 + 2 * 0.70001


def test_a_response_has_the_releases_shape_order_and_rounding() -> None:
    request = {
        "model": "clef-flash",
        "state": "x",
        "questions": {
            "level": {"type": "score", "criteria": ["low", None, {"a": 1.0}]},
            "team": {"type": "choice", "criteria": {"z": None, "a": "first"}},
            "ok": {"type": "noul", "instructions": "Is it?"},
        },
    }
    decision = decided(request, [0.0, 1.0, 2.0], [1.0, 1.0], [2.0, -1.0])
    response = to_response(decision)
    assert response == {
        "model": "clef-flash",
        "answers": {
            "level": {
                "type": "score",
                "score": 1.5752,
                "confidence": 0.6652,
                "legend": {"0": "low", "1": None, "2": {"a": 1.0}},
                "probabilities": {"0": 0.09, "1": 0.2447, "2": 0.6652},
            },
            "team": {"type": "choice", "choice": "z", "confidence": 0.5, "probabilities": {"z": 0.5, "a": 0.5}},
            "ok": {"type": "noul", "noul": 0.9526},
        },
        "usage": {"input_tokens": 3, "output_tokens": 0},
    }
    assert list(response["answers"]) == ["level", "team", "ok"]
    assert list(response["answers"]["team"]["probabilities"]) == ["z", "a"]
    assert list(predictions(decision)["team"]) == ["z", "a"]
    assert predictions(decision)["ok"]["false"] == decision.answers[2].probabilities[1]


def test_a_response_names_the_model_that_answered_when_the_request_names_none() -> None:
    decision = decided({"state": 1, "questions": {"q": {"type": "noul"}}}, [0.0, 0.0])
    assert to_response(decision)["model"] == "clef-nano"


def test_option_ids_that_are_not_text_are_answered_as_text() -> None:
    assert systemone_answer({"type": "choice", "criteria": {2: None, 1: None}}, {"1": 0.25, "2": 0.75}) == {
        "type": "choice",
        "choice": "2",
        "confidence": 0.75,
        "probabilities": {"2": 0.75, "1": 0.25},
    }


def test_limits_of_a_call_are_parsed_with_all_problems_at_once() -> None:
    assert parse_limits({}) == Limits()
    assert parse_limits({"max_length": 512, "max_state_tokens": 0, "truncate": False}) == Limits(512, 0, False)
    assert parse_limits({"max_state_tokens": None}) == Limits()
    with pytest.raises(InvalidRecord) as raised:
        parse_limits({"max_length": -1, "max_state_tokens": True, "truncate": "no", "max_len": 1})
    assert [str(problem) for problem in raised.value.problems] == [
        "max_len: found the unknown key 'max_len'; known are max_length, max_state_tokens, truncate. "
        "Did you mean 'max_length'?",
        "max_length: expected a whole number of tokens from 1, got the number -1.",
        "max_state_tokens: expected a whole number of tokens from 0, got true.",
        "truncate: expected true or false, got the string 'no'.",
    ]
