"""A record as token ids, with the span of each question and option and the whole ledger."""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from clef_model import prompt_notices, rendering
from clef_model.errors import BudgetExceeded, ContextTooLong, InvalidRecord, Notice, Problem
from clef_model.json_paths import counted, describe
from clef_model.ledger import Segment, Span, TokenBudget, Truncation
from clef_model.schema import KINDS, Record
from clef_model.tokenizer import Piece, Tokenizer
from clef_model.truncation import describe_cut

if TYPE_CHECKING:
    from clef_model.media import EncodedMedia
    from clef_model.media_config import MediaConfig

MAX_LENGTH = 16_384  # the release's default; the hosted service documents 24,576 and 65,536
MAX_POSITIONS = 262_144  # the backbone's max_position_embeddings
NAMED_COSTS = 3  # the dearest questions and media that an error names

Cause = Literal["max_state_tokens", "max_length"]

_BUDGET_PARTS = {"prefix": "prefix", "media": "media", "media_end": "media", "state": "state", "suffix": "suffix"}


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

    `notices` are all there are so far: the record's own, those of its media, those of the encoding. `media` holds the
    tensors of the release's processor once they were asked for (see `pixels`).
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


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of the prompt with its tokens; `media` is the item's position when it is one."""

    piece: rendering.PromptPiece
    tokens: Piece
    media: int | None = None

    @property
    def num_tokens(self) -> int:
        return len(self.tokens.ids)


def encode(
    record: Record,
    tokenizer: Tokenizer,
    *,
    max_length: int | None = MAX_LENGTH,
    max_state_tokens: int | None = None,
    truncate: bool = True,
    media_config: "MediaConfig | None" = None,
    media: "EncodedMedia | None" = None,
) -> EncodedRecord:
    """The record as token ids, with the span of each question and option and where every token went.

    The state is cut to `max_state_tokens`, then the whole to `max_length` by cutting the state's end; the budget and a
    notice say so. A `max_length` of None is the release's default. `media` are the record's images and videos when they
    have been encoded already.

    Raises: InvalidRecord: a limit is no sensible number, media cannot be read, or a placeholder stands in the text of a
    record with media. BudgetExceeded: everything but the state needs more than `max_length`. ContextTooLong: the state
    would be cut and `truncate` is False.
    Source: clef-flash joint_schema_model.py, encode_record, revision 17f0b0a.
    """
    problems = limit_problems(max_length, max_state_tokens, truncate)
    if problems:
        raise InvalidRecord(problems)
    max_length = MAX_LENGTH if max_length is None else max_length
    if media is None and (record.images or record.videos):
        media = _encode_media(record, media_config, tokenizer)
    parts = _tokenize(record, tokenizer, media)
    budget = _budget(parts, max_length, max_state_tokens)
    if budget.fixed > max_length:
        raise BudgetExceeded(_over_budget(record, parts, budget), needed=budget.fixed, limit=max_length)
    kept_tokens, cause = _room(budget)
    if cause is not None and not truncate:
        raise _too_long(record, budget, cause)
    if cause is not None:
        state = next(part.tokens for part in parts if part.piece.kind == "state")
        budget = replace(budget, truncation=describe_cut(record.state, state, kept_tokens, cause, tokenizer))
    input_ids, ledger = _lay_out(parts, budget.truncation)
    notices = _notices(record, parts, budget, tokenizer)
    return EncodedRecord(
        input_ids=input_ids,
        questions=_encoded_questions(record, ledger),
        record_id=record.id,
        record=record,
        ledger=ledger,
        budget=budget,
        notices=(*record.notices, *(media.notices if media else ()), *notices),
        media_items=media,
    )


