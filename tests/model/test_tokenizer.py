"""Texts to ids and back, the cache of pieces, and tokenizers that come from elsewhere."""

import json
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from small_tokenizers import CharTokenizer, byte_level, byte_tokenizer
from tokenizers import normalizers, processors

from clef_model.errors import BrokenRelease, Unsupported
from clef_model.tokenizer import FastBackend, Tokenizer, from_any, read_tokenizer

NANO = Path(__file__).parents[2] / "models" / "clef-nano"


class CountingBackend(FastBackend):
    """A backend that remembers which texts it was asked for."""

    def __init__(self) -> None:
        super().__init__(byte_level())
        self.asked: list[str] = []

    def encode(self, texts: list[str]) -> list[tuple[int, ...]]:
        self.asked += texts
        return super().encode(texts)


def write_release(folder: Path, config: Any = None) -> Path:
    byte_level().save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(config or {"pad_token": "<|endoftext|>"}))
    return folder


def test_a_release_s_tokenizer_is_read_with_its_pad_token(tmp_path: Path) -> None:
    tokenizer = read_tokenizer(write_release(tmp_path))
    assert tokenizer.pad_token_id == tokenizer.convert_tokens_to_ids("<|endoftext|>") == 256


def test_a_pad_token_may_be_an_object(tmp_path: Path) -> None:
    assert read_tokenizer(write_release(tmp_path, {"pad_token": {"content": "<|im_end|>"}})).pad_token_id == 258


def test_the_identity_is_that_of_the_file(tmp_path: Path) -> None:
    first = read_tokenizer(write_release(tmp_path)).identity
    assert first == read_tokenizer(tmp_path).identity
    assert len(first) == 12
    byte_level(normalizers.NFC()).save(str(tmp_path / "tokenizer.json"))
    assert read_tokenizer(tmp_path).identity != first


def test_a_missing_tokenizer_is_named(tmp_path: Path) -> None:
    with pytest.raises(BrokenRelease) as caught:
        read_tokenizer(tmp_path)
    assert str(caught.value) == (
        f"Release {tmp_path}: tokenizer.json cannot be read (No such file or directory). "
        "Download it from the release again."
    )


