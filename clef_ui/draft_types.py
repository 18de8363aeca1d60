"""What the person has typed, valid or not: frozen types, and their JSON text between page and server."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, get_args

from clef_model.errors import ClefError
from clef_model.schema import KINDS, QuestionKind

MAX_DRAFT_CHARACTERS = 16 * 2**20  # pictures are not in it; a state of a million tokens is below 8 million characters

StateMode = Literal["text", "json"]
QuestionsMode = Literal["form", "json"]
MediaKind = Literal["image", "video"]


@dataclass(frozen=True, slots=True)
class Text:
    """A typed value: a string, or with `raw` the literal of any JSON value, kept digit by digit."""

    text: str
    raw: bool = False


class Unset(Enum):
    """A noul description that is not in the request, so that the release's default applies."""

    DEFAULT = "default"


DEFAULT = Unset.DEFAULT
Description = Text | Unset | None  # None is an explicit null: the prompt carries no description


@dataclass(frozen=True, slots=True)
class OptionDraft:
    """One row. A score's `key` is ignored; a noul has two rows, true and false."""

    key: str
    description: Description = None


@dataclass(frozen=True, slots=True)
class Extra:
    """What a request may hold and the form does not show: order of keys, empty noul criteria, ignored noul keys."""

    keys: tuple[str, ...] = ()
    criteria: str | None = None  # the literal of noul criteria that hold nothing: {}, null, []
    order: tuple[str, ...] = ()  # of all keys of noul criteria
    others: tuple[OptionDraft, ...] = ()  # noul criteria other than true and false


@dataclass(frozen=True, slots=True)
class QuestionDraft:
    """One card; `uid` names it for as long as it is on the page. `instructions` of None are absent from the request."""

    uid: int
    kind: QuestionKind
    id: str
    instructions: Text | None = None
    options: tuple[OptionDraft, ...] = ()
    extra: Extra | None = None


@dataclass(frozen=True, slots=True)
class MediaDraft:
    """One picture or clip; its bytes lie in the server's store under `id`."""

    id: str
    kind: MediaKind
    name: str
    frames: int | None = None
    fps: float | None = None


@dataclass(frozen=True, slots=True)
class LimitsDraft:
    """The limits as typed."""

    max_length: str = "16384"
    max_state_tokens: str = ""
    truncate: bool = True


@dataclass(frozen=True, slots=True)
class Draft:
    """Everything that is asked, as typed. `view` is how it is shown and never changes what is asked."""

    state_mode: StateMode = "text"
    state_text: str = ""
    questions_mode: QuestionsMode = "form"
    questions_text: str = ""
    questions: tuple[QuestionDraft, ...] = ()
    media: tuple[MediaDraft, ...] = ()
    limits: LimitsDraft = LimitsDraft()
    view: Mapping[str, Any] = field(default_factory=dict)


class BrokenDraft(ClefError):
    """The page sent something that is no draft: a fault of the page, or a stored draft of another version."""


def read_draft(text: str) -> Draft:
    """The draft in the page's JSON text.

    Raises: BrokenDraft, with the path of the first thing that does not fit.
    """
    draft = _Fields(_loaded(text), "draft")
    return Draft(
        state_mode=draft.choice("stateMode", get_args(StateMode)),
        state_text=draft.text("stateText"),
        questions_mode=draft.choice("questionsMode", get_args(QuestionsMode)),
        questions_text=draft.text("questionsText"),
        questions=tuple(_question(each) for each in draft.items("questions")),
        media=tuple(_media(each) for each in draft.items("media")),
        limits=_limits(draft.fields("limits")),
        view=draft.optional("view", dict) or {},
    )


def read_questions(text: str) -> tuple[QuestionDraft, ...]:
    """The cards in the page's JSON text.

    Raises: BrokenDraft.
    """
    return tuple(_question(each) for each in _Fields({"questions": _loaded(text)}, "draft").items("questions"))


def write_draft(draft: Draft) -> str:
    """The page's JSON text of a draft; `read_draft` gives the draft back."""
    return json.dumps(draft_view(draft), ensure_ascii=False)


def draft_view(draft: Draft) -> dict[str, Any]:
    """The draft as the page holds it."""
    return {
        "stateMode": draft.state_mode,
        "stateText": draft.state_text,
        "questionsMode": draft.questions_mode,
        "questionsText": draft.questions_text,
        "questions": [question_view(question) for question in draft.questions],
        "media": [
            {"id": item.id, "kind": item.kind, "name": item.name, "frames": item.frames, "fps": item.fps}
            for item in draft.media
        ],
        "limits": {
            "maxLength": draft.limits.max_length,
            "maxStateTokens": draft.limits.max_state_tokens,
            "truncate": draft.limits.truncate,
        },
        "view": dict(draft.view),
    }


