"""Questions as cards and as JSON text: exact both ways, and where each field of a card stands in the text."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from clef_model.json_text import scan_json
from clef_model.schema import KINDS
from clef_ui.draft_types import DEFAULT, Description, Extra, OptionDraft, QuestionDraft, Text
from clef_ui.json_source import NotJson, Source

Item = TypeVar("Item")
Value = TypeVar("Value")

_KEYS = ("type", "instructions", "criteria")
_NOUL_KEYS = ("true", "false")


class Place(NamedTuple):
    """Characters [start, end) of the text belong to a field of a card; a field of "" is the whole card."""

    start: int
    end: int
    uid: int
    field: str  # "", "id", "type", "instructions", "options", "options[2].key", "options[2].description"


class FormText(NamedTuple):
    """The questions as JSON text. `broken` are the fields whose raw value is no JSON."""

    text: str
    places: tuple[Place, ...]
    broken: tuple[tuple[Place, str], ...]


class Unfit(ValueError):
    """The JSON is well formed and the form has no place for a part of it, which begins at `offset`."""

    def __init__(self, offset: int, message: str) -> None:
        self.offset = offset
        super().__init__(message)


def text_from_form(questions: Sequence[QuestionDraft]) -> str:
    """The questions as JSON text, in the form's order; raw values as they were typed, even broken ones."""
    return form_text(questions).text


def form_text(questions: Sequence[QuestionDraft], *, mended: bool = False) -> FormText:
    """The questions as JSON text with the place of every field; `mended` puts null for each broken raw value."""
    writer = _Writer(mended)
    writer.container("{}", "\n  ", questions, writer.question)
    return FormText("".join(writer.parts), tuple(writer.places), tuple(writer.broken))


class _Writer:
    """Writes the text piece by piece and notes which field each piece belongs to."""

    def __init__(self, mended: bool) -> None:
        self.mended = mended
        self.parts: list[str] = []
        self.length = 0
        self.places: list[Place] = []
        self.broken: list[tuple[Place, str]] = []

    def put(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)

    def container(self, brackets: str, newline: str, items: Sequence[Item], write: Callable[[int, Item], None]) -> None:
        self.put(brackets[0])
        for place, item in enumerate(items):
            self.put(("," if place else "") + newline)
            write(place, item)
        self.put((newline[:-2] if items else "") + brackets[1])

    def field(self, uid: int, name: str, write: Callable[[], None]) -> None:
        start = self.length
        write()
        self.places.append(Place(start, self.length, uid, name))

    def string(self, uid: int, name: str, value: str) -> None:
        self.field(uid, name, lambda: self.put(json.dumps(value, ensure_ascii=False)))

    def value(self, uid: int, name: str, description: Description) -> None:
        if not isinstance(description, Text):
            self.field(uid, name, lambda: self.put("null"))
        elif not description.raw:
            self.string(uid, name, description.text)
        else:
            is_broken = not scan_json(description.text).is_complete
            literal = "null" if is_broken and self.mended else description.text.strip(" \t\n\r")
            self.field(uid, name, lambda: self.put(literal))
            if is_broken:
                self.broken.append((self.places[-1], description.text))

    def question(self, _: int, question: QuestionDraft) -> None:
        uid = question.uid

        def member(_: int, key: str) -> None:
            self.put(f'"{key}": ')
            if key == "type":
                self.string(uid, "type", question.kind)
            elif key == "instructions":
                self.value(uid, "instructions", question.instructions)
            else:
                self.field(uid, "options", lambda: self.criteria(question))

        start = self.length
        self.string(uid, "id", question.id)
        self.put(": ")
        self.container("{}", "\n    ", _question_keys(question), member)
        self.places.append(Place(start, self.length, uid, ""))

    def criteria(self, question: QuestionDraft) -> None:
        uid = question.uid
        if question.kind == "score":
            self.container(
                "[]",
                "\n      ",
                question.options,
                lambda place, option: self.value(uid, f"options[{place}].description", option.description),
            )
            return

        def row(_: int, placed: tuple[int, OptionDraft]) -> None:
            place, option = placed
            self.string(uid, f"options[{place}].key" if place >= 0 else "options", option.key)
            self.put(": ")
            self.value(uid, f"options[{place}].description" if place >= 0 else "options", option.description)

        rows = list(enumerate(question.options)) if question.kind == "choice" else _noul_rows(question)
        if question.kind == "noul" and not rows and question.extra and question.extra.criteria:
            self.put(question.extra.criteria)
        else:
            self.container("{}", "\n      ", rows, row)


def _question_keys(question: QuestionDraft) -> list[str]:
    """The keys of a question in the order they are written."""
    extra = question.extra or Extra()
    held = {"type": True, "instructions": question.instructions is not None, "criteria": question.kind != "noul"}
    if question.kind == "noul":
        held["criteria"] = bool(_noul_rows(question)) or extra.criteria is not None
    ordered = dict.fromkeys((*(key for key in extra.keys if key in held), *_KEYS))
    return [key for key in ordered if held[key]]


