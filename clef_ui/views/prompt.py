"""The Prompt panel: the whole prompt with its segments, token ids and token boundaries, in a few flat lists."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from clef_model.encoding import EncodedRecord
from clef_model.errors import BudgetExceeded, Unsupported
from clef_model.ledger import Segment
from clef_model.prompt_notices import MEANINGS
from clef_model.tokenizer import Offsets, Tokenizer
from clef_ui.views.paths import path_ranges
from clef_ui.views.planned import Planned

SHOWN_PATHS = 12  # of the values that a cut loses
LOST_SHOWN = 20_000  # characters of the lost text that travel at once; the rest comes on demand
USER_KINDS = frozenset({"state", "question_header", "instruction", "option"})
_MEDIA_KINDS = frozenset({"media", "media_end"})  # their tokens are the processor's, not those of the text shown


def prompt_view(result: Planned, tokenizer: Tokenizer, *, exact: bool) -> dict[str, Any]:
    """Everything the panel draws. All lengths are in UTF-16 units, as the page counts.

    `text` is the segments' texts in order; `segments` holds of each [kind, length of its text, tokens, question,
    option, media], -1 for none. `ids` and `lengths` hold each token of the segments that are text: a length of 0
    continues the character of the token before. `partial` is how many of the state's last tokens hold only a part of a
    character whose rest was cut. `runs` holds the ids of each media segment as [id, count] pairs.
    """
    encoded = result.encoded
    shown = [segment for segment in encoded.ledger if segment.kind != "state_cut"]
    kinds = list(dict.fromkeys(segment.kind for segment in shown))
    ids: list[int] = []
    lengths: list[int] = []
    is_measured = True
    runs: list[list[list[int]]] = []
    measure = _Lengths(tokenizer, encoded)
    for segment in shown:
        own = encoded.input_ids[segment.span.start : segment.span.end]
        if segment.kind in _MEDIA_KINDS:
            runs.append(_runs(own))
            continue
        ids.extend(own)
        measured = measure(segment) if is_measured else None
        is_measured = measured is not None
        lengths.extend(measured or ())
    return {
        "text": "".join(segment.text for segment in shown),
        "kinds": kinds,
        "segments": [_segment(segment, kinds) for segment in shown],
        "ids": ids,
        "lengths": lengths if is_measured else None,
        "partial": measure.partial,
        "runs": runs,
        "questions": [
            {"id": question.id, "kind": question.kind, "options": [option.id for option in question.options]}
            for question in encoded.record.questions
        ],
        "media": media_names(encoded),
        "special": _special(encoded.input_ids, tokenizer.special_ids),
        "typed": _typed(encoded, tokenizer.special_ids),
        "cut": _cut(encoded),
        "total": len(encoded.input_ids),
        "limit": encoded.budget.limit if result.over is None else result.over.limit,
        "over": over_view(result.over),
        # A tokenizer built from the vocabulary alone agrees with the release's own on plain English.
        "exact": exact or all(segment.text.isascii() for segment in shown),
    }


def over_view(over: BudgetExceeded | None) -> dict[str, Any] | None:
    return None if over is None else {"needed": over.needed, "limit": over.limit, "message": str(over)}


def lost_text(encoded: EncodedRecord) -> str:
    """The part of the state that the model does not get."""
    return "".join(segment.text for segment in encoded.ledger if segment.kind == "state_cut")


def media_names(encoded: EncodedRecord) -> list[dict[str, str]]:
    record = encoded.record
    return [
        *({"kind": "image", "name": image.name} for image in record.images),
        *({"kind": "video", "name": video.name} for video in record.videos),
    ]


def utf16_length(text: str) -> int:
    return len(text) if text.isascii() else len(text) + sum(character > "\uffff" for character in text)


class _Lengths:
    """Token lengths of segments; the same text is measured once, since a prompt repeats most of its short pieces."""

    def __init__(self, tokenizer: Tokenizer, encoded: EncodedRecord) -> None:
        self._tokenizer = tokenizer
        self._lost = lost_text(encoded)
        self._known: dict[str, list[int]] = {}
        self.partial = 0

    def __call__(self, segment: Segment) -> list[int] | None:
        """None when the tokenizer cannot tell where its tokens stand."""
        whole = segment.text + self._lost if segment.kind == "state" else segment.text
        try:
            if whole not in self._known:
                offsets = self._tokenizer.offsets(whole)[: segment.num_tokens]
                self._known[whole] = token_lengths(segment.text, offsets)
                if segment.kind == "state":
                    self.partial = sum(start >= len(segment.text) for start, _ in offsets)
        except Unsupported:
            return None
        return self._known[whole]


def token_lengths(text: str, offsets: Offsets) -> list[int]:
    """UTF-16 units of each token; 0 for a token that only continues the character of the one before.

    Tokens behind the text's end, which hold a part of a character that was cut away, are 0 as well.
    """
    lengths: list[int] = []
    first = -1  # the token that a character shared by several is counted for
    end = 0
    for start, stop in offsets:
        stop = min(stop, len(text))
        begins = stop > end and start >= end
        lengths.append(stop - end if begins else 0)
        if begins:
            first = len(lengths) - 1
        elif stop > end and first >= 0:
            lengths[first] += stop - end
        end = max(end, stop)
    return lengths if text.isascii() or max(text) <= "\uffff" else _in_utf16(text, lengths)


def _in_utf16(text: str, lengths: Sequence[int]) -> list[int]:
    units, start = [], 0
    for length in lengths:
        units.append(utf16_length(text[start : start + length]))
        start += length
    return units


def _runs(ids: Iterable[int]) -> list[list[int]]:
    return [[token_id, sum(1 for _ in same)] for token_id, same in groupby(ids)]


def _segment(segment: Segment, kinds: Sequence[str]) -> list[int]:
    places = (segment.question, segment.option, segment.media)
    return [
        kinds.index(segment.kind),
        utf16_length(segment.text),
        segment.num_tokens,
        *(-1 if place is None else place for place in places),
    ]


def _special(ids: Iterable[int], special_ids: Mapping[int, str]) -> dict[str, str]:
    return {str(token_id): special_ids[token_id] for token_id in sorted(special_ids.keys() & set(ids))}


def _typed(encoded: EncodedRecord, special_ids: Mapping[int, str]) -> list[dict[str, Any]]:
    """Control tokens that stand in the person's own text, each with what it does."""
    found = []
    for place, segment in enumerate(s for s in encoded.ledger if s.kind != "state_cut"):
        if segment.kind not in USER_KINDS:
            continue
        for index in range(segment.span.start, segment.span.end):
            token = special_ids.get(encoded.input_ids[index])
            if token is not None:
                found.append({"segment": place, "index": index, "token": token, "meaning": meaning(token)})
    return found


def meaning(token: str) -> str:
    """What a control token does, in a few words."""
    return MEANINGS.get(token, "is a control token of the model")


def _cut(encoded: EncodedRecord) -> dict[str, Any] | None:
    truncation = encoded.budget.truncation
    if truncation is None:
        return None
    lost = lost_text(encoded)
    shown = [segment for segment in encoded.ledger if segment.kind != "state_cut"]
    return {
        "segment": next(place for place, segment in enumerate(shown) if segment.kind == "state"),
        "text": lost[:LOST_SHOWN],
        "characters": len(lost),
        "tokens": truncation.lost_tokens,
        "kept": truncation.kept_tokens,
        "cause": truncation.cause,
        "splitsCharacter": truncation.splits_character,
        "paths": path_ranges(truncation.lost_paths, SHOWN_PATHS),
        "cutPath": truncation.cut_path,
    }
