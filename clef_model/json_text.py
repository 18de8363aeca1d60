"""Strict JSON reading: all problems at once, each with its path, line and column."""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]  # the C reader of strings, absent from typeshed
from math import isfinite
from typing import Any

from clef_model import json_faults
from clef_model.errors import InvalidRecord, Notice, Problem
from clef_model.json_paths import MAX_PROBLEMS, TOO_MANY, Json, Path, parse_path, path_text, shown

MAX_JSON_BYTES = 64 * 2**20  # the limit of the reference's MLX server for a body; the token limit ends far below it
MAX_DEPTH = 256  # Python's own reader fails near 1,000; 256 is beyond any real state and safe for every later reader
MAX_VALUES = 1_000_000  # each takes a token at least, of which the backbone has 262,144; and about a second to read
MAX_INTEGER_DIGITS = 4_300  # Python's limit on turning text into an int and back, which it needs to stay fast
MAX_NOTICES = 20  # of numbers that change; a table of them says nothing new after a few

# Where a value begins in the text: a number for a scalar, and (number, children) for a container.
Mark = Any  # int | tuple[int, dict[str, Mark] | list[Mark]]

_SPACES = " \t\n\r"
_NO_SPACE = re.compile(r"[^ \t\n\r]")
_CLOSERS = {"{": "}", "[": "]"}
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?(?![-+.0-9A-Za-z_])")
_WORD = re.compile(r"-?[A-Za-z_$][A-Za-z0-9_$]*")
_MAY_HOLD_SURROGATES = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")
_WORDS: dict[str, Json] = {"true": True, "false": False, "null": None}
_SAFE_FLOAT_LENGTH = 16  # 15 significant digits always survive a 64-bit float


@dataclass(frozen=True, slots=True)
class Located:
    """A JSON value with the text it was read from, so that each part of it can be found there.

    `problems` are what strict JSON forbids; when `is_complete` is false the reading stopped at the last of them and
    `value` is None. `notices` name numbers that cannot keep the digits typed.
    """

    value: Json
    text: str = field(repr=False)
    marks: Mark = field(default=0, repr=False)
    problems: tuple[Problem, ...] = ()
    notices: tuple[Notice, ...] = ()
    is_complete: bool = True

    def position(self, path: Path | str) -> tuple[int, int]:
        """Line and column, from 1, of the value at the path, or of the nearest value around it."""
        marks = self.marks
        for step in parse_path(path) if isinstance(path, str) else path:
            try:
                marks = marks[1][step]
            except (TypeError, KeyError, IndexError):
                break
        return line_and_column(self.text, marks[0] if isinstance(marks, tuple) else marks)


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Line and column, from 1 and in characters, of an offset in the text."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def parse_json(text: str | bytes) -> Located:
    """The value of a JSON text, read strictly, with the place of each part.

    Refused: duplicate keys, NaN and Infinity, numbers beyond a 64-bit float, integers of more than
    MAX_INTEGER_DIGITS, nesting deeper than MAX_DEPTH, lone surrogates, text that is not UTF-8, and everything RFC 8259
    forbids. A byte order mark in front is passed over.

    Raises: InvalidRecord: with all problems found up to the first that makes the rest unreadable.
    """
    located = scan_json(text)
    if located.problems:
        raise InvalidRecord(located.problems)
    return located


def scan_json(text: str | bytes) -> Located:
    """As `parse_json`, with the problems in the result instead of raised."""
    if len(text) > MAX_JSON_BYTES:
        unit = "characters" if isinstance(text, str) else "bytes"
        found = f"found {len(text):,} {unit} of JSON; at most {MAX_JSON_BYTES:,} are read. Send less."
        return Located(None, "", problems=(Problem("", found),), is_complete=False)
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            before = error.object[: error.start].decode("utf-8")
            problem = Problem("", json_faults.not_utf8(error), *line_and_column(before, len(before)))
            return Located(None, before, problems=(problem,), is_complete=False)
    return _Scanner(text.removeprefix("\ufeff")).scan()


class _Stop(Exception):
    """The text cannot be read on from `offset`."""

    def __init__(self, offset: int, message: str, path: Path) -> None:
        self.offset, self.message, self.path = offset, message, path


