"""From what was typed to a record or a request, and from a text back to cards."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clef_model.decision import Limits
from clef_model.encoding import limit_problems
from clef_model.errors import InvalidRecord, Notice
from clef_model.json_paths import shown
from clef_model.json_text import line_and_column, scan_json
from clef_model.schema import ImageInput, Json, Record, VideoInput, to_request
from clef_model.slips import record_slips
from clef_ui.draft_types import BrokenDraft, MediaDraft, question_view, read_questions

# The names with an alias belong to this module's callers too.
from clef_ui.draft_types import Draft as Draft
from clef_ui.draft_types import read_draft as read_draft
from clef_ui.draft_types import write_draft as write_draft
from clef_ui.json_source import NotJson, lay_out
from clef_ui.pasting import from_request_text as from_request_text
from clef_ui.question_checks import Area as Area
from clef_ui.question_checks import DraftProblem as DraftProblem
from clef_ui.question_checks import check_questions
from clef_ui.question_checks import form_from_text as form_from_text
from clef_ui.question_checks import problem_view as problem_view
from clef_ui.question_text import text_from_form as text_from_form

Media = Mapping[str, ImageInput | VideoInput]  # by the ids that drafts name

_WHOLE_NUMBER = re.compile(r"[0-9]{1,15}")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_NUMBER_FIELDS = {"maxLength": "max_length", "maxStateTokens": "max_state_tokens"}


@dataclass(frozen=True, slots=True)
class Reading:
    """All that can be read of a draft. `record` has the questions without problems, and None stands for no question.

    `uids[i]` is the card of `record.questions[i]`. When the state has problems, `state_ok` is false and the record's
    state is empty.
    """

    record: Record | None
    uids: tuple[int, ...]
    state: Json
    state_ok: bool
    limits: Limits | None
    problems: tuple[DraftProblem, ...]


def to_record(draft: Draft, media: Media, model: str | None = None) -> Record:
    """The record that the draft asks for.

    Raises: InvalidRecord: with all problems of the draft, each a DraftProblem.
    """
    reading = read_parts(draft, media, model)
    if reading.problems or reading.record is None:
        raise InvalidRecord(reading.problems)
    return reading.record


def to_limits(draft: Draft) -> Limits:
    """How much of the record is read.

    Raises: InvalidRecord.
    """
    limits, problems = _limits(draft)
    if limits is None:
        raise InvalidRecord(problems)
    return limits


def read_parts(draft: Draft, media: Media, model: str | None = None) -> Reading:
    """Everything that can be read of a draft that may be broken, and all its problems, area by area."""
    state, state_notices, problems = _state(draft)
    state_ok = not problems
    questions = check_questions(draft)
    images, videos, media_problems = _media(draft.media, media)
    limits, limit_problems = _limits(draft)
    record = None
    if questions.valid:
        notices = (*state_notices, *questions.notices, *record_slips(state, questions.valid))
        record = Record(state, questions.valid, images, videos, model=model, notices=tuple(dict.fromkeys(notices)))
    found = (*problems, *questions.problems, *media_problems, *limit_problems)
    return Reading(record, questions.uids, state, state_ok, limits, found)


def request_text(draft: Draft, model: str, media: Media | None = None) -> str:
    """The request as JSON text, every literal as it was typed. Without `media` pictures and clips are left out.

    Raises: InvalidRecord: for a state or questions that are no JSON, or media that are not in `media`.
    """
    parts = {"model": json.dumps(model, ensure_ascii=False)}
    as_json = draft.state_mode == "json"
    parts["state"] = draft.state_text if as_json else json.dumps(draft.state_text, ensure_ascii=False)
    if media is not None:
        images, videos, problems = _media(draft.media, media)
        if problems:
            raise InvalidRecord(problems)
        sent = to_request(Record(None, (), images, videos))
        parts |= {key: json.dumps(sent[key], ensure_ascii=False) for key in ("images", "videos") if key in sent}
    in_form = draft.questions_mode == "form"
    parts["questions"] = text_from_form(draft.questions) if in_form else draft.questions_text.removeprefix("\ufeff")
    try:
        return lay_out("{" + ",".join(f'"{key}":{text}' for key, text in parts.items()) + "}")
    except NotJson as error:
        raise InvalidRecord(read_parts(draft, media or {}).problems) from error


def form_view(text: str) -> str:
    """JSON text for the page: the `questions` of a text as cards, or the `problems` that keep them from the form."""
    try:
        return _json({"questions": [question_view(question) for question in form_from_text(text)], "problems": []})
    except InvalidRecord as invalid:
        return _json({"questions": [], "problems": [problem_view(problem) for problem in invalid.problems]})


def questions_json_view(text: str) -> str:
    """JSON text for the page: its cards (as JSON text) as the `text` of a question map."""
    try:
        return _json({"text": text_from_form(read_questions(text))})
    except BrokenDraft as error:
        return _json({"error": str(error)})


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _state(draft: Draft) -> tuple[Json, tuple[Notice, ...], list[DraftProblem]]:
    text = draft.state_text
    if draft.state_mode == "text":
        half = _SURROGATE.search(text)
        if half is None:
            return text, (), []
        message = f"found half of a surrogate pair, U+{ord(half[0]):04X}, which is no character. Remove it."
        return "", (), [DraftProblem("state", message, *line_and_column(text, half.start()), area="state")]
    located = scan_json(text)
    if located.problems:
        places = [
            (_inside("state", found.where), found.message, found.line, found.column) for found in located.problems
        ]
        return "", (), [DraftProblem(*place, area="state") for place in places]
    notices = tuple(replace(notice, where=_inside("state", notice.where)) for notice in located.notices)
    return located.value, notices, []


def _inside(outer: str, where: str) -> str:
    return f"{outer}.{where}" if where and not where.startswith("[") else f"{outer}{where}"


def _media(
    items: Sequence[MediaDraft], media: Media
) -> tuple[tuple[ImageInput, ...], tuple[VideoInput, ...], list[DraftProblem]]:
    images: list[ImageInput] = []
    videos: list[VideoInput] = []
    problems: list[DraftProblem] = []
    counts = {"image": 0, "video": 0}
    for item in items:
        where = f"{item.kind}s[{counts[item.kind]}]"
        counts[item.kind] += 1
        found = media.get(item.id)
        if item.kind == "image" and isinstance(found, ImageInput):
            images.append(found)
        elif item.kind == "video" and isinstance(found, VideoInput):
            videos.append(replace(found, num_frames=item.frames, fps=item.fps))
        else:
            message = f"{shown(item.name)} is no longer on the server. Add it again, or remove it."
            problems.append(DraftProblem(where, message, area="media", field=item.id))
    return tuple(images), tuple(videos), problems


def _limits(draft: Draft) -> tuple[Limits | None, list[DraftProblem]]:
    typed = draft.limits
    problems: list[DraftProblem] = []

    def number(field: str, text: str, least: int) -> int:
        if _WHOLE_NUMBER.fullmatch(text.strip()):  # its range is checked as for every request
            return int(text)
        message = (
            f"expected a whole number of tokens, {least} or more, found {shown(text)}. Write digits only, 15 at most."
        )
        problems.append(DraftProblem(_NUMBER_FIELDS[field], message, area="limits", field=field))
        return least

    max_length = number("maxLength", typed.max_length, 1)
    max_state_tokens = number("maxStateTokens", typed.max_state_tokens, 0) if typed.max_state_tokens.strip() else None
    if not problems:
        fields = {where: field for field, where in _NUMBER_FIELDS.items()}
        problems = [
            DraftProblem(problem.where, problem.message, area="limits", field=fields.get(problem.where))
            for problem in limit_problems(max_length, max_state_tokens)
        ]
    return None if problems else Limits(max_length, max_state_tokens, typed.truncate), problems
