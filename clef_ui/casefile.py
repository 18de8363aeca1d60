"""A case file: a request, what it was decided on and every probability in full, to be checked again elsewhere."""

import hashlib
import json
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from clef_model.decision import Limits, ModelStatus
from clef_model.encoding import EncodedRecord
from clef_model.errors import ClefError
from clef_model.schema import ImageInput, VideoInput

VERSION = 1
MAX_CHARACTERS = 64 * 2**20
SAME = 1e-6  # a change of a probability up to this is rounding between machines, in float32

Probabilities = Mapping[str, Mapping[str, float]]  # {question id: {option id: probability}}


class BrokenCase(ClefError):
    """A file that is no case file, or one of another version."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as the case file says."""

    what: str
    filed: str
    here: str


def write_case(
    *,
    request: str,
    limits: Limits,
    encoded: EncodedRecord,
    model: Mapping[str, Any],
    tokenizer: str,
    probabilities: Probabilities,
    logits: Mapping[str, Mapping[str, float]],
) -> str:
    """The case as JSON text. `request` stands in it as text, so that no digit and no order of keys can change."""
    truncation = encoded.budget.truncation
    case = {
        "clef_case": VERSION,
        "request": request,
        "limits": asdict(limits),
        "media": list(media_hashes(encoded)),
        "model": {**model, "tokenizer": tokenizer},
        "prompt": {
            "tokens": len(encoded.input_ids),
            "ids_sha256": ids_hash(encoded),
            "state_tokens": encoded.budget.state,
            "state_tokens_kept": encoded.budget.state_kept,
            "cut_by": truncation.cause if truncation else None,
        },
        "ledger": [
            {"kind": s.kind, "tokens": s.num_tokens, "start": s.span.start, "end": s.span.end, **_places(s)}
            for s in encoded.ledger
        ],
        "probabilities": probabilities,
        "logits": logits,
    }
    return json.dumps(case, ensure_ascii=False, indent=1)


def read_case(text: str) -> dict[str, Any]:
    """The case of a case file's text, with the parts that checking needs.

    Raises: BrokenCase.
    """
    if len(text) > MAX_CHARACTERS:
        raise BrokenCase(f"The file has {len(text):,} characters; a case file has at most {MAX_CHARACTERS:,}.")
    try:
        case = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise BrokenCase(
            f"The file is no JSON from {place} on. Choose a file that Export has saved as a case."
        ) from error
    except (ValueError, RecursionError) as error:
        raise BrokenCase("The file cannot be read as JSON. Choose a file that Export has saved as a case.") from error
    if not isinstance(case, dict) or "clef_case" not in case:
        raise BrokenCase("The file is no case file: it has no 'clef_case'. Choose one that Export has saved.")
    if case["clef_case"] != VERSION:
        raise BrokenCase(
            f"The case file has version {case['clef_case']!r}, and {VERSION} is read here. Save it again with its tool."
        )
    kinds = {"request": str, "limits": dict, "media": list, "model": dict, "prompt": dict, "probabilities": dict}
    wrong = [name for name, kind in kinds.items() if not isinstance(case.get(name), kind)]
    if wrong:
        raise BrokenCase(f"The case file lacks {', '.join(wrong)}, or they have another type. Save the case again.")
    for where, found in _misfits(case):
        raise BrokenCase(f"The case file has {_shown(found)} at {where}. Save the case again.")
    return case


