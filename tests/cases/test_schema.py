"""The schema cases: option order, criteria of each kind, counts, ids, types and unknown keys."""

from typing import Any

import pytest

from cases import mentions, read_cases
from cases.prompts import options_in_model_order, prompt
from clef_model.decision import answer, requested, systemone_answer
from clef_model.errors import InvalidRecord
from clef_model.parsing import parse_record
from clef_model.rendering import question_header
from clef_model.schema import Question

CASES = {case["id"]: case for case in read_cases("schema")}

# What the cases with a sentence under `input.make` mean by it: more criteria that must be refused alike.
MORE_CRITERIA: dict[str, list[Any]] = {
    "SCH-05": ["yes or no", 7],
    "SCH-09": [3, True],
    "SCH-12": [None],
}
REFUSED = [
    case
    for case in CASES.values()
    if case["expected"]["verdict"].startswith("refuse")
    and "message_should_mention" in case["expected"]
    and "request" in case
]
ACCEPTED = [case for case in CASES.values() if case["expected"]["verdict"] == "accept"]


def refusal(request: Any) -> str:
    with pytest.raises(InvalidRecord) as raised:
        parse_record(request)
    return str(raised.value)


def check_mentions(case: dict[str, Any], message: str) -> None:
    for term in case["expected"]["message_should_mention"]:
        assert mentions(message, term), (term, message)


def answered(question: Question, logits: list[float]) -> dict[str, Any]:
    return systemone_answer(question.source, requested(answer(question, logits)))


def with_question(question: Any) -> dict[str, Any]:
    return {"model": "clef-flash", "state": "x", "questions": {"q": question}}


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["id"])
def test_a_refused_case_says_what_and_where(case: dict[str, Any]) -> None:
    check_mentions(case, refusal(case["request"]))
    ((question_id, question),) = case["request"]["questions"].items()
    for criteria in MORE_CRITERIA.get(case["id"], []):
        request = {**case["request"], "questions": {question_id: {**question, "criteria": criteria}}}
        check_mentions(case, refusal(request))


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case["id"])
def test_an_accepted_case_gives_its_prompt_and_answer(case: dict[str, Any]) -> None:
    expected = case["expected"]
    record = parse_record(case["request"])
    question = record.questions[0]
    if "prompt" in expected:
        assert prompt(record) == expected["prompt"]
    if "model_order" in expected:
        assert [option.id for option in question.options] == expected["model_order"]
    if "answer" in expected:
        given = answered(question, expected.get("logits_in_model_order", [0.0] * len(question.options)))
        assert given == expected["answer"]
        assert list(given["probabilities"]) == expected.get("answer_key_order", list(given["probabilities"]))
    for other in expected.get("cases", []):
        (parsed,) = parse_record(with_question({"type": "noul", "criteria": other["criteria"]})).questions
        assert options_in_model_order(parsed) == other["options_in_model_order"]
    if "answer_keys" in expected:
        assert [parsed.id for parsed in record.questions] == expected["answer_keys"]


def test_sch_03_absent_criteria_are_the_defaults() -> None:
    (absent,) = parse_record(with_question({"type": "noul"})).questions
    (empty,) = parse_record(with_question({"type": "noul", "criteria": {}})).questions
    assert absent.options == empty.options


def test_sch_10_a_single_option_is_said_to_be_refused_elsewhere() -> None:
    (notice,) = parse_record(CASES["SCH-10"]["request"]).notices
    assert notice.code == "single_option"


def test_sch_11_one_level_and_eleven() -> None:
    expected = CASES["SCH-11"]["expected"]
    record = parse_record(CASES["SCH-11"]["request"])
    assert answered(record.questions[0], [0.3]) == expected["one"]
    assert [notice.code for notice in record.notices] == ["single_option"]
    eleven = parse_record(with_question({"type": "score", "criteria": [f"level {number}" for number in range(11)]}))
    assert list(answered(eleven.questions[0], [0.0] * 11)["legend"]) == [str(number) for number in range(11)]
    assert [notice.code for notice in eleven.notices] == ["hosted_limit"]


def test_sch_12_empty_levels_are_refused_and_noul_needs_none() -> None:
    for question in ({"type": "score", "criteria": []}, {"type": "score", "criteria": None}, {"type": "score"}):
        assert mentions(refusal(with_question(question)), "empty")
    assert mentions(refusal(with_question({"type": "choice"})), "empty")
    assert parse_record(with_question({"type": "noul"})).notices == ()


def test_sch_13_255_options_of_equal_logits() -> None:
    expected = CASES["SCH-13"]["expected"]
    (question,) = parse_record(CASES["SCH-13"]["request"]).questions
    uniform = expected["uniform_logits_answer"]
    given = answered(question, [0.0] * 255)
    assert len(question.options) == expected["options"]
    assert [question.options[0].id, question.options[-1].id] == expected["first_and_last_in_model_order"]
    assert given["choice"] == uniform["choice"]
    assert set(given["probabilities"].values()) == {uniform["each"]}
    assert round(sum(given["probabilities"].values()), 4) == uniform["sum_of_shown"]


def test_sch_14_256_options_and_65_questions_are_accepted_with_a_notice() -> None:
    options = parse_record(with_question({"type": "choice", "criteria": {f"k{i:03d}": None for i in range(256)}}))
    questions = parse_record({"state": "x", "questions": {f"q{i}": {"type": "noul"} for i in range(65)}})
    assert [notice.code for notice in options.notices] == ["hosted_limit"]
    assert [notice.code for notice in questions.notices] == ["hosted_limit"]


@pytest.mark.parametrize("kind", CASES["SCH-19"]["expected"]["values"], ids=repr)
def test_sch_19_a_type_that_is_none_of_the_three_is_refused(kind: Any) -> None:
    assert "questions.q.type: " in refusal(with_question({"type": kind}))


def test_sch_21_ids_that_collide_as_text_are_refused() -> None:
    message = refusal(with_question({"type": "choice", "criteria": {1: {"x": 1}, "1": {"y": 2}}}))
    check_mentions(CASES["SCH-21"], message)


def test_sch_23_renaming_a_question_changes_its_prompt() -> None:
    question = CASES["SCH-23"]["request"]["questions"]["a"]
    heads = []
    for name in ("a", "zz_unrelated"):
        (parsed,) = parse_record({"state": "x", "questions": {name: question}}).questions
        heads.append(question_header(0, parsed))
    assert heads == CASES["SCH-23"]["expected"]["field_heads"]


def test_sch_25_settings_of_the_processor_and_unknown_keys_are_refused_and_an_id_is_not() -> None:
    request = CASES["SCH-25"]["request"]
    message = refusal(request)
    assert "media_kwargs: " in message
    assert "x_nonce: " in message
    assert parse_record({key: request[key] for key in ("state", "questions", "id")}).id == "rec-1"


def test_every_case_is_run() -> None:
    own = {"SCH-14", "SCH-19", "SCH-21", "SCH-25"}  # and those whose own test adds to the general one
    assert {case["id"] for case in [*ACCEPTED, *REFUSED]} | own == set(CASES)