def question_view(question: QuestionDraft) -> dict[str, Any]:
    """One card as the page holds it."""
    extra = question.extra
    return {
        "uid": question.uid,
        "kind": question.kind,
        "id": question.id,
        "instructions": _description_view(question.instructions),
        "options": [_option_view(option) for option in question.options],
        "extra": extra
        and {
            "keys": list(extra.keys),
            "criteria": extra.criteria,
            "order": list(extra.order),
            "others": [_option_view(option) for option in extra.others],
        },
    }


def _option_view(option: OptionDraft) -> dict[str, Any]:
    return {"key": option.key, "description": _description_view(option.description)}


def _description_view(description: Description) -> dict[str, Any] | None:
    if isinstance(description, Text):
        return {"text": description.text, "raw": description.raw}
    return None if description is None else {"default": True}


def _loaded(text: str) -> Any:
    if len(text) > MAX_DRAFT_CHARACTERS:
        raise BrokenDraft(
            f"The draft has {len(text):,} characters and {MAX_DRAFT_CHARACTERS:,} are allowed. Shorten the state."
        )
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BrokenDraft(f"The page sent no JSON ({error}). Reload the page.") from error


class _Fields:
    """One JSON object, read key by key with the path in every message."""

    def __init__(self, value: Any, path: str) -> None:
        if not isinstance(value, dict):
            raise _misfit(path, "an object", value)
        self._value = value
        self.path = path

    def optional(self, key: str, kind: type | tuple[type, ...]) -> Any:
        value = self._value.get(key)
        if value is None or (isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool)):
            return value
        raise _misfit(f"{self.path}.{key}", "another type", value)

    def text(self, key: str) -> str:
        value = self._value.get(key)
        if not isinstance(value, str):
            raise _misfit(f"{self.path}.{key}", "a text", value)
        return value

    def choice(self, key: str, allowed: tuple[str, ...]) -> Any:
        value = self.text(key)
        if value not in allowed:
            raise _misfit(f"{self.path}.{key}", " or ".join(repr(each) for each in allowed), value)
        return value

    def flag(self, key: str) -> bool:
        value = self._value.get(key)
        if not isinstance(value, bool):
            raise _misfit(f"{self.path}.{key}", "true or false", value)
        return value

    def items(self, key: str) -> "list[_Fields]":
        value = self._value.get(key)
        if not isinstance(value, list):
            raise _misfit(f"{self.path}.{key}", "a list", value)
        return [_Fields(each, f"{self.path}.{key}[{place}]") for place, each in enumerate(value)]

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._value.get(key)
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise _misfit(f"{self.path}.{key}", "a list of texts", value)
        return tuple(value)

    def fields(self, key: str) -> "_Fields":
        return _Fields(self._value.get(key), f"{self.path}.{key}")

    def description(self, key: str) -> Description:
        if self._value.get(key) is None:
            return None
        value = self.fields(key)
        return DEFAULT if "default" in value._value else Text(value.text("text"), value.flag("raw"))


def _misfit(path: str, expected: str, value: Any) -> BrokenDraft:
    found = json.dumps(value, ensure_ascii=False)
    found = found if len(found) <= 60 else found[:59] + "…"
    return BrokenDraft(f"{path}: expected {expected}, found {found}. Reload the page, or load a preset.")


def _question(fields: _Fields) -> QuestionDraft:
    uid = fields.optional("uid", int)
    if uid is None:
        raise _misfit(f"{fields.path}.uid", "a number", uid)
    instructions = fields.description("instructions")
    return QuestionDraft(
        uid=uid,
        kind=fields.choice("kind", KINDS),
        id=fields.text("id"),
        instructions=None if instructions is DEFAULT else instructions,
        options=tuple(_option(each) for each in fields.items("options")),
        extra=_extra(fields.fields("extra")) if fields.optional("extra", dict) else None,
    )


def _option(fields: _Fields) -> OptionDraft:
    return OptionDraft(fields.text("key"), fields.description("description"))


def _extra(fields: _Fields) -> Extra:
    return Extra(
        keys=fields.texts("keys"),
        criteria=fields.optional("criteria", str),
        order=fields.texts("order"),
        others=tuple(_option(each) for each in fields.items("others")),
    )


def _media(fields: _Fields) -> MediaDraft:
    return MediaDraft(
        id=fields.text("id"),
        kind=fields.choice("kind", get_args(MediaKind)),
        name=fields.text("name"),
        frames=fields.optional("frames", int),
        fps=fields.optional("fps", (int, float)),
    )


def _limits(fields: _Fields) -> LimitsDraft:
    return LimitsDraft(fields.text("maxLength"), fields.text("maxStateTokens"), fields.flag("truncate"))
