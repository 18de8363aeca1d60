"""What a person wants to know of a prompt: its cut, control tokens in their text, other spellings, its length."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence

from clef_model.errors import Notice, Problem
from clef_model.json_paths import Path, counted, path_text, shown
from clef_model.ledger import Truncation
from clef_model.rendering import PromptPiece
from clef_model.schema import Record
from clef_model.tokenizer import Piece, Tokenizer

TRAINED_LENGTH = 16_384  # tokens. Source: write-ups of the release; its files name no training length
PLACEHOLDERS = {"<|image_pad|>": "image placeholder", "<|video_pad|>": "video placeholder"}
MAX_PATHS = 5  # named in a sentence; the ledger has all

_USER_KINDS = frozenset({"state", "question_header", "instruction", "option"})
MEANINGS = {
    "<|im_start|>": "opens a chat turn",
    "<|im_end|>": "ends a chat turn",
    "<|endoftext|>": "ends a document and fills short rows of a batch",
    "<|vision_start|>": "opens an image",
    "<|vision_end|>": "ends an image",
    "<|image_pad|>": "stands for a part of an image",
    "<|video_pad|>": "stands for a part of a video",
    "<think>": "opens the model's own reasoning",
    "</think>": "ends the model's own reasoning",
    "<tool_call>": "opens a tool call",
    "</tool_call>": "ends a tool call",
    "<tool_response>": "opens a tool's answer",
    "</tool_response>": "ends a tool's answer",
}

UserText = tuple[PromptPiece, Piece]  # `ids` of the state are those that are kept


def is_user_text(piece: PromptPiece) -> bool:
    """Whether a piece holds what the person wrote; the rest of the prompt is always the same."""
    return piece.kind in _USER_KINDS


def placeholder_problems(record: Record, texts: Iterable[UserText], tokenizer: Tokenizer) -> list[Problem]:
    """Placeholders typed into a record with media, where the model would count them as parts of its images."""
    return [
        Problem(
            piece_path(record, prompt_piece),
            f"found the {PLACEHOLDERS[special]} {special!r} in the text of a record with media; the model would take "
            "it for a part of an image or video. Remove it from the text, or send the record without media.",
        )
        for prompt_piece, piece in texts
        for special in dict.fromkeys(tokenizer.specials_in(piece.ids))
        if special in PLACEHOLDERS
    ]


def special_token_notices(record: Record, texts: Iterable[UserText], tokenizer: Tokenizer) -> list[Notice]:
    """One notice for each place whose text holds special tokens."""
    notices = []
    for prompt_piece, piece in texts:
        found = tokenizer.specials_in(piece.ids)
        if found:
            named = ", ".join(_special_token(special, count) for special, count in Counter(found).items())
            message = (
                f"the text holds {named}. The tokenizer makes one control token of each, as in the release, and the "
                "model may obey it. Respell it if it is only quoted."
            )
            notices.append(Notice("special_token", piece_path(record, prompt_piece), message))
    return list(dict.fromkeys(notices))


def spelling_notices(record: Record, texts: Iterable[UserText], tokenizer: Tokenizer) -> list[Notice]:
    """One notice for each place whose text the tokenizer normalises to another."""
    notices = []
    for prompt_piece, piece in texts:
        normalised = tokenizer.normalized(piece.text)
        if normalised != piece.text:
            first = _first_difference(piece.text, normalised)
            message = (
                f"the tokenizer reads this text in another Unicode spelling (NFC), {normalised[first]!a} for "
                f"{piece.text[first : first + 2]!a} and perhaps more. The model cannot tell the two apart."
            )
            notices.append(Notice("normalised", piece_path(record, prompt_piece), message))
    return list(dict.fromkeys(notices))


def cut_notices(state_tokens: int, truncation: Truncation | None, is_text: bool) -> list[Notice]:
    """What the state lost and how to keep it."""
    if truncation is None:
        return []
    limit = f"{truncation.cause} leaves room for {counted(truncation.kept_tokens, 'token')}"
    if truncation.kept_tokens == 0:
        message = (
            f"nothing of it reaches the model: it has {counted(state_tokens, 'token')} and {limit}. {_way_out(is_text)}"
        )
        return [Notice("state_empty", "state", message)]
    message = (
        f"its last {counted(truncation.lost_tokens, 'token')} of {state_tokens:,} were cut, from "
        f"{shown(truncation.first_lost_text)} on: {limit}. {_lost_values(truncation)}{_way_out(is_text)}"
    )
    return [Notice("state_cut", "state", message)]


def length_notices(total: int) -> list[Notice]:
    """Said of a prompt that is longer than those the head was trained on."""
    if total <= TRAINED_LENGTH:
        return []
    message = (
        f"the prompt has {total:,} tokens, beyond the trained length of {TRAINED_LENGTH:,}. The model reads it whole; "
        "its answers may be less reliable."
    )
    return [Notice("beyond_trained_length", "", message)]


def piece_path(record: Record, piece: PromptPiece) -> str:
    """Where in the request the text of a piece comes from."""
    if piece.question is None:
        return "state"
    question = record.questions[piece.question]
    path: Path = ("questions", question.id)
    if piece.kind == "instruction" and question.instructions not in (None, ""):
        path = (*path, "instructions")
    if piece.kind == "option" and piece.option is not None:
        option_id = question.options[piece.option].id
        path = (*path, "criteria", piece.option if question.kind == "score" else option_id)
    return path_text(path)


def _special_token(special: str, count: int) -> str:
    times = f" {count} times" if count > 1 else ""
    meaning = f" ({MEANINGS[special]})" if special in MEANINGS else ""
    name = f"the {PLACEHOLDERS[special]} " if special in PLACEHOLDERS else ""
    return f"{name}{special!r}{meaning}{times}"


def _first_difference(text: str, other: str) -> int:
    shorter = range(min(len(text), len(other)) - 1)
    return bisect_left(shorter, True, key=lambda place: text[: place + 1] != other[: place + 1])


def _lost_values(truncation: Truncation) -> str:
    lost, cut = truncation.lost_paths, truncation.cut_path
    sentences = "" if cut is None else f"The value of {cut} was cut in two. "
    if lost:
        more = f" and {len(lost) - MAX_PATHS:,} more" if len(lost) > MAX_PATHS else ""
        sentences += f"Lost: {_listed(lost[:MAX_PATHS])}{more}. "
    return sentences


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def _way_out(is_text: bool) -> str:
    order = "put what matters first" if is_text else "rename keys so that what matters sorts first"
    return f"Shorten the state, {order}, or raise the limit."