def test_a_damaged_tokenizer_is_named(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(BrokenRelease) as caught:
        read_tokenizer(tmp_path)
    assert str(caught.value) == (
        f"Release {tmp_path}: tokenizer.json is no tokenizer (Cannot instantiate Tokenizer from buffer: Model missing. "
        "at line 1 column 2). Download it from the release again."
    )


def test_a_pad_token_that_no_vocabulary_has_is_named(tmp_path: Path) -> None:
    with pytest.raises(BrokenRelease) as caught:
        read_tokenizer(write_release(tmp_path, {"pad_token": "<pad>"}))
    assert str(caught.value) == (
        f"Release {tmp_path}: tokenizer_config.json names '<pad>' as pad_token, which the vocabulary does not have. "
        "Set it to '<|endoftext|>'."
    )


def test_a_tokenizer_without_configuration_is_refused(tmp_path: Path) -> None:
    shutil.copy(write_release(tmp_path) / "tokenizer.json", tmp_path / "kept")
    (tmp_path / "tokenizer_config.json").unlink()
    with pytest.raises(BrokenRelease, match=r"tokenizer_config\.json cannot be read"):
        read_tokenizer(tmp_path)


def test_pieces_keep_their_order_and_repeats() -> None:
    tokenizer = byte_tokenizer()
    encoded = tokenizer.encode_pieces(["b", "a", "b", ""])
    assert [piece.text for piece in encoded] == ["b", "a", "b", ""]
    assert [tokenizer.decode(piece.ids) for piece in encoded] == ["b", "a", "b", ""]


def test_special_tokens_are_one_id_inside_text() -> None:
    tokenizer = byte_tokenizer()
    ids = tuple(tokenizer.encode("a<|im_end|>b<think>"))
    assert len(ids) == 4
    assert tokenizer.specials_in(ids) == ["<|im_end|>", "<think>"]
    assert tokenizer.decode(ids) == "a<|im_end|>b<think>"


def test_a_tokenizer_is_called_as_the_release_calls_it() -> None:
    tokenizer = byte_tokenizer()
    called = tokenizer("hi", add_special_tokens=False)
    assert called["input_ids"] == called.input_ids == tokenizer.encode("hi", add_special_tokens=False)
    assert tokenizer(["hi", ""]).input_ids == [tokenizer.encode("hi"), []]
    assert tokenizer.convert_tokens_to_ids(["<|im_end|>", "no such token"]) == [258, None]


def test_special_tokens_around_the_text_cannot_be_asked_for() -> None:
    with pytest.raises(ValueError, match="Clef's pieces are tokenized bare"):
        byte_tokenizer()("hi", add_special_tokens=True)


# Offsets and token texts.


def test_offsets_name_the_characters_of_the_given_text() -> None:
    assert byte_tokenizer().offsets("a日<|im_end|>") == ((0, 1), (1, 2), (1, 2), (1, 2), (2, 12))


def test_offsets_cover_what_the_normaliser_composes() -> None:
    text = "xe\u0301\u0301y"
    offsets = byte_tokenizer(normalizers.NFC()).offsets(text)
    assert [text[start:end] for start, end in offsets] == ["x", "e\u0301", "e\u0301", "\u0301", "\u0301", "y"]


def test_offsets_give_trimmed_white_space_back_to_its_token() -> None:
    backend = byte_level()
    backend.post_processor = processors.ByteLevel(trim_offsets=True)
    backend.add_tokens([" word", "  x"])
    text = "a word  xy"
    offsets = from_any(backend).offsets(text)
    assert [text[start:end] for start, end in offsets] == ["a", " word", "  x", "y"]


def test_offsets_need_a_tokenizer_that_knows_them() -> None:
    with pytest.raises(Unsupported) as caught:
        from_any(CharTokenizer()).offsets("a")
    assert str(caught.value) == ("Tokenizer CharTokenizer: it gives no token offsets. Use a release's tokenizer.json.")


@pytest.mark.parametrize(
    ("token", "text"), [("a", "a"), ("Ġ", " "), ("æ", "\\xe6"), ("Ċ", "\n"), ("<|im_end|>", "<|im_end|>")]
)
def test_a_token_s_text_spells_bytes_that_make_no_character(token: str, text: str) -> None:
    tokenizer = byte_tokenizer()
    assert tokenizer.token_text(tokenizer.convert_tokens_to_ids(token)) == text


def test_an_id_without_token_is_shown_as_a_number() -> None:
    assert byte_tokenizer().token_text(248_319) == "[248319]"


# The cache.


def test_a_text_is_tokenized_once() -> None:
    backend = CountingBackend()
    tokenizer = Tokenizer(backend, pad_token_id=0)
    tokenizer.encode_pieces(["state", "a", "a"])
    tokenizer.encode_pieces(["state", "b"])
    assert backend.asked == ["state", "a", "b"]


def test_the_least_recently_used_piece_is_forgotten_first() -> None:
    backend = CountingBackend()
    tokenizer = Tokenizer(backend, pad_token_id=0, cache_bytes=1_000)
    for text in ("one", "two", "one", "three", "one", "two"):
        tokenizer.encode_pieces([text])
    assert backend.asked == ["one", "two", "three", "two"]


def test_a_text_larger_than_the_cache_leaves_the_others_in_it() -> None:
    backend = CountingBackend()
    tokenizer = Tokenizer(backend, pad_token_id=0, cache_bytes=1_000)
    for texts in (["one"], ["x" * 1000], ["one"]):
        tokenizer.encode_pieces(texts)
    assert backend.asked == ["one", "x" * 1000]


def test_threads_share_a_tokenizer() -> None:
    tokenizer = Tokenizer(CountingBackend(), pad_token_id=0, cache_bytes=5_000)
    texts = [f"text {number % 37}" for number in range(2_000)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(tokenizer.encode, texts))
    assert [tokenizer.decode(ids) for ids in found] == texts


# Tokenizers from elsewhere.


def test_our_own_tokenizer_stays_as_it_is() -> None:
    tokenizer = byte_tokenizer()
    assert from_any(tokenizer) is tokenizer


def test_an_object_with_the_release_s_call_is_enough() -> None:
    tokenizer = from_any(CharTokenizer())
    assert tokenizer.encode("aé") == [97, 233]
    assert tokenizer.decode([97, 233]) == "aé"
    assert tokenizer.pad_token_id == 0


def test_a_tokenizer_without_pad_token_says_so_when_it_is_needed() -> None:
    with pytest.raises(BrokenRelease) as caught:
        _ = from_any(byte_level()).pad_token_id
    assert str(caught.value) == (
        "Tokenizer: it names no pad token, and a batch needs one. Set pad_token to '<|endoftext|>'."
    )


class SharedTokenizer:
    """As a transformers object: its settings for one call stay in the object that it shares with us."""

    def __init__(self) -> None:
        self.backend_tokenizer = byte_level()
        self.pad_token_id = 256

    def cut_and_padded(self, texts: Sequence[str]) -> Any:
        self.backend_tokenizer.enable_truncation(2)
        self.backend_tokenizer.enable_padding(length=8)
        self.backend_tokenizer.encode_special_tokens = True
        return [encoding.ids for encoding in self.backend_tokenizer.encode_batch(list(texts))]


def test_settings_that_others_left_behind_neither_cut_nor_pad() -> None:
    shared = SharedTokenizer()
    shared.cut_and_padded(["abc"])
    tokenizer = from_any(shared)
    assert tokenizer.decode(tokenizer.encode("abcdef<|im_end|>")) == "abcdef<|im_end|>"
    assert len(tokenizer.encode("abcdef<|im_end|>")) == 7


def test_a_tokenizer_file_that_cuts_does_not_cut(tmp_path: Path) -> None:
    shared = SharedTokenizer()
    shared.cut_and_padded(["abc"])
    write_release(tmp_path)
    shared.backend_tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert len(read_tokenizer(tmp_path).encode("abcdef")) == 6


def test_the_embedded_release_has_the_prompt_s_known_counts() -> None:
    from clef_model import rendering

    tokenizer = read_tokenizer(NANO)
    literals = [rendering.PREFIX, rendering.SUFFIX, rendering.SCHEMA_HEADER, rendering.OPTIONS_HEADER]
    assert [len(piece.ids) for piece in tokenizer.encode_pieces(literals)] == [36, 18, 7, 6]
    assert tokenizer.encode(rendering.SUFFIX)[-1] == 25
    assert tokenizer.pad_token_id == 248_044
