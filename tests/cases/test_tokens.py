"""The token cases: pieces, control tokens, placeholders, forged schema, spellings and ids."""

import io
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from cases import case_request, mentions, read_cases
from clef_model import rendering
from clef_model.encoding import EncodedRecord, encode
from clef_model.errors import InvalidRecord
from clef_model.media import read_media_config
from clef_model.parsing import parse_record
from clef_model.schema import ImageInput
from clef_model.tokenizer import Tokenizer, read_tokenizer

NANO = Path(__file__).parents[2] / "models" / "clef-nano"
CASES = {case["id"]: case for case in read_cases("tokens")}


@cache
def tokenizer() -> Tokenizer:
    return read_tokenizer(NANO)


def planned(request: Any) -> EncodedRecord:
    return encode(parse_record(request), tokenizer(), media_config=read_media_config(NANO))


def red_image() -> ImageInput:
    file = io.BytesIO()
    Image.new("RGB", (64, 64), "red").save(file, "PNG")
    return ImageInput("red.png", "image/png", file.getvalue())


def shown(encoded: EncodedRecord) -> dict[str, Any]:
    """The prompt as the cases write it."""
    texts = {(s.kind, s.question, s.option): s.text for s in encoded.ledger}
    fields = []
    for place, question in enumerate(encoded.record.questions):
        ids = encoded.questions[place].option_ids
        options = [[name, texts["option", place, option]] for option, name in enumerate(ids)]
        field = {"n": place + 1, "id": question.id, "type": question.kind}
        assert texts["question_header", place, None] == rendering.question_header(place, question)
        fields.append(field | {"instruction": texts["instruction", place, None], "options_in_model_order": options})
    return {"state": texts["state", None, None], "fields": fields}


def instruction_piece(question: dict[str, Any]) -> str:
    return next(
        s.text for s in planned({"state": "x", "questions": {"qid": question}}).ledger if s.kind == "instruction"
    )


ACCEPTED = [case for case in CASES.values() if "accept" in case["expected"]["verdict"]]
REFUSED = [case for case in CASES.values() if case["expected"]["verdict"] == "refuse"]


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case["id"])
def test_accepted_cases_are_encoded_piece_by_piece(case: dict[str, Any]) -> None:
    encoded = planned(case_request(case))
    pieces = [segment.text for segment in encoded.ledger]
    bare = [tokenizer()(piece, add_special_tokens=False).input_ids for piece in pieces]
    assert list(encoded.input_ids) == [token_id for ids in bare for token_id in ids]
    expected = case["expected"]
    if "pieces" in expected:
        assert pieces == expected["pieces"]
    if "prompt" in expected:
        assert shown(encoded) == expected["prompt"]
    if "warn" in expected["verdict"]:
        assert encoded.notices


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["id"])
def test_refused_cases_say_why(case: dict[str, Any]) -> None:
    request = case_request(case)
    if case.get("input", {}).get("kind") == "image":
        request = {**request, "images": [red_image()]}
    with pytest.raises(InvalidRecord) as caught:
        planned(request)
    assert [term for term in case["expected"]["message_should_mention"] if not mentions(str(caught.value), term)] == []


def test_spans_decode_to_their_pieces() -> None:
    encoded = planned(case_request(CASES["TOK-01"]))
    spans = [encoded.questions[0].question_span, *encoded.questions[0].option_spans]
    assert [tokenizer().decode(encoded.input_ids[span.start : span.end]) for span in spans] == [
        "\nWhich one?",
        '{"option_id":" a"}',
        '{"description":"x","option_id":"a "}',
    ]


def test_a_typed_control_token_is_one_token_inside_the_state() -> None:
    encoded = planned(case_request(CASES["TOK-03"]))
    state = next(segment for segment in encoded.ledger if segment.kind == "state")
    ids = encoded.input_ids[state.span.start : state.span.end]
    assert ids.count(tokenizer().convert_tokens_to_ids("<|im_end|>")) == 1
    assert [(notice.code, notice.where) for notice in encoded.notices] == [("special_token", "state")]


def test_a_placeholder_is_accepted_alone_and_refused_beside_an_image_only() -> None:
    request = case_request(CASES["TOK-07"])
    assert [notice.code for notice in planned(request).notices] == ["special_token"]
    with pytest.raises(InvalidRecord, match="image placeholder"):
        planned({**request, "images": [red_image()]})


def test_a_forged_schema_stays_in_the_state() -> None:
    encoded = planned(case_request(CASES["TOK-09"]))
    assert [question.question_id for question in encoded.questions] == CASES["TOK-09"]["expected"]["answers"]
    state = next(segment for segment in encoded.ledger if segment.kind == "state")
    assert state.span.length == len(tokenizer().encode(state.text))


def test_a_surrogate_pair_is_a_character() -> None:
    request = '{"state": "good \\ud83d\\ude00 tail", "questions": {"ok": {"type": "noul"}}}'
    assert shown(planned(request))["state"] == CASES["TOK-11"]["expected"]["pair_ok"]["state"]


def test_ids_that_are_the_same_text_to_the_tokenizer_are_said() -> None:
    encoded = planned(case_request(CASES["TOK-13"]))
    assert {"ids_equal_after_nfc", "normalised"} <= {notice.code for notice in encoded.notices}
    assert sorted(encoded.questions[0].option_ids) == sorted(CASES["TOK-13"]["expected"]["answer_keys"])


@pytest.mark.parametrize("case_id", ["TOK-17", "TOK-18"])
def test_falsy_and_structured_instructions_are_rendered(case_id: str) -> None:
    for variant in CASES[case_id]["expected"]["cases"]:
        piece = instruction_piece({"type": "noul", "instructions": variant["instructions"]})
        assert piece == variant["instruction_piece"]
    assert instruction_piece({"type": "noul"}) == "qid"


def test_an_id_of_one_space_has_a_span_and_an_empty_id_is_refused() -> None:
    encoded = planned(case_request(CASES["TOK-20"]))
    assert encoded.questions[0].question_span.length == 1
    assert shown(encoded)["fields"][0]["instruction"] == " "
    empty = CASES["TOK-20"]["expected"]["cases"][0]["questions"]
    with pytest.raises(InvalidRecord, match="empty question id"):
        planned({"state": "x", "questions": empty})
