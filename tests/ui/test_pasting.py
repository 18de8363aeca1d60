"""Pasted requests, question maps and curl commands fill a draft, exactly."""

import json

import pytest

from clef_model.errors import ClefError
from clef_model.parsing import parse_record
from clef_ui.draft_types import Draft, MediaDraft, Text
from clef_ui.drafts import from_request_text, request_text
from clef_ui.pasting import Filled

# one pixel
PNG = "data:image/png;base64," + (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
ROUND_TRIP = (
    '{"model":"clef-flash","state":"{\\"a\\": 1}","questions":{"10":{"type":"score","criteria":[1.0,"1.0",1]},'
    '"9":{"type":"noul","criteria":{"true":null}}}}'
)
TYPED = Draft(state_text="mine", media=(MediaDraft("0", "image", "old.png"),))


def filled(text: str, draft: Draft = TYPED) -> Filled:
    found = from_request_text(text, draft)
    assert found is not None
    return found


def test_a_request_fills_everything_and_comes_out_the_same() -> None:
    found = filled(ROUND_TRIP)
    assert (found.draft.state_mode, found.draft.state_text, found.draft.media) == ("text", '{"a": 1}', ())
    assert [question.id for question in found.draft.questions] == ["10", "9"]
    assert found.sentence == "Filled in from a request: the state as text, 2 questions."
    assert parse_record(request_text(found.draft, "clef-flash")) == parse_record(ROUND_TRIP)


def test_a_json_state_keeps_its_digits_and_order() -> None:
    found = filled('{"state": {"b": 1.0, "a": 12345678901234567890123}, "questions": {"q": {"type": "noul"}}}')
    assert found.draft.state_mode == "json"
    assert found.draft.state_text == '{\n  "b": 1.0,\n  "a": 12345678901234567890123\n}'


def test_a_text_with_carriage_returns_stays_a_literal() -> None:
    draft = filled(r'{"state": "a\r\nb", "questions": {"q": {"type": "noul"}}}').draft
    assert (draft.state_mode, draft.state_text) == ("json", r'"a\r\nb"')


def test_a_question_map_keeps_the_state_and_the_pictures() -> None:
    found = filled('{"up": {"type": "noul", "instructions": "Up?"}}')
    assert (found.draft.state_text, found.draft.media) == (TYPED.state_text, TYPED.media)
    assert found.draft.questions[0].instructions == Text("Up?")
    assert found.sentence == "Filled in from a question map: 1 question. The state was kept."


def test_what_is_not_read_is_named() -> None:
    text = '{"questions": {"q": {"type": "noul"}}, "seed": 1, "images": ["http://x/y.png"]}'
    assert filled(text).sentence.startswith(
        "Filled in from a request: 1 question. It has no state, so the state was kept. "
        "Left out: 'seed'. Left out: images[0]: "
    )


def test_pictures_of_a_request_are_handed_on() -> None:
    found = filled(json.dumps({"state": "x", "questions": {"q": {"type": "noul"}}, "images": [PNG]}))
    assert [image.mime for image in found.images] == ["image/png"]
    assert found.sentence == "Filled in from a request: the state as text, 1 question, 1 image."


def test_questions_with_problems_are_kept_as_json() -> None:
    found = filled('{"state": "x", "questions": {"q": {"type": "choice", "criteria": ["a"]}}}')
    assert found.draft.questions_mode == "json"
    assert json.loads(found.draft.questions_text) == {"q": {"type": "choice", "criteria": ["a"]}}
    assert found.sentence == "Filled in from a request: the state as text, questions as JSON, which have problems."


@pytest.mark.parametrize("flag", ["-d", "--data", "--data-raw", "--data-binary", "--json"])
@pytest.mark.parametrize("joined", [" ", "="])
def test_a_curl_command_is_read(flag: str, joined: str) -> None:
    body = ROUND_TRIP.replace("'", "'\\''")
    command = (
        f"$ curl -X POST http://127.0.0.1:8000/v1/systemone \\\n -H 'content-type: text/json' {flag}{joined}'{body}'"
    )
    assert filled(command).draft == filled(ROUND_TRIP).draft


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            "curl http://x",
            "The curl command sends no body. "
            "One of -d, --data, --data-raw, --data-binary, --data-ascii, --json is expected.",
        ),
        (
            "curl http://x -d @body.json",
            "The curl command sends the file 'body.json', which the page cannot open. Paste its text.",
        ),
        ("curl http://x -d '{", "The curl command cannot be read: No closing quotation. Paste it as a shell takes it."),
        (
            "curl http://x -d '{\"a\": 1}'",
            "The body of the curl command is no System One request: it has no questions.",
        ),
    ],
)
def test_a_curl_command_without_a_request_says_why(command: str, message: str) -> None:
    with pytest.raises(ClefError) as caught:
        from_request_text(command, TYPED)
    assert str(caught.value) == message


def test_a_request_that_is_no_json_says_where() -> None:
    with pytest.raises(ClefError, match=r"^The text looks like a request, but it is no JSON: .*\(line 1, column 17\)"):
        from_request_text('{"questions": {},\n}', TYPED)


@pytest.mark.parametrize(
    "text", ["", "hello", "{}", "[1]", '{"a": 1}', '{"a": {"type": "x"}}', "curling is a sport", "null"]
)
def test_other_text_is_no_request(text: str) -> None:
    assert from_request_text(text, TYPED) is None
