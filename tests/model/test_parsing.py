import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clef_model.errors import InvalidRecord
from clef_model.json_text import parse_json
from clef_model.parsing import parse_questions, parse_record, systemone_fault
from clef_model.schema import ImageInput, data_url, to_request

NOUL = {"q": {"type": "noul"}}


def problems(request: Any) -> list[str]:
    with pytest.raises(InvalidRecord) as raised:
        parse_record(request)
    return [str(problem) for problem in raised.value.problems]


def asked(source: Any, question_id: str = "q") -> dict[str, Any]:
    return {"state": "x", "questions": {question_id: source}}


def test_all_problems_of_a_request_are_named_at_once_with_path_line_and_column() -> None:
    text = """{"model": 5, "stat": "x", "x_nonce": 7, "state": NaN,
 "questions": {
  "": {"type": "noul"},
  "a.b": {"type": "Choice", "instruction": "?"},
  "c": {"type": "choice", "criteria": ["red", "green"]},
  "s": {"type": "score", "criteria": {"0": "calm", "1": "angry"}},
  "n": {"type": "noul", "criteria": 7},
  "o": {"type": "choice", "criteria": {"": 1}},
  "t": {"instructions": "?"},
  "u": "is it red?"},
 "media_kwargs": {}, "id": null, "images": "x.png"}"""
    assert problems(text) == [
        "model (line 1, column 11): expected the name of a model, a string, got the number 5.",
        "stat (line 1, column 22): found the unknown key 'stat'; known are model, state, questions, images, videos, "
        "id. Did you mean 'state'?",
        "x_nonce (line 1, column 38): found the unknown key 'x_nonce'; known are model, state, questions, images, "
        "videos, id. Remove it.",
        "state (line 1, column 50): found NaN, which is non-finite; JSON has no NaN or Infinity. "
        "Write null, a number or a string.",
        'questions[""] (line 3, column 7): found an empty question id; the model reads it as the question\'s name. '
        "Name the question.",
        'questions["a.b"].type (line 4, column 19): expected "noul", "choice" or "score", got the string \'Choice\'. '
        'Write "noul" for yes or no, "choice" for one of several, "score" for a level.',
        "questions[\"a.b\"].instruction (line 4, column 44): found the unknown key 'instruction'; "
        "known are type, instructions, criteria. Did you mean 'instructions'?",
        "questions.c.criteria (line 5, column 39): expected an object of options with their descriptions, "
        'got a list of 2. Write {"red": null, "green": null}.',
        "questions.s.criteria (line 6, column 38): expected a list of level descriptions, lowest first, "
        'got an object of 2 keys. Write ["calm", "angry"].',
        "questions.n.criteria (line 7, column 37): expected an object with 'true' and 'false', got the number 7. "
        'Write {"true": …, "false": …} or leave it out.',
        'questions.o.criteria[""] (line 8, column 44): found an empty option id; the answer is given by it. '
        "Name the option.",
        'questions.t.type (line 9, column 8): expected "noul", "choice" or "score", got nothing. '
        'Write "noul" for yes or no, "choice" for one of several, "score" for a level.',
        "questions.u (line 10, column 8): expected an object with type, instructions and criteria, "
        'got the string \'is it red?\'. Write {"type": "noul", "instructions": "…"}.',
        "media_kwargs (line 11, column 18): found 'media_kwargs', which would hand the image processor any setting. "
        "Remove it; give a video's own 'fps' and 'num_frames' in videos[i].",
        "id (line 11, column 28): expected a string that names the record, got null. Name it or leave it out.",
        "images (line 11, column 44): expected a list of data URLs, got the string 'x.png'. Put it in a list.",
    ]


def test_a_request_without_its_parts_says_which() -> None:
    assert problems("{}") == [
        "state (line 1, column 1): the state is missing. Add what the questions are about; null is a state too.",
        "questions (line 1, column 1): expected an object of at least one question by its id, got nothing. "
        'Write {"an_id": {"type": "noul", "instructions": "…"}}.',
    ]


@pytest.mark.parametrize("questions", [{}, [], None, "q", [{"type": "noul"}]])
def test_questions_are_an_object_with_at_least_one(questions: Any) -> None:
    (message,) = problems({"state": 1, "questions": questions})
    assert message.startswith("questions: expected an object of at least one question by its id, got ")


@pytest.mark.parametrize("request_", [None, [], "5", b"null", 7, "[]"])
def test_a_request_is_an_object(request_: Any) -> None:
    (message,) = problems(request_)
    assert "expected an object with state and questions, got " in message


@pytest.mark.parametrize("kind", ["choice", "score"])
@pytest.mark.parametrize("criteria", [{}, [], None, "", 0, False])
def test_criteria_of_a_choice_or_score_must_not_be_empty(kind: str, criteria: Any) -> None:
    (message,) = problems(asked({"type": kind, "criteria": criteria}))
    assert message.startswith("questions.q.criteria: criteria must not be empty: expected ")


