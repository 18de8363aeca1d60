"""The Budget panel: the whole row against its limit, the ledger, what each part of the state and the media costs."""

from collections.abc import Iterator
from typing import Any

from clef_model.encoding import MAX_LENGTH, EncodedRecord
from clef_model.errors import BudgetExceeded, Unsupported
from clef_model.ledger import Segment
from clef_model.media import MediaItem
from clef_model.media_config import size_shown
from clef_model.rendering import render
from clef_model.tokenizer import Tokenizer
from clef_ui.views.paths import path_ranges
from clef_ui.views.planned import Planned
from clef_ui.views.prompt import SHOWN_PATHS, over_view
from clef_ui.views.state_costs import json_costs, text_costs

SHOWN_CHARACTERS = 100  # of a segment in the table; the whole is in the prompt
LOST_SHOWN = 4_000  # of the lost text at once; the rest comes on demand
CHARACTERS_PER_TOKEN = 4  # the rule of thumb people count with
DEAREST = 5  # questions that are named when the schema alone is too long


def budget_view(result: Planned, tokenizer: Tokenizer, *, exact: bool) -> dict[str, Any]:
    """Everything the panel draws but the ways out, which take a plan each."""
    encoded, budget = result.encoded, result.encoded.budget
    limit = budget.limit if result.over is None else result.over.limit
    return {
        "total": budget.total,
        "limit": limit,
        "defaultLimit": MAX_LENGTH,
        "maxStateTokens": budget.max_state_tokens,
        "uncut": budget.fixed + budget.state,
        "parts": list(_parts(encoded)),
        "rows": [_row(segment) for segment in encoded.ledger],
        "questions": _questions(encoded),
        "media": _media(encoded),
        "state": state_view(encoded, tokenizer),
        "cut": _cut(encoded),
        "over": _over(result.over, encoded),
        "counts": counts_view(encoded, tokenizer),
        "exact": exact or all(segment.text.isascii() for segment in encoded.ledger),
    }


def _parts(encoded: EncodedRecord) -> Iterator[dict[str, Any]]:
    """The row's parts in order: each question is one, with all its texts."""
    questions, media = _questions(encoded), _media_names(encoded)
    last_question: int | None = None
    for segment in encoded.ledger:
        if segment.question is not None:
            if segment.question != last_question:
                last_question = segment.question
                question = questions[last_question]
                yield _part(segment, "question", question["id"]) | {"tokens": question["tokens"]}
        elif segment.kind == "media" and segment.media is not None:
            yield _part(segment, "media", media[segment.media])
        elif segment.kind == "state_cut":
            yield _part(segment, "cut", "state, cut")
        elif segment.num_tokens:
            yield _part(segment, *_PLAIN_PARTS[segment.kind])


_PLAIN_PARTS = {
    "prefix": ("prefix", "prefix"),
    "media_end": ("media", "end of media"),
    "state": ("state", "state"),
    "schema_header": ("scaffold", "schema header"),
    "suffix": ("prefix", "suffix"),
}


def _part(segment: Segment, group: str, label: str) -> dict[str, Any]:
    return {
        "group": group,
        "label": label,
        "tokens": segment.num_tokens,
        "start": segment.span.start,
        "question": segment.question,
        "media": segment.media,
    }


def _row(segment: Segment) -> list[Any]:
    """[kind, tokens, start, end, question, option, media, text shortened, its length]; -1 for none."""
    places = (segment.question, segment.option, segment.media)
    text = segment.text
    return [
        segment.kind,
        segment.num_tokens,
        *segment.span,
        *(-1 if place is None else place for place in places),
        text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…",
        len(text),
    ]


def _questions(encoded: EncodedRecord) -> list[dict[str, Any]]:
    """Per question its tokens: instruction, each option, and the scaffold around them."""
    views: list[dict[str, Any]] = [
        {"id": question.id, "kind": question.kind, "tokens": 0, "instruction": 0, "scaffold": 0, "options": []}
        for question in encoded.record.questions
    ]
    for segment in encoded.ledger:
        if segment.question is None:
            continue
        view = views[segment.question]
        view["tokens"] += segment.num_tokens
        if segment.kind == "instruction":
            view["instruction"] = segment.num_tokens
        elif segment.kind == "option" and segment.option is not None:
            option = encoded.record.questions[segment.question].options[segment.option]
            view["options"].append({"id": option.id, "tokens": segment.num_tokens})
        else:
            view["scaffold"] += segment.num_tokens
    return views


def _media_names(encoded: EncodedRecord) -> list[str]:
    record = encoded.record
    return [
        *(f"image {place + 1}, {image.name}" for place, image in enumerate(record.images)),
        *(f"video {place + 1}, {video.name}" for place, video in enumerate(record.videos)),
    ]


