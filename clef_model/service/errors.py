"""What the service says when it does not answer: a status, a stable code, a sentence, and every problem."""

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from starlette.responses import Response

from clef_model.errors import (
    BrokenAnswer,
    BudgetExceeded,
    ClefError,
    ContextTooLong,
    InvalidRecord,
    Problem,
    Unsupported,
)
from clef_model.json_paths import counted, parse_path
from clef_model.lane import LaneFull

INTERNAL_ERROR = "Internal error, see the server's log."

log = logging.getLogger(__name__)


class Refused(ClefError):
    """An error with its place in HTTP; `facts` are further members of the error object, such as a limit."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        problems: Iterable[Problem] = (),
        headers: Mapping[str, str] | None = None,
        **facts: Any,
    ) -> None:
        self.status = status
        self.code = code
        self.problems = tuple(problems)
        self.headers = dict(headers or {})
        self.facts = facts
        super().__init__(message)


def refused(error: Exception) -> Refused:
    """The error as the client is told; what is not ours to say is logged and becomes an internal error."""
    match error:
        case Refused():
            return error
        case InvalidRecord():
            return Refused(422, "invalid_request", _summary(error.problems), problems=error.problems)
        case BudgetExceeded():
            code = "context_too_long" if isinstance(error, ContextTooLong) else "budget_exceeded"
            return Refused(413, code, str(error), needed_tokens=error.needed, limit_tokens=error.limit)
        case Unsupported():
            return Refused(422, "unsupported", str(error))
        case LaneFull():
            return Refused(429, "queue_full", str(error), headers={"Retry-After": str(error.retry_after)})
        case BrokenAnswer():
            log.error("the model gave no answer", exc_info=error)
            return Refused(500, "broken_answer", str(error))
        case ClefError():
            log.error("the model cannot answer", exc_info=error)
            return Refused(503, "model_failed", str(error))
        case _:
            log.error("a request failed", exc_info=error)
            return Refused(500, "internal", INTERNAL_ERROR)


def error_response(refusal: Refused) -> Response:
    """The refusal as JSON: `error` is ours; `detail` says the same as TypeSafe's API does, for its clients."""
    error = {
        "code": refusal.code,
        "message": str(refusal),
        "problems": [asdict(problem) for problem in refusal.problems],
        **refusal.facts,
    }
    detail: Any = {"error_type": refusal.code, "message": str(refusal)}
    if refusal.status == 422:
        problems = refusal.problems or (Problem("", str(refusal)),)
        detail = [{"loc": ["body", *_steps(p.where)], "msg": p.message, "type": refusal.code} for p in problems]
    return json_response({"error": error, "detail": detail}, refusal.status, refusal.headers)


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The value as UTF-8 JSON with every digit of its numbers; never cached."""
    spelled = partial(json.dumps, value, allow_nan=False, separators=(",", ":"))
    try:
        body = spelled(ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:  # half of a character, in the path of a problem
        body = spelled(ensure_ascii=True).encode("ascii")
    fixed = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return Response(body, status, {**fixed, **(headers or {})}, media_type="application/json")


def _summary(problems: tuple[Problem, ...]) -> str:
    """The first problem, and how many more there are."""
    more = len(problems) - 1
    return f"{problems[0]} ({counted(more, 'more problem')})" if more else str(problems[0])


def _steps(where: str) -> list[str | int]:
    try:
        return list(parse_path(where))
    except ValueError:
        return [where]
