"""Tokenizers for tests: one token a character, and one token a byte with the release's special tokens."""

from collections.abc import Sequence
from typing import Any

import tokenizers
from tokenizers import decoders, models, pre_tokenizers

from clef_model.tokenizer import FastBackend, Tokenizer

SPECIAL_TOKENS = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<think>",
    "</think>",
]


class CharTokenizer:
    """One token per code point, with the release's call; special tokens are no more than their characters."""

    pad_token_id = 0

    def __call__(self, text: str, add_special_tokens: bool = True) -> Any:
        assert not add_special_tokens
        return _Ids(input_ids=[ord(char) for char in text])

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(map(chr, ids))


class _Ids(dict[str, Any]):
    @property
    def input_ids(self) -> Any:
        return self["input_ids"]


def byte_level(normalizer: Any = None) -> tokenizers.Tokenizer:
    """A byte-level tokenizer of the `tokenizers` package: one token a byte, one a special token."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = tokenizers.Tokenizer(
        models.BPE(vocab={letter: place for place, letter in enumerate(letters)}, merges=[])
    )
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(SPECIAL_TOKENS)
    return tokenizer


def byte_tokenizer(normalizer: Any = None) -> Tokenizer:
    """The byte-level tokenizer as the library uses one."""
    return Tokenizer(FastBackend(byte_level(normalizer)), pad_token_id=256)
