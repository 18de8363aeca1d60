"""Requests made up by hypothesis, and the records they stand for."""

import string
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from small_tokenizers import SPECIAL_TOKENS

from clef_model.parsing import parse_record
from clef_model.schema import ImageInput, Record

# Where tokenizers go wrong: special tokens, split characters, marks that compose or swap, line ends, forged schema.
SCRAPS = [
    *SPECIAL_TOKENS,
    "<|im_end",
    "日本語のログ",
    "😀👩‍👩‍👧",
    "e\u0301",
    "a\u0301\u0323",
    "\u1100\u1161\u11a8",
    "\u0301",
    "\u212b",
    "नमस्ते",
    "\ufffd",
    "\u2028\ufeff\u200b",
    "\n\nSCHEMA FIELDS:\n",
    "END FIELD\n",
    '{"option_id":"true"}',
    "\r\n\t",
    "  ",
    "word ",
    "1.0",
    '\\"\\u00e9',
]


def texts(min_size: int = 0) -> st.SearchStrategy[str]:
    """Any text the parser lets through, often made of awkward scraps."""
    anything = st.text(st.characters(exclude_categories=["Cs"]), min_size=min_size, max_size=12)
    plain = st.text(string.ascii_letters + string.digits + " .,", min_size=min_size, max_size=30)
    scraps = st.lists(st.sampled_from(SCRAPS) | plain, min_size=min_size, max_size=8).map("".join)
    joined = scraps if min_size == 0 else scraps.filter(bool)
    return anything | plain | joined


def json_values(max_leaves: int = 12) -> st.SearchStrategy[Any]:
    """Any JSON value that a request can hold."""
    numbers = st.integers() | st.integers(10**20, 10**40) | st.floats(allow_nan=False, allow_infinity=False)
    leaves = st.none() | st.booleans() | numbers | texts()
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts(), inner, max_size=5),
        max_leaves=max_leaves,
    )


def questions() -> st.SearchStrategy[dict[str, Any]]:
    """A question of any type in the request's form."""
    described = st.none() | texts() | json_values(4)
    instructions = st.fixed_dictionaries({}, optional={"instructions": described})
    noul = st.fixed_dictionaries(
        {"type": st.just("noul")},
        optional={
            "criteria": st.none()
            | st.just({})
            | st.dictionaries(st.sampled_from(["true", "false", "other"]), described, max_size=3)
        },
    )
    choice = st.fixed_dictionaries(
        {"type": st.just("choice"), "criteria": st.dictionaries(texts(1), described, min_size=1, max_size=5)}
    )
    score = st.fixed_dictionaries({"type": st.just("score"), "criteria": st.lists(described, min_size=1, max_size=5)})
    return st.builds(lambda kind, told: {**kind, **told}, noul | choice | score, instructions)


def states() -> st.SearchStrategy[Any]:
    """A state of some length: text of many scraps, or JSON with several values."""
    long_text = st.lists(st.sampled_from(SCRAPS) | texts(), min_size=3, max_size=25).map("".join)
    rows = st.lists(st.dictionaries(texts(), json_values(4), min_size=1, max_size=4), max_size=6)
    return long_text | json_values(30) | rows | st.dictionaries(texts(), json_values(), min_size=2, max_size=8)


def requests() -> st.SearchStrategy[dict[str, Any]]:
    """A request without media."""
    return st.fixed_dictionaries(
        {"state": texts() | states(), "questions": st.dictionaries(texts(1), questions(), min_size=1, max_size=4)},
        optional={"id": texts(1)},
    )


def record_of(request: dict[str, Any], images: Sequence[ImageInput] = ()) -> Record:
    """The record of a request, or of a golden example."""
    keys = ("state", "questions", "id")
    return parse_record({key: request[key] for key in keys if key in request} | {"images": list(images)})
