"""Ways out of a cut as the page lists them: what to do, what it brings, and the action to send back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from clef_model.diagnostics.remedies import (
    Action,
    DropKey,
    DropText,
    MoveItems,
    MoveText,
    RaiseMaxLength,
    RaiseStateLimit,
    Remedy,
    RenameKey,
)
from clef_model.encoding import MAX_LENGTH, EncodedRecord
from clef_model.errors import ClefError
from clef_model.json_paths import counted, path_text
from clef_ui.views.paths import path_ranges

SHOWN_PATHS = 4
SHOWN_CHARACTERS = 60

_ACTIONS = {
    kind.__name__: kind for kind in (RaiseMaxLength, RaiseStateLimit, DropKey, RenameKey, MoveItems, MoveText, DropText)
}


def ways_view(remedies: list[Remedy], encoded: EncodedRecord) -> list[dict[str, Any]]:
    """One entry a way out: those that keep everything first, and those that drop something last."""
    ordered = sorted(
        remedies, key=lambda remedy: (remedy.lost_tokens > 0, isinstance(remedy.action, DropKey | DropText))
    )
    return [_entry(remedy, encoded) for remedy in ordered]


def read_action(view: Mapping[str, Any]) -> Action:
    """The action that the page sends back.

    Raises: ClefError.
    """
    fields = dict(view)
    kind = _ACTIONS.get(str(fields.pop("kind", "")))
    if kind is None:
        raise ClefError("The page named a way out that there is not. Reload the page.")
    if "path" in fields:
        fields["path"] = tuple(fields["path"])
    try:
        return kind(**fields)
    except TypeError as error:
        raise ClefError("The page named a way out that there is not. Reload the page.") from error


def _entry(remedy: Remedy, encoded: EncodedRecord) -> dict[str, Any]:
    truncation = encoded.budget.truncation
    before = truncation.lost_tokens if truncation else 0
    return {
        "label": _label(remedy.action, encoded),
        "effect": _effect(remedy, before),
        "lost": remedy.lost_tokens,
        "before": before,
        "total": remedy.total,
        "action": {"kind": type(remedy.action).__name__, **asdict(remedy.action)},
    }


def _label(action: Action, encoded: EncodedRecord) -> list[list[str]]:
    """Pairs of a style, "text" or "code", and a text."""
    if isinstance(action, RaiseMaxLength):
        beyond = ", beyond the trained length" if action.to > MAX_LENGTH else ""
        return [["text", "Raise "], ["code", "max_length"], ["text", f" to {action.to:,}{beyond}"]]
    if isinstance(action, RaiseStateLimit):
        return [["text", "Raise "], ["code", "max_state_tokens"], ["text", f" to {action.to:,}"]]
    if isinstance(action, RenameKey):
        return [
            ["text", "Rename "],
            ["code", path_text(action.path)],
            ["text", " to "],
            ["code", action.to],
            ["text", ", which sorts first"],
        ]
    if isinstance(action, DropKey):
        return [["text", "Drop "], ["code", path_text(action.path)]]
    if isinstance(action, MoveItems):
        where = path_text(action.path) or "the list"
        return [["text", f"Move the items from [{action.start}] on to the front of "], ["code", where]]
    text = str(encoded.record.state)
    if isinstance(action, MoveText):
        return [["text", "Move the lost end to the front, from "], ["code", _excerpt(text[action.start :])]]
    if action.start == 0:
        return [["text", "Keep the end instead: drop everything before "], ["code", _excerpt(text[action.end :])]]
    return [["text", "Drop the paragraph "], ["code", _excerpt(text[action.start : action.end])]]


def _excerpt(text: str) -> str:
    text = text.strip().replace("\n", " ")
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…"


def _effect(remedy: Remedy, before: int) -> str:
    if not remedy.lost_tokens:
        return f"nothing is cut, {remedy.total:,} tokens in all"
    kept = before - remedy.lost_tokens
    lost = counted(remedy.lost_tokens, "token")
    if isinstance(remedy.action, RenameKey):
        more = f"keeps {_kept_part(remedy, remedy.action)}, {lost} lost instead"
    elif isinstance(remedy.action, MoveText | MoveItems):
        more = f"keeps what is lost now, {lost} lost instead"
    else:
        more = f"keeps {counted(kept, 'more token')}, {lost} still lost"
    if not remedy.lost_paths:
        return more
    return f"{more}: {', '.join(path_ranges(remedy.lost_paths, SHOWN_PATHS))}"


def _kept_part(remedy: Remedy, action: RenameKey) -> str:
    renamed = path_text(("state", *action.path[:-1], action.to))
    touched = (*remedy.lost_paths, remedy.cut_path or "")
    name = path_text(action.path)
    return f"the start of {name}" if any(path.startswith(renamed) for path in touched) else name
