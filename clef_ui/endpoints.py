"""The page's two named endpoints for programs: decide and plan, over the same desk as the page."""

from collections.abc import Callable
from typing import Any, TypeVar
from uuid import uuid4

import gradio as gr
from gradio.events import api

from clef_model.decision import Limits, parse_limits, predictions, to_response
from clef_model.encoding import EncodedRecord
from clef_model.errors import ClefError
from clef_model.parsing import parse_record
from clef_model.schema import Record
from clef_ui.deciding import Desk

Result = TypeVar("Result")


def add_endpoints(desk: Desk) -> None:
    """Adds `/decide` and `/plan`; called inside the page's Blocks."""

    def decide_request(
        request: dict[str, Any] | str,
        max_length: int = 16384,
        max_state_tokens: int | None = None,
        truncate: bool = True,
    ) -> dict[str, Any]:
        """The System One response to a request, with its probabilities in full precision and what was cut.

        Send the request as JSON text to keep every digit of large integers. Integers beyond 64 bits come back as text.
        """
        record, limits = _asked(request, max_length, max_state_tokens, truncate)
        decision = _answered(lambda: desk.decide(record, limits, uuid4().hex))
        more = {"predictions": predictions(decision), "budget": budget_object(decision.encoded)}
        answer: dict[str, Any] = text_safe({**to_response(decision), **more})
        return answer

    def plan_request(
        request: dict[str, Any] | str,
        max_length: int = 16384,
        max_state_tokens: int | None = None,
        truncate: bool = True,
    ) -> dict[str, Any]:
        """Where every token of a request goes: budget, spans and the ledger. Needs no weights.

        Send the request as JSON text to keep every digit of large integers. Integers beyond 64 bits come back as text.
        """
        record, limits = _asked(request, max_length, max_state_tokens, truncate)
        plan: dict[str, Any] = text_safe(plan_object(_answered(lambda: desk.decider.plan(record, limits))))
        return plan

    api(decide_request, api_name="decide", concurrency_id="model", concurrency_limit=1)
    api(plan_request, api_name="plan")


def _asked(request: Any, max_length: int, max_state_tokens: int | None, truncate: bool) -> tuple[Record, Limits]:
    settings = {"max_length": max_length, "max_state_tokens": max_state_tokens, "truncate": truncate}
    return _answered(lambda: (parse_record(request), parse_limits(settings)))


def _answered(call: Callable[[], Result]) -> Result:
    """The result; a ClefError becomes the error that Gradio passes on to the caller as it is."""
    try:
        return call()
    except ClefError as error:
        raise gr.Error(str(error), print_exception=False) from error


def plan_object(encoded: EncodedRecord) -> dict[str, Any]:
    """The plan as JSON: spans are [start, end) tokens of the whole record."""
    return {
        "budget": budget_object(encoded),
        "questions": [
            {
                "id": question.question_id,
                "span": list(question.question_span),
                "options": {
                    option: list(span) for option, span in zip(question.option_ids, question.option_spans, strict=True)
                },
            }
            for question in encoded.questions
        ],
        "ledger": [
            {"kind": segment.kind, "span": list(segment.span), "tokens": segment.num_tokens, "text": segment.text}
            for segment in encoded.ledger
        ],
        "notices": [{"code": n.code, "where": n.where, "message": n.message} for n in encoded.notices],
    }


def budget_object(encoded: EncodedRecord) -> dict[str, Any]:
    budget = encoded.budget
    cut = budget.truncation
    return {
        "limit": budget.limit,
        "total": budget.total,
        "prefix": budget.prefix,
        "media": budget.media,
        "state": budget.state,
        "state_kept": budget.state_kept,
        "schema": budget.schema,
        "suffix": budget.suffix,
        "truncation": cut
        and {
            "kept_tokens": cut.kept_tokens,
            "lost_tokens": cut.lost_tokens,
            "cause": cut.cause,
            "lost_paths": list(cut.lost_paths),
            "cut_path": cut.cut_path,
        },
    }


def text_safe(value: Any) -> Any:
    """The value with integers beyond 64 bits as text: the queue's encoder refuses them."""
    if isinstance(value, dict):
        return {key: text_safe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [text_safe(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        return str(value)
    return value
