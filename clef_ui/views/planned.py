"""A record planned for looking at, also when its questions alone leave no room for the state."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from clef_model.decision import Limits, ModelStatus
from clef_model.encoding import EncodedRecord
from clef_model.errors import BudgetExceeded, ClefError, ContextTooLong, InvalidRecord
from clef_model.schema import UNKNOWN_ID, Record
from clef_model.tokenizer import Tokenizer


class Planner(Protocol):
    """The half of a Decider that needs no weights."""

    @property
    def status(self) -> ModelStatus: ...
    @property
    def tokenizer(self) -> Tokenizer: ...
    def plan(self, record: Record, limits: Limits = ...) -> EncodedRecord: ...


@dataclass(frozen=True, slots=True)
class Asked:
    """What a draft asks: the record and how much of it may be read."""

    record: Record
    limits: Limits


ReadDraft = Callable[[str], Asked]  # the draft's text to what it asks; raises ClefError


@dataclass(frozen=True, slots=True)
class Planned:
    """`over` is why the record cannot be sent as it is; `encoded` is then made with the least limit that holds it."""

    encoded: EncodedRecord
    over: BudgetExceeded | None = None


def planned(planner: Planner, asked: Asked) -> Planned:
    """Raises: InvalidRecord and the other ClefErrors of a record that cannot be encoded at any limit."""
    try:
        return Planned(planner.plan(asked.record, asked.limits))
    except ContextTooLong as error:  # cutting is not allowed: what would be cut is what the person wants to see
        return Planned(planner.plan(asked.record, replace(asked.limits, truncate=True)), error)
    except BudgetExceeded as error:
        return Planned(planner.plan(asked.record, replace(asked.limits, max_length=error.needed, truncate=True)), error)


def without_record(message: str) -> str:
    """An error's sentence without the name of the record: the page has only one, and nobody named it."""
    rest = message.removeprefix(f"Record {UNKNOWN_ID!r}: ")
    return message if rest == message else rest[:1].upper() + rest[1:]


def problems_view(error: ClefError) -> list[dict[str, Any]]:
    """The problems of a request, one by one."""
    if isinstance(error, InvalidRecord):
        return [{"where": p.where, "message": p.message, "line": p.line, "column": p.column} for p in error.problems]
    return [{"where": "", "message": str(error), "line": None, "column": None}]
