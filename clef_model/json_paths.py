"""Places in a JSON value as text, and values named in a few words for messages."""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from clef_model.errors import Problem

Json = Any  # a JSON value as json.loads gives it
Path = tuple[str | int, ...]  # the keys and positions that lead to a value; () is the whole

MAX_PROBLEMS = 100  # a person mends a few at a time; a damaged megabyte must not answer with a megabyte of complaints
SHOWN_CHARACTERS = 60  # of a value quoted in a message

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_STEP = re.compile(r"\.?([A-Za-z_][A-Za-z0-9_-]*)|\[([0-9]+)\]|\[(\"(?:[^\"\\]|\\.)*\")\]", re.DOTALL)


def path_text(path: Path) -> str:
    """The path as it is shown: `questions.urgency.criteria[2]`, `state["a.b"]`; empty for the whole value."""
    steps = []
    for step in path:
        if isinstance(step, int):
            steps.append(f"[{step}]")
        elif _PLAIN_KEY.fullmatch(step):
            steps.append(f".{step}")
        else:
            quoted = json.dumps(step, ensure_ascii=False)
            steps.append("".join(["[", *(c if c.isprintable() else json.dumps(c)[1:-1] for c in quoted), "]"]))
    return "".join(steps).removeprefix(".")


def parse_path(text: str) -> Path:
    """The path that `path_text` wrote.

    Raises: ValueError: the text is no such path.
    """
    steps: list[str | int] = []
    index = 0
    while index < len(text):
        match = _STEP.match(text, index)
        if match is None or (match[1] is not None and text[index] != "." and index > 0):
            raise ValueError(f'{text!r} is no path: expected .key, [0] or ["key"] at character {index + 1}.')
        plain, position, quoted = match.groups()
        steps.append(plain if plain is not None else int(position) if position is not None else json.loads(quoted))
        index = match.end()
    return tuple(steps)


def shown(text: str) -> str:
    """The text quoted for a message, shortened and with everything invisible escaped."""
    return repr(text) if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]!r}…"


def describe(value: Json) -> str:
    """A value in a few words: "an object of 2 keys", "a list of 3", "the string 'red'", "the number 7", "null"."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the string {shown(value)}" if value else "an empty string"
    if isinstance(value, int) and value.bit_length() > 256:  # printing may be refused, and is no use
        return "a very large number"
    if isinstance(value, int | float):
        return f"the number {value!r}"
    if isinstance(value, Mapping):
        return f"an object of {counted(len(value), 'key')}" if value else "an empty object"
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return f"a list of {len(value)}" if value else "an empty list"
    return f"a Python value of type {type(value).__name__}"


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 key", "2,000 keys"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def character(char: str) -> str:
    """One character for a message: itself when it can be seen, else its code point and name."""
    if char.isascii() and char.isprintable():
        return f'"{char}"' if char == "'" else f"'{char}'"
    name = unicodedata.name(char, "a control character" if char < " " else "")
    return f"U+{ord(char):04X} {name}".rstrip()


TOO_MANY = Problem("", f"these are the first {MAX_PROBLEMS} problems; there may be more. Mend these first.")


def bounded(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The first MAX_PROBLEMS, and a last one that says so when there are more; more are not even looked for."""
    first = tuple(islice(problems, MAX_PROBLEMS + 1))
    return first if len(first) <= MAX_PROBLEMS else (*first[:MAX_PROBLEMS], TOO_MANY)
