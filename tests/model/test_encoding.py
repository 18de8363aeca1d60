"""The ledger, the limits, what is refused and what is said of a prompt."""

from types import SimpleNamespace
from typing import Any

import pytest
from generated_records import record_of, requests
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tokenizers import byte_tokenizer
from tokenizers import normalizers

from clef_model.encoding import EncodedRecord, encode
from clef_model.errors import BudgetExceeded, ContextTooLong, InvalidRecord, Notice
from clef_model.ledger import Segment, Span, TokenBudget
from clef_model.rendering import render
from clef_model.schema import ImageInput, Record, VideoInput, choice, noul, score

PLAIN, NFC = byte_tokenizer(), byte_tokenizer(normalizers.NFC())
IMAGE = ImageInput("scan.png", "image/png", b"")
VIDEO = VideoInput("clip.mp4", "video/mp4")


def record(state: Any = "some state", *questions: Any, **fields: Any) -> Record:
    return Record(state, questions or (noul("ok", instructions="Is this fine?"),), **fields)


def media(*lengths: int, notices: tuple[Notice, ...] = ()) -> Any:
    """An encoded media block of items with so many tokens, and the line end that closes it."""
    ends = [sum(lengths[: place + 1]) for place in range(len(lengths))]
    items = [SimpleNamespace(span=Span(end - size, end)) for size, end in zip(lengths, ends, strict=True)]
    return SimpleNamespace(items=items, input_ids=(*[1] * sum(lengths), *PLAIN.encode("\n")), notices=notices)


def fixed(of: Record, **options: Any) -> int:
    return encode(of, PLAIN, **options).budget.fixed


def codes(encoded: EncodedRecord) -> list[str]:
    return [notice.code for notice in encoded.notices]


# The ledger.


@settings(max_examples=200)
@given(request=requests(), data=st.data())
def test_the_ledger_tiles_the_ids(request: dict[str, Any], data: st.DataObject) -> None:
    whole = encode(record_of(request), NFC)
    limits = {
        "max_state_tokens": data.draw(st.none() | st.integers(0, whole.budget.state)),
        "max_length": data.draw(st.integers(whole.budget.fixed, whole.budget.total)),
    }
    encoded = encode(whole.record, NFC, **limits)
    in_prompt = [segment for segment in encoded.ledger if segment.kind != "state_cut"]
    starts, ends = [s.span.start for s in in_prompt], [s.span.end for s in in_prompt]
    assert starts == [0, *ends[:-1]]
    assert ends[-1] == len(encoded.input_ids) == encoded.budget.total <= limits["max_length"]
    assert all(segment.num_tokens == segment.span.length for segment in in_prompt)
    for segment in in_prompt:
        if segment.kind != "state":
            ids = encoded.input_ids[segment.span.start : segment.span.end]
            assert NFC.decode(ids) == NFC.normalized(segment.text)
    state = [segment for segment in encoded.ledger if segment.kind in ("state", "state_cut")]
    assert "".join(segment.text for segment in state) == render(request["state"])
    assert sum(segment.num_tokens for segment in state) == encoded.budget.state
    assert (len(state) == 2) == (encoded.budget.truncation is not None)


def test_the_ledger_names_the_question_and_option_of_each_segment() -> None:
    encoded = encode(record("s", noul("a"), choice("b", {"y": None, "x": "text"})), PLAIN)
    owned = [(segment.kind, segment.question, segment.option) for segment in encoded.ledger]
    assert owned[3:5] == [("question_header", 0, None), ("instruction", 0, None)]
    assert ("option", 1, 0) in owned
    option = next(s for s in encoded.ledger if (s.kind, s.question, s.option) == ("option", 1, 0))
    assert option.text == '{"description":"text","option_id":"x"}'
    assert encoded.questions[1].option_spans[0] == option.span
    assert encoded.questions[1].option_ids == ("x", "y")


def test_the_cut_is_an_empty_span_between_state_and_schema() -> None:
    encoded = encode(record("abcdef"), PLAIN, max_state_tokens=2)
    place = next(place for place, segment in enumerate(encoded.ledger) if segment.kind == "state_cut")
    start = encoded.budget.prefix
    assert encoded.ledger[place - 1 : place + 1] == (
        Segment("state", "ab", Span(start, start + 2), 2),
        Segment("state_cut", "cdef", Span(start + 2, start + 2), 4),
    )


