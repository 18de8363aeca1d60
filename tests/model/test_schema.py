import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clef_model.errors import InvalidRecord
from clef_model.parsing import parse_record
from clef_model.schema import ImageInput, Option, Question, Record, choice, data_url, noul, score, to_request

PNG = ImageInput("images[0]", "image/png", b"\x89PNG\r\n\x1a\n")
YES, NO = "The proposition is true or the answer is yes.", "The proposition is false or the answer is no."


def question(source: Any, question_id: str = "q") -> Question:
    (parsed,) = parse_record({"state": None, "questions": {question_id: source}}).questions
    return parsed


def roundtrip(record: Record) -> Record:
    return parse_record(json.dumps(to_request(record), ensure_ascii=False))


def test_options_of_a_choice_are_sorted_by_id_and_remember_the_requests_order() -> None:
    built = choice("team", {"b": None, "a": {"x": 1}, "10": "t", "é": 0}, "Who?")
    assert built.options == (Option("10", "t"), Option("a", {"x": 1}), Option("b", None), Option("é", 0))
    assert built.request_order == (2, 1, 0, 3)
    assert built.source == {
        "type": "choice",
        "instructions": "Who?",
        "criteria": {"b": None, "a": {"x": 1}, "10": "t", "é": 0},
    }


def test_levels_of_a_score_keep_their_order_and_json_types() -> None:
    built = score("level", ["low", None, 1.0, {"a": []}])
    assert built.options == (Option("0", "low"), Option("1", None), Option("2", 1.0), Option("3", {"a": []}))


@pytest.mark.parametrize(
    ("criteria", "true", "false"),
    [
        (None, YES, NO),
        ({}, YES, NO),
        ({"true": None}, None, NO),
        ({"false": None}, YES, None),
        ({"false": "no", "true": {"a": 1}}, {"a": 1}, "no"),
        ({"true": ""}, "", NO),
    ],
)
def test_a_noul_question_has_true_first_and_null_removes_a_default(criteria: Any, true: Any, false: Any) -> None:
    assert noul("n", criteria).options == (Option("true", true), Option("false", false))


@pytest.mark.parametrize("criteria", [[], "", 0, False, None])
def test_criteria_of_a_noul_question_that_are_falsy_are_none(criteria: Any) -> None:
    parsed = question({"type": "noul", "criteria": criteria})
    assert parsed.options == noul("q").options
    assert parsed.source["criteria"] == criteria


def test_a_builder_gives_what_the_parser_gives() -> None:
    assert choice("c", {"b": 1, "a": None}, "Which?") == question(
        {"type": "choice", "instructions": "Which?", "criteria": {"b": 1, "a": None}}, "c"
    )
    assert score("s", ("low", "high")) == question({"type": "score", "criteria": ["low", "high"]}, "s")
    assert noul("n") == question({"type": "noul"}, "n")


def test_a_builder_refuses_with_the_parsers_sentences() -> None:
    with pytest.raises(InvalidRecord) as raised:
        score("level", {"0": "calm"})  # type: ignore[arg-type]
    with pytest.raises(InvalidRecord) as parsed:
        question({"type": "score", "criteria": {"0": "calm"}}, "level")
    assert raised.value.problems == parsed.value.problems


def test_ids_that_are_not_text_become_text_as_the_release_writes_them() -> None:
    record = parse_record({"state": 1, "questions": {3: {"type": "choice", "criteria": {2: "b", 10: "a", None: "c"}}}})
    assert record.questions[0].id == "3"
    assert [option.id for option in record.questions[0].options] == ["10", "2", "None"]


def test_a_record_does_not_change_with_the_request_it_was_made_of() -> None:
    request: dict[str, Any] = {"state": {"a": [1]}, "questions": {"c": {"type": "choice", "criteria": {"x": ["d"]}}}}
    record = parse_record(request)
    request["state"]["a"].append(2)
    request["questions"]["c"]["criteria"]["x"].append("e")
    assert record.state == {"a": [1]}
    assert record.questions[0].options[0].description == ["d"]


def test_instructions_are_kept_as_they_came() -> None:
    for instructions in (None, "", " ", 0, False, [], {"q": "How?"}):
        assert question({"type": "noul", "instructions": instructions}).instructions == instructions


def test_a_request_comes_back_with_its_order_nulls_and_number_types() -> None:
    text = (
        '{"model":"clef-flash","state":"{\\"a\\": 1}","questions":{"10":{"type":"score","criteria":[1.0,"1.0",1]},'
        '"9":{"type":"noul","criteria":{"true":null}},"8":{"type":"noul","instructions":null},"7":{"type":"noul"}}}'
    )
    assert json.dumps(to_request(parse_record(text)), separators=(",", ":")) == text


def test_media_come_back_with_their_bytes_and_settings() -> None:
    request = {
        "state": "look",
        "questions": {"q": {"type": "noul"}},
        "images": [data_url(PNG)],
        "videos": [
            {"frames": [data_url(PNG)] * 2, "fps": 2.5},
            {"content_type": "video/mp4", "base64": "AAAA", "num_frames": 4},
        ],
        "id": "ticket-17",
        "model": "clef",
    }
    record = parse_record(request)
    assert to_request(record) == {**request, "videos": to_request(record)["videos"]}
    assert roundtrip(record) == record


def test_a_request_made_of_a_record_cannot_change_the_record() -> None:
    record = parse_record({"state": {"a": 1}, "questions": {"c": {"type": "choice", "criteria": {"x": {}, "y": None}}}})
    request = to_request(record)
    request["state"]["a"] = 2
    request["questions"]["c"]["criteria"]["x"]["b"] = 1
    assert record == parse_record(to_request(record))
    assert record.state == {"a": 1}


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
IDS = TEXT.filter(bool)
QUESTIONS = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("noul")},
        optional={"instructions": VALUES, "criteria": st.dictionaries(st.sampled_from(["true", "false", "x"]), VALUES)},
    ),
    st.fixed_dictionaries(
        {"type": st.just("choice"), "criteria": st.dictionaries(IDS, VALUES, min_size=1, max_size=4)},
        optional={"instructions": VALUES},
    ),
    st.fixed_dictionaries(
        {"type": st.just("score"), "criteria": st.lists(VALUES, min_size=1, max_size=4)},
        optional={"instructions": VALUES},
    ),
)
REQUESTS = st.fixed_dictionaries(
    {"state": VALUES, "questions": st.dictionaries(IDS, QUESTIONS, min_size=1, max_size=3)},
    optional={"model": TEXT, "id": IDS},
)


@settings(max_examples=60)
@given(REQUESTS)
def test_a_valid_request_is_accepted_and_comes_back_equal(request_: dict[str, Any]) -> None:
    record = parse_record(request_)
    again = to_request(record)
    assert json.dumps(again["questions"]) == json.dumps(request_["questions"])
    assert repr(again["state"]) == repr(request_["state"])
    assert roundtrip(record) == record
    for parsed in record.questions:
        names = [parsed.options[place].id for place in parsed.request_order]
        if parsed.kind == "choice":
            assert names == list(request_["questions"][parsed.id]["criteria"])
            assert [option.id for option in parsed.options] == sorted(names)
