"""Ids, spans and type ids are those of the release's own code, on golden and on generated records."""

import json
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from generated_records import record_of, requests
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tokenizers import CharTokenizer
from tokenizers import normalizers

from clef_model.encoding import EncodedRecord, encode
from clef_model.errors import BudgetExceeded
from clef_model.ledger import Span
from clef_model.schema import ImageInput
from clef_model.tokenizer import Tokenizer, from_any, read_tokenizer

oracle = pytest.importorskip("clef_finetune.jsm").load_jsm()

NANO = Path(__file__).parents[2] / "models" / "clef-nano"
GOLDEN = json.loads((Path(__file__).parent / "golden_examples.json").read_text("utf-8"))


@cache
def tokenizer_pairs() -> list[tuple[Any, Tokenizer]]:
    """Tokenizers as the release uses them, each beside ours."""
    from clef_finetune.tiny import _tokenizer
    from transformers import PreTrainedTokenizerFast

    composing = _tokenizer(512)
    composing.backend_tokenizer.normalizer = normalizers.NFC()
    theirs = [CharTokenizer(), _tokenizer(512), composing]
    nano = PreTrainedTokenizerFast(tokenizer_file=str(NANO / "tokenizer.json"))
    return [*((tokenizer, from_any(tokenizer)) for tokenizer in theirs), (nano, read_tokenizer(NANO))]


def spans(encoded: Any) -> list[Any]:
    return [
        (q.question_id, q.question_type, tuple(q.question_span), tuple(map(tuple, q.option_spans)), q.option_ids)
        for q in encoded.questions
    ]


def assert_same(ours: EncodedRecord, theirs: Any) -> None:
    assert ours.input_ids == theirs.input_ids
    assert spans(ours) == spans(theirs)
    assert ours.record_id == theirs.record_id


@settings(max_examples=500)
@given(request=requests(), data=st.data())
def test_generated_records_are_encoded_as_by_the_release(request: dict[str, Any], data: st.DataObject) -> None:
    record = record_of(request)
    for theirs, ours in tokenizer_pairs():
        whole = encode(record, ours)
        assert_same(whole, oracle.encode_record(theirs, request))
        state, fixed = whole.budget.state, whole.budget.fixed
        max_state_tokens = data.draw(st.none() | st.integers(0, state + 1), label="max_state_tokens")
        max_length = data.draw(st.integers(fixed, fixed + state + 1), label="max_length")
        limits = {"max_state_tokens": max_state_tokens, "max_length": max_length}
        assert_same(encode(record, ours, **limits), oracle.encode_record(theirs, request, **limits))


@settings(max_examples=12)
@given(request=requests())
def test_a_state_is_cut_at_every_boundary_as_by_the_release(request: dict[str, Any]) -> None:
    record = record_of(request)
    for theirs, ours in tokenizer_pairs():
        budget = encode(record, ours).budget
        for kept in range(budget.state + 1):
            limits = {"max_length": budget.fixed + kept}
            assert_same(encode(record, ours, **limits), oracle.encode_record(theirs, request, **limits))


@pytest.mark.parametrize("example", GOLDEN["char_level_examples"], ids=lambda example: example["name"])
def test_golden_records_have_their_spans(example: dict[str, Any]) -> None:
    options = example["options"]
    limits = {"max_state_tokens": options.get("max_state"), "max_length": options.get("max_length")}
    images = (ImageInput("opaque", "image/png", b""),) * ("media_len" in options)
    media = opaque_media(options["media_len"]) if images else None
    record = record_of(example, images=images)
    if "expected_error" in example:
        with pytest.raises(BudgetExceeded, match=example["expected_error"]) as caught:
            encode(record, from_any(CharTokenizer()), **limits)
        assert isinstance(caught.value, ValueError)
        return
    encoded = encode(record, from_any(CharTokenizer()), **limits, media=media)
    expected = example["expected"]
    assert len(encoded.input_ids) == expected["input_tokens"]
    assert [segment.span for segment in encoded.ledger if segment.kind == "state"] == [tuple(expected["state"])]
    assert [segment.text for segment in encoded.ledger if segment.kind == "state"] == [expected["state_text"]]
    assert encoded.ledger[-1].span == tuple(expected["suffix"])
    assert spans(encoded) == [
        (
            question["id"],
            question["type_id"],
            tuple(question["span"]),
            tuple(tuple(option["span"]) for option in question["options"]),
            tuple(option["id"] for option in question["options"]),
        )
        for question in expected["questions"]
    ]
    for question, found in zip(expected["questions"], encoded.questions, strict=True):
        assert text_of(encoded, found.question_span) == question["span_text"]
        assert [text_of(encoded, span) for span in found.option_spans] == [o["text"] for o in question["options"]]


def opaque_media(num_tokens: int) -> Any:
    """A media block of which only the tokens matter; its last one closes the block."""
    return SimpleNamespace(items=[SimpleNamespace(span=(0, num_tokens - 1))], input_ids=[0] * num_tokens, notices=())


def text_of(encoded: EncodedRecord, span: Span) -> str:
    return "".join(map(chr, encoded.input_ids[span.start : span.end]))


def test_the_release_s_recorded_ids_are_reproduced() -> None:
    example = GOLDEN["real_token_examples"][0]
    encoded = encode(record_of(example), read_tokenizer(NANO))
    assert list(encoded.input_ids) == example["input_ids"]
    assert encoded.questions[0].question_span == tuple(example["question_span"])
    assert encoded.questions[0].option_spans == tuple(map(tuple, example["option_spans"]))


def test_the_release_s_recorded_spans_are_reproduced() -> None:
    example = GOLDEN["real_token_examples"][1]
    encoded = encode(record_of(example), read_tokenizer(NANO))
    assert len(encoded.input_ids) == example["input_tokens"]
    assert [list(question.question_span) for question in encoded.questions] == example["question_spans"]
    assert [[list(span) for span in question.option_spans] for question in encoded.questions] == example["option_spans"]
    assert [list(question.option_ids) for question in encoded.questions] == example["option_ids"]


def test_the_release_s_code_takes_our_tokenizer() -> None:
    request = {"state": {"a": [1, "é"]}, "questions": {"q": {"type": "noul"}}}
    ours = read_tokenizer(NANO)
    assert_same(encode(record_of(request), ours), oracle.encode_record(ours, request))


def test_transformers_reads_the_same_ids_from_the_release_s_folder() -> None:
    from transformers import AutoTokenizer

    theirs, ours = AutoTokenizer.from_pretrained(NANO), read_tokenizer(NANO)
    texts = [
        "नमस्ते दुनिया",
        "e\u0301\u0323 don't",
        "<think>a</think> <tool_call>",
        "👩‍👩‍👧 加拿大",
        "\u212b\u1100\u1161\u11a8",
    ]
    assert [theirs(text, add_special_tokens=False).input_ids for text in texts] == [ours.encode(text) for text in texts]
    assert theirs.pad_token_id == ours.pad_token_id
