"""Where a cut falls: characters of the text as it was given, and values of a JSON state."""

import json
from typing import Any

import pytest
from generated_records import SCRAPS, json_values, states, texts
from hypothesis import example, given, settings
from hypothesis import strategies as st
from small_tokenizers import CharTokenizer, byte_tokenizer
from tokenizers import normalizers

from clef_model.json_paths import Path, path_text
from clef_model.ledger import Truncation
from clef_model.rendering import render
from clef_model.tokenizer import Tokenizer, from_any
from clef_model.truncation import describe_cut, kept_characters, lost_values

PLAIN, NFC = byte_tokenizer(), byte_tokenizer(normalizers.NFC())


def bytes_of(ids: tuple[int, ...]) -> bytes:
    """The bytes behind the ids, by the vocabulary's own letters."""
    return b"".join(BYTES[token_id] for token_id in ids)


def _byte(text: str) -> bytes:
    return bytes([int(text[2:], 16)]) if text.startswith("\\x") else text.encode()


BYTES = {token_id: _byte(PLAIN.token_text(token_id)) for token_id in range(256)}
BYTES |= {token_id: text.encode() for token_id, text in PLAIN.special_ids.items()}


def cut(tokenizer: Tokenizer, text: str, kept: int) -> tuple[str, str, bool]:
    """Kept text, lost text, and whether a character is split."""
    (piece,) = tokenizer.encode_pieces([text])
    characters, splits = kept_characters(piece, kept, tokenizer)
    return text[:characters], text[characters:], splits


@settings(max_examples=100)
@given(text=st.lists(st.sampled_from(SCRAPS) | texts(), max_size=4).map("".join))
@example(text="a\u0301\u0323b")
@example(text="\ufffd日\ufffd")
@example(text="\u0301\u0301\u0323x")
@example(text="q\u0958r\u212b")
def test_the_kept_text_is_what_the_kept_tokens_spell(text: str) -> None:
    for tokenizer in (PLAIN, NFC):
        (piece,) = tokenizer.encode_pieces([text])
        for kept in range(len(piece.ids) + 1):
            kept_text, _, splits = cut(tokenizer, text, kept)
            read, shown = bytes_of(piece.ids[:kept]), tokenizer.normalized(kept_text).encode()
            assert read.startswith(shown)
            assert splits == (len(read) > len(shown))
            assert not longer_readings(text, len(kept_text), read, tokenizer)


def longer_readings(text: str, characters: int, read: bytes, tokenizer: Tokenizer) -> list[str]:
    """Longer starts of the text that the model has read whole, cut where normalising does not reach across."""
    whole = tokenizer.normalized(text)
    return [
        text[:end]
        for end in range(characters + 1, len(text) + 1)
        if tokenizer.normalized(text[:end]) + tokenizer.normalized(text[end:]) == whole
        and read.startswith(tokenizer.normalized(text[:end]).encode())
    ]


def test_a_split_character_belongs_to_the_lost_text() -> None:
    assert [cut(PLAIN, "a日b", kept) for kept in range(6)] == [
        ("", "a日b", False),
        ("a", "日b", False),
        ("a", "日b", True),
        ("a", "日b", True),
        ("a日", "b", False),
        ("a日b", "", False),
    ]


def test_letters_that_the_normaliser_composes_are_lost_together() -> None:
    assert [cut(NFC, "xe\u0301y", kept) for kept in (1, 2, 3)] == [
        ("x", "e\u0301y", False),
        ("x", "e\u0301y", True),
        ("xe\u0301", "y", False),
    ]


def test_marks_that_the_normaliser_reorders_are_lost_together() -> None:
    # "ạ" is read after three bytes, but in the text as typed another mark stands between its letter and its dot.
    assert [cut(NFC, "a\u0301\u0323b", kept) for kept in (3, 5)] == [
        ("", "a\u0301\u0323b", True),
        ("a\u0301\u0323", "b", False),
    ]


def test_a_replacement_character_typed_by_the_user_is_no_split_character() -> None:
    assert [cut(PLAIN, "\ufffd日", kept) for kept in (2, 3, 4)] == [
        ("", "\ufffd日", True),
        ("\ufffd", "日", False),
        ("\ufffd", "日", True),
    ]


def test_special_tokens_before_the_cut_count_with_all_their_characters() -> None:
    assert cut(NFC, "<|im_end|>日<think>", 3) == ("<|im_end|>", "日<think>", True)


def test_a_tokenizer_known_by_its_call_alone_is_cut_at_characters() -> None:
    assert cut(from_any(CharTokenizer()), "日本", 1) == ("日", "本", False)


# The values of a JSON state.


