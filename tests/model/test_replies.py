from typing import Any

import pytest

from clef_model.errors import BrokenAnswer
from clef_model.parsing import parse_record
from clef_model.replies import parse_reply

RECORD = parse_record(
    {
        "state": "x",
        "questions": {
            "c": {"type": "choice", "criteria": {"b": None, "a": None, "c": None}},
            "s": {"type": "score", "criteria": ["low", "mid", "high"]},
            "n": {"type": "noul"},
        },
    }
)
GOOD: dict[str, Any] = {
    "c": {"type": "choice", "choice": "b", "confidence": 0.31, "probabilities": {"a": 0.2, "b": 0.7, "c": 0.1}},
    "s": {"type": "score", "score": 1.4, "confidence": 0.5, "probabilities": {"0": 0.1, "1": 0.4, "2": 0.5}},
    "n": {"type": "noul", "noul": 0.9526},
}


def body(**changes: Any) -> dict[str, Any]:
    return {"model": "clef", "answers": {**GOOD, **changes}, "usage": {"input_tokens": 12, "output_tokens": 0}}


def refusal(reply: Any) -> str:
    with pytest.raises(BrokenAnswer) as raised:
        parse_reply(RECORD, reply)
    return str(raised.value)


def test_a_reply_becomes_answers_in_the_models_order() -> None:
    reply = parse_reply(RECORD, body())
    assert [answer.question.id for answer in reply.answers] == ["c", "s", "n"]
    assert reply.answers[0].probabilities == (0.2, 0.7, 0.1)
    assert reply.answers[2].probabilities == (0.9526, 1 - 0.9526)
    assert (reply.model, reply.input_tokens, reply.notices) == ("clef", 12, ())
    assert reply.said["c"]["confidence"] == 0.31


def test_an_envelope_is_opened() -> None:
    enveloped = {"result": body(), "success": True, "errors": [], "messages": []}
    assert parse_reply(RECORD, enveloped) == parse_reply(RECORD, body())


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (
            {"success": False, "errors": [{"code": 5012, "message": "Clef inference failed"}], "result": None},
            "the server reports an error: 5012 Clef inference failed",
        ),
        ({"success": True, "result": None}, "the server reports an error: it gives no reason and no answers"),
        ({"error": {"message": "too long"}}, "the server reports an error: too long"),
        ({"error": "too long"}, "the server reports an error: too long"),
        ([], "the server's reply: expected an object with answers, got an empty list."),
        ({}, "answers: expected an object by question id, got null."),
    ],
)
def test_what_is_no_reply_says_what_it_is(reply: Any, message: str) -> None:
    assert refusal(reply) == message


def choice_of(choice: Any, **probabilities: Any) -> dict[str, Any]:
    return {"type": "choice", "choice": choice, "probabilities": probabilities}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"c": choice_of("b", a=0.9, b=0.05, c=0.05)},
            "answers.c.choice: the choice is not the most probable option: 'b' with 0.05; 'a' has 0.9.",
        ),
        (
            {"c": choice_of("b", a=0.3, b=0.7)},
            "answers.c.probabilities.c: expected a probability from 0 to 1, got null.",
        ),
        (
            {"c": choice_of("b", a=0.2, b=0.7, c=0.1, d=0)},
            "answers.c.probabilities.d: found an option that was not asked.",
        ),
        (
            {"c": choice_of("b", a=-0.1, b=1.2, c=True)},
            "answers.c.probabilities.b: expected a probability from 0 to 1, got the number 1.2.\n"
            "answers.c.probabilities.c: expected a probability from 0 to 1, got true.",
        ),
        (
            {"c": choice_of("b", a=0, b=0, c=0)},
            "answers.c.probabilities: the probabilities sum to 0.0000, and not to 1.",
        ),
        (
            {"c": choice_of("x", a=0.2, b=0.7, c=0.1)},
            "answers.c.choice: expected one of the options, got the string 'x'.",
        ),
        ({"c": None}, "answers.c: expected an answer, got null."),
        ({"extra": {}}, "answers.extra: found an answer to a question that was not asked."),
        (
            {"s": {"type": "score", "score": 10**400, "probabilities": {"0": 0.1, "1": 0.4, "2": 0.5}}},
            "answers.s.score: expected the mean level 1.4 of the probabilities, got a very large number.",
        ),
        ({"n": {"type": "choice", "noul": 0.5}}, "answers.n.type: expected 'noul', got the string 'choice'."),
    ],
)
def test_a_reply_that_contradicts_itself_or_the_record_never_becomes_a_result(
    changes: dict[str, Any], message: str
) -> None:
    assert message in refusal(body(**changes))


def test_a_question_without_an_answer_is_named() -> None:
    reply = body()
    del reply["answers"]["n"]
    assert refusal(reply) == "answers.n: expected an answer, got nothing."


def test_a_tie_in_the_rounded_numbers_is_no_contradiction() -> None:
    assert parse_reply(RECORD, body(c=choice_of("b", a=0.45, b=0.45, c=0.1))).answers


def test_another_name_for_noul_and_a_strange_token_count_are_notices() -> None:
    reply = {**body(n={"type": "boolean", "noul": 0.5}), "usage": {"input_tokens": 12.5}}
    parsed = parse_reply(RECORD, reply)
    assert parsed.input_tokens is None
    assert [str(notice) for notice in parsed.notices] == [
        "answers.n.type: the server calls noul 'boolean'; read as noul.",
        "usage.input_tokens: expected a whole number of tokens, got the number 12.5; the count is unknown.",
    ]
    assert parse_reply(RECORD, {**body(), "usage": {"input_tokens": 12.0}}).input_tokens == 12