class _TooMany(Exception):
    """There are more problems than anyone would read."""


class _Scanner:
    """Reads one text from start to end with its own stack, so that depth costs no recursion."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.index = 0
        self.has_surrogates = _MAY_HOLD_SURROGATES.search(text) is not None
        # One entry for each container that is open: itself, where its children begin, where it begins, its last key.
        self.containers: list[dict[str, Json] | list[Json]] = []
        self.children: list[Any] = []
        self.starts: list[int] = []
        self.keys: list[str] = []
        self.problems: list[Problem] = []
        self.notices: list[Notice] = []
        self.num_values = self.num_more_notices = 0

    def scan(self) -> Located:
        """The whole text."""
        value, mark, is_complete = None, 0, True
        try:
            value, mark = self._read()
        except _Stop as stop:
            self.problems.append(self._problem(stop.path, stop.offset, stop.message))
            is_complete = False
        except _TooMany:
            self.problems.append(TOO_MANY)
            is_complete = False
        if self.num_more_notices:
            more = f"{self.num_more_notices:,} more of the numbers do not fit a 64-bit float."
            self.notices.append(Notice("number_changed", "", more))
        return Located(value, self.text, mark, tuple(self.problems), tuple(self.notices), is_complete)

    def _read(self) -> tuple[Json, Mark]:
        while True:
            char = self._next()
            start = self.index
            self.num_values += 1
            if self.num_values > MAX_VALUES:
                raise _Stop(start, json_faults.too_many_values(MAX_VALUES), self._path()[:8])
            value: Json
            mark: Mark = start
            if char == '"':
                value = self._read_string(self._path)
            elif char == "{" or char == "[":
                self._open(char)
                if self._next() != _CLOSERS[char]:
                    if char == "{":
                        self._read_key()
                    continue  # its first value is next
                value, mark = self._close()
            else:
                value = self._read_literal()
            while self.containers:  # the value goes to its container, which may be complete with it, and so on
                container = self.containers[-1]
                if isinstance(container, dict):
                    key = self.keys[-1]
                    container[key] = value
                    self.children[-1][key] = mark
                else:
                    container.append(value)
                    self.children[-1].append(mark)
                if self._goes_on():
                    break
                value, mark = self._close()
            else:
                if self._next():
                    raise _Stop(self.index, json_faults.after_end(self.text, self.index), ())
                return value, mark

    def _next(self) -> str:
        """The next character that is no white space, empty at the end of the text; the index stands on it."""
        char = self.text[self.index : self.index + 1]
        if char and char in _SPACES:
            match = _NO_SPACE.search(self.text, self.index)
            self.index = match.start() if match else len(self.text)
            char = self.text[self.index : self.index + 1]
        return char

    def _open(self, bracket: str) -> None:
        if len(self.containers) == MAX_DEPTH:
            raise _Stop(self.index, json_faults.too_deep(MAX_DEPTH), self._path()[:8])
        self.containers.append({} if bracket == "{" else [])
        self.children.append({} if bracket == "{" else [])
        self.starts.append(self.index)
        self.keys.append("")
        self.index += 1

    def _close(self) -> tuple[Json, Mark]:
        """The innermost container, whose closing bracket the index stands on."""
        self.index += 1
        self.keys.pop()
        return self.containers.pop(), (self.starts.pop(), self.children.pop())

    def _goes_on(self) -> bool:
        """Whether another value follows (in an object its key is read); else the index is on the closing bracket."""
        char = self._next()
        closer = "}" if isinstance(self.containers[-1], dict) else "]"
        if char == closer:
            return False
        if char != ",":
            message = json_faults.after_value(self.text, self.index, self._opened())
            raise _Stop(self.index, message, self._path()[:-1])
        comma = self.index
        self.index += 1
        if self._next() == closer:
            self._report(self._path()[:-1], comma, json_faults.trailing_comma(closer))
            return False
        if closer == "}":
            self._read_key()
        return True

    def _read_key(self) -> None:
        start = self.index
        if self.text[start : start + 1] != '"':
            raise _Stop(start, json_faults.at_key(self.text, start, self._opened()), self._path()[:-1])
        key = self._read_string(lambda: self._path()[:-1])
        self.keys[-1] = key
        if key in self.containers[-1]:
            self._report_duplicate(key, start)
        if self._next() != ":":
            raise _Stop(self.index, json_faults.after_key(self.text, self.index, key), self._path())
        self.index += 1

    def _read_string(self, path: Callable[[], Path]) -> str:
        start = self.index
        value: str
        try:
            value, self.index = scanstring(self.text, start + 1, True)
        except JSONDecodeError as error:
            offset, message = json_faults.in_string(self.text, start, error.pos)
            raise _Stop(offset, message, path()) from error
        if self.has_surrogates and (fault := json_faults.lone_surrogate(value)):
            self._report(path(), start, fault)
        return value

    def _read_literal(self) -> Json:
        """A number or a word."""
        text, start = self.text, self.index
        number = _NUMBER.match(text, start)
        if number is not None:
            self.index = number.end()
            is_integer = number[1] is None and number[2] is None
            return self._integer(number[0], start) if is_integer else self._float(number[0], start)
        word = _WORD.match(text, start)
        if word is not None and word[0] in _WORDS:
            self.index = word.end()
            return _WORDS[word[0]]
        message = None if word is None else json_faults.wrong_word(word[0])
        if word is None or message is None:
            raise _Stop(start, json_faults.at_value(text, start, self._opened()), self._path())
        self.index = word.end()
        self._report(self._path(), start, message)  # what was meant is clear, so the rest can be read
        return None

    def _integer(self, literal: str, start: int) -> int:
        limit = min(MAX_INTEGER_DIGITS, sys.get_int_max_str_digits() or MAX_INTEGER_DIGITS)
        num_digits = len(literal) - literal.startswith("-")
        if num_digits <= limit:
            return int(literal)
        found = f"found a number of {num_digits:,} digits; at most {limit:,} are read. Send it as a string, in quotes."
        self._report(self._path(), start, found)
        return 0

    def _float(self, literal: str, start: int) -> float:
        value = float(literal)
        if not isfinite(value):
            found = f"found the number {shown(literal)}, which is non-finite as a 64-bit float; the largest is 1.8e308."
            self._report(self._path(), start, f"{found} Write a smaller number, or send it as a string, in quotes.")
        elif (len(literal) > _SAFE_FLOAT_LENGTH or "e" in literal or "E" in literal) and _differs(literal, value):
            if len(self.notices) == MAX_NOTICES:
                self.num_more_notices += 1
            else:
                kept = f"{shown(literal)} does not fit a 64-bit float; the model reads {value!r}."
                message = f"{kept} Send it as a string, in quotes, to keep every digit."
                self.notices.append(Notice("number_changed", path_text(self._path()), message))
        return value

    def _path(self) -> Path:
        """The value that is being read."""
        pairs = zip(self.containers, self.keys, strict=True)
        return tuple(key if isinstance(container, dict) else len(container) for container, key in pairs)

    def _opened(self) -> tuple[str, int, int] | None:
        """The innermost open container: its bracket, line and column."""
        if not self.starts:
            return None
        return self.text[self.starts[-1]], *line_and_column(self.text, self.starts[-1])

    def _report_duplicate(self, key: str, start: int) -> None:
        first = self.children[-1][key]
        line, column = line_and_column(self.text, first[0] if isinstance(first, tuple) else first)
        found = f"found the duplicate key {shown(key)}; its first value is at line {line}, column {column}."
        self._report(self._path(), start, f"{found} Rename or remove one of them.")

    def _report(self, path: Path, offset: int, message: str) -> None:
        if len(self.problems) == MAX_PROBLEMS:
            raise _TooMany
        self.problems.append(self._problem(path, offset, message))

    def _problem(self, path: Path, offset: int, message: str) -> Problem:
        return Problem(path_text(path), message, *line_and_column(self.text, offset))


def _differs(literal: str, value: float) -> bool:
    """Whether a float has another value than the one typed; another spelling of the same value is none."""
    if value == 0.0:  # the exponent may be too small for Decimal
        return any(digit in "123456789" for digit in literal.lower().partition("e")[0])
    return Decimal(literal) != Decimal(repr(value))