def paths_of(value: Any, path: Path = ("state",)) -> set[Path]:
    """The paths of a value and of everything below it."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {path}.union(*(paths_of(child, (*path, step)) for step, child in children))


def at(value: Any, path: Path) -> Any:
    for step in path[1:]:
        value = value[step]
    return value


def closers(text: str) -> str:
    """What closes the open string and brackets of a start of JSON."""
    stack, in_string, escaped = [], False, False
    for char in text:
        if in_string:
            in_string, escaped = escaped or char != '"', char == "\\" and not escaped
        elif char == '"':
            in_string = True
        elif char in "[{":
            stack.append("]" if char == "[" else "}")
        elif char in "]}":
            stack.pop()
    return '"' * in_string + "".join(reversed(stack))


def longest_reading(kept: str) -> tuple[Any] | None:
    """The value of the longest start of the kept text that is JSON once it is closed, found by trying."""
    for end in range(len(kept), 0, -1):
        try:
            return (json.loads(kept[:end] + closers(kept[:end])),)
        except ValueError:
            continue
    return None


def expand(state: Any, lost: list[Path]) -> set[Path]:
    """The lost paths with everything below them."""
    return set().union(*(paths_of(at(state, path), path) for path in lost))


@settings(max_examples=300)
@given(state=json_values(20) | states())
@example(state={"a": [], "b": {}, "c": "", "d": [[]], "e": [{}]})
@example(state={"n": -12, "t": True, "f": 1e-05, "x": [None, False, -1.5, '\n\\"']})
@example(state=["\x01", {"]": "}", "[{": ',"'}])
def test_lost_values_are_those_absent_from_the_longest_parseable_reading(state: Any) -> None:
    if isinstance(state, str):
        state = [state]
    text = render(state)
    step = max(1, len(text) // 60)
    for end in {*range(0, len(text), step), *range(max(0, len(text) - 12), len(text)), *range(min(12, len(text)))}:
        kept = text[:end]
        lost, cut_path = lost_values(state, kept)
        reading = longest_reading(kept)
        present = set() if reading is None else paths_of(reading[0])
        assert expand(state, lost) == paths_of(state) - present, kept
        changed = {path for path in present if is_scalar(at(state, path)) and at(reading[0], path) != at(state, path)}
        assert {cut_path} - {None} >= changed, kept
        # A number such as 1.0 that is read as 1 is cut, too, although the two are equal.
        assert cut_path is None or (cut_path in present and is_scalar(at(state, cut_path))), kept


def is_scalar(value: Any) -> bool:
    return not isinstance(value, dict | list)


def lost_text(state: Any, kept: str) -> tuple[list[str], str | None]:
    assert render(state).startswith(kept)
    lost, cut_path = lost_values(state, kept)
    return [path_text(path) for path in lost], None if cut_path is None else path_text(cut_path)


@pytest.mark.parametrize(
    ("kept", "lost", "cut_path"),
    [
        ("", ["state"], None),
        ("{", ["state.a", "state.b", 'state["c d"]'], None),
        ('{"a":', ["state.a", "state.b", 'state["c d"]'], None),
        ('{"a":tru', ["state.a", "state.b", 'state["c d"]'], None),
        ('{"a":true', ["state.b", 'state["c d"]'], None),
        ('{"a":true,"b":[', ["state.b[0]", "state.b[1]", "state.b[2]", 'state["c d"]'], None),
        ('{"a":true,"b":[-', ["state.b[0]", "state.b[1]", "state.b[2]", 'state["c d"]'], None),
        ('{"a":true,"b":[-1', ["state.b[1]", "state.b[2]", 'state["c d"]'], "state.b[0]"),
        ('{"a":true,"b":[-12,{"x":"y', ["state.b[2]", 'state["c d"]'], None),
        ('{"a":true,"b":[-12,{"x":"', ["state.b[2]", 'state["c d"]'], "state.b[1].x"),
        ('{"a":true,"b":[-12,{"x":"y"},null]', ['state["c d"]'], None),
        ('{"a":true,"b":[-12,{"x":"y"},null],"c d":"z\\', [], 'state["c d"]'),
        ('{"a":true,"b":[-12,{"x":"y"},null],"c d":"z\\n"', [], None),
    ],
)
def test_lost_and_cut_values_have_paths(kept: str, lost: list[str], cut_path: str | None) -> None:
    assert lost_text({"c d": "z\n", "a": True, "b": [-12, {"x": "y"}, None]}, kept) == (lost, cut_path)


def test_keys_are_lost_in_the_order_of_the_prompt() -> None:
    state = {"summary": "ok", "alpha": 1, "É": 2, "Z": 3}
    assert lost_text(state, '{"Z":3,"alpha":1,') == (["state.summary", 'state["É"]'], None)


def test_a_cut_is_described_with_what_stands_on_both_sides() -> None:
    state = {"note": "x" * 100, "zip": 12345}
    (piece,) = PLAIN.encode_pieces([render(state)])
    assert describe_cut(state, piece, 70, "max_length", PLAIN) == Truncation(
        kept_tokens=70,
        lost_tokens=53,
        kept_characters=70,
        last_kept_text="x" * 60,
        first_lost_text="x" * 39 + '","zip":12345}',
        splits_character=False,
        cause="max_length",
        lost_paths=("state.zip",),
        cut_path="state.note",
    )


def test_a_text_state_that_looks_like_json_has_no_paths() -> None:
    (piece,) = PLAIN.encode_pieces(['{"a":1,"b":2}'])
    truncation = describe_cut(piece.text, piece, 5, "max_state_tokens", PLAIN)
    assert (truncation.lost_paths, truncation.cut_path) == ((), None)
