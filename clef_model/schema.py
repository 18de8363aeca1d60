"""The vocabulary of a decision: record, question, option."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from clef_model.errors import Notice

Json = Any  # a JSON value as json.loads gives it; never changed once it is inside a Record
QuestionKind = Literal["noul", "choice", "score"]
KINDS: tuple[QuestionKind, ...] = ("noul", "choice", "score")  # the position is the model's type id


@dataclass(frozen=True, slots=True)
class Option:
    """One allowed answer; a description of None means that the prompt carries none."""

    id: str
    description: Json | None


@dataclass(frozen=True, slots=True)
class Question:
    """A typed question. `options` are in the model's order, `request_order` names their places in the request's order.

    `source` is the question as the request had it, so that what was absent, null or empty there stays so in exports.
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


@dataclass(frozen=True, slots=True)
class Record:
    """A valid request: at least one question, ids unique. `notices` are the warnings met on the way in."""

    state: Json
    questions: tuple[Question, ...]
    images: tuple[ImageInput, ...] = ()
    videos: tuple[VideoInput, ...] = ()
    id: str = "unknown"
    model: str | None = None
    notices: tuple[Notice, ...] = ()