def limit_problems(max_length: object, max_state_tokens: object, truncate: object = True) -> list[Problem]:
    """What is wrong with the limits of a request; True and 3.0 are no whole numbers here."""
    problems = []
    if max_length is not None and not _is_whole(max_length, 1, MAX_POSITIONS):
        expected = f"a whole number of tokens from 1 to {MAX_POSITIONS:,}, the positions of the model, is expected"
        problems.append(Problem("max_length", f"found {describe(max_length)}; {expected}. {MAX_LENGTH:,} is usual."))
    if max_state_tokens is not None and not _is_whole(max_state_tokens, 0, None):
        expected = "a whole number of tokens from 0 up is expected. Leave it out for no limit of the state"
        problems.append(Problem("max_state_tokens", f"found {describe(max_state_tokens)}; {expected}."))
    if not isinstance(truncate, bool):
        problems.append(Problem("truncate", f"found {describe(truncate)}; expected true or false."))
    return problems


def _is_whole(value: object, lowest: int, highest: int | None) -> bool:
    is_int = isinstance(value, int) and not isinstance(value, bool)
    return is_int and value >= lowest and (highest is None or value <= highest)  # type: ignore[operator]


def _encode_media(record: Record, config: "MediaConfig | None", tokenizer: Tokenizer) -> "EncodedMedia":
    if config is None:
        where = "images" if record.images else "videos"
        message = "records with images or videos require a processor. Load a release with its processor_config.json."
        raise InvalidRecord([Problem(where, message)])
    from clef_model.media import encode_media  # decoders take a moment to import, and most records have no media

    return encode_media(record.images, record.videos, config, tokenizer)


def _tokenize(record: Record, tokenizer: Tokenizer, media: "EncodedMedia | None") -> list[_Part]:
    """Every piece tokenized alone; a media item's tokens are those the processor makes of its placeholder."""
    pieces = rendering.pieces(record)
    texts = [piece.text for piece in pieces if piece.kind not in ("media", "media_end")]
    tokens = iter(tokenizer.encode_pieces(texts))
    blocks = iter(_media_blocks(media, tokenizer))
    places = itertools.count()
    return [
        _Part(piece, next(blocks), next(places) if piece.kind == "media" else None)
        if piece.kind in ("media", "media_end")
        else _Part(piece, next(tokens))
        for piece in pieces
    ]


def _media_blocks(media: "EncodedMedia | None", tokenizer: Tokenizer) -> Iterator[Piece]:
    """The tokens of each image and video, and then those of the line end that closes the block."""
    if media is None:
        return
    end = 0
    for item in media.items:
        start, end = item.span
        yield Piece("", tuple(media.input_ids[start:end]), tokenizer)
    yield Piece("", tuple(media.input_ids[end:]), tokenizer)


def _budget(parts: Sequence[_Part], max_length: int, max_state_tokens: int | None) -> TokenBudget:
    """The tokens of each part of the prompt before anything is cut."""
    counts: Counter[str] = Counter()
    for part in parts:
        counts[_BUDGET_PARTS.get(part.piece.kind, "schema")] += part.num_tokens
    return TokenBudget(
        limit=max_length,
        prefix=counts["prefix"],
        media=counts["media"],
        state=counts["state"],
        schema=counts["schema"],
        suffix=counts["suffix"],
        max_state_tokens=max_state_tokens,
    )


def _room(budget: TokenBudget) -> tuple[int, Cause | None]:
    """How many tokens of the state are kept, and the limit that cuts it, if one does. The order is the release's."""
    kept: int = budget.state
    cause: Cause | None = None
    if budget.max_state_tokens is not None and budget.max_state_tokens < kept:
        kept, cause = budget.max_state_tokens, "max_state_tokens"
    if budget.limit - budget.fixed < kept:
        kept, cause = budget.limit - budget.fixed, "max_length"
    return kept, cause


def _lay_out(parts: Sequence[_Part], truncation: Truncation | None) -> tuple[tuple[int, ...], tuple[Segment, ...]]:
    """The ids of the whole prompt and the segments that tile them."""
    input_ids: list[int] = []
    ledger: list[Segment] = []
    for part in parts:
        piece, ids, start = part.piece, part.tokens.ids, len(input_ids)
        if piece.kind == "state" and truncation is not None:
            input_ids.extend(ids[: truncation.kept_tokens])
            end, cut = len(input_ids), truncation.kept_characters
            ledger.append(Segment("state", piece.text[:cut], Span(start, end), end - start))
            ledger.append(Segment("state_cut", piece.text[cut:], Span(end, end), truncation.lost_tokens))
            continue
        input_ids.extend(ids)
        span = Span(start, len(input_ids))
        ledger.append(Segment(piece.kind, piece.text, span, len(ids), piece.question, piece.option, part.media))
    return tuple(input_ids), tuple(ledger)


