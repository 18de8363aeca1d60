"""The vocabulary of a decision: record, question, option; built here, and written out again as a request."""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from clef_model.errors import InvalidRecord, Notice, Problem
from clef_model.json_paths import Json as Json  # the name that the rest of the project imports from here
from clef_model.json_paths import Path, bounded, describe, path_text, shown
from clef_model.json_values import plain_json

QuestionKind = Literal["noul", "choice", "score"]
KINDS: tuple[QuestionKind, ...] = ("noul", "choice", "score")  # the position is the model's type id
QUESTION_KEYS = ("type", "instructions", "criteria")
UNKNOWN_ID = "unknown"  # of a record without one, as in the release

# Source: clef-flash joint_schema_model.py, revision 17f0b0a: what a noul option says when the request does not.
NOUL_DESCRIPTIONS = {
    "true": "The proposition is true or the answer is yes.",
    "false": "The proposition is false or the answer is no.",
}

# Names that other tools use for the same thing.
_OTHER_NAMES = {
    "type": ("kind",),
    "instructions": ("question", "prompt", "description", "text", "instruction"),
    "criteria": ("options", "choices", "labels", "levels", "enum", "values", "categories", "classes"),
    "state": ("input", "context", "text", "content", "messages", "data"),
    "questions": ("schema", "fields", "question"),
    "images": ("image",),
    "videos": ("video",),
}


@dataclass(frozen=True, slots=True)
class Option:
    """One allowed answer; a description of None means that the prompt carries none."""

    id: str
    description: Json | None


@dataclass(frozen=True, slots=True)
class Question:
    """A typed question, built by `noul`, `choice` or `score`.

    `options` are in the model's order; `request_order[k]` is the position among them of the option that the request
    names k-th. `source` is the question as the request had it, so that what was absent, null or empty there stays so
    in exports.
    """

    id: str
    kind: QuestionKind
    instructions: Json | None
    options: tuple[Option, ...]
    request_order: tuple[int, ...]
    source: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ImageInput:
    """An encoded picture as it was uploaded."""

    name: str
    mime: str
    data: bytes


@dataclass(frozen=True, slots=True)
class VideoInput:
    """A clip as it was uploaded (`data`), or pictures used as frames (`frames`, with their `fps`)."""

    name: str
    mime: str
    data: bytes = b""
    frames: tuple[ImageInput, ...] = ()
    fps: float | None = None
    num_frames: int | None = None  # frames to sample; None samples as the release does
    # The places of `frames` in the clip they were taken from; then they are used as they are, without sampling.
    frame_indices: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """A valid request: at least one question, ids unique. `notices` are the warnings met on the way in."""

    state: Json
    questions: tuple[Question, ...]
    images: tuple[ImageInput, ...] = ()
    videos: tuple[VideoInput, ...] = ()
    id: str = UNKNOWN_ID
    model: str | None = None
    notices: tuple[Notice, ...] = ()


def noul(question_id: str, criteria: Mapping[str, Json] | None = None, instructions: Json = None) -> Question:
    """A yes-or-no question. `criteria` may describe "true" and "false"; a description of None removes the default.

    Raises: InvalidRecord.
    """
    return _question(question_id, "noul", criteria, instructions)


def choice(question_id: str, criteria: Mapping[str, Json], instructions: Json = None) -> Question:
    """A question for one of several options, as {option id: description}; a description of None is none.

    Raises: InvalidRecord.
    """
    return _question(question_id, "choice", criteria, instructions)


def score(question_id: str, criteria: Sequence[Json], instructions: Json = None) -> Question:
    """A question for a level on a scale, as descriptions from the lowest level to the highest.

    Raises: InvalidRecord.
    """
    return _question(question_id, "score", criteria, instructions)


def _question(question_id: str, kind: QuestionKind, criteria: Any, instructions: Json) -> Question:
    given = {"instructions": instructions, "criteria": criteria}
    source = {"type": kind, **{key: value for key, value in given.items() if value is not None}}
    copied, problems = plain_json({"questions": {question_id: source}}, has_ids=holds_ids)
    if problems:
        raise InvalidRecord(problems)
    ((question_id, source),) = copied["questions"].items()
    faults = [Problem(path_text(("questions", *path)), fault) for path, fault in question_faults(question_id, source)]
    if faults:
        raise InvalidRecord(bounded(faults))
    return build_question(question_id, source)


def holds_ids(path: Path) -> bool:
    """Whether the keys of the object at this place of a request are ids of questions or options."""
    return path == ("questions",) or (len(path) == 3 and path[0] == "questions" and path[2] == "criteria")


def build_question(question_id: str, source: Mapping[str, Json]) -> Question:
    """The question of a source without faults (see `question_faults`)."""
    kind: QuestionKind = source["type"]
    criteria: Any = source.get("criteria")
    if kind == "noul":
        given = criteria or {}
        options = tuple(Option(name, given.get(name, default)) for name, default in NOUL_DESCRIPTIONS.items())
    elif kind == "choice":
        # The model was trained on options sorted by code point; the caller's order must not matter to it.
        options = tuple(Option(name, criteria[name]) for name in sorted(criteria))
    else:
        options = tuple(Option(str(level), description) for level, description in enumerate(criteria))
    places = {option.id: place for place, option in enumerate(options)}
    requested = criteria if kind == "choice" else places
    return Question(
        id=question_id,
        kind=kind,
        instructions=source.get("instructions"),
        options=options,
        request_order=tuple(places[name] for name in requested),
        source=source,
    )


