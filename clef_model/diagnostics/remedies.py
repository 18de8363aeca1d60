"""Ways out of a cut: what to drop, rename, move or raise, each with what the state would still lose."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clef_model.decision import Limits
from clef_model.encoding import MAX_POSITIONS, EncodedRecord
from clef_model.errors import ClefError
from clef_model.json_paths import Json, Path, parse_path
from clef_model.rendering import render
from clef_model.schema import Record

MOST_RENAMES = 3
MOST_DROPS = 2
REACH = 200  # characters within which a cut is moved to where a word begins
# The first of these that sorts a key before all others is taken; "0" is for keys that begin with a digit or a capital.
PREFIXES = ("a_", "A_", "0_", "!")


@dataclass(frozen=True, slots=True)
class RaiseMaxLength:
    to: int  # tokens


@dataclass(frozen=True, slots=True)
class RaiseStateLimit:
    to: int  # tokens


@dataclass(frozen=True, slots=True)
class DropKey:
    path: Path  # within the state


@dataclass(frozen=True, slots=True)
class RenameKey:
    path: Path
    to: str


@dataclass(frozen=True, slots=True)
class MoveItems:
    """The items of the list at `path` from `start` on go to its front."""

    path: Path
    start: int


@dataclass(frozen=True, slots=True)
class MoveText:
    """The text from character `start` on goes to the front."""

    start: int


@dataclass(frozen=True, slots=True)
class DropText:
    """The characters [start, end) of the text go."""

    start: int
    end: int


Action = RaiseMaxLength | RaiseStateLimit | DropKey | RenameKey | MoveItems | MoveText | DropText


@dataclass(frozen=True, slots=True)
class Remedy:
    """One way out, and what it leaves: tokens and paths still lost, the value cut in two, tokens of the prompt."""

    action: Action
    lost_tokens: int
    lost_paths: tuple[str, ...]
    cut_path: str | None
    total: int


Plan = Callable[[Record, Limits], EncodedRecord]


def ways_out(encoded: EncodedRecord, limits: Limits, plan: Plan) -> list[Remedy]:
    """The ways out of the cut of an encoded record, none when nothing was cut.

    Each is tried by planning the changed record, so its numbers are those the model would see.
    """
    if encoded.budget.truncation is None:
        return []
    actions = dict.fromkeys(_actions(encoded))
    tried = (_tried(action, encoded.record, limits, plan) for action in actions)
    return [remedy for remedy in tried if remedy is not None]


def applied(state: Json, action: Action) -> Json:
    """The state after an action; the raising of a limit leaves it as it is."""
    if isinstance(action, MoveText):
        return moved_text(state, action.start)
    if isinstance(action, DropText):
        return state[: action.start] + state[action.end :]
    if isinstance(action, DropKey):
        *around, key = action.path
        return _changed(state, tuple(around), lambda value: {k: v for k, v in value.items() if k != key})
    if isinstance(action, RenameKey):
        *around, key = action.path
        return _changed(state, tuple(around), lambda value: {action.to if k == key else k: v for k, v in value.items()})
    if isinstance(action, MoveItems):
        start = action.start
        return _changed(state, action.path, lambda value: [*value[start:], *value[:start]])
    return state


def moved_text(text: str, start: int) -> str:
    """The text from `start` on, then what stood before it, with one blank line between them."""
    return f"{text[start:].strip()}\n\n{text[:start].strip()}"


def first_key(key: str, others: Sequence[str]) -> str | None:
    """The key with a prefix that sorts it before all others; None when no usual prefix does."""
    candidates = (prefix + key for prefix in PREFIXES)
    return next((name for name in candidates if all(name < other for other in others)), None)


def paragraphs(text: str) -> list[tuple[int, int]]:
    """[start, end) of each paragraph, parted by blank lines, or of each line when there is no blank line."""
    separator = "\n\n" if "\n\n" in text.strip() else "\n"
    found, start = [], 0
    while start < len(text):
        end = text.find(separator, start)
        end = len(text) if end < 0 else end + len(separator)
        while end < len(text) and text[end] == "\n":
            end += 1
        found.append((start, end))
        start = end
    return found


def _tried(action: Action, record: Record, limits: Limits, plan: Plan) -> Remedy | None:
    if isinstance(action, RaiseMaxLength):
        limits = replace(limits, max_length=action.to)
    elif isinstance(action, RaiseStateLimit):
        limits = replace(limits, max_state_tokens=action.to)
    try:
        after = plan(replace(record, state=applied(record.state, action)), replace(limits, truncate=True))
    except ClefError:  # a way out that cannot be taken is none
        return None
    truncation = after.budget.truncation
    if truncation is None:
        return Remedy(action, 0, (), None, after.budget.total)
    return Remedy(action, truncation.lost_tokens, truncation.lost_paths, truncation.cut_path, after.budget.total)


def _actions(encoded: EncodedRecord) -> Iterator[Action]:
    state, budget, truncation = encoded.record.state, encoded.budget, encoded.budget.truncation
    assert truncation is not None
    if isinstance(state, str):
        yield from _text_actions(state, truncation.kept_characters, truncation.lost_tokens, budget.state)
    else:
        touched = [parse_path(path)[1:] for path in truncation.lost_paths]
        if truncation.cut_path is not None:
            touched.append(parse_path(truncation.cut_path)[1:])
        yield from _value_actions(state, touched)
    needed = budget.fixed + budget.state
    if budget.max_state_tokens is not None and budget.max_state_tokens < budget.state:
        yield RaiseStateLimit(budget.state)
    elif needed <= MAX_POSITIONS:
        yield RaiseMaxLength(needed)


def _value_actions(state: Json, touched: Sequence[Path]) -> Iterator[Action]:
    level = _level(state)
    container = _at(state, level)
    lost = list(dict.fromkeys(path[len(level)] for path in touched if len(path) > len(level)))
    if isinstance(container, Mapping) and len(container) > 1:
        for key in lost[:MOST_RENAMES]:
            others = [other for other in container if other != key]
            name = first_key(str(key), others)
            if name is not None and any(other < str(key) for other in others):
                yield RenameKey((*level, key), name)
        # To drop what is lost brings nothing back, unless it is cut in two and more is lost behind it.
        gone = lost if len(lost) == 1 else [key for key in lost if key != min(lost)]
        kept = [key for key in container if key not in gone]
        heaviest = sorted(kept, key=lambda key: len(render(container[key])), reverse=True)
        for key in heaviest[:MOST_DROPS]:
            yield DropKey((*level, key))
    elif isinstance(container, list) and lost and isinstance(lost[0], int) and lost[0] > 0:
        yield MoveItems(level, min(place for place in lost if isinstance(place, int)))


def _text_actions(text: str, kept: int, lost_tokens: int, state_tokens: int) -> Iterator[Action]:
    start = max(text.rfind(separator, max(0, kept - REACH), kept) for separator in "\n ") + 1 or kept
    if 0 < start < len(text):
        yield MoveText(start)
    parts = [part for part in paragraphs(text) if part[0] > 0 and part[1] <= kept]  # the first goes with the start
    if parts:
        # The shortest paragraph that is likely enough, judged by its share of the characters; else the longest.
        wanted = len(text) * lost_tokens / state_tokens
        enough = [part for part in parts if part[1] - part[0] >= wanted]
        by_length = sorted(enough or parts, key=lambda part: part[1] - part[0], reverse=not enough)
        yield DropText(*by_length[0])
    ahead = _word_start(text, round(len(text) * lost_tokens / state_tokens))
    if 0 < ahead < len(text):
        yield DropText(0, ahead)


def _word_start(text: str, place: int) -> int:
    """The first place from `place` on where a line or a word begins, within a short reach."""
    for separator in ("\n", " "):
        found = text.find(separator, max(0, place - 1), place + REACH)
        if found >= 0:
            return found + 1
    return place


def _level(state: Json) -> Path:
    """The path of the outermost container with several children: what a person would rename or drop."""
    path: Path = ()
    value = state
    while isinstance(value, Mapping | list) and len(value) == 1:
        step = next(iter(value)) if isinstance(value, Mapping) else 0
        if not isinstance(value[step], Mapping | list):
            break
        path, value = (*path, step), value[step]
    return path


def _at(value: Json, path: Path) -> Json:
    for step in path:
        value = value[step]
    return value


def _changed(value: Json, path: Path, change: Callable[[Any], Json]) -> Json:
    """The value with the part at `path` changed; the rest is shared, nothing is altered."""
    if not path:
        return change(value)
    step, *rest = path
    if isinstance(value, Mapping):
        return {key: _changed(v, tuple(rest), change) if key == step else v for key, v in value.items()}
    return [_changed(v, tuple(rest), change) if place == step else v for place, v in enumerate(value)]
