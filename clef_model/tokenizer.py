"""The release's tokenizer: texts to ids piece by piece, ids back to text, and a cache of pieces."""

import hashlib
import json
import re
import sys
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import tokenizers
from tokenizers.normalizers import NFC

from clef_model.errors import BrokenRelease, Unsupported

CACHE_BYTES = 32 * 2**20  # about 700,000 tokens: some forty prompts of the trained length
_BYTES_PER_TOKEN = 40  # an int object and its place in a tuple
_BYTES_PER_PIECE = 250  # dictionary entry and tuple header

# Every character below U+0300 is its own NFC, in all versions of Unicode; asking is ten times as fast as normalising.
_MAY_CHANGE_IN_NFC = re.compile("[\u0300-\U0010ffff]")

Offsets = tuple[tuple[int, int], ...]


class Backend(Protocol):
    """What turns text into ids: a tokenizer of the `tokenizers` package, or any object with the release's call."""

    @property
    def added_tokens(self) -> Mapping[int, str]: ...
    @property
    def identity(self) -> str: ...
    def encode(self, texts: list[str]) -> list[tuple[int, ...]]: ...
    def offsets(self, text: str) -> list[tuple[int, int]]: ...
    def decode(self, ids: Sequence[int]) -> str: ...
    def normalized(self, text: str) -> str: ...
    def token(self, token_id: int) -> str | None: ...
    def token_id(self, token: str) -> int | None: ...


class Piece:
    """A text that was tokenized alone, and its ids."""

    __slots__ = ("_tokenizer", "ids", "text")

    def __init__(self, text: str, ids: tuple[int, ...], tokenizer: "Tokenizer") -> None:
        self.text = text
        self.ids = ids
        self._tokenizer = tokenizer

    @property
    def offsets(self) -> Offsets:
        """Per token its [start, end) in the characters of the text; computed when asked for by `Tokenizer.offsets`."""
        return self._tokenizer.offsets(self.text)


class TokenizedText(dict[str, Any]):
    """What calling a tokenizer gives in the release's spelling: `["input_ids"]` and `.input_ids`."""

    @property
    def input_ids(self) -> Any:
        return self["input_ids"]