def question_faults(question_id: str, source: Json) -> Iterator[tuple[Path, str]]:
    """All that keeps a question's JSON from being a question: the path from the map of questions, and the sentence."""
    here: Path = (question_id,)
    if question_id == "":
        yield here, "found an empty question id; the model reads it as the question's name. Name the question."
    if not isinstance(source, dict):
        example = '{"type": "noul", "instructions": "…"}'
        yield here, f"expected an object with type, instructions and criteria, got {describe(source)}. Write {example}."
        return
    for key in source:
        if key not in QUESTION_KEYS:
            yield (*here, key), unknown_key(key, QUESTION_KEYS)
    kind = source.get("type")
    if not isinstance(kind, str) or kind not in KINDS:
        found = f"got {describe(kind)}" if "type" in source else "got nothing"
        advice = 'Write "noul" for yes or no, "choice" for one of several, "score" for a level.'
        yield (*here, "type"), f'expected "noul", "choice" or "score", {found}. {advice}'
        return
    for path, message in _criteria_faults(kind, source):
        yield (*here, "criteria", *path), message


def _criteria_faults(kind: str, source: Mapping[str, Json]) -> Iterator[tuple[Path, str]]:
    criteria: Any = source.get("criteria")
    found = describe(criteria) if "criteria" in source else "nothing"
    if kind == "noul":
        if criteria and not isinstance(criteria, dict):
            example = '{"true": …, "false": …}'
            yield (), f"expected an object with 'true' and 'false', got {found}. Write {example} or leave it out."
        return
    if kind == "choice":
        expected = "an object of options with their descriptions"
        advice = f"Write {_example_options(criteria)}."
    else:
        expected = "a list of level descriptions, lowest first"
        advice = f"Write {_example_levels(criteria)}."
    if not criteria:
        yield (), f"criteria must not be empty: expected {expected}, got {found}. {advice}"
    elif not isinstance(criteria, dict if kind == "choice" else list):
        yield (), f"expected {expected}, got {found}. {advice}"
    elif kind == "choice" and "" in criteria:
        yield ("",), "found an empty option id; the answer is given by it. Name the option."


def _example_options(criteria: Json) -> str:
    """The shape of choice criteria, with the names that a list gave when they are few."""
    names = _short_texts(criteria) if isinstance(criteria, list) else None
    return '{"an_option": "its description", …}' if names is None else "{" + ": null, ".join(names) + ": null}"


def _example_levels(criteria: Json) -> str:
    """The shape of score criteria, with the descriptions that an object gave when they are few."""
    texts = _short_texts(list(criteria.values())) if isinstance(criteria, dict) else None
    return '["the lowest level", …, "the highest"]' if texts is None else f"[{', '.join(texts)}]"


def _short_texts(values: list[Json]) -> list[str] | None:
    """Up to three short, plain strings as JSON; None when they are others."""
    if not 1 <= len(values) <= 3:
        return None
    if not all(isinstance(value, str) and len(value) <= 20 and value.isprintable() for value in values):
        return None
    return [json.dumps(value, ensure_ascii=False) for value in values]


def unknown_key(key: str, allowed: Sequence[str]) -> str:
    """The sentence for a key that no one reads, with the key that was probably meant."""
    meant = [name for name in allowed if key.casefold() in _OTHER_NAMES.get(name, ())]
    meant = meant or get_close_matches(key.casefold()[:40], allowed, n=1)
    advice = f"Did you mean '{meant[0]}'?" if meant else "Remove it."
    return f"found the unknown key {shown(key)}; known are {', '.join(allowed)}. {advice}"


def to_request(record: Record) -> dict[str, Json]:
    """The record as a System One request; `parse_record` makes an equal record of it, apart from names of media."""
    request: dict[str, Json] = {}
    if record.model is not None:
        request["model"] = record.model
    if record.id != UNKNOWN_ID:
        request["id"] = record.id
    request["state"] = record.state
    if record.images:
        request["images"] = [data_url(image) for image in record.images]
    if record.videos:
        request["videos"] = [_video_request(video) for video in record.videos]
    request["questions"] = {question.id: question.source for question in record.questions}
    copied: dict[str, Json] = plain_json(request)[0]  # so that no one can change the record through its request
    return copied


def data_url(media: ImageInput | VideoInput) -> str:
    """The file as a base64 data URL."""
    return f"data:{media.mime};base64,{base64.b64encode(media.data).decode()}"


def _video_request(video: VideoInput) -> Json:
    frames = [data_url(frame) for frame in video.frames]
    options = {"fps": video.fps, "num_frames": video.num_frames}
    given = {key: value for key, value in options.items() if value is not None}
    if not given:
        return frames or data_url(video)
    file = {"frames": frames} if frames else {"content_type": video.mime, "base64": data_url(video).partition(",")[2]}
    return {**file, **given}
