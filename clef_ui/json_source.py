"""Where each value of a JSON text stands, so that literals move between form and text untouched."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_INDENT = "  "
_MAX_DEPTH = 256  # of the strict reader, which refuses deeper texts before they come here
_TOKEN = re.compile(
    r'[ \t\n\r]*(?:("(?:[^"\\\x00-\x1f]|\\.)*")'
    r"|(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?(?![\w.+-])|true\b|false\b|null\b)"
    r"|([{}\[\]:,]))"
)
_SPACE = re.compile(r"[ \t\n\r]*")


class NotJson(ValueError):
    """The text is no JSON; the strict reader of `clef_model` says why."""


@dataclass(frozen=True, slots=True)
class Member:
    """One key of an object: `key` is the literal with its quotes, at `start`."""

    key: str
    start: int
    value: "Source"


@dataclass(frozen=True, slots=True)
class Source:
    """The place [start, end) of one value in `text`; an object has `members`, an array has `items`."""

    text: str
    start: int
    end: int
    members: tuple[Member, ...] | None = None
    items: "tuple[Source, ...] | None" = None

    @property
    def literal(self) -> str:
        return self.text[self.start : self.end]

    @property
    def is_string(self) -> bool:
        return self.text[self.start] == '"'


def read_source(text: str) -> Source:
    """The places of all values. Duplicate keys are kept: a form may hold them until the person mends them.

    Raises: NotJson.
    """
    source = _value(text, 0, 0)
    if _SPACE.fullmatch(text, source.end) is None:
        raise NotJson
    return source


def lay_out(text: str) -> str:
    """The same JSON with two spaces of indentation; every literal and the order of keys stay as they were.

    Raises: NotJson.
    """
    return "".join(_laid_out(read_source(text), "\n"))


def _laid_out(source: Source, newline: str) -> Iterator[str]:
    inner = newline + _INDENT
    if source.members:
        opener = "{"
        for member in source.members:
            yield f"{opener}{inner}{member.key}: "
            yield from _laid_out(member.value, inner)
            opener = ","
        yield newline + "}"
    elif source.items:
        opener = "["
        for item in source.items:
            yield opener + inner
            yield from _laid_out(item, inner)
            opener = ","
        yield newline + "]"
    elif source.members is not None or source.items is not None:
        yield source.literal[0] + source.literal[-1]
    else:
        yield source.literal


def _token(text: str, index: int) -> tuple[str, int, int]:
    match = _TOKEN.match(text, index)
    if match is None or match.lastindex is None:
        raise NotJson
    return match[match.lastindex], match.start(match.lastindex), match.end()


def _value(text: str, index: int, depth: int) -> Source:
    token, start, end = _token(text, index)
    if depth > _MAX_DEPTH or token in "}]:,":
        raise NotJson
    if token == "{":
        members, end = _members(text, end, depth)
        return Source(text, start, end, members=members)
    if token == "[":
        items, end = _items(text, end, depth)
        return Source(text, start, end, items=items)
    return Source(text, start, end)


def _members(text: str, index: int, depth: int) -> tuple[tuple[Member, ...], int]:
    members: list[Member] = []
    token, start, end = _token(text, index)
    while token != "}" or members:
        if token[0] != '"':
            raise NotJson
        colon, _, end = _token(text, end)
        if colon != ":":
            raise NotJson
        value = _value(text, end, depth + 1)
        members.append(Member(token, start, value))
        comma, _, end = _token(text, value.end)
        if comma == "}":
            break
        if comma != ",":
            raise NotJson
        token, start, end = _token(text, end)
    return tuple(members), end


def _items(text: str, index: int, depth: int) -> tuple[tuple[Source, ...], int]:
    items: list[Source] = []
    token, _, end = _token(text, index)
    if token == "]":
        return (), end
    while True:
        items.append(_value(text, index, depth + 1))
        comma, _, index = _token(text, items[-1].end)
        if comma == "]":
            return tuple(items), index
        if comma != ",":
            raise NotJson
