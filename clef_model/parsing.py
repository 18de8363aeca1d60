"""Requests, as dict or JSON text, parsed strictly into records, with all problems at once."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import chain, islice
from typing import Any, NoReturn

from clef_model.attachments import parse_images, parse_videos
from clef_model.errors import InvalidRecord, Notice, Problem
from clef_model.json_paths import MAX_PROBLEMS, TOO_MANY, Json, Path, describe, path_text
from clef_model.json_text import Located, scan_json
from clef_model.json_values import plain_json
from clef_model.schema import (
    KINDS,
    UNKNOWN_ID,
    ImageInput,
    Question,
    Record,
    VideoInput,
    build_question,
    holds_ids,
    question_faults,
    unknown_key,
)
from clef_model.slips import question_slips, record_slips

REQUEST_KEYS = ("model", "state", "questions", "images", "videos", "id")

MAX_NOTICES = 100  # nobody reads more, and a hundred thousand questions could each have one

Request = Mapping[str, Json] | str | bytes | Located

_REFUSED = {
    "media_kwargs": "found 'media_kwargs', which would hand the image processor any setting. Remove it; "
    "give a video's own 'fps' and 'num_frames' in videos[i].",
    "max_length": "found 'max_length', a setting of the call and not of the record. Pass it beside the request.",
    "max_state_tokens": "found 'max_state_tokens', a setting of the call and not of the record. "
    "Pass it beside the request.",
    "truncate": "found 'truncate', a setting of the call and not of the record. Pass it beside the request.",
}


def parse_record(request: Request, *, settings: Collection[str] = ()) -> Record:
    """The record of a System One request; `settings` are further keys, which the caller reads by itself.

    Images are data URLs or {"content_type", "base64"}, videos the same or lists of images; an ImageInput or VideoInput
    may stand in a dict. Nothing is opened. What is accepted and was probably not meant is in the record's `notices`.

    Raises: InvalidRecord: with all problems, in the order of the text.
    """
    reader = _Reader(request)
    value = reader.value
    if not isinstance(value, dict):
        reader.refuse(f"expected an object with state and questions, got {describe(value)}.")
    for key in value:
        if key not in REQUEST_KEYS and key not in settings:
            reader.report((key,), _REFUSED.get(key) or unknown_key(key, REQUEST_KEYS))
    if "state" not in value:
        reader.report(("state",), "the state is missing. Add what the questions are about; null is a state too.")
    record = Record(
        state=value.get("state"),
        questions=reader.questions(value.get("questions"), is_given="questions" in value),
        images=parse_images(value.get("images"), reader.report),
        videos=parse_videos(value.get("videos"), reader.report),
        id=reader.record_id(value),
        model=reader.model(value),
    )
    reader.raise_problems()
    return replace(record, notices=_bounded(chain(reader.notices, record_slips(record.state, record.questions))))


def parse_questions(request: Request) -> tuple[tuple[Question, ...], tuple[Notice, ...]]:
    """The questions of a bare map {id: question}, and the notices about them; paths begin with `questions`.

    Raises: InvalidRecord: with all problems, in the order of the text.
    """
    reader = _Reader(request, inside=("questions",))
    questions = reader.questions(reader.value, is_given=True)
    reader.raise_problems()
    return questions, _bounded(chain(reader.notices, *map(question_slips, questions)))


def systemone_fault(request: Mapping[str, Any]) -> str | None:
    """What the release's `systemone` says of a request before it encodes it; None when it goes on.

    Source: clef-flash joint_schema_model.py, systemone, revision 17f0b0a.
    """
    if not isinstance(request.get("model"), str) or "state" not in request:
        return "model and state are required"
    questions = request.get("questions")
    if not isinstance(questions, dict) or not questions:
        return "at least one question is required"
    for question_id, question in questions.items():
        kind = question.get("type")
        if not isinstance(kind, str) or kind not in KINDS:
            return f"{question_id}: type must be noul, choice, or score"
        if kind != "noul" and not question.get("criteria"):
            return f"{question_id}: criteria must not be empty"
    return None


def _bounded(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    first = tuple(islice(notices, MAX_NOTICES + 1))
    if len(first) <= MAX_NOTICES:
        return first
    return (*first[:MAX_NOTICES], Notice("more_notices", "", f"these are the first {MAX_NOTICES}; there are more."))


class _Reader:
    """The JSON of a request, and the problems found in it, each with its place when the request is text."""

    def __init__(self, request: Request, *, inside: Path = ()) -> None:
        self.inside = inside
        self.problems: list[Problem] = []
        self.notices: list[Notice] = []
        self.located: Located | None = None
        self.value: Json = None
        if isinstance(request, str | bytes):
            self.located = scan_json(request)
        elif isinstance(request, Located):
            self.located = request
        if self.located is None:
            wrapped = {"questions": request} if inside else request
            copied, problems = plain_json(wrapped, keep=(ImageInput, VideoInput), has_ids=holds_ids)
            if problems and copied is None:
                raise InvalidRecord(problems)
            self.value = copied["questions"] if inside else copied
            self.problems.extend(problems)
        else:
            self.value = self.located.value
            self.notices.extend(replace(notice, where=self._outer(notice.where)) for notice in self.located.notices)
            self.problems.extend(replace(found, where=self._outer(found.where)) for found in self.located.problems)
            if not self.located.is_complete:
                raise InvalidRecord(self.problems)
        self.unread = {problem.where for problem in self.problems}

    def _outer(self, where: str) -> str:
        """The path of a value of the text as a path of the request."""
        outer = path_text(self.inside)
        return f"{outer}.{where}" if outer and where and not where.startswith("[") else f"{outer}{where}"

    def report(self, path: Path, message: str) -> None:
        """One more problem, at a path of the request, unless its value could not be read in the first place."""
        where = path_text(path)
        if where in self.unread:
            return
        if len(self.problems) >= MAX_PROBLEMS:
            self.raise_problems(TOO_MANY)
        position = self.located.position(path[len(self.inside) :]) if self.located else (None, None)
        self.problems.append(Problem(where, message, *position))

    def refuse(self, message: str) -> NoReturn:
        """One more problem, which is the last."""
        self.report((), message)
        self.raise_problems()
        raise AssertionError("a problem was reported")

    def raise_problems(self, *last: Problem) -> None:
        """Raises: InvalidRecord: there are problems."""
        if self.problems:
            if self.located is not None:
                self.problems.sort(key=lambda problem: (problem.line is None, problem.line, problem.column))
            raise InvalidRecord([*self.problems, *last])

    def questions(self, value: Json, *, is_given: bool) -> tuple[Question, ...]:
        """All questions without faults; the faults of the others are reported."""
        here: Path = ("questions",)
        if not isinstance(value, dict) or not value:
            found = describe(value) if is_given else "nothing"
            example = '{"an_id": {"type": "noul", "instructions": "…"}}'
            self.report(here, f"expected an object of at least one question by its id, got {found}. Write {example}.")
            return ()
        questions = []
        for question_id, source in value.items():
            faults = list(question_faults(question_id, source))
            for path, message in faults:
                self.report((*here, *path), message)
            if not faults:
                questions.append(build_question(question_id, source))
        return tuple(questions)

    def record_id(self, value: Mapping[str, Json]) -> str:
        given = value.get("id", UNKNOWN_ID)
        if isinstance(given, int) and not isinstance(given, bool):
            return str(given)
        if not isinstance(given, str) or not given:
            self.report(
                ("id",), f"expected a string that names the record, got {describe(given)}. Name it or leave it out."
            )
            return UNKNOWN_ID
        return given

    def model(self, value: Mapping[str, Json]) -> str | None:
        given = value.get("model")
        if "model" in value and not isinstance(given, str):
            self.report(("model",), f"expected the name of a model, a string, got {describe(given)}.")
            return None
        return given
