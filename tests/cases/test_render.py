"""The render cases: numbers, key order, escapes, scalar states, line ends, duplicates and depth."""

import json
from typing import Any

import pytest

from cases import case_request, mentions, read_cases
from cases.prompts import prompt
from clef_model.errors import InvalidRecord
from clef_model.parsing import parse_record
from clef_model.rendering import render

CASES = {case["id"]: case for case in read_cases("render")}
ACCEPTED = [case for case in CASES.values() if case["expected"]["verdict"] == "accept"]
REFUSED = [case for case in CASES.values() if case["expected"]["verdict"] == "refuse" and "request_raw" in case]
DEEP = '{"model":"clef-flash","state":%s,"questions":{"ok":{"type":"noul"}}}'


def refusal(text: str | bytes) -> str:
    with pytest.raises(InvalidRecord) as raised:
        parse_record(text)
    return str(raised.value)


def check_mentions(case: dict[str, Any], message: str) -> None:
    for term in case["expected"]["message_should_mention"]:
        assert mentions(message, term), (term, message)


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case["id"])
def test_an_accepted_case_renders_as_written(case: dict[str, Any]) -> None:
    expected = case["expected"]
    record = parse_record(case_request(case))
    if "prompt" in expected:
        assert prompt(record) == expected["prompt"]
    if "state_piece" in expected:
        assert render(record.state) == expected["state_piece"]
    for other in [*expected.get("cases", []), *([expected["also"]] if "also" in expected else [])]:
        state = other["request"]["state"] if "request" in other else other["state"]
        typed = json.dumps({**case["request"], "state": state})
        assert render(parse_record(typed).state) == other["state_piece"]
        assert render(parse_record({**case["request"], "state": state}).state) == other["state_piece"]
    if "field_order" in expected:
        assert [question.id for question in record.questions] == expected["field_order"]
    if "body_with_bom" in expected:
        body = json.dumps(case["request"], ensure_ascii=False)
        assert parse_record(b"\xef\xbb\xbf" + body.encode()) == parse_record("\ufeff" + body) == record


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["id"])
def test_a_refused_case_says_what_and_where(case: dict[str, Any]) -> None:
    check_mentions(case, refusal(case["request_raw"]))


def test_rnd_21_very_deep_nesting_is_refused() -> None:
    check_mentions(CASES["RND-21"], refusal(DEEP % ("[" * 100_000 + "]" * 100_000)))


def test_rnd_22_a_huge_integer_and_a_deep_object_are_refused() -> None:
    digits, depth = refusal(DEEP % ("1" * 5_000)), refusal(DEEP % ('{"a":' * 3_000 + "1" + "}" * 3_000))
    check_mentions(CASES["RND-22"], digits + depth)
    assert mentions(digits, "digits")
    assert mentions(depth, "depth")


def test_every_case_is_run() -> None:
    assert {case["id"] for case in [*ACCEPTED, *REFUSED]} | {"RND-21", "RND-22"} == set(CASES)
