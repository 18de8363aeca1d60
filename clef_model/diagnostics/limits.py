"""What other servers of Clef make of a record: accepted, refused, or answered differently in silence."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from clef_model.encoding import EncodedRecord
from clef_model.json_paths import Json, Path, counted, describe, path_text, shown
from clef_model.rendering import render
from clef_model.schema import NOUL_DESCRIPTIONS, Question, Record

Range = tuple[int, int | None]
Kind = Literal["refused", "input", "output"]
Status = Literal["accepted", "different", "refused"]


@dataclass(frozen=True, slots=True)
class Profile:
    """What one server takes, and where it departs from the release. None is no limit, or one that is not known.

    Ranges are inclusive counts. Messages are the server's own, with {fixed}, {total} and {context} in tokens.
    """

    id: str
    title: str
    source: str
    date: str  # when the source was read, or what it was dated
    note: str
    context_tokens: int | None
    over_length: Literal["cut", "refused"]
    over_message: str | None = None
    schema_message: str | None = None  # when the questions alone do not fit
    questions: Range = (1, None)
    options: Range = (1, None)
    levels: Range = (1, None)
    all_options: int | None = None
    limit_message: str | None = None
    id_pattern: str | None = None
    model_pattern: str | None = None
    instructions: Literal["optional", "present", "filled"] = "optional"
    falsy_instructions: Literal["rendered", "id"] = "rendered"  # 0, false, [] and {}
    null_noul_text: Literal["removed", "restored"] = "removed"
    extra_noul_keys: Literal["ignored", "refused"] = "ignored"
    null_state: Literal["rendered", "refused"] = "rendered"
    bare_state: Literal["rendered", "refused"] = "rendered"  # a number, true or false
    numbers: Literal["exact", "six_digits"] = "exact"  # how those outside of texts reach the prompt
    text_bytes: int | None = None
    text_message: str | None = None
    images: int | None = None
    image_types: tuple[str, ...] = ()
    image_bytes: int | None = None
    all_image_bytes: int | None = None
    squashes_images: bool = False
    videos: Literal["read", "refused", "ignored"] = "read"
    mixed_media: bool = True
    media_message: str | None = None
    answer_order: Literal["request", "sorted"] = "request"
    confidence: Literal["max_probability", "entropy", "typesafe"] = "max_probability"


class Finding(NamedTuple):
    """One departure: a refusal, an `input` the model reads differently, or an `output` reported differently.

    `theirs` is what the server says of it; None when it says nothing, or its words are not known.
    """

    kind: Kind
    where: str
    message: str
    theirs: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a server makes of a record; `status` is the worst of the findings."""

    profile: Profile
    status: Status
    findings: tuple[Finding, ...]


@cache
def read_profiles() -> tuple[Profile, ...]:
    """All known servers, the release first. Source: each profile's own, with its date."""
    text = files("clef_model.diagnostics").joinpath("limit_profiles.json").read_text("utf-8")
    entries: list[dict[str, Any]] = json.loads(text)
    return tuple(_profile(entry) for entry in entries)


def _profile(entry: dict[str, Any]) -> Profile:
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    return Profile(**fields)


def check(record: Record, encoded: EncodedRecord | None, profile: Profile) -> Verdict:
    """What the server makes of the record. Without `encoded`, its tokens are not checked."""
    checks: tuple[Callable[[Record, Profile], Iterator[Finding]], ...] = (
        _counts,
        _texts,
        _numbers,
        _questions,
        _media,
        _outputs,
    )
    findings = [finding for each in checks for finding in each(record, profile)]
    if encoded is not None:
        findings += _tokens(encoded, profile)
    kinds = {finding.kind for finding in findings}
    status: Status = "refused" if "refused" in kinds else "different" if kinds else "accepted"
    return Verdict(profile, status, tuple(findings))


def check_all(record: Record, encoded: EncodedRecord | None) -> tuple[Verdict, ...]:
    """The verdicts of all known servers."""
    return tuple(check(record, encoded, profile) for profile in read_profiles())