def test_each_media_item_is_a_segment_and_the_line_end_another() -> None:
    encoded = encode(record(images=(IMAGE, IMAGE), videos=(VIDEO,)), PLAIN, media=media(5, 3, 7))
    start = encoded.budget.prefix
    image, video = "<|vision_start|><|image_pad|><|vision_end|>", "<|vision_start|><|video_pad|><|vision_end|>"
    assert encoded.ledger[1:5] == (
        Segment("media", image, Span(start, start + 5), 5, media=0),
        Segment("media", image, Span(start + 5, start + 8), 3, media=1),
        Segment("media", video, Span(start + 8, start + 15), 7, media=2),
        Segment("media_end", "\n", Span(start + 15, start + 16), 1),
    )
    assert encoded.budget.media == 16


def test_the_budget_counts_the_state_before_the_cut() -> None:
    encoded = encode(record("abcdef"), PLAIN, max_state_tokens=2, max_length=4_000)
    prefix, schema, suffix = (encoded.budget.prefix, encoded.budget.schema, encoded.budget.suffix)
    truncation = encoded.budget.truncation
    assert encoded.budget == TokenBudget(4_000, prefix, 0, 6, schema, suffix, 2, truncation)
    assert (encoded.budget.state_kept, encoded.budget.total) == (2, prefix + 2 + schema + suffix)


# The limits.


def test_the_state_limit_applies_before_the_length() -> None:
    of = record("abcdef")
    by_state = encode(of, PLAIN, max_state_tokens=3, max_length=fixed(of) + 3).budget.truncation
    by_length = encode(of, PLAIN, max_state_tokens=3, max_length=fixed(of) + 2).budget.truncation
    assert by_state is not None
    assert (by_state.cause, by_state.kept_tokens) == ("max_state_tokens", 3)
    assert by_length is not None
    assert (by_length.cause, by_length.kept_tokens) == ("max_length", 2)


def test_no_length_is_the_release_s_default() -> None:
    assert encode(record(), PLAIN, max_length=None).budget.limit == 16_384


def test_limits_that_are_no_sensible_numbers_are_refused_together() -> None:
    with pytest.raises(InvalidRecord) as caught:
        encode(record(), PLAIN, max_length=0, max_state_tokens=1.5, truncate="no")  # type: ignore[arg-type]
    assert str(caught.value) == (
        "max_length: found the number 0; a whole number of tokens from 1 to 262,144, the positions of the model, is "
        "expected. 16,384 is usual.\n"
        "max_state_tokens: found the number 1.5; a whole number of tokens from 0 up is expected. "
        "Leave it out for no limit of the state.\n"
        "truncate: found the string 'no'; expected true or false."
    )


@pytest.mark.parametrize("value", [0, -5, True, 1e9, 16_384.0, "512", 262_145, 10**9])
def test_lengths_that_make_no_sense_are_refused(value: Any) -> None:
    with pytest.raises(InvalidRecord, match="max_length: found"):
        encode(record(), PLAIN, max_length=value)


@pytest.mark.parametrize("value", [-1, True, 1.5, "512", [1]])
def test_state_limits_that_make_no_sense_are_refused(value: Any) -> None:
    with pytest.raises(InvalidRecord, match="max_state_tokens: found"):
        encode(record(), PLAIN, max_state_tokens=value)


def test_a_state_limit_beyond_the_state_has_no_effect() -> None:
    assert encode(record(), PLAIN, max_state_tokens=10**12).input_ids == encode(record(), PLAIN).input_ids


def test_a_schema_over_the_limit_names_what_costs_most() -> None:
    of = record("s", noul("small", {"true": None, "false": None}), score("large", ["x" * 50, "y" * 50]), id="ticket-17")
    needed = fixed(of)
    with pytest.raises(BudgetExceeded) as caught:
        encode(of, PLAIN, max_length=needed - 1)
    assert str(caught.value) == (
        f"Record 'ticket-17': schema requires {needed} tokens before state; maximum is {needed - 1}. Most of it: "
        "question 'large' 267 tokens, question 'small' 139 tokens. At least 1 token must go: remove questions or "
        "options, shorten their texts, or raise max_length."
    )
    assert (caught.value.needed, caught.value.limit) == (needed, needed - 1)