def _misfits(case: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Values that are compared later and cannot be: a NaN among the probabilities would differ from nothing."""
    for place, item in enumerate(case["media"]):
        if not isinstance(item, dict) or not all(isinstance(item.get(key), str) for key in ("where", "name", "sha256")):
            yield f"media[{place}]", item
    for question, options in case["probabilities"].items():
        if not isinstance(options, dict) or not options:
            yield f"probabilities of {question!r}", options
            continue
        for option, value in options.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                yield f"probabilities of {question!r}, option {option!r}", value


def case_limits(case: Mapping[str, Any]) -> Limits:
    """Raises: BrokenCase."""
    try:
        return Limits(**case["limits"])
    except TypeError as error:
        raise BrokenCase(
            "The case file has limits that are not known here. Save it again with this version."
        ) from error


def plan_differences(case: Mapping[str, Any], encoded: EncodedRecord, status: ModelStatus) -> list[Difference]:
    """Where the prompt made here, the media or the model are not those of the case; needs no weights."""
    filed_model, filed_prompt = case["model"], case["prompt"]
    pairs = [
        ("tokenizer", filed_model.get("tokenizer"), status.tokenizer),
        ("tokens of the prompt", filed_prompt.get("tokens"), len(encoded.input_ids)),
        ("state tokens kept", filed_prompt.get("state_tokens_kept"), encoded.budget.state_kept),
        ("token ids of the prompt (SHA-256)", filed_prompt.get("ids_sha256"), ids_hash(encoded)),
        ("model", filed_model.get("name"), status.name),
        ("revision", filed_model.get("revision"), status.revision),
        ("dtype", filed_model.get("dtype"), status.dtype),
    ]
    found = [Difference(what, _shown(filed), _shown(here)) for what, filed, here in pairs if filed != here]
    here_media = {item["where"]: item["sha256"] for item in media_hashes(encoded)}
    for item in case["media"]:
        here = here_media.pop(item.get("where", ""), None)
        if here != item.get("sha256"):
            found.append(
                Difference(f"{item.get('where')} ({item.get('name')})", _shown(item.get("sha256")), _shown(here))
            )
    found += [Difference(where, "none", _shown(sha256)) for where, sha256 in here_media.items()]
    return found


def answer_differences(case: Mapping[str, Any], probabilities: Probabilities) -> tuple[list[Difference], float]:
    """Questions whose probabilities moved, and the largest move of all, 0 when every digit is the same."""
    found: list[Difference] = []
    largest = 0.0
    filed: Probabilities = case["probabilities"]
    for question, options in filed.items():
        here = probabilities.get(question)
        if here is None or here.keys() != options.keys():
            found.append(Difference(f"question {question!r}", _options(options), _options(here)))
            continue
        moved = max(options, key=lambda option: abs(options[option] - here[option]))
        change = abs(options[moved] - here[moved])
        largest = max(largest, change)
        if change > SAME:
            what = f"question {question!r}, option {moved!r}"
            found.append(Difference(what, repr(options[moved]), repr(here[moved])))
        top = (max(options, key=options.__getitem__), max(here, key=here.__getitem__))
        if top[0] != top[1]:
            found.append(Difference(f"question {question!r}, top option", *top))
    found += [
        Difference(f"question {name!r}", "none", _options(probabilities[name]))
        for name in probabilities.keys() - filed.keys()
    ]
    return found, largest


def ids_hash(encoded: EncodedRecord) -> str:
    """SHA-256 of the token ids as 32-bit little-endian integers."""
    return hashlib.sha256(array("i", encoded.input_ids).tobytes()).hexdigest()


def media_hashes(encoded: EncodedRecord) -> Iterator[dict[str, Any]]:
    """Name, type and SHA-256 of each picture and clip; the bytes themselves stay out of the file."""
    record = encoded.record
    for place, image in enumerate(record.images):
        yield _hashed(f"images[{place}]", image)
    for place, video in enumerate(record.videos):
        yield _hashed(f"videos[{place}]", video)


def _hashed(where: str, media: ImageInput | VideoInput) -> dict[str, Any]:
    entry = {"where": where, "name": media.name, "type": media.mime, "sha256": media_id(media)}
    if isinstance(media, VideoInput):
        return {**entry, "frames": media.num_frames, "fps": media.fps, "bytes": len(media.data)}
    return {**entry, "bytes": len(media.data)}


def media_id(media: ImageInput | VideoInput) -> str:
    """SHA-256 of a file's bytes; of a clip made of pictures that of its pictures' SHA-256, a line each."""
    if isinstance(media, VideoInput) and media.frames:
        return hashlib.sha256(b"frames\n" + "\n".join(map(media_id, media.frames)).encode()).hexdigest()
    return hashlib.sha256(media.data).hexdigest()


def _places(segment: Any) -> dict[str, int]:
    places = {"question": segment.question, "option": segment.option, "media": segment.media}
    return {name: place for name, place in places.items() if place is not None}


def _options(options: Mapping[str, float] | None) -> str:
    return "none" if options is None else f"options {', '.join(options)}"


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    return str(value)[:16] + "…" if isinstance(value, str) and len(value) == 64 else str(value)
