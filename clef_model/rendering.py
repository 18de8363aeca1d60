"""The prompt's text: how values are written, and the pieces of a record in prompt order."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from clef_model.json_paths import Json
from clef_model.schema import Option, Question, Record

if TYPE_CHECKING:
    from clef_model.ledger import SegmentKind

# Source of all literals below: clef-flash joint_schema_model.py, revision 17f0b0a.
PREFIX = (
    "<|im_start|>system\nRead the complete state and schema. Decide every field jointly. Each answer must be exactly "
    "one of that field's allowed options.<|im_end|>\n<|im_start|>user\nSTATE:\n"
)
SUFFIX = "\n<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\nJOINT SCHEMA DECISIONS:"
SCHEMA_HEADER = "\n\nSCHEMA FIELDS:\n"
OPTIONS_HEADER = "\nALLOWED OPTIONS:\n"
OPTION_END = "\n"
QUESTION_END = "END FIELD\n"
IMAGE = "<|vision_start|><|image_pad|><|vision_end|>"
VIDEO = "<|vision_start|><|video_pad|><|vision_end|>"
MEDIA_END = "\n"

_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


class PromptPiece(NamedTuple):
    """A text that is tokenized alone; `question` and `option` are positions in the record, in the model's order."""

    kind: "SegmentKind"
    text: str
    question: int | None = None
    option: int | None = None


def render(value: Json) -> str:
    """A string as it is; anything else as compact JSON with keys sorted by code point at every depth."""
    return value if isinstance(value, str) else _ENCODER.encode(value)


def instruction_text(question: Question) -> str:
    """The rendered instructions; the question's id when there are none or they are the empty string."""
    absent = question.instructions is None or question.instructions == ""
    return question.id if absent else render(question.instructions)


def option_text(option: Option) -> str:
    """The JSON that stands for an option; a description of None leaves no key."""
    described = {} if option.description is None else {"description": option.description}
    return render({"option_id": option.id, **described})


def question_header(position: int, question: Question) -> str:
    """What stands before the instructions of the question at `position`, counted from 0."""
    return f"\nFIELD {position + 1}\nID: {question.id}\nTYPE: {question.kind}\nINSTRUCTION: "


def media_text(record: Record) -> str:
    """The text the processor gets for the record's images and videos; empty without media."""
    placeholders = IMAGE * len(record.images) + VIDEO * len(record.videos)
    return placeholders + MEDIA_END if placeholders else ""


def question_pieces(position: int, question: Question) -> Iterator[PromptPiece]:
    """The pieces of one question, from its header to its end."""
    yield PromptPiece("question_header", question_header(position, question), position)
    yield PromptPiece("instruction", instruction_text(question), position)
    yield PromptPiece("options_header", OPTIONS_HEADER, position)
    for place, option in enumerate(question.options):
        yield PromptPiece("option_label", f"OPTION {place + 1}: ", position, place)
        yield PromptPiece("option", option_text(option), position, place)
        yield PromptPiece("option_end", OPTION_END, position, place)
    yield PromptPiece("question_end", QUESTION_END, position)


def pieces(record: Record) -> list[PromptPiece]:
    """The whole prompt, piece by piece; media items as the placeholders that the processor expands."""
    media = [PromptPiece("media", IMAGE)] * len(record.images) + [PromptPiece("media", VIDEO)] * len(record.videos)
    if media:
        media.append(PromptPiece("media_end", MEDIA_END))
    schema = [
        piece for position, question in enumerate(record.questions) for piece in question_pieces(position, question)
    ]
    return [
        PromptPiece("prefix", PREFIX),
        *media,
        PromptPiece("state", render(record.state)),
        PromptPiece("schema_header", SCHEMA_HEADER),
        *schema,
        PromptPiece("suffix", SUFFIX),
    ]
