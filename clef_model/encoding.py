"""A record as token ids, with the span of each question and option and the whole ledger."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clef_model.errors import Notice
from clef_model.ledger import Segment, Span, TokenBudget
from clef_model.schema import Record

if TYPE_CHECKING:
    from clef_model.media import EncodedMedia

MAX_LENGTH = 16_384  # the release's default; the hosted service documents 24,576 and 65,536


@dataclass(frozen=True, slots=True)
class EncodedQuestion:
    """Where a question stands in the prompt; field names as in the release. Options are in the model's order."""

    question_id: str
    question_type: int
    question_span: Span
    option_spans: tuple[Span, ...]
    option_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EncodedRecord:
    """A record as the model gets it. `ledger` tiles `input_ids`; `media_items` are checked but hold no tensors.

    `media` holds the tensors of the release's processor once they were asked for (see `pixels`).
    """

    input_ids: tuple[int, ...]
    questions: tuple[EncodedQuestion, ...]
    record_id: str
    record: Record = field(repr=False)
    ledger: tuple[Segment, ...] = field(repr=False)
    budget: TokenBudget
    notices: tuple[Notice, ...] = ()
    media_items: "EncodedMedia | None" = field(default=None, compare=False, repr=False)
    media: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