@pytest.mark.parametrize(
    ("key", "meant"),
    [("options", "criteria"), ("levels", "criteria"), ("question", "instructions"), ("kind", "type"), ("Type", "type")],
)
def test_a_misspelled_key_is_refused_with_the_key_that_was_meant(key: str, meant: str) -> None:
    assert problems(asked({"type": "noul", key: "x"})) == [
        f"questions.q.{key}: found the unknown key {key!r}; known are type, instructions, criteria. "
        f"Did you mean '{meant}'?"
    ]


@pytest.mark.parametrize("key", ["max_length", "max_state_tokens", "truncate"])
def test_a_setting_of_the_call_is_refused_unless_the_caller_reads_it(key: str) -> None:
    request = {"state": 1, "questions": NOUL, key: 100}
    assert problems(request) == [
        f"{key}: found {key!r}, a setting of the call and not of the record. Pass it beside the request."
    ]
    assert parse_record(request, settings=(key,)).state == 1


def test_python_ids_that_collide_as_text_are_refused_before_they_are_sorted() -> None:
    assert problems(asked({"type": "choice", "criteria": {1: {"x": 1}, "1": {"y": 2}}})) == [
        "questions.q.criteria[\"1\"]: the keys 1 and '1' collide: both are written '1'. Rename one."
    ]


def test_more_problems_than_anyone_reads_end_the_search() -> None:
    found = problems(json.dumps({"state": 1, "questions": {f"q{number}": 1 for number in range(1_000)}}))
    assert len(found) == 101
    assert found[-1] == "request: these are the first 100 problems; there may be more. Mend these first."


def test_a_message_shows_only_what_can_be_shown() -> None:
    for name in ("\ud800", "\u202e", "a\nb"):
        (message, *_) = problems(asked({"type": "choice", "criteria": [name]}))
        assert message.isprintable()


def test_a_value_that_could_not_be_read_is_reported_once() -> None:
    assert len(problems('{"state": 1, "questions": {"q": {"type": NaN}}}')) == 1


def test_a_parsed_text_can_be_given_instead_of_the_text() -> None:
    located = parse_json('{"state": 1,\n "questions": {"q": {"type": "noul", "criteria": 3}}}')
    assert problems(located)[0].startswith("questions.q.criteria (line 2, column 50): ")


def test_a_bare_map_of_questions_is_parsed_with_places_in_its_own_text() -> None:
    questions, found = parse_questions('{"a": {"type": "noul"},\n "b": {"type": "choice", "criteria": {"x": null}}}')
    assert [question.id for question in questions] == ["a", "b"]
    assert [(notice.code, notice.where) for notice in found] == [("single_option", "questions.b.criteria")]
    with pytest.raises(InvalidRecord) as raised:
        parse_questions('{"a": {"type": "noul"},\n "a": {"type": NaN, "criteria": 1}}')
    assert [str(problem).partition(": ")[0] for problem in raised.value.problems] == [
        "questions.a (line 2, column 2)",
        "questions.a.type (line 2, column 16)",
    ]
    with pytest.raises(InvalidRecord, match="questions: expected an object of at least one question by its id"):
        parse_questions({})


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"state": 1}, "model and state are required"),
        ({"model": 5, "state": 1, "questions": NOUL}, "model and state are required"),
        ({"model": "m", "questions": NOUL}, "model and state are required"),
        ({"model": "m", "state": None, "questions": {}}, "at least one question is required"),
        ({"model": "m", "state": None, "questions": [1]}, "at least one question is required"),
        ({"model": "m", "state": 1, "questions": {"a": {"type": "bool"}}}, "a: type must be noul, choice, or score"),
        (
            {"model": "m", "state": 1, "questions": {**NOUL, "b": {"type": "score", "criteria": []}}},
            "b: criteria must not be empty",
        ),
        ({"model": "m", "state": 1, "questions": NOUL}, None),
    ],
)
def test_the_releases_own_sentences_are_known(request_: dict[str, Any], message: str | None) -> None:
    assert systemone_fault(request_) == message


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
PNG = ImageInput("images[0]", "image/png", b"\x89PNG\r\n\x1a\n")
SCRAPS = ["state", "questions", "type", "criteria", "noul", "choice", "score", "", "true", "images", "videos", "frames"]
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary(max_size=3)
    | st.sampled_from([*SCRAPS, data_url(PNG), PNG, object()]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(SCRAPS) | st.text(max_size=3) | st.integers() | st.booleans(), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@settings(max_examples=60)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "state": ANYTHING,
            "questions": st.dictionaries(TEXT, st.dictionaries(st.sampled_from(SCRAPS), ANYTHING)) | ANYTHING,
            "images": st.lists(ANYTHING, max_size=2) | ANYTHING,
            "videos": st.lists(ANYTHING, max_size=2) | ANYTHING,
            "model": ANYTHING,
            "id": ANYTHING,
            "other": ANYTHING,
        },
    )
    | ANYTHING
)
def test_whatever_is_sent_is_a_record_or_refused_with_problems(request_: Any) -> None:
    try:
        record = parse_record(request_)
    except InvalidRecord as refused:
        found = refused.problems
    else:
        again = to_request(record)
        assert parse_record(json.dumps(again)) == parse_record(again)
        return
    assert found
    assert all(str(problem).encode() for problem in found)  # can be shown
