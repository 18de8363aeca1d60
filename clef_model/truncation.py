"""Where a state was cut: the last whole character kept, and which values of a JSON state are lost."""

import re
from collections.abc import Callable, Mapping
from typing import Literal

from clef_model.json_paths import Json, Path, path_text
from clef_model.ledger import Truncation
from clef_model.rendering import render
from clef_model.tokenizer import Piece, Tokenizer

EXCERPT_CHARACTERS = 60
UNDECODABLE = "\ufffd"  # what a decoder writes for bytes that make no whole character

_NORMALISING_REACH = 64  # characters on each side that decide whether a normaliser can be cut at a place
_JSON_PARTS = re.compile(r'"(?:[^"\\]|\\.)*+"?+|[^][{},"]+|[][{},]')


def describe_cut(
    state: Json, piece: Piece, kept_tokens: int, cause: Literal["max_state_tokens", "max_length"], tokenizer: Tokenizer
) -> Truncation:
    """What the state loses when only its first tokens are kept."""
    characters, splits_character = kept_characters(piece, kept_tokens, tokenizer)
    lost_paths, cut_path = ((), None) if isinstance(state, str) else lost_values(state, piece.text[:characters])
    return Truncation(
        kept_tokens=kept_tokens,
        lost_tokens=len(piece.ids) - kept_tokens,
        kept_characters=characters,
        last_kept_text=piece.text[max(0, characters - EXCERPT_CHARACTERS) : characters],
        first_lost_text=piece.text[characters : characters + EXCERPT_CHARACTERS],
        splits_character=splits_character,
        cause=cause,
        lost_paths=tuple(path_text(path) for path in lost_paths),
        cut_path=None if cut_path is None else path_text(cut_path),
    )


def kept_characters(piece: Piece, kept_tokens: int, tokenizer: Tokenizer) -> tuple[int, bool]:
    """How many characters of the piece its first tokens show whole, and whether they show a part of the next one.

    Characters are those of the text as it was given. Where the normaliser composes several, they count as one.
    """
    seen = tokenizer.decode(piece.ids[:kept_tokens])
    splits = False
    if seen.endswith(UNDECODABLE):
        # The text may hold U+FFFD itself; a split character shows on both sides of the cut, so the halves are longer.
        halves = len(seen) + len(tokenizer.decode(piece.ids[kept_tokens:]))
        splits = halves != len(tokenizer.decode(piece.ids))
        seen = seen[:-1] if splits else seen
    if piece.text.startswith(seen):
        return len(seen), splits
    characters, shown = _normalised_prefix(piece.text, len(seen), tokenizer.normalized)
    return characters, splits or shown < len(seen)


def lost_values(state: Json, kept: str) -> tuple[list[Path], Path | None]:
    """The values of a JSON state that its kept start loses, and the one that it cuts in two, as paths from `state`.

    The kept start is read as far as it is JSON once its open strings and brackets are closed. Lost is what is absent
    from that reading; a path stands for everything below it. Cut in two is the text or number that the reading has,
    but shorter than it was.
    """
    path: Path = ()
    container: Json = [state]  # a list around the whole, so that the state is an item like any other
    places, tail = _open_places(kept)
    lost: list[Path] = []
    for place in places[:-1]:
        children = _children(container)
        lost = [(*path, step) for step, _ in children[place + 1 :]] + lost
        step, container = children[place]
        path = (*path, step)
    place, children = places[-1], _children(container)
    reading = _reading(*children[place], tail, container) if children and tail is not None else "whole"
    first_lost = place if reading == "absent" else place + 1
    lost = [(*path, step) for step, _ in children[first_lost:]] + lost
    cut = (*path, children[place][0]) if reading == "cut" else None
    return [_from_state(found) for found in lost], None if cut is None else _from_state(cut)


def _from_state(path: Path) -> Path:
    return ("state", *path[1:])


def _children(container: Json) -> list[tuple[str | int, Json]]:
    """Keys or positions with their values, as they stand in the prompt."""
    return sorted(container.items()) if isinstance(container, Mapping) else list(enumerate(container))


def _open_places(kept: str) -> tuple[list[int], str | None]:
    """The position of the current child in each open container, outermost first, and the text of the innermost one.

    That text begins after the bracket or comma before the child, so it holds the key of a member; it is None when the
    child is a container that has been closed.
    """
    parts = _JSON_PARTS.findall(kept)
    places, begin, closed = [0], 0, False
    for index, part in enumerate(parts):
        if part in "[{":
            places.append(0)
        elif part in "]}":
            places.pop()
        elif part == ",":
            places[-1] += 1
        else:
            continue
        begin, closed = index + 1, part in "]}"
    return places, None if closed else "".join(parts[begin:])


def _reading(step: str | int, value: Json, tail: str, container: Json) -> Literal["whole", "cut", "absent"]:
    """What a reader of the kept text has of a value whose text begins in `tail`, behind its key."""
    key_length = len(_json(step)) + 1 if isinstance(container, Mapping) else 0
    kept, whole = tail[key_length:], _json(value)
    if isinstance(value, str) and kept:
        return "whole" if len(kept) >= len(whole) - 1 else "cut"  # without its closing quote it still reads the same
    if kept == whole:
        return "whole"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return "cut" if is_number and any(char.isdigit() for char in kept) else "absent"


def _json(value: Json) -> str:
    """The value as it is spelled inside JSON."""
    return render([value])[1:-1]


def _normalised_prefix(text: str, limit: int, normalise: Callable[[str], str]) -> tuple[int, int]:
    """The longest start of the text that fills at most `limit` characters when normalised, and how many it fills.

    It ends only where the normaliser neither composes nor reorders across. Halving the range normalises each part of
    the text about once.
    """
    low, filled, high = 0, 0, len(text) + 1
    while (middle := _boundary_before(text, (low + high) // 2, low, normalise)) > low:
        size = filled + len(normalise(text[low:middle]))
        if size <= limit:
            low, filled = middle, size
        else:
            high = middle
    for place in range(low + 1, high):
        if _is_boundary(text, place, normalise):
            size = filled + len(normalise(text[low:place]))
            if size > limit:
                break
            low, filled = place, size
    return low, filled


def _boundary_before(text: str, place: int, low: int, normalise: Callable[[str], str]) -> int:
    while place > low and not _is_boundary(text, place, normalise):
        place -= 1
    return place


def _is_boundary(text: str, place: int, normalise: Callable[[str], str]) -> bool:
    left, right = text[max(0, place - _NORMALISING_REACH) : place], text[place : place + _NORMALISING_REACH]
    return normalise(left) + normalise(right) == normalise(left + right)