def _counts(record: Record, profile: Profile) -> Iterator[Finding]:
    def refuse(where: str, count: int, noun: str, limits: Range) -> Iterator[Finding]:
        low, high = limits
        if count < low or (high is not None and count > high):
            taken = f"{low} to {high:,}" if high is not None else f"{low} or more"
            message = f"found {counted(count, noun)}; {profile.title} takes {taken}."
            yield Finding("refused", where, message, profile.limit_message)

    yield from refuse("questions", len(record.questions), "question", profile.questions)
    for question in record.questions:
        if question.kind == "choice":
            yield from refuse(_path(question, "criteria"), len(question.options), "option", profile.options)
        elif question.kind == "score":
            yield from refuse(_path(question, "criteria"), len(question.options), "level", profile.levels)
    total = sum(len(question.options) for question in record.questions)
    if profile.all_options is not None:
        yield from refuse("questions", total, "option", (1, profile.all_options))


def _texts(record: Record, profile: Profile) -> Iterator[Finding]:
    if record.state is None and profile.null_state == "refused":
        yield Finding("refused", "state", f"the state is null, which {profile.title} does not take.")
    if isinstance(record.state, int | float) and profile.bare_state == "refused":
        message = f"the state is {describe(record.state)}; {profile.title} takes texts, objects and lists."
        yield Finding("refused", "state", message)
    if profile.model_pattern and record.model is not None and not re.fullmatch(profile.model_pattern, record.model):
        yield Finding(
            "refused",
            "model",
            f"the model {shown(record.model)} is none that {profile.title} knows.",
            profile.limit_message,
        )
    if profile.text_bytes is not None:
        asked = {question.id: question.source for question in record.questions}
        size = len(render(record.state).encode()) + len(render(asked).encode())
        if size > profile.text_bytes:
            message = f"state and questions have about {size:,} bytes; {profile.title} takes {profile.text_bytes:,}."
            yield Finding("refused", "", message, profile.text_message)


def _numbers(record: Record, profile: Profile) -> Iterator[Finding]:
    """The first number that is written otherwise, and how; there are often many of them."""
    if profile.numbers == "exact":
        return
    asked = {question.id: question.source for question in record.questions}
    for path, value in (*_numbers_in(("state",), record.state), *_numbers_in(("questions",), asked)):
        written = f"{value:g}" if isinstance(value, float) else _as_64_bits(value)
        if written != render(value):
            message = f"{render(value)[:40]} is written {written}, as are others like it. Send exact numbers as text."
            yield Finding("input", path_text(path), message)
            return