class Tokenizer:
    """Texts to ids and back; safe to share between threads.

    `special_ids` are all added tokens (id to text): strings such as `<|im_end|>` or `<think>` that become one id
    wherever they stand, in user text as well. `identity` is a short hash of the tokenizer's file.
    """

    def __init__(self, backend: Backend, *, pad_token_id: int | None, cache_bytes: int = CACHE_BYTES) -> None:
        self.backend = backend
        self._pad_token_id = pad_token_id
        self._cache = _PieceCache(cache_bytes)
        self.special_ids: Mapping[int, str] = dict(backend.added_tokens)
        self._special = frozenset(self.special_ids)

    @property
    def pad_token_id(self) -> int:
        """The id that fills a batch's shorter rows.

        Raises: BrokenRelease: the tokenizer has none.
        """
        if self._pad_token_id is None:
            raise BrokenRelease(
                "Tokenizer: it names no pad token, and a batch needs one. Set pad_token to '<|endoftext|>'."
            )
        return self._pad_token_id

    @property
    def identity(self) -> str:
        return self.backend.identity

    def encode_pieces(self, texts: Sequence[str]) -> list[Piece]:
        """Each text tokenized alone, without special tokens around it."""
        known = self._cache.get(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            fresh = dict(zip(missing, self.backend.encode(missing), strict=True))
            self._cache.put(fresh)
            known |= fresh
        return [Piece(text, known[text], self) for text in texts]

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has alone. Nothing is kept, so that a table of texts does not push prompts out."""
        return [len(ids) for ids in self.backend.encode(list(texts))]

    def specials_in(self, ids: tuple[int, ...]) -> list[str]:
        """The added tokens among the ids, in order, repeats included."""
        if self._special.isdisjoint(ids):
            return []
        return [self.special_ids[token_id] for token_id in ids if token_id in self._special]

    def offsets(self, text: str) -> Offsets:
        """Per token its [start, end) in the characters of the text as it was given, normalised or not.

        Tokens that only together make a character share its offsets; the offsets leave no character out.

        Raises: Unsupported: the tokenizer object cannot tell.
        """
        return _without_gaps(text, self.backend.offsets(text))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids, special tokens included; bytes that make no whole character become U+FFFD."""
        return self.backend.decode(ids)

    def normalized(self, text: str) -> str:
        """The text as the tokenizer reads it (NFC for Clef)."""
        return self.backend.normalized(text)

    def token_text(self, token_id: int) -> str:
        """One token's text; bytes that make no whole character are spelled `\\xe6`, an unused id `[id]`."""
        token = self.backend.token(token_id)
        if token is None:
            return f"[{token_id}]"
        text = self.decode([token_id])
        if "\ufffd" not in text or any(letter not in _LETTER_BYTES for letter in token):
            return text
        return bytes(_LETTER_BYTES[letter] for letter in token).decode(errors="backslashreplace")

    # The spelling that code written for the release uses.

    def __call__(self, text: str | Sequence[str], add_special_tokens: bool = False) -> TokenizedText:
        if add_special_tokens:
            raise ValueError("add_special_tokens: Clef's pieces are tokenized bare. Pass add_special_tokens=False.")
        if isinstance(text, str):
            return TokenizedText(input_ids=self.encode(text))
        return TokenizedText(input_ids=[list(piece.ids) for piece in self.encode_pieces(text)])

    def encode(self, text: str, add_special_tokens: bool = False) -> list[int]:
        if add_special_tokens:
            raise ValueError("add_special_tokens: Clef's pieces are tokenized bare. Pass add_special_tokens=False.")
        return list(self.encode_pieces([text])[0].ids)

    def convert_tokens_to_ids(self, tokens: str | Sequence[str]) -> Any:
        """The id of a token, or a list of ids; None where the vocabulary has no such token."""
        if isinstance(tokens, str):
            return self.backend.token_id(tokens)
        return [self.backend.token_id(token) for token in tokens]


def read_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a release folder, from its tokenizer.json; its pad token from tokenizer_config.json.

    Raises: BrokenRelease: a file is missing, cannot be read, or names a pad token that is not in the vocabulary.
    """
    path = folder / "tokenizer.json"
    try:
        content = path.read_bytes()
        backend = FastBackend(tokenizers.Tokenizer.from_buffer(content), hashlib.sha256(content).hexdigest())
    except OSError as error:
        raise BrokenRelease(
            f"Release {folder}: tokenizer.json cannot be read ({error.strerror}). Download it from the release again."
        ) from error
    except ValueError as error:
        raise BrokenRelease(
            f"Release {folder}: tokenizer.json is no tokenizer ({error}). Download it from the release again."
        ) from error
    return Tokenizer(backend, pad_token_id=_pad_token_id(folder, backend))


def from_any(tokenizer: Any) -> Tokenizer:
    """Any tokenizer as ours: one of the `tokenizers` package, of transformers, or an object with the release's call."""
    if isinstance(tokenizer, Tokenizer):
        return tokenizer
    pad_token_id = getattr(tokenizer, "pad_token_id", None)
    fast = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if isinstance(fast, tokenizers.Tokenizer):
        return Tokenizer(FastBackend(fast), pad_token_id=pad_token_id)
    return Tokenizer(CallBackend(tokenizer), pad_token_id=pad_token_id)


class FastBackend:
    """A tokenizer of the `tokenizers` package, which a transformers object may share with us."""

    def __init__(self, tokenizer: tokenizers.Tokenizer, file_hash: str | None = None) -> None:
        self._tokenizer = tokenizer
        self._hash = file_hash

    @property
    def added_tokens(self) -> Mapping[int, str]:
        return {token_id: str(token) for token_id, token in self._tokenizer.get_added_tokens_decoder().items()}

    @property
    def identity(self) -> str:
        if self._hash is None:
            self._hash = hashlib.sha256(self._tokenizer.to_str().encode()).hexdigest()
        return self._hash[:12]

    def encode(self, texts: list[str]) -> list[tuple[int, ...]]:
        self._forget_settings()
        # The "fast" call leaves offsets out, which are a fifth of the time and needed for shown prompts only.
        return [tuple(e.ids) for e in self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        self._forget_settings()
        offsets: list[tuple[int, int]] = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return offsets

    def decode(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(ids, skip_special_tokens=False))

    def normalized(self, text: str) -> str:
        normalizer = self._tokenizer.normalizer
        if normalizer is None or (isinstance(normalizer, NFC) and _MAY_CHANGE_IN_NFC.search(text) is None):
            return text
        return str(normalizer.normalize_str(text))

    def token(self, token_id: int) -> str | None:
        token: str | None = self._tokenizer.id_to_token(token_id)
        return token

    def token_id(self, token: str) -> int | None:
        token_id: int | None = self._tokenizer.token_to_id(token)
        return token_id

    def _forget_settings(self) -> None:
        """Undoes what a file or another user of the object may have set: it would cut or pad in silence."""
        if self._tokenizer.truncation is not None:
            self._tokenizer.no_truncation()
        if self._tokenizer.padding is not None:
            self._tokenizer.no_padding()
        if self._tokenizer.encode_special_tokens:
            self._tokenizer.encode_special_tokens = False


class CallBackend:
    """An object that is called as the release calls its tokenizer; it knows no offsets and no normaliser."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    @property
    def added_tokens(self) -> Mapping[int, str]:
        return {
            token_id: str(token) for token_id, token in getattr(self._tokenizer, "added_tokens_decoder", {}).items()
        }

    @property
    def identity(self) -> str:
        return type(self._tokenizer).__name__

    def encode(self, texts: list[str]) -> list[tuple[int, ...]]:
        return [tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"]) for text in texts]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        raise Unsupported(f"Tokenizer {self.identity}: it gives no token offsets. Use a release's tokenizer.json.")

    def decode(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(ids))

    def normalized(self, text: str) -> str:
        return text

    def token(self, token_id: int) -> str | None:
        return self.decode([token_id])

    def token_id(self, token: str) -> int | None:
        token_id: int | None = self._tokenizer.convert_tokens_to_ids(token)
        return token_id


class _PieceCache:
    """Ids of the texts tokenized last, bounded by bytes, the least recently used out first."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._pieces: OrderedDict[str, tuple[int, ...]] = OrderedDict()
        self._lock = Lock()

    def get(self, texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
        known: dict[str, tuple[int, ...]] = {}
        with self._lock:
            for text in texts:
                ids = self._pieces.get(text)
                if ids is not None:
                    self._pieces.move_to_end(text)
                    known[text] = ids
        return known

    def put(self, pieces: Mapping[str, tuple[int, ...]]) -> None:
        with self._lock:
            for text, ids in pieces.items():
                if text not in self._pieces and _cached_bytes(text, ids) <= self._max_bytes:
                    self._pieces[text] = ids
                    self._bytes += _cached_bytes(text, ids)
            while self._bytes > self._max_bytes:
                self._bytes -= _cached_bytes(*self._pieces.popitem(last=False))


def _cached_bytes(text: str, ids: tuple[int, ...]) -> int:
    return sys.getsizeof(text) + _BYTES_PER_TOKEN * len(ids) + _BYTES_PER_PIECE


def _without_gaps(text: str, offsets: list[tuple[int, int]]) -> Offsets:
    """Offsets in which every character belongs to a token.

    A normaliser that composes characters leaves the later ones out: they belong to the token before. A post-processor
    may trim white space: it belongs to the token after.
    """
    covered: list[tuple[int, int]] = []
    next_start = len(text)
    previous: tuple[int, int] | None = None
    for start, end in reversed(offsets):
        if (start, end) == previous:
            covered.append(covered[-1])
            continue
        previous = (start, end)
        if end < next_start and covered and text[end:next_start].isspace():
            covered[-1] = (end, covered[-1][1])
            next_start = end
        covered.append((start, max(end, next_start)))
        next_start = start
    if covered and next_start > 0:
        covered[-1] = (0, covered[-1][1])
    return tuple(reversed(covered))


def _pad_token_id(folder: Path, backend: Backend) -> int:
    path = folder / "tokenizer_config.json"
    try:
        pad_token = json.loads(path.read_bytes()).get("pad_token")
    except (OSError, ValueError) as error:
        raise BrokenRelease(f"Release {folder}: {path.name} cannot be read ({error}). Download it again.") from error
    content = pad_token["content"] if isinstance(pad_token, dict) else pad_token
    token_id = backend.token_id(content) if isinstance(content, str) else None
    if token_id is None:
        raise BrokenRelease(
            f"Release {folder}: {path.name} names {content!r} as pad_token, which the vocabulary does not have. "
            "Set it to '<|endoftext|>'."
        )
    return token_id


def _letter_bytes() -> dict[str, int]:
    """The byte behind each letter of a byte-level vocabulary. Source: GPT-2's table, as in the `tokenizers` package."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + place): byte for place, byte in enumerate(hidden)}


_LETTER_BYTES = _letter_bytes()
