"""What each part of a state costs: every value of a JSON state at any depth, every paragraph of a text."""

import json
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from clef_model.diagnostics.remedies import paragraphs
from clef_model.json_paths import Path, path_text
from clef_ui.json_source import Source, read_source

MOST_ROWS = 1_500  # values or paragraphs that travel to the page; deeper or later ones are counted in those above
SHOWN_CHARACTERS = 90


@dataclass(frozen=True, slots=True)
class Place:
    """One value in the rendered state: [start, end) with its key and comma, and within it the `value` alone."""

    path: Path
    start: int
    end: int
    value: Source
    is_container: bool


class Utf16:
    """Places in a text as the page counts them, in UTF-16 units; asked for in growing order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._is_narrow = text.isascii() or max(text, default="") <= "\uffff"
        self._place = 0
        self._units = 0

    def offset(self, place: int) -> int:
        if self._is_narrow:
            return place
        self._units += sum(1 + (character > "\uffff") for character in self._text[self._place : place])
        self._place = place
        return self._units


def json_costs(text: str, starts: Sequence[int], kept: int, lost_paths: Collection[str]) -> dict[str, Any]:
    """The values of a rendered JSON state in prompt order, each with its tokens, those of its children included.

    `at` is where it begins in the state's text, in UTF-16 units.

    `starts` are the characters at which the state's tokens begin; a token belongs to the values it begins in. `kept` is
    how many characters the model gets.
    """
    places = list(_places(read_source(text)))
    units = Utf16(text)
    deepest = _deepest(places)
    shown = [place for place in places if len(place.path) <= deepest][:MOST_ROWS]
    lost: set[str] = set(lost_paths)
    rows = []
    for place in shown:
        path = path_text(("state", *place.path))
        if path_text(("state", *place.path[:-1])) in lost:
            lost.add(path)
        rows.append(
            {
                "path": path_text(place.path),
                "name": _name(place.path),
                "depth": len(place.path),
                "tokens": bisect_left(starts, place.end) - bisect_left(starts, place.start),
                "at": units.offset(place.start),
                "text": _shortened(place.value.literal),
                "container": place.is_container,
                "status": "lost" if path in lost else "cut" if place.value.end > kept else "kept",
            }
        )
    return {"kind": "json", "rows": rows, "all": len(places), "deepest": deepest}


def text_costs(text: str, starts: Sequence[int], kept: int) -> dict[str, Any]:
    """The paragraphs of a text state, each with its tokens."""
    parts = paragraphs(text)
    units = Utf16(text)
    rows = [
        {
            "path": f"paragraph {place + 1}",
            "name": f"paragraph {place + 1}",
            "depth": 1,
            "tokens": bisect_left(starts, end) - bisect_left(starts, start),
            "at": units.offset(start),
            "text": _shortened(text[start:end]),
            "container": False,
            "status": "lost" if start >= kept else "cut" if end > kept else "kept",
        }
        for place, (start, end) in enumerate(parts[:MOST_ROWS])
    ]
    return {"kind": "text", "rows": rows, "all": len(parts), "deepest": 1}


def _places(source: Source) -> Iterator[Place]:
    """All values below the whole, in prompt order; without recursion, since states may be deep."""
    open_places: list[Iterator[Place | tuple[Path, Source]]] = [_children((), source)]
    while open_places:
        found = next(open_places[-1], None)
        if found is None:
            open_places.pop()
        elif isinstance(found, Place):
            yield found
        else:
            open_places.append(_children(*found))


def _children(path: Path, source: Source) -> Iterator[Place | tuple[Path, Source]]:
    """Each child as a place, and then, when it holds more, as a container to go into."""
    entries: list[tuple[str | int, int, Source]]
    if source.members is not None:
        entries = [(json.loads(member.key), member.start, member.value) for member in source.members]
    else:
        entries = [(place, item.start, item) for place, item in enumerate(source.items or ())]
    for position, (step, start, value) in enumerate(entries):
        end = entries[position + 1][1] if position + 1 < len(entries) else source.end - 1
        is_container = value.members is not None or value.items is not None
        yield Place((*path, step), start, end, value, is_container)
        if is_container:
            yield ((*path, step), value)


def _deepest(places: Sequence[Place]) -> int:
    """The depth down to which all values fit into the limit, 1 at least."""
    depths = sorted(len(place.path) for place in places)
    if len(depths) <= MOST_ROWS:
        return depths[-1] if depths else 1
    return max(1, depths[MOST_ROWS] - 1)


def _name(path: Path) -> str:
    return f"[{path[-1]}]" if isinstance(path[-1], int) else path[-1]


def _shortened(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…"