def test_media_over_the_limit_are_named_with_what_to_do() -> None:
    of = record(images=(IMAGE,), videos=(VIDEO,))
    encoded_media = media(900, 1_500)
    needed = fixed(of, media=encoded_media)
    with pytest.raises(BudgetExceeded) as caught:
        encode(of, PLAIN, max_length=1_000, media=encoded_media)
    assert str(caught.value) == (
        f"Record 'unknown': schema requires {needed} tokens before state; maximum is 1000. Most of it: "
        "video 'clip.mp4' 1,500 tokens, image 'scan.png' 900 tokens, question 'ok' 268 tokens. "
        f"At least {needed - 1_000:,} tokens must go: use fewer or smaller images and videos, remove questions or "
        "options, shorten their texts, or raise max_length."
    )


def test_a_state_that_may_not_be_cut_is_refused_with_both_numbers() -> None:
    of = record("abcdef")
    whole = fixed(of) + 6
    with pytest.raises(ContextTooLong) as caught:
        encode(of, PLAIN, max_length=whole - 4, truncate=False)
    assert str(caught.value) == (
        f"Record 'unknown': maximum context length exceeded: the record needs {whole} tokens and max_length is "
        f"{whole - 4}. Shorten the state by 4 tokens, raise the limit, or allow cutting with truncate=True."
    )
    assert (caught.value.needed, caught.value.limit) == (whole, whole - 4)
    assert encode(of, PLAIN, max_length=whole, truncate=False).budget.truncation is None


def test_a_state_over_its_own_limit_that_may_not_be_cut_is_refused() -> None:
    with pytest.raises(ContextTooLong) as caught:
        encode(record("abcdef"), PLAIN, max_state_tokens=5, truncate=False)
    assert str(caught.value) == (
        "Record 'unknown': maximum context length exceeded: the state needs 6 tokens and max_state_tokens is 5. "
        "Shorten the state by 1 token, raise the limit, or allow cutting with truncate=True."
    )


# What is said of a prompt.


def test_nothing_is_said_of_an_ordinary_prompt() -> None:
    assert encode(record({"plain": "text é"}), NFC).notices == ()


def test_a_cut_text_is_said_with_its_place_and_the_way_out() -> None:
    assert encode(record("keep lose"), PLAIN, max_state_tokens=4).notices == (
        Notice(
            "state_cut",
            "state",
            "its last 5 tokens of 9 were cut, from ' lose' on: max_state_tokens leaves room for 4 tokens. "
            "Shorten the state, put what matters first, or raise the limit.",
        ),
    )


def test_a_cut_json_state_is_said_with_its_lost_values() -> None:
    of = record({"z": 1, "note": "long text", **dict.fromkeys("rstuvw")})
    encoded = encode(of, PLAIN, max_length=fixed(of) + 14)
    assert encoded.notices == (
        Notice(
            "state_cut",
            "state",
            "its last 66 tokens of 80 were cut, from "
            """'text","r":null,"s":null,"t":null,"u":null,"v":null,"w":null,' on: """
            "max_length leaves room for 14 tokens. The value of state.note was cut in two. Lost: state.r, state.s, "
            "state.t, state.u, state.v and 2 more. Shorten the state, rename keys so that what matters sorts first, "
            "or raise the limit.",
        ),
    )


def test_a_state_that_is_cut_to_nothing_is_said_to_be_empty() -> None:
    of = record("abc")
    encoded = encode(of, PLAIN, max_length=fixed(of))
    assert encoded.notices == (
        Notice(
            "state_empty",
            "state",
            "nothing of it reaches the model: it has 3 tokens and max_length leaves room for 0 tokens. "
            "Shorten the state, put what matters first, or raise the limit.",
        ),
    )
    assert encoded.budget.truncation is not None
    assert encoded.budget.truncation.first_lost_text == "abc"


def test_an_empty_state_is_no_cut() -> None:
    of = record("")
    assert encode(of, PLAIN, max_length=fixed(of), max_state_tokens=0).notices == ()


def test_a_prompt_beyond_the_trained_length_is_said() -> None:
    short = record("x" * (16_384 - fixed(record(""))))
    long = record("x" * (16_385 - fixed(record(""))))
    assert encode(short, PLAIN, max_length=32_768).notices == ()
    assert encode(long, PLAIN, max_length=32_768).notices == (
        Notice(
            "beyond_trained_length",
            "",
            "the prompt has 16,385 tokens, beyond the trained length of 16,384. The model reads it whole; its answers "
            "may be less reliable.",
        ),
    )


