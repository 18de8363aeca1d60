"""The kinds of servers there are, each from its own source."""

import base64
import json
from typing import Any

from remote.fakes import (
    ANY,
    CONTEXT,
    KEY,
    NOUL_TEXTS,
    Body,
    Kind,
    Refusal,
    checked,
    cuts,
    entropy,
    extra_noul_keys,
    id_for_falsy,
    max_probability,
    systemone,
    typesafe,
    with_questions,
    without,
)
from starlette.requests import Request

from clef_model.encoding import EncodedRecord

DATA_URL = "data:image/"


def openai_error(words: str, status: int = 400) -> Refusal:
    """{"error": {"message"}}, with the code that most servers repeat there."""
    return Refusal(status, {"error": {"message": words, "type": "BadRequestError", "param": None, "code": status}})


def images_of(body: Body) -> list[Any]:
    return body.get("images") or []


def read_sglang(body: Body, request: Request) -> Body:
    checked(body, openai_error, range(1, 256), range(1, 11))
    if not isinstance(body.get("model"), str):
        raise openai_error("model: Field required")
    if extra_noul_keys(body):
        raise openai_error("criteria: extra keys are not permitted")
    return without(body, "videos")  # as all unknown keys at the top


def sglang_too_long(fixed: int, total: int, context: int) -> Refusal | None:
    words = f"the questions need {fixed} prompt tokens before the state, but at most {context} fit the context length"
    return openai_error(words) if fixed > context else None


def read_vllm(body: Body, request: Request) -> Body:
    checked(body, openai_error, ANY, ANY)
    if not isinstance(body.get("model"), str):
        raise openai_error("model: Field required")
    if images_of(body) or body.get("videos"):
        raise openai_error("NotImplementedError", 501)
    return body


def read_llama_cpp(body: Body, request: Request) -> Body:
    if body.get("state") is None:
        raise openai_error('"state" must be provided')
    checked(body, openai_error, range(1, 256), range(2, 11))
    if any(question.get("instructions") is None for question in body["questions"].values()):
        raise openai_error('"instructions" must be provided')
    if body.get("videos"):
        raise openai_error('"videos" is not supported')
    if len(images_of(body)) > 8 or not all(str(image).startswith("data:") for image in images_of(body)):
        raise openai_error("images must be data URLs")
    return six_digits(with_questions(body, restored_noul))


def six_digits(value: Any) -> Any:
    """Numbers as its template engine writes them."""
    if isinstance(value, dict):
        return {key: six_digits(item) for key, item in value.items()}
    if isinstance(value, list):
        return [six_digits(item) for item in value]
    if isinstance(value, float) or (isinstance(value, int) and not -(2**63) <= value < 2**63):
        return json.loads(f"{value:g}")
    return value


def restored_noul(name: str, question: Body) -> Body:
    criteria = question.get("criteria")
    if question["type"] != "noul" or not criteria:
        return question
    given = {key: text if criteria.get(key) is None else criteria[key] for key, text in NOUL_TEXTS.items()}
    return {**question, "criteria": given}


def llama_cpp_too_long(fixed: int, total: int, context: int) -> Refusal | None:
    words = "input is too large to process. increase the physical batch size"
    error = {"error": {"code": 500, "message": words, "type": "server_error"}}
    return Refusal(500, error) if total > context else None


def ollama_error(words: str, status: int = 400) -> Refusal:
    return Refusal(status, {"error": words})


def read_ollama(body: Body, request: Request) -> Body:
    if not str(body.get("model") or "").strip():
        raise ollama_error("model is required")
    text = len(str(body.get("state")).encode()) + len(str(body.get("questions")).encode())
    if text > 65_536:
        raise ollama_error("text and schema must not exceed 64 KiB", 413)
    if not 1 <= len(body.get("questions") or {}) <= 64:
        raise ollama_error("questions must contain 1–64 fields")
    if body.get("videos"):
        raise ollama_error("video inputs are not supported")
    checked(body, ollama_error, range(2, 27), range(2, 27))
    if extra_noul_keys(body):
        raise ollama_error(f'unknown noul criterion "{extra_noul_keys(body)[0]}"')
    return {**body, "images": [_from_base64(image) for image in images_of(body)]}


def _from_base64(image: str) -> str:
    try:
        data = base64.b64decode(image, validate=True)
    except ValueError:
        raise ollama_error("illegal base64 data at input byte 4") from None
    kind = "png" if data.startswith(b"\x89PNG") else "jpeg"
    return f"{DATA_URL}{kind};base64,{image}"


def ollama_too_long(fixed: int, total: int, context: int) -> Refusal | None:
    return ollama_error(f"Clef input has {total} tokens; context limit is {context}") if total > context else None


def read_mlx(body: Body, request: Request) -> Body:
    checked(body, openai_error, ANY, ANY)
    if body.get("videos"):
        raise openai_error("videos are not accepted over HTTP")
    return with_questions(body, id_for_falsy)


def mlx_too_long(fixed: int, total: int, context: int) -> Refusal | None:
    words = f"maximum context length exceeded: schema requires {fixed} tokens before state; maximum is {context}"
    return openai_error(words, 413) if fixed > context else None


def mlx_reply(body: Body, encoded: EncodedRecord, answers: dict[str, list[float]]) -> Body:
    reply = systemone(body.get("model", "clef-mlx"), encoded, answers, max_probability)
    return {**reply, "usage": {**reply["usage"], "latency_ms": 12.5}}


def detail(words: Any, status: int = 400) -> Refusal:
    return Refusal(status, {"detail": words})


