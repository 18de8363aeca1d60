"""Where every token went: spans, segments, the budget and the cut."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

SegmentKind = Literal[
    "prefix",
    "media",  # one per image or video; the newline that closes the block is a segment of its own, kind media_end
    "media_end",
    "state",  # what is kept
    "state_cut",  # what was cut: text and token count, but an empty span: these tokens are not in the prompt
    "schema_header",
    "question_header",
    "instruction",
    "options_header",
    "option_label",
    "option",
    "option_end",
    "question_end",
    "suffix",
]


class Span(NamedTuple):
    """Tokens [start, end) of the whole record."""

    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of the prompt that is tokenized alone.

    `num_tokens` equals `span.length` except for `state_cut`, whose span is empty at the place of the cut. `text` is
    the rendered text (for media the placeholder text the processor gets). `question` and `option` are positions in
    the record's questions and in that question's options (the model's order); `media` in images, then videos.
    """

    kind: SegmentKind
    text: str
    span: Span
    num_tokens: int
    question: int | None = None
    option: int | None = None
    media: int | None = None


@dataclass(frozen=True, slots=True)
class Truncation:
    """What the state lost. Token counts are of the state alone.

    `last_kept_text` and `first_lost_text` are short excerpts that meet at a character boundary of the text as it was
    given. When the cut falls inside a character (or inside several that the tokenizer's normaliser composes), it
    belongs to the lost text and `splits_character` is true. For a JSON state, the kept part is read as far as it is
    JSON once its open strings and brackets are closed: `lost_paths` are the values absent from that reading, each
    standing for everything below it, and `cut_path` is the text or number that the reading has shortened, if any.
    """

    kept_tokens: int
    lost_tokens: int
    kept_characters: int
    last_kept_text: str
    first_lost_text: str
    splits_character: bool
    cause: Literal["max_state_tokens", "max_length"]
    lost_paths: tuple[str, ...] = ()
    cut_path: str | None = None


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """Tokens of one record by part; `state` is counted before cutting. All counts are tokens."""

    limit: int  # max_length
    prefix: int
    media: int
    state: int
    schema: int
    suffix: int
    max_state_tokens: int | None = None
    truncation: Truncation | None = None

    @property
    def state_kept(self) -> int:
        return self.state if self.truncation is None else self.truncation.kept_tokens

    @property
    def fixed(self) -> int:
        """Everything that is never cut."""
        return self.prefix + self.media + self.schema + self.suffix

    @property
    def total(self) -> int:
        return self.fixed + self.state_kept