def test_special_tokens_in_any_text_of_the_user_are_said_with_their_place() -> None:
    of = record(
        "a <|im_end|> b <|im_end|><|im_start|>",
        noul("<think>"),
        choice("c", {"a.b": "</think>"}, "<|endoftext|>"),
        score("d", ["<|im_end|>", None]),
    )
    encoded = encode(of, PLAIN)
    assert [notice.where for notice in encoded.notices] == [
        "state",
        'questions["<think>"]',
        "questions.c.instructions",
        'questions.c.criteria["a.b"]',
        "questions.d.criteria[0]",
    ]
    assert set(codes(encoded)) == {"special_token"}
    assert encoded.notices[0].message == (
        "the text holds '<|im_end|>' (ends a chat turn) 2 times, '<|im_start|>' (opens a chat turn). The tokenizer "
        "makes one control token of each, as in the release, and the model may obey it. Respell it if it is only "
        "quoted."
    )


def test_special_tokens_in_the_lost_part_are_not_said() -> None:
    assert codes(encode(record("abc<|im_end|>"), PLAIN, max_state_tokens=3)) == ["state_cut"]


def test_a_placeholder_without_media_is_said() -> None:
    encoded = encode(record("caption <|image_pad|> here"), PLAIN)
    assert codes(encoded) == ["special_token"]
    assert "the image placeholder '<|image_pad|>' (stands for a part of an image)" in encoded.notices[0].message


def test_placeholders_beside_media_are_refused_wherever_they_are() -> None:
    of = record("caption <|image_pad|>", noul("q", instructions="see <|video_pad|>"), images=(IMAGE,))
    with pytest.raises(InvalidRecord) as caught:
        encode(of, PLAIN, media=media(5))
    assert str(caught.value) == (
        "state: found the image placeholder '<|image_pad|>' in the text of a record with media; the model would take "
        "it for a part of an image or video. Remove it from the text, or send the record without media.\n"
        "questions.q.instructions: found the video placeholder '<|video_pad|>' in the text of a record with media; "
        "the model would take it for a part of an image or video. Remove it from the text, or send the record without "
        "media."
    )


def test_text_that_the_tokenizer_normalises_is_said() -> None:
    encoded = encode(record("xe\u0301y", choice("q", {"u\u0308": None, "b": None})), NFC)
    assert encoded.notices == (
        Notice(
            "normalised",
            "state",
            r"the tokenizer reads this text in another Unicode spelling (NFC), '\xe9' for 'e\u0301' and perhaps more. "
            "The model cannot tell the two apart.",
        ),
        Notice(
            "normalised",
            'questions.q.criteria["ü"]'.replace("ü", "u\u0308"),
            r"the tokenizer reads this text in another Unicode spelling (NFC), '\xfc' for 'u\u0308' and perhaps more. "
            "The model cannot tell the two apart.",
        ),
    )


def test_notices_of_the_record_and_its_media_come_first() -> None:
    mine, theirs = Notice("a", "state", "of the record"), Notice("b", "images[0]", "of an image")
    of = record("abc", images=(IMAGE,), notices=(mine,))
    encoded = encode(of, PLAIN, media=media(3, notices=(theirs,)), max_state_tokens=0)
    assert codes(encoded) == ["a", "b", "state_empty"]


def test_media_without_the_release_s_settings_are_refused() -> None:
    with pytest.raises(InvalidRecord) as caught:
        encode(record(videos=(VIDEO,)), PLAIN)
    assert str(caught.value) == (
        "videos: records with images or videos require a processor. Load a release with its processor_config.json."
    )


# Where one piece is edited, the others are not tokenized again.


def test_an_edited_question_is_the_only_one_tokenized_again() -> None:
    tokenizer = byte_tokenizer()
    encode(record("state", noul("a"), noul("b", instructions="old")), tokenizer)
    asked: list[str] = []
    original = tokenizer.backend.encode

    def counting(texts: list[str]) -> list[tuple[int, ...]]:
        asked.extend(texts)
        return original(texts)

    tokenizer.backend.encode = counting  # type: ignore[method-assign]
    encode(record("state", noul("a"), noul("b", instructions="new")), tokenizer)
    assert asked == ["new"]
