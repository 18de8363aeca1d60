"""What the right column's scripts ask Python: a draft's prompt, its budget, ways out of a cut, exports."""

import json
from dataclasses import asdict
from typing import Any

from clef_model.diagnostics.lengths import read_states, read_table, spread
from clef_model.diagnostics.remedies import ways_out
from clef_model.errors import ClefError, InvalidRecord
from clef_ui.calls import Call, answering, media_of
from clef_ui.draft_edits import edited
from clef_ui.draft_types import draft_view
from clef_ui.drafts import read_draft, to_limits, to_record
from clef_ui.shrinking import shrunk
from clef_ui.uploads import MediaStore
from clef_ui.views.budget import budget_view
from clef_ui.views.planned import Asked, Planned, Planner, planned, problems_view
from clef_ui.views.prompt import lost_text, prompt_view
from clef_ui.views.ways import read_action, ways_view

LOST_AT_ONCE = 100_000  # characters of lost text in one answer


def asked(text: str, store: MediaStore) -> Asked:
    """What the draft in the page's JSON text asks.

    Raises: BrokenDraft; InvalidRecord: with all problems of the draft.
    """
    draft = read_draft(text)
    return Asked(to_record(draft, media_of(draft, store)), to_limits(draft))


def prompt_calls(planner: Planner, store: MediaStore) -> list[Call]:
    """The functions of the Prompt panel, by the names its script uses."""

    def prompt(text: str) -> Any:
        try:
            result = planned(planner, asked(text, store))
        except InvalidRecord as error:
            return {"problems": problems_view(error)}
        return prompt_view(result, planner.tokenizer, exact=planner.status.tokenizer_is_exact)

    return [answering(prompt)]


def _lost(result: Planned, start: int) -> dict[str, Any]:
    lost = lost_text(result.encoded)
    return {"text": lost[start : start + LOST_AT_ONCE], "start": start, "characters": len(lost)}


def lost_call(planner: Planner, store: MediaStore) -> Call:
    """The lost text of a draft, a part at a time: {"draft": …, "start": characters to skip}."""

    def lost(text: str) -> Any:
        request = json.loads(text)
        return _lost(planned(planner, asked(json.dumps(request["draft"]), store)), int(request["start"]))

    return answering(lost)


def budget_calls(planner: Planner, store: MediaStore) -> list[Call]:
    """The functions of the Budget panel, by the names its script uses."""

    def budget(text: str) -> Any:
        try:
            result = planned(planner, asked(text, store))
        except InvalidRecord as error:
            return {"problems": problems_view(error)}
        return budget_view(result, planner.tokenizer, exact=planner.status.tokenizer_is_exact)

    def ways(text: str) -> Any:
        what = asked(text, store)
        encoded = planned(planner, what).encoded
        return {"ways": ways_view(ways_out(encoded, what.limits, planner.plan), encoded)}

    def apply_way(text: str) -> Any:
        request = json.loads(text)
        return {"draft": draft_view(edited(read_draft(json.dumps(request["draft"])), read_action(request["action"])))}

    def shrink(text: str) -> Any:
        request = json.loads(text)
        draft_text = json.dumps(request["draft"])
        media = planned(planner, asked(draft_text, store)).encoded.media_items
        place = int(request["place"])
        if media is None or not 0 <= place < len(media.items):
            raise ClefError("The media were changed in the meantime. Look at the table again.")
        return {"draft": draft_view(shrunk(read_draft(draft_text), media.items[place], place, store))}

    return [
        *map(answering, (budget, ways, apply_way, shrink)),
        lost_call(planner, store),
        *lengths_calls(planner, store),
    ]


def lengths_calls(planner: Planner, store: MediaStore) -> list[Call]:
    """The functions that count many states, a part of a file at a time."""

    def table(text: str) -> Any:
        request = json.loads(text)
        found = read_table(str(request["start"]), str(request["name"]))
        return {"format": found.format, "columns": found.columns, "suggested": found.suggested}

    def lengths(text: str) -> Any:
        request = json.loads(text)
        states = read_states(
            str(request["text"]),
            request["format"],
            str(request["column"]),
            str(request["header"]),
            int(request["line"]),
        )
        return {"lengths": planner.tokenizer.lengths(states.texts), "problems": states.problems}

    def spread_of(text: str) -> Any:
        request = json.loads(text)
        what = asked(json.dumps(request["draft"]), store)
        budget = planned(planner, what).encoded.budget
        limits = what.limits
        found = spread(
            [int(length) for length in request["lengths"]],
            fixed=budget.fixed,
            max_length=limits.max_length,
            max_state_tokens=limits.max_state_tokens,
        )
        return {**asdict(found), "limit": limits.max_length, "fixed": budget.fixed}

    return [*map(answering, (table, lengths, spread_of))]
