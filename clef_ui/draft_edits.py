"""Ways out of a cut applied to what was typed: the rest of a JSON text keeps its layout and every digit."""

import json
from dataclasses import replace

from clef_model.diagnostics.remedies import (
    Action,
    DropKey,
    DropText,
    MoveItems,
    MoveText,
    RaiseMaxLength,
    RaiseStateLimit,
    RenameKey,
    applied,
)
from clef_model.errors import ClefError
from clef_model.json_paths import Path
from clef_ui.draft_types import Draft
from clef_ui.json_source import Source, read_source


def edited(draft: Draft, action: Action) -> Draft:
    """The draft after an action.

    Raises: ClefError: the draft no longer has what the action changes.
    """
    limits = draft.limits
    if isinstance(action, RaiseMaxLength):
        return replace(draft, limits=replace(limits, max_length=str(action.to)))
    if isinstance(action, RaiseStateLimit):
        return replace(draft, limits=replace(limits, max_state_tokens=str(action.to)))
    if draft.state_mode == "text":
        return replace(draft, state_text=applied(draft.state_text, action))
    try:
        return replace(draft, state_text=edited_json(draft.state_text, action))
    except (ValueError, LookupError, AssertionError) as error:
        raise ClefError("The state was changed in the meantime. Look at the ways out again.") from error


def edited_json(text: str, action: Action) -> str:
    """The JSON text after an action, everything else as it was typed."""
    source = read_source(text)
    if isinstance(action, MoveText | DropText):
        literal = json.dumps(applied(json.loads(source.literal), action), ensure_ascii=False)
        return text[: source.start] + literal + text[source.end :]
    if isinstance(action, MoveItems):
        return _moved(text, _at(source, action.path), action.start)
    assert isinstance(action, DropKey | RenameKey)
    *around, key = action.path
    members = _at(source, tuple(around)).members
    assert members is not None
    place = [json.loads(member.key) for member in members].index(key)
    member = members[place]
    if isinstance(action, RenameKey):
        end = member.start + len(member.key)
        return text[: member.start] + json.dumps(action.to, ensure_ascii=False) + text[end:]
    if place + 1 < len(members):
        return text[: member.start] + text[members[place + 1].start :]
    start = members[place - 1].value.end if place else member.start
    return text[:start] + text[member.value.end :]


def _at(source: Source, path: Path) -> Source:
    for step in path:
        if isinstance(step, int):
            assert source.items is not None
            source = source.items[step]
        else:
            assert source.members is not None
            source = source.members[[json.loads(member.key) for member in source.members].index(step)].value
    return source


def _moved(text: str, source: Source, start: int) -> str:
    """The items from `start` on go first; what stands between the items stays where it was."""
    items = source.items
    assert items is not None
    literals = [item.literal for item in (*items[start:], *items[:start])]
    pieces, end = [], 0
    for item, literal in zip(items, literals, strict=True):
        pieces += [text[end : item.start], literal]
        end = item.end
    return "".join(pieces) + text[end:]
