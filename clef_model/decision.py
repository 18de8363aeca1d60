"""What is answered: probabilities, answers in the release's shape, and the Decider every surface talks to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from clef_model.encoding import EncodedRecord
from clef_model.errors import Notice
from clef_model.schema import Question, Record


@dataclass(frozen=True, slots=True)
class Answer:
    """One question's answer: a logit and a probability (0 to 1, sum 1) per option, in the model's order."""

    question: Question
    logits: tuple[float, ...]
    probabilities: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds; `total_ms` includes what the other two leave out."""

    encode_ms: float
    forward_ms: float
    total_ms: float


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """What answers: shown beside every decision and in every export."""

    name: str  # "clef-nano", "Cloudflare/clef-flash", a folder's name
    revision: str | None
    device: str
    dtype: str
    is_demonstration: bool  # true for clef-nano, which is never shown as Clef
    accepts_media: bool
    tokenizer: str  # identity of the tokenizer, a short hash
    tokenizer_is_exact: bool  # false: token counts are approximate outside plain English
    note: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a record the model reads; None for `max_state_tokens` is no extra limit."""

    max_length: int = 16_384
    max_state_tokens: int | None = None
    truncate: bool = True


@dataclass(frozen=True, slots=True)
class Decision:
    """The answers of one record, in its question order, with the exact prompt they were computed on."""

    encoded: EncodedRecord
    answers: tuple[Answer, ...]
    timing: Timing
    model: ModelStatus
    notices: tuple[Notice, ...] = ()


Progress = Callable[[float, str], None]  # share done (0 to 1), what is being done; may raise to stop the work


class Decider(Protocol):
    """Whatever decides. `plan` needs a tokenizer only; `decide` answers in the order of the records.

    Raises: InvalidRecord, BudgetExceeded, ContextTooLong, Unsupported, BrokenAnswer; each names the record.
    """

    @property
    def status(self) -> ModelStatus: ...

    def plan(self, record: Record, limits: Limits = ...) -> EncodedRecord: ...

    def decide(
        self, records: Sequence[Record], limits: Limits = ..., progress: Progress | None = None
    ) -> list[Decision]: ...