def _numbers_in(path: Path, value: Json) -> Iterator[tuple[Path, int | float]]:
    """The numbers inside of a value, with their places."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _numbers_in((*path, key), item)
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _numbers_in((*path, place), item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value


def _as_64_bits(value: int) -> str:
    """An integer read as one of 64 bits, the larger half negative; as a float beyond that."""
    if -(2**63) <= value < 2**64:
        return str(value if value < 2**63 else value - 2**64)
    return f"{float(value):g}" if value.bit_length() < 1024 else "another number"


def _questions(record: Record, profile: Profile) -> Iterator[Finding]:
    for question in record.questions:
        if profile.id_pattern and not re.fullmatch(profile.id_pattern, question.id):
            message = f"the id {shown(question.id)} does not match {profile.id_pattern}."
            yield Finding("refused", _path(question), message, profile.limit_message)
        yield from _instructions(question, profile)
        criteria = question.source.get("criteria")
        if question.kind != "noul" or not isinstance(criteria, dict):
            continue
        extra = [key for key in criteria if key not in NOUL_DESCRIPTIONS]
        if extra and profile.extra_noul_keys == "refused":
            message = f"found {shown(extra[0])}; only 'true' and 'false' are taken."
            yield Finding("refused", _path(question, "criteria"), message)
        for key in NOUL_DESCRIPTIONS:
            if key in criteria and criteria[key] is None and profile.null_noul_text == "restored":
                message = f"null is read as the usual text, {NOUL_DESCRIPTIONS[key]!r}, which the release leaves out."
                yield Finding("input", _path(question, "criteria", key), message)


def _instructions(question: Question, profile: Profile) -> Iterator[Finding]:
    given = question.instructions
    where = _path(question, "instructions")
    needs = profile.instructions
    is_filled = isinstance(given, str | list | dict) and bool(given)
    if (needs == "filled" and not is_filled) or (needs == "present" and given is None):
        wanted = "non-empty instructions" if needs == "filled" else "instructions"
        yield Finding("refused", where, f"{profile.title} wants {wanted} for each question.", profile.limit_message)
    elif profile.falsy_instructions == "id" and given is not None and given != "" and not given:
        message = f"{render(given)} is read as no instructions, so the id stands in; the release writes it out."
        yield Finding("input", where, message)


def _media(record: Record, profile: Profile) -> Iterator[Finding]:
    images, videos = record.images, record.videos
    if profile.images is not None and len(images) > profile.images:
        taken = f"at most {profile.images}" if profile.images else "none"
        yield Finding(
            "refused", "images", f"found {counted(len(images), 'image')}; {taken} can be sent.", profile.media_message
        )
    for place, image in enumerate(images):
        where = f"images[{place}]"
        if profile.image_types and image.mime not in profile.image_types:
            yield Finding("refused", where, f"{image.mime} is not one of {', '.join(profile.image_types)}.")
        if profile.image_bytes is not None and len(image.data) > profile.image_bytes:
            message = f"found {len(image.data):,} bytes; at most {profile.image_bytes:,} are taken."
            yield Finding("refused", where, message)
    size = sum(len(image.data) for image in images)
    if profile.all_image_bytes is not None and size > profile.all_image_bytes:
        message = f"the images have {size:,} bytes together; at most {profile.all_image_bytes:,} are taken."
        yield Finding("refused", "images", message)
    if profile.squashes_images and images:
        yield Finding("input", "images", "the image is squashed to a fixed grid, so the model sees another picture.")
    if videos and profile.videos == "refused":
        yield Finding("refused", "videos", f"{profile.title} takes no videos.", profile.media_message)
    elif videos and profile.videos == "ignored":
        yield Finding("input", "videos", "videos are ignored in silence, and the questions answered without them.")
    elif images and videos and not profile.mixed_media:
        yield Finding("refused", "videos", "images and videos cannot be sent together.")


def _outputs(record: Record, profile: Profile) -> Iterator[Finding]:
    graded = [question for question in record.questions if question.kind != "noul"]
    if profile.answer_order == "sorted":
        for question in graded:
            if list(question.request_order) != sorted(question.request_order):
                message = "the answer lists the options sorted by id; ties go to the first of them."
                yield Finding("output", _path(question, "criteria"), message)
    if graded and profile.confidence != "max_probability":
        how = (
            "from the entropy"
            if profile.confidence == "entropy"
            else "as in TypeSafe's service, from 0 for an even spread"
        )
        message = f"confidence is computed {how}, in the release it is the top probability. Compare probabilities."
        yield Finding("output", "", message)


def _tokens(encoded: EncodedRecord, profile: Profile) -> Iterator[Finding]:
    budget, context = encoded.budget, profile.context_tokens
    if context is None:
        return
    total = budget.fixed + budget.state
    numbers = {"fixed": budget.fixed, "total": total, "context": context}

    def theirs(message: str | None) -> str | None:
        return None if message is None else message.format(**numbers)

    if budget.fixed > context:
        message = f"everything but the state needs {budget.fixed:,} tokens; {profile.title} holds {context:,}."
        yield Finding("refused", "questions", message, theirs(profile.schema_message or profile.over_message))
    elif total > context and profile.over_length == "refused":
        message = f"the record has {total:,} tokens; {profile.title} holds {context:,} and never cuts."
        yield Finding("refused", "state", message, theirs(profile.over_message))
    elif total > context:
        kept = context - budget.fixed
        message = f"the state is cut in silence: {kept:,} of its {budget.state:,} tokens are kept."
        yield Finding("input", "state", message)


def _path(question: Question, *rest: str) -> str:
    path: Path = ("questions", question.id, *rest)
    return path_text(path)
