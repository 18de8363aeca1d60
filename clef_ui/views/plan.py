"""What the left column shows as one types: tokens, limits, the cut, and every problem with the field it belongs to."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from clef_model.decision import Limits
from clef_model.diagnostics.lint import lint
from clef_model.encoding import EncodedRecord
from clef_model.errors import InvalidRecord, Notice, Problem
from clef_model.json_paths import counted, parse_path
from clef_model.ledger import Truncation
from clef_model.schema import ImageInput, Record, VideoInput, noul
from clef_ui.draft_types import Draft
from clef_ui.drafts import Media, Reading, read_parts
from clef_ui.question_checks import Area, DraftProblem, problem_view
from clef_ui.views.planned import Asked, Planned, Planner, planned, without_record

SHOWN_CHARACTERS = 20_000  # of the state as the model reads it; the whole is in the Prompt tab
STAND_IN = noul("q")  # lets a state be counted before there is a question; never shown

_SAME_ADVICE = {"blank_instructions": "empty_span"}  # a notice's code, and that of the advice which says the same
_AREAS: dict[str, Area] = {
    "state": "state",
    "images": "media",
    "videos": "media",
    "questions": "questions",
    "max_length": "limits",
    "max_state_tokens": "limits",
    "truncate": "limits",
}


def plan_view(draft: Draft, media: Media, planner: Planner) -> dict[str, Any]:
    """The plan of a draft, valid or not: what can still be counted is counted, and all problems are told."""
    reading = read_parts(draft, media)
    problems: list[Problem] = list(reading.problems)
    record = reading.record or _without_questions(draft, media, reading)
    result = _planned(planner, record, reading.limits or Limits(), draft, problems)
    status = planner.status
    return {
        "ok": not problems,
        "problems": [problem_view(problem) for problem in problems],
        "notices": [],
        "stateNote": state_note(draft, reading),
        "exact": True,
        "media": [],
        "questions": [],
        **(_encoded_view(result, reading, exact=status.tokenizer_is_exact) if result else _nothing(reading)),
    }


def _without_questions(draft: Draft, media: Media, reading: Reading) -> Record:
    given = [media[item.id] for item in draft.media if item.id in media]
    images = tuple(item for item in given if isinstance(item, ImageInput))
    videos = tuple(item for item in given if isinstance(item, VideoInput))
    return Record(reading.state, (STAND_IN,), images, videos)


def _planned(planner: Planner, record: Record, limits: Limits, draft: Draft, problems: list[Problem]) -> Planned | None:
    """The record encoded as far as it goes; what stands in the way is added to the problems."""
    try:
        result = planned(planner, Asked(record, limits))
    except InvalidRecord as error:
        known = {(problem.where, problem.message) for problem in problems}
        problems.extend(_placed(p, draft) for p in error.problems if (p.where, p.message) not in known)
        try:
            return planned(planner, Asked(replace(record, images=(), videos=()), Limits()))
        except InvalidRecord:
            return None
    if result.over is not None:
        problems.append(DraftProblem("max_length", without_record(str(result.over)), area="limits", field="maxLength"))
    return result


def _placed(problem: Problem, draft: Draft) -> DraftProblem:
    """A problem met while encoding, with the part of the page it belongs to."""
    path = parse_path(problem.where) if problem.where else ()
    area = _AREAS.get(str(path[0]), "state") if path else "state"
    field = None
    if area == "media" and len(path) > 1 and isinstance(path[1], int):
        same = [item for item in draft.media if item.kind + "s" == path[0]]
        field = same[path[1]].id if path[1] < len(same) else None
    return DraftProblem(problem.where, problem.message, problem.line, problem.column, area=area, field=field)


def _encoded_view(result: Planned, reading: Reading, *, exact: bool) -> dict[str, Any]:
    encoded, budget = result.encoded, result.encoded.budget
    has_questions = reading.record is not None
    schema = budget.schema if has_questions else 0
    text = "".join(segment.text for segment in encoded.ledger if segment.kind in ("state", "state_cut"))
    advice, others = _sorted_notices(encoded)
    limit = result.over.limit if result.over else budget.limit
    room = max(0, limit - budget.prefix - budget.media - schema - budget.suffix)
    own = (reading.limits or Limits()).max_state_tokens
    return {
        "stateTokens": budget.state,
        "stateRoom": room if own is None else min(room, own),
        "total": result.over.needed
        if result.over
        else budget.prefix + budget.media + budget.state_kept + schema + budget.suffix,
        "limit": limit,
        "parts": {
            "prefix": budget.prefix,
            "media": budget.media,
            "state": budget.state_kept,
            "stateCut": budget.state - budget.state_kept,
            "schema": schema,
            "suffix": budget.suffix,
        },
        "cut": None if result.over else cut_view(budget.truncation),
        "stateAsRead": text[:SHOWN_CHARACTERS],
        "stateAsReadLength": len(text),
        "notices": [{"code": n.code, "where": n.where, "message": n.message} for n in others],
        "questions": _question_views(encoded, reading.uids, advice) if has_questions else [],
        "media": [{"where": item.where, "tokens": item.num_tokens} for item in encoded.media_items.items]
        if encoded.media_items
        else [],
        # A tokenizer built from the vocabulary alone agrees with the release's own on plain English.
        "exact": exact or all(segment.text.isascii() for segment in encoded.ledger),
    }


def _nothing(reading: Reading) -> dict[str, Any]:
    parts = dict.fromkeys(("prefix", "media", "state", "stateCut", "schema", "suffix"), 0)
    limit = (reading.limits or Limits()).max_length
    empty = {"cut": None, "stateAsRead": "", "stateAsReadLength": 0}
    return {"stateTokens": 0, "stateRoom": limit, "total": 0, "limit": limit, "parts": parts, **empty}


def cut_view(truncation: Truncation | None) -> dict[str, Any] | None:
    if truncation is None:
        return None
    return {
        "keptTokens": truncation.kept_tokens,
        "lostTokens": truncation.lost_tokens,
        "lastKept": truncation.last_kept_text,
        "firstLost": truncation.first_lost_text,
        "lostPaths": list(truncation.lost_paths),
        "cutPath": truncation.cut_path,
        "cause": truncation.cause,
    }


def state_note(draft: Draft, reading: Reading) -> str:
    """What the state is, in a few words; empty when it has problems."""
    if not reading.state_ok:
        return ""
    if draft.state_mode == "text":
        return counted(len(draft.state_text), "character") if draft.state_text else "empty text"
    if isinstance(reading.state, dict):
        return f"valid JSON, {counted(len(reading.state), 'key')}"
    if isinstance(reading.state, list):
        return f"valid JSON, {counted(len(reading.state), 'item')}"
    return "valid JSON"


def _sorted_notices(encoded: EncodedRecord) -> tuple[dict[int, list[Notice]], list[Notice]]:
    """The advice and notices about each question, by its position, and all other notices. Nothing is said twice."""
    advice: dict[int, list[Notice]] = {}
    others: list[Notice] = []
    for found in lint(encoded.record, encoded):
        advice.setdefault(found.question, []).append(found.notice(encoded.record))
    told = {position: {notice.code for notice in found} for position, found in advice.items()}
    ids = {question.id: position for position, question in enumerate(encoded.record.questions)}
    for notice in dict.fromkeys(encoded.notices):
        path = parse_path(notice.where) if notice.where else ()
        position = ids.get(str(path[1])) if len(path) > 1 and path[0] == "questions" else None
        if position is None:
            others.append(notice)
        elif _SAME_ADVICE.get(notice.code, notice.code) not in told.get(position, ()):
            advice.setdefault(position, []).append(notice)
    return advice, others


def _question_views(
    encoded: EncodedRecord, uids: Sequence[int], advice: dict[int, list[Notice]]
) -> list[dict[str, Any]]:
    """Per question its tokens, those of each option as the card's rows stand, and the order the model reads."""
    tokens = [0] * len(uids)
    options = [[0] * len(question.options) for question in encoded.record.questions]
    for segment in encoded.ledger:
        if segment.question is None:
            continue
        tokens[segment.question] += segment.num_tokens
        if segment.kind == "option" and segment.option is not None:
            options[segment.question][segment.option] = segment.num_tokens
    return [
        {
            "uid": uids[position],
            "id": question.id,
            "tokens": tokens[position],
            "options": [options[position][place] for place in question.request_order],
            "modelOrder": [option.id for option in question.options],
            "advice": [{"code": n.code, "message": n.message} for n in advice.get(position, [])],
        }
        for position, question in enumerate(encoded.record.questions)
    ]