def read_mlx_vlm(body: Body, request: Request) -> Body:
    if body.get("state") is None and not images_of(body):
        words = "Value error, state is required unless images or audio are given"
        raise detail([{"type": "value_error", "loc": ["body"], "msg": words}], 422)
    if not isinstance(body["state"], str | dict | list):
        words = "Input should be a valid string"
        raise detail([{"type": "string_type", "loc": ["body", "state", "str"], "msg": words}], 422)
    checked(body, detail, range(2, 100_000), range(2, 100_000))
    if images_of(body):  # it opens them as files of its own machine
        raise detail("Decision prediction failed", 500)
    return with_questions(without(body, "videos"), id_for_falsy)


def mlx_vlm_reply(body: Body, encoded: EncodedRecord, answers: dict[str, list[float]]) -> Body:
    reply = systemone(body.get("model", "mlx-community/clef"), encoded, answers, max_probability)
    native: Body = {}
    for name, answer in reply["answers"].items():
        if answer["type"] == "noul":
            native[name] = {"type": "bool", "value": answer["noul"] >= 0.5, "probability": answer["noul"]}
            continue
        metadata = {key: answer[key] for key in ("confidence", "legend") if key in answer}
        value = answer[answer["type"]]
        native[name] = {
            "type": answer["type"],
            "value": value,
            "probabilities": answer["probabilities"],
            "metadata": metadata,
        }
    return {**reply, "answers": native}


def mlx_vlm_too_long(fixed: int, total: int, context: int) -> Refusal | None:
    words = f"schema requires {fixed} tokens before state; maximum is {context}"
    return detail(words) if fixed > context else None


def cloudflare(status: int, code: int, words: str) -> Refusal:
    errors = [{"message": words, "code": code}]
    return Refusal(status, {"result": None, "success": False, "errors": errors, "messages": []})


def read_workers_ai(body: Body, request: Request) -> Body:
    if request.headers.get("Authorization") != f"Bearer {KEY}":
        raise cloudflare(401, 10000, f"Authentication error: {request.headers.get('Authorization')}")

    def limit(words: str) -> Refusal:
        return cloudflare(422, 5012, words)

    unknown = set(body) - {"model", "state", "questions", "images"}
    if unknown:
        raise limit(f"unknown field {sorted(unknown)[0]}")
    if str(body.get("model", "clef-flash")).strip() not in ("clef", "clef-flash"):
        raise limit("model must be clef or clef-flash")
    questions = body.get("questions") or {}
    if not 1 <= len(questions) <= 64:
        raise limit("1 to 64 questions")
    for name, question in questions.items():
        if not 1 <= len(name) <= 100 or not all(c.isascii() and (c.isalnum() or c in "_.-") for c in name):
            raise limit(f"bad id {name}")
        given = question.get("instructions")
        if not given or not isinstance(given, str | dict | list):
            raise limit(f"{name}: instructions must not be empty")
    checked(body, limit, range(2, 256), range(2, 11))
    if len(images_of(body)) > 4:
        raise limit("at most 4 images")
    sizes = [len(base64.b64decode(image.partition(",")[2])) for image in images_of(body)]
    kinds = ("png", "jpeg", "webp")
    if not all(image.startswith(tuple(f"{DATA_URL}{kind};" for kind in kinds)) for image in images_of(body)):
        raise limit("PNG, JPEG or WebP")
    if any(size > 4 * 2**20 for size in sizes) or sum(sizes) > 8 * 2**20:
        raise limit("an image is too large")
    return body


def workers_ai_reply(body: Body, encoded: EncodedRecord, answers: dict[str, list[float]]) -> Body:
    result = systemone(body.get("model", "clef-flash"), encoded, answers, entropy)
    return {"result": result, "success": True, "errors": [], "messages": []}


def workers_ai_too_long(fixed: int, total: int, context: int) -> Refusal | None:
    return cloudflare(413, 5021, f"estimated {fixed} tokens") if fixed > context else None


KINDS = {
    "systemone": Kind(
        "/v1/systemone",
        lambda body, request: (checked(body, openai_error, ANY, ANY), body)[1],
        lambda body, encoded, answers: systemone(body.get("model", "clef"), encoded, answers, max_probability),
        cuts,
    ),
    "sglang": Kind(
        "/v1/systemone",
        read_sglang,
        lambda body, encoded, answers: systemone("served-name", encoded, answers, typesafe, decimals=None),
        sglang_too_long,
    ),
    "vllm-fork": Kind(
        "/v1/systemone",
        read_vllm,
        lambda body, encoded, answers: systemone(body["model"], encoded, answers, max_probability),
        cuts,
    ),
    "llama-cpp": Kind(
        "/v1/systemone",
        read_llama_cpp,
        lambda body, encoded, answers: systemone(
            body.get("model", "clef"), encoded, answers, typesafe, decimals=None, is_sorted=True
        ),
        llama_cpp_too_long,
    ),
    "ollama": Kind(
        "/v1/systemone",
        read_ollama,
        lambda body, encoded, answers: systemone(body["model"], encoded, answers, entropy, decimals=None),
        ollama_too_long,
    ),
    "mlx": Kind("/v1/systemone", read_mlx, mlx_reply, mlx_too_long),
    "mlx-vlm": Kind("/v1/decisions", read_mlx_vlm, mlx_vlm_reply, mlx_vlm_too_long),
    "workers-ai": Kind(
        "/client/v4/accounts/abc/ai/run/@cf/cloudflare/clef-flash",
        read_workers_ai,
        workers_ai_reply,
        workers_ai_too_long,
        context=24_576,
    ),
}
assert all(kind.context >= CONTEXT for kind in KINDS.values())
