"""The release's own function names, so that code written for its file runs with another import."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from clef_model import batch as batches
from clef_model.batch import BatchRecord, with_media_tensors
from clef_model.decision import answer, requested, systemone_answer
from clef_model.encoding import MAX_LENGTH, EncodedRecord, encode
from clef_model.errors import BudgetExceeded, InvalidRecord, Notice, Problem
from clef_model.loading import load_model
from clef_model.media_config import MediaConfig
from clef_model.model import ClefModel
from clef_model.parsing import parse_record, systemone_fault
from clef_model.python_media import media_from_python
from clef_model.schema import UNKNOWN_ID
from clef_model.tokenizer import Tokenizer, from_any

_CONTAINERS = (list, tuple, str, dict)
_PYTHON_ONLY = ("media_kwargs",)  # keys of a record that a request over the network cannot have


@dataclass(frozen=True, slots=True)
class Processor:
    """What a record's texts and media are encoded with; the release's object has a `tokenizer` too."""

    tokenizer: Tokenizer
    media_config: MediaConfig | None


def load_release_model(
    model_path: str | Path,
    device: str | torch.device = "cuda",
    dtype: str | torch.dtype = torch.bfloat16,
    *,
    revision: str | None = None,
) -> tuple[ClefModel, Processor]:
    """The model and processor of a release's folder or hub id; a hub id gets its pinned revision.

    Raises: BrokenRelease.
    Source: clef-flash joint_schema_model.py, load_release_model, revision 17f0b0a.
    """
    model, planner, _ = load_model(model_path, device=device, dtype=dtype, revision=revision)
    return model, Processor(planner.tokenizer, planner.media_config)


def encode_record(
    tokenizer: Any,
    record: Mapping[str, Any],
    max_length: int = MAX_LENGTH,
    max_state_tokens: int | None = None,
    processor: Processor | None = None,
) -> EncodedRecord:
    """The record as the model reads it, its media's tensors included.

    `record` is a request with `state` and `questions`; its `images` and `videos` may be PIL images, arrays, lists of
    frames, file bytes or data URLs. `tokenizer` may be of any kind. What was cut or assumed is in the result.

    Raises: ValueError: the release's own texts where it has one, otherwise all problems at once (`InvalidRecord`).
    Source: clef-flash joint_schema_model.py, encode_record, revision 17f0b0a.
    """
    if record.get("questions") == {}:
        raise ValueError("record produced no model input or questions")
    if (record.get("images") or record.get("videos")) and processor is None:
        raise ValueError("records with images or videos require a processor")
    if processor is not None and not isinstance(processor, Processor):
        raise TypeError(
            f"processor: found a {type(processor).__name__}; the one that load_release_model returns is expected."
        )
    media_config = processor.media_config if processor else None
    request, notices = _request(record, media_config)
    parsed = parse_record(request)
    parsed = replace(parsed, notices=(*parsed.notices, *notices))
    try:
        encoded = encode(
            parsed,
            from_any(tokenizer),
            max_length=max_length,
            max_state_tokens=max_state_tokens,
            media_config=media_config,
        )
    except BudgetExceeded as error:
        text = f"schema requires {error.needed} tokens before state; maximum is {error.limit}"
        raise BudgetExceeded(text, needed=error.needed, limit=error.limit) from error
    return with_media_tensors(encoded)


def collate_records(records: Sequence[BatchRecord], pad_token_id: int, device: str | torch.device) -> dict[str, Any]:
    """The records as one right-padded batch for `model(batch)`; records of the release's own code are taken too."""
    batch = batches.collate(records, pad_token_id, torch.device(device))
    return {
        "input_ids": batch.input_ids,
        "attention_mask": batch.attention_mask,
        "records": list(records),
        "media": dict(batch.media),
    }


@torch.inference_mode()
def systemone(
    model: ClefModel, processor: Processor, request: Mapping[str, Any], max_length: int = MAX_LENGTH
) -> dict[str, Any]:
    """The System One response to a System One request.

    Raises: ValueError: as `encode_record`, and the release's texts for a request without model, state or questions.
    Source: clef-flash joint_schema_model.py, systemone, revision 17f0b0a.
    """
    fault = systemone_fault(request)
    if fault is not None:
        raise ValueError(fault)
    encoded = encode_record(processor.tokenizer, request, max_length=max_length, processor=processor)
    (logits,) = model(collate_records([encoded], processor.tokenizer.pad_token_id, model.device))
    answers = {}
    for question, row in zip(encoded.record.questions, logits, strict=True):
        scores = row.float()
        answered = answer(question, scores.tolist(), scores.softmax(-1).tolist())
        answers[question.id] = systemone_answer(question.source, requested(answered))
    return {
        "model": request["model"],
        "answers": answers,
        "usage": {"input_tokens": len(encoded.input_ids), "output_tokens": 0},
    }


def _request(record: Mapping[str, Any], config: MediaConfig | None) -> tuple[dict[str, Any], tuple[Notice, ...]]:
    """The record with its Python media made files, and what is to be said of them."""
    request = {key: value for key, value in record.items() if key not in _PYTHON_ONLY}
    if "id" in request:
        request["id"] = str(request["id"]) or UNKNOWN_ID
    python: dict[str, Any] = {}
    for key in ("images", "videos"):
        media = request.get(key)
        if media is None or (isinstance(media, _CONTAINERS) and not media):
            request.pop(key, None)  # no media, as in the release
        elif isinstance(media, list | tuple) and not any(_is_json(part) for part in media):
            python[key] = media
    media_kwargs = record.get("media_kwargs")
    if media_kwargs and "videos" not in python:
        message = (
            "settings of the processor are taken beside videos given as arrays, lists of frames or file bytes only."
        )
        raise InvalidRecord([Problem("media_kwargs", f"{message} Leave them out.")])
    made = media_from_python(python.get("images"), python.get("videos"), media_kwargs, config)
    request.update({key: getattr(made, key) for key in python})
    return request, made.notices


def _is_json(media: Any) -> bool:
    """Whether an image or video is as a request over the network has it: a data URL, an object, or a list of such."""
    if isinstance(media, list):
        return any(_is_json(part) for part in media)
    return isinstance(media, str | Mapping)