def _media(encoded: EncodedRecord) -> list[dict[str, Any]]:
    """Tokens per picture and per frame, and what would halve them."""
    if encoded.media_items is None:
        return []
    return [_media_item(place, item) for place, item in enumerate(encoded.media_items.items)]


def _media_item(place: int, item: MediaItem) -> dict[str, Any]:
    frames = len(item.frame_times)
    return {
        "place": place,
        "kind": item.kind,
        "name": item.name,
        "tokens": item.num_tokens,
        "given": list(item.size_given),
        "shown": list(item.size_shown),
        "perSlot": item.tokens_per_slot,
        "slots": [round(time, 3) for time in item.slot_times],
        "frames": frames,
        "half": halved_size(item) if item.kind == "image" else None,
        "halfFrames": halved_frames(item),
    }


def halved_size(item: MediaItem) -> dict[str, int] | None:
    """The largest size in the picture's proportions that costs at most half its tokens; None when none is smaller."""
    width, height = item.size_shown
    goal = item.tokens_per_slot // 2
    for percent in range(99, 4, -1):
        size = max(1, width * percent // 100), max(1, height * percent // 100)
        shown = size_shown(size, item.config)
        tokens = shown[0] * shown[1] // item.config.cell**2
        if tokens <= goal:
            return {"width": shown[0], "height": shown[1], "tokens": tokens, "frees": item.tokens_per_slot - tokens}
    return None


def halved_frames(item: MediaItem) -> int | None:
    """Half the frames of a clip, 2 at least; None for a picture and for a clip of 2 frames."""
    frames = len(item.frame_times)
    return max(2, frames // 2) if frames > 2 else None


def state_view(encoded: EncodedRecord, tokenizer: Tokenizer) -> dict[str, Any] | None:
    """The state's values or paragraphs; None when the tokenizer cannot tell where its tokens stand."""
    state, truncation = encoded.record.state, encoded.budget.truncation
    text = render(state)
    try:
        starts = [start for start, _ in tokenizer.offsets(text)]
    except Unsupported:
        return None
    kept = len(text) if truncation is None else truncation.kept_characters
    if isinstance(state, str):
        return text_costs(text, starts, kept)
    return json_costs(text, starts, kept, () if truncation is None else truncation.lost_paths)


def _cut(encoded: EncodedRecord) -> dict[str, Any] | None:
    truncation = encoded.budget.truncation
    if truncation is None:
        return None
    lost = "".join(segment.text for segment in encoded.ledger if segment.kind == "state_cut")
    return {
        "state": encoded.budget.state,
        "kept": truncation.kept_tokens,
        "lost": truncation.lost_tokens,
        "cause": truncation.cause,
        "lastKept": truncation.last_kept_text,
        "splitsCharacter": truncation.splits_character,
        "lostText": lost[:LOST_SHOWN],
        "lostCharacters": len(lost),
        "lostPaths": path_ranges(truncation.lost_paths, SHOWN_PATHS),
        "cutPath": truncation.cut_path,
        "isText": isinstance(encoded.record.state, str),
    }


def _over(over: BudgetExceeded | None, encoded: EncodedRecord) -> dict[str, Any] | None:
    """Why the record cannot be sent, and when the questions alone are too long, which cost most."""
    view = over_view(over)
    if over is None or view is None:
        return None
    fixed = encoded.budget.fixed
    dearest = sorted(enumerate(_questions(encoded)), key=lambda entry: -entry[1]["tokens"])[:DEAREST]
    return {
        **view,
        "schemaAlone": fixed > over.limit,
        "mustGo": max(0, fixed - over.limit),
        "dearest": [
            {
                "question": place,
                "id": question["id"],
                "tokens": question["tokens"],
                "instruction": question["instruction"],
                "options": sorted(question["options"], key=lambda option: -option["tokens"])[:3],
            }
            for place, question in dearest
        ],
    }


def counts_view(encoded: EncodedRecord, tokenizer: Tokenizer) -> dict[str, int]:
    """The prompt's text before any cut, counted as the model gets it and in the two ways people count wrongly."""
    text_segments = [segment for segment in encoded.ledger if segment.kind not in ("media", "media_end")]
    text = "".join(segment.text for segment in text_segments)
    return {
        "pieces": sum(segment.num_tokens for segment in text_segments),
        "whole": len(tokenizer.encode(text)),
        "characters": len(text),
        "quarter": round(len(text) / CHARACTERS_PER_TOKEN),
        "media": encoded.budget.media,
    }