def _noul_rows(question: QuestionDraft) -> list[tuple[int, OptionDraft]]:
    """The rows of a noul that its criteria hold, with their place in the form; -1 for a key the form does not show."""
    extra = question.extra or Extra()
    rows = {option.key: (place, option) for place, option in enumerate(question.options[:2])}
    rows |= {option.key: (-1, option) for option in extra.others}
    ordered = dict.fromkeys((*(key for key in extra.order if key in rows), *rows))
    return [rows[key] for key in ordered if rows[key][1].description is not DEFAULT]


def questions_from_source(source: Source) -> tuple[QuestionDraft, ...]:
    """The cards of a question map, numbered from 1.

    Raises: Unfit, for JSON that the form cannot show without losing something.
    """
    if source.members is None:
        raise Unfit(source.start, "expected an object of questions by their ids")
    return tuple(_question(uid, _text(member.key), member.value) for uid, member in enumerate(source.members, start=1))


def question_spans(source: Source) -> tuple[Place, ...]:
    """Where each question of a map stands, numbered from 1 as in `questions_from_source`."""
    members = source.members or ()
    return tuple(Place(member.start, member.value.end, uid, "") for uid, member in enumerate(members, start=1))


@dataclass(frozen=True, slots=True)
class _Part:
    key: str
    value: Source


def _parts(source: Source, what: str, allowed: Iterable[str] | None = None) -> Iterator[_Part]:
    if source.members is None:
        raise Unfit(source.start, f"{what} is no object")
    seen: set[str] = set()
    for member in source.members:
        key = _text(member.key)
        if allowed is not None and (key not in allowed or key in seen):
            raise Unfit(member.start, f"the form has no field for {key!r} of {what}")
        seen.add(key)
        yield _Part(key, member.value)


def _question(uid: int, identity: str, source: Source) -> QuestionDraft:
    parts = {part.key: part.value for part in _parts(source, "a question", _KEYS)}
    kind = _text(parts["type"].literal) if "type" in parts and parts["type"].is_string else None
    if kind not in KINDS:
        raise Unfit(parts["type"].start if "type" in parts else source.start, "the type is none of noul, choice, score")
    options: tuple[OptionDraft, ...] = ()
    extra = Extra(keys=_unless(tuple(parts), tuple(key for key in _KEYS if key in parts)))
    criteria = parts.get("criteria")
    if kind == "noul":
        options, extra = _noul(criteria, extra)
    elif criteria is not None and kind == "choice":
        options = tuple(OptionDraft(part.key, _typed(part.value)) for part in _parts(criteria, "choice criteria"))
    elif criteria is not None:
        if criteria.items is None:
            raise Unfit(criteria.start, "score criteria is no list")
        options = tuple(OptionDraft("", _typed(item)) for item in criteria.items)
    instructions = _typed(parts["instructions"], null=Text("null", raw=True)) if "instructions" in parts else None
    return QuestionDraft(uid, kind, identity, instructions, options, None if extra == Extra() else extra)


def _noul(criteria: Source | None, extra: Extra) -> tuple[tuple[OptionDraft, ...], Extra]:
    found: dict[str, Description] = {}
    literal = None
    if criteria is not None and criteria.members:
        for part in _parts(criteria, "noul criteria"):
            if part.key in found:
                raise Unfit(part.value.start, f"noul criteria hold {part.key!r} twice")
            found[part.key] = _typed(part.value)
    elif criteria is not None:
        literal = criteria.literal
        if json.loads(literal):
            raise Unfit(criteria.start, "noul criteria is no object")
    options = tuple(OptionDraft(key, found.get(key, DEFAULT)) for key in _NOUL_KEYS)
    others = tuple(OptionDraft(key, value) for key, value in found.items() if key not in _NOUL_KEYS)
    usual = (*(key for key in _NOUL_KEYS if key in found), *(option.key for option in others))
    return options, Extra(extra.keys, literal, _unless(tuple(found), usual), others)


def _typed(source: Source, null: Text | None = None) -> Text | None:
    """A value as a field holds it. A text with a carriage return stays a literal: text fields drop that character."""
    literal = source.literal
    if literal == "null":
        return null
    if not source.is_string:
        return Text(literal, raw=True)
    text = _text(literal)
    return Text(literal, raw=True) if "\r" in text else Text(text)


def _text(literal: str) -> str:
    try:
        text = json.loads(literal)
    except ValueError as error:  # an escape that is none; the strict reader names it
        raise NotJson from error
    assert isinstance(text, str)
    return text


def _unless(value: tuple[Value, ...], usual: tuple[Value, ...]) -> tuple[Value, ...]:
    return () if value == usual else value
