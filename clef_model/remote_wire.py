"""What is written to each kind of server, and its reply brought to the shape of the release."""

import base64
import json
from collections.abc import Mapping
from typing import Any

from clef_model.decision import Limits
from clef_model.errors import InvalidRecord, Problem
from clef_model.json_paths import Json
from clef_model.remote_profiles import ServerProfile
from clef_model.schema import Record, to_request

MAX_REASON = 300  # characters shown of a server's own words


def request_body(profile: ServerProfile, record: Record, model: str | None, limits: Limits) -> bytes:
    """The record as this server wants it, in UTF-8. A record's `id` stays here: no server has a use for it.

    Raises: InvalidRecord: the body is larger than the server takes.
    """
    request = to_request(record)
    request.pop("id", None)
    request.pop("model", None)
    if profile.images == "base64" and record.images:
        request["images"] = [base64.b64encode(image.data).decode() for image in record.images]
    if profile.takes_limits:
        request["max_length"], request["truncate"] = limits.max_length, limits.truncate
        if limits.max_state_tokens is not None:
            request["max_state_tokens"] = limits.max_state_tokens
    if profile.reply == "workbench":
        request["x_clef"] = True
    body = _json_bytes(request if model is None else {"model": model, **request})
    if profile.body_bytes is not None and len(body) > profile.body_bytes:
        found = f"the request has {len(body):,} bytes; {profile.title} takes {profile.body_bytes:,}"
        raise InvalidRecord([Problem("", f"{found}. Shorten the state, or send smaller images.")])
    return body


def _json_bytes(value: Json) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can carry
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")


def systemone_body(profile: ServerProfile, body: Json) -> Json:
    """The reply in the shape of the release, which `parse_reply` reads; what has another shape is left as it is."""
    if not isinstance(body, dict) or not isinstance(body.get("answers"), dict):
        return body
    if profile.reply == "mlx-vlm":
        answers = {name: _from_mlx_vlm(answer) for name, answer in body["answers"].items()}
        return {**body, "answers": answers}
    if profile.reply == "workbench":
        facts = body.get("x_clef")
        exact = facts.get("predictions") if isinstance(facts, dict) else None
        if isinstance(exact, dict):
            answers = {name: _with_exact(answer, exact.get(name)) for name, answer in body["answers"].items()}
            return {**body, "answers": answers}
    return body


def model_facts(body: Json) -> Mapping[str, Json] | None:
    """What a workbench's service says of the model that answered; None when it says nothing."""
    facts = body.get("x_clef") if isinstance(body, dict) else None
    model = facts.get("model") if isinstance(facts, dict) else None
    return model if isinstance(model, dict) else None


def _from_mlx_vlm(answer: Json) -> Json:
    if not isinstance(answer, dict):
        return answer
    if answer.get("type") == "bool":
        return {"type": "noul", "noul": answer.get("probability")}
    said = {name: answer[name] for name in ("type", "probabilities") if name in answer}
    metadata = answer.get("metadata")
    headline = (
        {answer["type"]: answer["value"]} if answer.get("type") in ("choice", "score") and "value" in answer else {}
    )
    return {**said, **headline, **(metadata if isinstance(metadata, dict) else {})}


def _with_exact(answer: Json, exact: Json) -> Json:
    """The answer with its probabilities at full precision."""
    if not isinstance(answer, dict) or not isinstance(exact, dict):
        return answer
    return {**answer, "noul": exact.get("true")} if "noul" in answer else {**answer, "probabilities": exact}


def server_error(body: Json) -> tuple[int | str | None, str]:
    """The code and the words of an error body, whichever of the known shapes it has; empty words when it has none."""
    if not isinstance(body, dict):
        return None, ""
    for key in ("error", "errors", "detail", "message"):
        found = body.get(key)
        if found:
            code, words = _code_and_words(found)
            return (body.get("code") if code is None else code), _shortened(words)
    return None, ""


def _code_and_words(found: Any) -> tuple[int | str | None, str]:
    if isinstance(found, list):
        parts = [_code_and_words(part) for part in found]
        codes = [code for code, _ in parts if code is not None]
        return (codes[0] if codes else None), "; ".join(words for _, words in parts if words)
    if isinstance(found, Mapping):
        code = found.get("code")
        words = found.get("message") or found.get("msg") or found.get("detail") or ""
        place = ".".join(map(str, found["loc"])) + ": " if isinstance(found.get("loc"), list) else ""
        return code if isinstance(code, int | str) and not isinstance(code, bool) else None, f"{place}{words}"
    return None, str(found)


def _shortened(text: str) -> str:
    """On one line, with nothing invisible, and no longer than a person reads."""
    plain = " ".join("".join(char if char.isprintable() else " " for char in text[: 2 * MAX_REASON]).split())
    return plain if len(plain) <= MAX_REASON else f"{plain[:MAX_REASON]}…"


def told_problems(body: Json) -> tuple[Problem, ...]:
    """The problems that a workbench's service lists, with their places in the request; empty when there are none."""
    error = body.get("error") if isinstance(body, dict) else None
    problems = error.get("problems") if isinstance(error, dict) else None
    if not isinstance(problems, list):
        return ()
    read = [(problem.get("where"), problem.get("message")) for problem in problems if isinstance(problem, dict)]
    return tuple(
        Problem(where, _shortened(text)) for where, text in read if isinstance(where, str) and isinstance(text, str)
    )
