"""The page's two named endpoints for programs: decide and plan, over the same desk as the page."""

import json
from collections.abc import Callable
from typing import Any, TypeVar
from uuid import uuid4

import gradio as gr
from gradio.events import api

from clef_model.decision import Limits, parse_limits, predictions, to_response
from clef_model.encoding import EncodedRecord
from clef_model.errors import ClefError
from clef_model.facts import notice_facts, span_facts
from clef_model.parsing import parse_record
from clef_model.schema import Record
from clef_ui.deciding import Desk
from clef_ui.request_types import Request

Result = TypeVar("Result")


def add_endpoints(desk: Desk) -> None:
    """Adds `/decide` and `/plan`, which are also the two tools of the MCP server; called inside the page's Blocks."""

    # Their names and docstrings are what agents see: Gradio takes the parameters' descriptions from "Args". To programs
    # integers beyond 64 bits come back as text.
    def decide(
        request: Request | str,
        max_length: int = 16384,
        max_state_tokens: int | None = None,
        truncate: bool = True,
        caller: gr.Request | None = None,
    ) -> dict[str, Any] | str:
        """Answers closed questions about a text or JSON value with a probability for every allowed option.

        Use it to classify, route, check or grade something when the possible answers are known beforehand: yes or no
        (noul), one of several options (choice), a level on a scale (score). All questions of a request are answered
        together in one pass; nothing is generated. Describe each option in a few words, and give a choice an option
        such as "none of these" when none may fit. The result has each question's probabilities at full precision under
        `predictions`, its System One answer under `answers`, and under `budget` how much of the state was read.

        Args:
            request: {"state": what is judged, "questions": {id: question}}, or that as JSON text, digit by digit
            max_length: tokens that are read at most, questions included; the end of a longer state is cut
            max_state_tokens: tokens of the state that are read at most; null is no limit of its own
            truncate: false refuses a state that does not fit, with both numbers, instead of cutting it
        """
        record, limits = _asked(request, max_length, max_state_tokens, truncate)
        decision = _answered(lambda: desk.decide(record, limits, uuid4().hex))
        more = {"predictions": predictions(decision), "budget": budget_object(decision.encoded)}
        return _as_object({**to_response(decision), **more}, caller)

    def plan(
        request: Request | str,
        max_length: int = 16384,
        max_state_tokens: int | None = None,
        truncate: bool = True,
        caller: gr.Request | None = None,
    ) -> dict[str, Any] | str:
        """Counts where every token of a request goes, without deciding it. Costs almost nothing.

        Use it before `decide` when a state is long, to see whether it fits, what would be cut and which questions cost
        most: `budget` has the tokens by part and the cut, `questions` the span of each question and option, `ledger`
        every piece of the prompt with its text. Takes what `decide` takes.

        Args:
            request: {"state": what is judged, "questions": {id: question}}, or that as JSON text, digit by digit
            max_length: tokens that are read at most, questions included; the end of a longer state is cut
            max_state_tokens: tokens of the state that are read at most; null is no limit of its own
            truncate: false refuses a state that does not fit, with both numbers, instead of cutting it
        """
        record, limits = _asked(request, max_length, max_state_tokens, truncate)
        return _as_object(plan_object(_answered(lambda: desk.decider.plan(record, limits))), caller)

    api(decide, api_name="decide", concurrency_id="model", concurrency_limit=1)
    api(plan, api_name="plan")


def _asked(request: Any, max_length: int, max_state_tokens: int | None, truncate: bool) -> tuple[Record, Limits]:
    settings = {"max_length": max_length, "max_state_tokens": max_state_tokens, "truncate": truncate}
    return _answered(lambda: (parse_record(request), parse_limits(settings)))


def _answered(call: Callable[[], Result]) -> Result:
    """The result; a ClefError becomes the error that Gradio passes on to the caller as it is."""
    try:
        return call()
    except ClefError as error:
        raise gr.Error(str(error), print_exception=False) from error


def _as_object(result: dict[str, Any], caller: gr.Request | None) -> dict[str, Any] | str:
    """The result for a program; for an agent as JSON text, since Gradio's MCP server would print it as Python does."""
    if caller is not None and caller.headers.get("x-gradio-user") == "mcp":
        return json.dumps(result, ensure_ascii=False)
    safe: dict[str, Any] = text_safe(result)
    return safe


def plan_object(encoded: EncodedRecord) -> dict[str, Any]:
    """The plan as JSON: spans are [start, end) tokens of the whole record."""
    return {
        "budget": budget_object(encoded),
        **span_facts(encoded),
        "notices": [notice_facts(notice) for notice in encoded.notices],
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