def _encoded_questions(record: Record, ledger: Sequence[Segment]) -> tuple[EncodedQuestion, ...]:
    instructions = [segment.span for segment in ledger if segment.kind == "instruction"]
    options: list[list[Span]] = [[] for _ in record.questions]
    for segment in ledger:
        if segment.kind == "option" and segment.question is not None:
            options[segment.question].append(segment.span)
    return tuple(
        EncodedQuestion(
            question_id=question.id,
            question_type=KINDS.index(question.kind),
            question_span=instruction,
            option_spans=tuple(spans),
            option_ids=tuple(option.id for option in question.options),
        )
        for question, instruction, spans in zip(record.questions, instructions, options, strict=True)
    )


def _over_budget(record: Record, parts: Sequence[_Part], budget: TokenBudget) -> str:
    """Why a record cannot be encoded at all, in the release's words, with what costs most and what to do."""
    costs: Counter[str] = Counter()
    names = [image.name for image in record.images] + [video.name for video in record.videos]
    for part in parts:
        if part.piece.question is not None:
            costs[f"question {record.questions[part.piece.question].id!r}"] += part.num_tokens
        if part.media is not None:
            kind = "image" if part.media < len(record.images) else "video"
            costs[f"{kind} {names[part.media]!r}"] += part.num_tokens
    dearest = ", ".join(f"{name} {counted(cost, 'token')}" for name, cost in costs.most_common(NAMED_COSTS))
    media = "use fewer or smaller images and videos, " if names else ""
    return (
        f"Record {record.id!r}: schema requires {budget.fixed} tokens before state; maximum is {budget.limit}. "
        f"Most of it: {dearest}. At least {counted(budget.fixed - budget.limit, 'token')} must go: "
        f"{media}remove questions or options, shorten their texts, or raise max_length."
    )


def _too_long(record: Record, budget: TokenBudget, cause: Cause) -> ContextTooLong:
    if cause == "max_length":
        needed, limit = budget.total, budget.limit
        found = f"the record needs {needed} tokens and max_length is {limit}"
    else:
        needed, limit = budget.state, budget.max_state_tokens or 0
        found = f"the state needs {needed} tokens and max_state_tokens is {limit}"
    message = (
        f"Record {record.id!r}: maximum context length exceeded: {found}. Shorten the state by "
        f"{counted(needed - limit, 'token')}, raise the limit, or allow cutting with truncate=True."
    )
    return ContextTooLong(message, needed=needed, limit=limit)


def _notices(record: Record, parts: Sequence[_Part], budget: TokenBudget, tokenizer: Tokenizer) -> list[Notice]:
    """What is to be said of the prompt.

    Raises: InvalidRecord: the text of a record with media holds a placeholder.
    """
    texts = []
    for part in parts:
        tokens = part.tokens
        if part.piece.kind == "state" and (cut := budget.truncation):
            tokens = Piece(tokens.text[: cut.kept_characters], tokens.ids[: cut.kept_tokens], tokenizer)
        if prompt_notices.is_user_text(part.piece):
            texts.append((part.piece, tokens))
    problems = prompt_notices.placeholder_problems(record, texts, tokenizer) if budget.media else []
    if problems:
        raise InvalidRecord(problems)
    return [
        *prompt_notices.cut_notices(budget.state, budget.truncation, isinstance(record.state, str)),
        *prompt_notices.length_notices(budget.total),
        *prompt_notices.special_token_notices(record, texts, tokenizer),
        *prompt_notices.spelling_notices(record, texts, tokenizer),
    ]
