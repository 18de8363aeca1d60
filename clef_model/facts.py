"""What stands beside an answer, and a plan, as JSON: the same for the API, the command line and programs."""

from dataclasses import asdict
from typing import Any

from clef_model.decision import (
    Decision,
    ModelStatus,
    confidences,
    margin,
    normalised_entropy,
    predictions,
    tied,
)
from clef_model.diagnostics.lint import lint
from clef_model.encoding import EncodedRecord
from clef_model.errors import Notice

MODEL_FACTS = ("name", "revision", "device", "dtype", "is_demonstration", "accepts_media", "tokenizer", "note")


def decision_facts(decision: Decision) -> dict[str, Any]:
    """Everything a System One response has no place for; probabilities at full precision, times in milliseconds."""
    timing = decision.timing
    return {
        "model": model_facts(decision.model),
        "predictions": predictions(decision),
        "readings": {
            answer.question.id: {
                "confidence": confidences(answer),
                "margin": margin(answer),
                "normalised_entropy": normalised_entropy(answer),
                "tied": [option.id for option in tied(answer)],
            }
            for answer in decision.answers
        },
        "budget": budget_facts(decision.encoded),
        "notices": [notice_facts(notice) for notice in decision.notices or decision.encoded.notices],
        "timing": {name: round(value, 3) for name, value in asdict(timing).items()},
    }


def plan_facts(encoded: EncodedRecord, status: ModelStatus) -> dict[str, Any]:
    """Where every token goes, what was noticed and what is advised; spans are [start, end) tokens of the record."""
    return {
        "model": model_facts(status),
        "counts_are_exact": status.tokenizer_is_exact,
        "budget": budget_facts(encoded),
        **span_facts(encoded),
        "notices": [notice_facts(notice) for notice in encoded.notices],
        "lint": [notice_facts(advice.notice(encoded.record)) for advice in lint(encoded.record, encoded)],
    }


def span_facts(encoded: EncodedRecord) -> dict[str, Any]:
    """Where each question, option and piece of the prompt stands."""
    return {
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
    }


def budget_facts(encoded: EncodedRecord) -> dict[str, Any]:
    """Tokens by part; `truncation` is null when nothing was cut."""
    budget = encoded.budget
    cut = budget.truncation
    return {
        "limit": budget.limit,
        "max_state_tokens": budget.max_state_tokens,
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
            "last_kept_text": cut.last_kept_text,
            "first_lost_text": cut.first_lost_text,
            "lost_paths": list(cut.lost_paths),
            "cut_path": cut.cut_path,
        },
    }


def model_facts(status: ModelStatus) -> dict[str, Any]:
    """Which model it is, in the words of its status."""
    return {name: getattr(status, name) for name in MODEL_FACTS}


def notice_facts(notice: Notice) -> dict[str, Any]:
    """A notice; `code` is stable, `where` a path of the request."""
    return asdict(notice)
