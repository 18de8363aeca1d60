"""The answer cases: rounding, ties, levels, meanings of confidence, broken numbers and other servers' replies."""

import math
from typing import Any

import pytest

from cases import read_cases
from clef_model.decision import (
    Answer,
    answer,
    confidences,
    distance,
    margin,
    normalised_entropy,
    requested,
    rescaled_peak,
    systemone_answer,
    tied,
)
from clef_model.errors import BrokenAnswer
from clef_model.parsing import parse_record
from clef_model.replies import parse_reply
from clef_model.schema import Question, choice, score

CASES = {case["id"]: case for case in read_cases("answers")}
ANSWERED = [case for case in CASES.values() if "answer" in case["expected"]]

RECORD = parse_record(
    {"state": "x", "questions": {"c": {"type": "choice", "criteria": {"c": None, "a": None, "b": None}}}}
)
VALID = {"type": "choice", "choice": "a", "confidence": 0.9, "probabilities": {"a": 0.9, "b": 0.05, "c": 0.05}}


def distributed(question: Question, probabilities: list[float]) -> Answer:
    return Answer(question, tuple(probabilities), tuple(probabilities))


def replied(answers: dict[str, Any]) -> dict[str, Any]:
    return {"model": "clef", "answers": answers, "usage": {"input_tokens": 12}}


def refusal(body: Any) -> str:
    with pytest.raises(BrokenAnswer) as raised:
        parse_reply(RECORD, body)
    return str(raised.value)


@pytest.mark.parametrize("case", ANSWERED, ids=lambda case: case["id"])
def test_logits_give_the_written_answer(case: dict[str, Any]) -> None:
    expected = case["expected"]
    (question,) = parse_record(case["request"]).questions
    given = answer(question, expected["logits_in_model_order"])
    response = systemone_answer(question.source, requested(given))
    assert response == expected["answer"]
    if "model_order" in expected:
        assert [option.id for option in question.options] == expected["model_order"]
    if "sum_of_shown" in expected:
        assert round(sum(response["probabilities"].values()), 4) == expected["sum_of_shown"]
    if "display_order" in expected:
        assert list(response["probabilities"]) == list(response["legend"]) == expected["display_order"]
    if case["subclass"] == "tie":
        assert [option.id for option in tied(given)] == ["no", "go"]
    if case["subclass"] == "noul":
        assert "confidence" not in response
        assert confidences(given) == {}


def test_ans_07_four_numbers_called_confidence() -> None:
    expected = CASES["ANS-07"]["expected"]
    given = distributed(choice("c", dict.fromkeys("abc")), expected["p"])
    assert {name: round(value, 4) for name, value in confidences(given).items()} == {
        "max_probability": expected["reference"],
        "rescaled_peak": expected["rescaled_peak"],
        "entropy": expected["entropy"],
    }
    assert round(margin(given), 4) == expected["margin"]


def test_ans_08_confidence_of_a_score() -> None:
    expected = CASES["ANS-08"]["expected"]
    given = distributed(score("s", [0, 1, 2, 3, 4]), expected["p"])
    assert max(given.probabilities) == expected["reference"]
    assert round(distance(given), 4) == expected["distance_formula"]
    assert round(rescaled_peak(given), 4) == expected["rescaled_peak"]
    assert round(1 - normalised_entropy(given), 4) == expected["entropy"]


def test_ans_13_a_logit_that_is_no_number_is_an_error() -> None:
    question = choice("c", {"a": None, "b": None})
    logits = [float(logit) for logit in CASES["ANS-13"]["expected"]["logits"]]
    with pytest.raises(BrokenAnswer, match=r"questions\.c: the model returned nan for option 'a'"):
        answer(question, logits)
    with pytest.raises(BrokenAnswer, match="inf for option 'a'"):
        answer(question, [math.inf, 0.0])
    assert answer(question, [-math.inf, 0.0]).probabilities == (0.0, 1.0)


def test_ans_15_a_reply_that_contradicts_itself_is_flagged() -> None:
    contradictory = {**VALID, "choice": "b", "confidence": 0.99}
    assert CASES["ANS-15"]["expected"]["flag"] in refusal(replied({"c": contradictory}))
    others = [
        {"a": 0.9, "b": 0.1},
        {"a": 0.9, "b": 0.05, "c": 0.05, "d": 0.0},
        {"a": 1.2, "b": -0.1, "c": -0.1},
        {"a": 0.0, "b": 0.0, "c": 0.0},
    ]
    for probabilities in others:
        assert "answers.c.probabilities" in refusal(replied({"c": {**VALID, "probabilities": probabilities}}))
    assert "answers.c: expected an answer" in refusal(replied({}))
    assert "answers.d: found an answer" in refusal(replied({"c": VALID, "d": VALID}))


def test_ans_17_envelopes_are_opened_or_reported() -> None:
    plain = replied({"c": VALID})
    assert parse_reply(RECORD, {"result": plain, "success": True}) == parse_reply(RECORD, plain)
    failed = {"success": False, "errors": [{"code": 5012, "message": "inference failed"}], "result": None}
    assert refusal(failed) == "the server reports an error: 5012 inference failed"
    assert (
        refusal({"success": True, "result": None}) == "the server reports an error: it gives no reason and no answers"
    )


def test_ans_18_keys_are_matched_by_name_and_odd_spellings_are_said() -> None:
    reply = parse_reply(RECORD, {**replied({"c": VALID}), "usage": {"input_tokens": 12.0}})
    assert list(requested(reply.answers[0])) == ["c", "a", "b"]
    assert reply.input_tokens == 12
    noul = parse_record({"state": "x", "questions": {"n": {"type": "noul"}}})
    boolean = parse_reply(noul, replied({"n": {"type": "boolean", "noul": 0.75}}))
    assert boolean.answers[0].probabilities == (0.75, 0.25)
    assert [notice.code for notice in boolean.notices] == ["reply_type"]


def test_every_case_is_run() -> None:
    own = {"ANS-07", "ANS-08", "ANS-13", "ANS-15", "ANS-17", "ANS-18"}
    assert {case["id"] for case in ANSWERED} | own == set(CASES)
