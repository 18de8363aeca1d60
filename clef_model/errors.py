"""Errors and notices whose text is written for the person at the page."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that stops a request, with the place it was found in.

    `where` is a JSON path of the request such as `questions.urgency.criteria[2]`; `line` and `column` count from 1
    and are present when the request came as text.
    """

    where: str
    message: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        place = self.where or "request"
        if self.line is not None:
            place += f" (line {self.line}, column {self.column})"
        return f"{place}: {self.message}"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that is accepted and that the person probably wants to know; `code` is stable."""

    code: str
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class ClefError(Exception):
    """Base class: surfaces show these messages as they are."""


class InvalidRecord(ClefError, ValueError):
    """The request breaks rules of the schema; `problems` holds all of them. A ValueError, as in the release."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class BudgetExceeded(ClefError, ValueError):
    """The part of a record that is never cut needs more tokens than the limit. A ValueError, as in the release."""

    def __init__(self, message: str, *, needed: int, limit: int) -> None:
        self.needed = needed
        self.limit = limit
        super().__init__(message)


class ContextTooLong(BudgetExceeded):
    """The whole record needs more tokens than the limit and cutting was not allowed."""


class BrokenRelease(ClefError):
    """A release cannot be loaded: files, keys, shapes, network or memory."""


class BrokenAnswer(ClefError):
    """The model returned numbers that are no answer (NaN or infinite)."""


class Unsupported(ClefError):
    """The loaded model cannot answer this kind of record, for example media with a text-only release."""


class RemoteFailed(ClefError):
    """Another server gave no answer: out of reach, busy, refusing, or replying with something else.

    `status` is its HTTP status, if it gave one; `is_unreachable` when the record cannot have got there at all.
    """

    def __init__(self, message: str, *, status: int | None = None, is_unreachable: bool = False) -> None:
        self.status = status
        self.is_unreachable = is_unreachable
        super().__init__(message)
