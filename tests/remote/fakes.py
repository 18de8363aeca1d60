"""Other servers of Clef as their sources describe them, on a real port: what they take, refuse, cut and reply.

Each behaviour is written here from the sources by hand, and not from the profiles, which it is held against.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from model.small_tokenizers import byte_tokenizer
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from clef_model.encoding import EncodedRecord, encode
from clef_model.media_config import MediaConfig
from clef_model.parsing import parse_record

CONTEXT = 16_384
KEY = "sk-test-CANARY-1"
TYPES = ("noul", "choice", "score")
NOUL_TEXTS = {
    "true": "The proposition is true or the answer is yes.",
    "false": "The proposition is false or the answer is no.",
}

Body = dict[str, Any]


class Refusal(Exception):
    def __init__(self, status: int, body: Any) -> None:
        self.status, self.body = status, body


@dataclass
class Kind:
    """One kind of server. `read` refuses or returns the request as the server understands it."""

    path: str
    read: Callable[[Body, Request], Body]
    reply: Callable[[Body, EncodedRecord, dict[str, list[float]]], Any]
    too_long: Callable[[int, int, int], Refusal | None]  # by the tokens of all but the state, of all, and the context
    context: int = CONTEXT


@dataclass
class Fake:
    """A running fake: what it was sent, and the prompts that it made of it."""

    kind: Kind
    bodies: list[Body] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    context: int | None = None

    async def answer(self, request: Request) -> Response:
        body = json.loads(await request.body())
        self.bodies.append(body)
        try:
            if request.url.path != self.kind.path:
                raise Refusal(404, {"error": "404 page not found"})
            understood = self.kind.read(body, request)
            encoded = self._encode(understood)
        except Refusal as refusal:
            return JSONResponse(refusal.body, refusal.status)
        self.prompts.append(prompt_text(encoded))
        return JSONResponse(self.kind.reply(body, encoded, probabilities(encoded)))

    def _encode(self, understood: Body) -> EncodedRecord:
        record = parse_record({key: understood[key] for key in ("state", "questions", "images") if key in understood})
        context = self.context or self.kind.context
        tokenizer, media = byte_tokenizer(), MediaConfig()
        whole = encode(record, tokenizer, max_length=262_144, media_config=media)
        refusal = self.kind.too_long(whole.budget.fixed, whole.budget.total, context)
        if refusal is not None:
            raise refusal
        return encode(record, tokenizer, max_length=context, media_config=media)


def prompt_text(encoded: EncodedRecord) -> str:
    return "".join(segment.text for segment in encoded.ledger if segment.kind != "state_cut")


def probabilities(encoded: EncodedRecord) -> dict[str, list[float]]:
    """Made up from the whole prompt, so that equal prompts have equal answers, and others have others."""
    digest = hashlib.sha256(prompt_text(encoded).encode())
    answers = {}
    for question in encoded.record.questions:
        weights = []
        for option in question.options:
            digest.update(f"{question.id} {option.id}".encode())
            weights.append(0.01 + int.from_bytes(digest.digest()[:4], "big") / 2**32)
        answers[question.id] = [weight / sum(weights) for weight in weights]
    return answers


def in_request_order(encoded: EncodedRecord, answers: Mapping[str, list[float]]) -> dict[str, dict[str, float]]:
    return {
        question.id: {question.options[p].id: answers[question.id][p] for p in question.request_order}
        for question in encoded.record.questions
    }


def systemone(
    model: str,
    encoded: EncodedRecord,
    answers: Mapping[str, list[float]],
    confidence: Callable[[str, list[float]], float],
    *,
    decimals: int | None = 4,
    is_sorted: bool = False,
) -> Body:
    """The common reply."""
    shown = (lambda p: p) if decimals is None else (lambda p: round(p, decimals))
    said = {}
    for question in encoded.record.questions:
        by_id = in_request_order(encoded, answers)[question.id]
        by_id = dict(sorted(by_id.items())) if is_sorted else by_id
        values = list(by_id.values())
        if question.kind == "noul":
            said[question.id] = {"type": "noul", "noul": shown(by_id["true"])}
            continue
        answer: Body = {"type": question.kind, "confidence": shown(confidence(question.kind, values))}
        answer["probabilities"] = {name: shown(p) for name, p in by_id.items()}
        if question.kind == "choice":
            answer["choice"] = max(by_id, key=by_id.__getitem__)
        else:
            answer["score"] = shown(sum(level * p for level, p in enumerate(values)))
            answer["legend"] = dict(zip(by_id, question.source["criteria"], strict=True))
        said[question.id] = answer
    return {"model": model, "answers": said, "usage": {"input_tokens": len(encoded.input_ids), "output_tokens": 0}}


def max_probability(kind: str, values: list[float]) -> float:
    return max(values)


def entropy(kind: str, values: list[float]) -> float:
    return 1.0 if len(values) == 1 else 1 + sum(p * math.log(p) for p in values) / math.log(len(values))


def typesafe(kind: str, values: list[float]) -> float:
    number, mode = len(values), values.index(max(values))
    if number == 1:
        return 1.0
    if kind == "choice":
        return max(0.0, (max(values) - 1 / number) / (1 - 1 / number))
    spread = sum(p * abs(level - mode) for level, p in enumerate(values))
    return max(0.0, 1 - spread / (sum(abs(level - (number - 1) / 2) for level in range(number)) / number))


def checked(body: Body, refuse: Callable[[str], Refusal], options: range, levels: range) -> None:
    """What every server looks at: shapes, types and counts."""
    if "state" not in body:
        raise refuse("state is required")
    questions = body.get("questions")
    if not isinstance(questions, dict) or not questions:
        raise refuse("at least one question is required")
    for name, question in questions.items():
        if question.get("type") not in TYPES:
            raise refuse(f"{name}: type must be noul, choice, or score")
        count = len(question.get("criteria") or ())
        if question["type"] == "choice" and count not in options:
            raise refuse(f"{name}: criteria must contain {options.start}-{options.stop - 1} options, got {count}")
        if question["type"] == "score" and count not in levels:
            raise refuse(f"{name}: criteria must contain {levels.start}-{levels.stop - 1} levels, got {count}")


def extra_noul_keys(body: Body) -> list[str]:
    return [
        key
        for question in body["questions"].values()
        if question["type"] == "noul"
        for key in question.get("criteria") or {}
        if key not in NOUL_TEXTS
    ]


def with_questions(body: Body, change: Callable[[str, Body], Body]) -> Body:
    return {**body, "questions": {name: change(name, question) for name, question in body["questions"].items()}}


def without(body: Body, *keys: str) -> Body:
    return {key: value for key, value in body.items() if key not in keys}


def id_for_falsy(name: str, question: Body) -> Body:
    return question if question.get("instructions") else {**question, "instructions": name}


ANY = range(1, 100_000)


def cuts(fixed: int, total: int, context: int) -> Refusal | None:
    """The state is cut in silence; a schema that does not fit is refused in the release's words."""
    words = f"schema requires {fixed} tokens before state; maximum is {context}"
    return Refusal(400, {"error": {"message": words}}) if fixed > context else None
