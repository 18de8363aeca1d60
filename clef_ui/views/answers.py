"""The Answers panel: one card a question, with labels, words and every definition of confidence."""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from clef_model.decision import (
    Answer,
    Decision,
    confidences,
    expected_level,
    margin,
    normalised_entropy,
    tied,
    to_response,
    top,
)
from clef_model.ledger import Truncation
from clef_model.rendering import instruction_text, render
from clef_ui.views.numbers import decimal, entropy_word, margin_word, milliseconds, percents

SHOWN_CHARACTERS = 400  # of an instruction or description on a card; the whole is in the Prompt tab
THUMBNAIL_PIXELS = 160  # the longer side
CLOSE = 0.001  # a lead below the last digit that is usually shown

# name -> (what the page calls it, who uses it). Source: the comparison of servers in the release's public ports.
CONFIDENCES = {
    "max_probability": ("top probability", "the release, MLX and vLLM: the probability of the reported option"),
    "rescaled_peak": (
        "rescaled top probability",
        "SGLang, llama.cpp and TypeSafe for a choice: 0 at an even spread, 1 at certainty",
    ),
    "distance": (
        "nearness to the most likely level",
        "SGLang, llama.cpp and TypeSafe for a score: 1 minus the mean distance from the most likely level, rescaled",
    ),
    "entropy": ("1 − normalised entropy", "Ollama: 0 at an even spread, 1 at certainty"),
}
TYPES = {"noul": "yes/no", "choice": "choice", "score": "score"}


class OptionView(TypedDict):
    """One option; `index` is its place in the model's order, `request` in the request's."""

    index: int
    request: int
    id: str
    description: str | None
    p: float
    label: str
    logit: float
    top: bool


class ConfidenceView(TypedDict):
    name: str
    title: str
    used: str
    value: float
    text: str


class AnswerView(TypedDict):
    """One card. `options` are in the model's order; `margin` and `entropy` are numbers with their words."""

    question: int
    id: str
    kind: str
    type: str
    instruction: str
    instructionIsId: bool
    headline: str
    detail: str
    options: list[OptionView]
    margin: str
    marginWord: str
    entropy: str
    entropyWord: str
    confidences: list[ConfidenceView]
    remarks: list[str]
    gauge: dict[str, float] | None


def answers_view(decision: Decision, sent: Mapping[str, Any] | None) -> dict[str, Any]:
    """Everything the panel draws; `sent` is the draft the decision was made on, so that the page can see it age."""
    encoded, model = decision.encoded, decision.model
    notices = dict.fromkeys((*encoded.notices, *decision.notices))  # each once, in order
    return {
        "sent": sent,
        "model": {
            "name": model.name,
            "revision": model.revision,
            "device": model.device,
            "dtype": model.dtype,
            "demonstration": model.is_demonstration,
            "note": model.note,
        },
        "meta": {
            "questions": len(decision.answers),
            "forward": milliseconds(decision.timing.forward_ms),
            "encode": milliseconds(decision.timing.encode_ms),
            "total": milliseconds(decision.timing.total_ms),
            "known": decision.timing.known_tokens,
            "tokens": len(encoded.input_ids),
            "limit": encoded.budget.limit,
            "exact": model.tokenizer_is_exact or all(segment.text.isascii() for segment in encoded.ledger),
        },
        "cut": cut_view(encoded.budget.truncation, encoded.budget.state),
        "notices": [{"code": n.code, "where": n.where, "message": n.message} for n in notices],
        "media": media_view(decision),
        "answers": [answer_view(index, answer) for index, answer in enumerate(decision.answers)],
        "response": json.dumps(to_response(decision), ensure_ascii=False, indent=2),
    }


def cut_view(truncation: Truncation | None, state_tokens: int) -> dict[str, Any] | None:
    """What a card says of a state that was not read to its end."""
    if truncation is None:
        return None
    return {"kept": truncation.kept_tokens, "lost": truncation.lost_tokens, "state": state_tokens}


def answer_view(index: int, answer: Answer) -> AnswerView:
    question = answer.question
    labels = percents(answer.probabilities)
    requested = {place: position for position, place in enumerate(question.request_order)}
    options: list[OptionView] = [
        {
            "index": place,
            "request": requested[place],
            "id": option.id,
            "description": None if option.description is None else shortened(render(option.description)),
            "p": answer.probabilities[place],
            "label": labels[place],
            "logit": answer.logits[place],
            "top": answer.probabilities[place] == max(answer.probabilities),
        }
        for place, option in enumerate(question.options)
    ]
    headline, detail = _headline(answer, labels)
    lead, spread = margin(answer), normalised_entropy(answer)
    is_alone = len(options) == 1
    return {
        "question": index,
        "id": question.id,
        "kind": question.kind,
        "type": TYPES[question.kind] if question.kind == "noul" else f"{TYPES[question.kind]} · {len(options)}",
        "instruction": shortened(instruction_text(question)),
        "instructionIsId": question.instructions is None or question.instructions == "",
        "headline": headline,
        "detail": detail,
        "options": options,
        "margin": decimal(lead),
        "marginWord": "only option" if is_alone else margin_word(lead),
        "entropy": decimal(spread),
        "entropyWord": "only option" if is_alone else entropy_word(spread),
        "confidences": _confidences(answer),
        "remarks": _remarks(answer),
        "gauge": _gauge(answer) if question.kind == "score" else None,
    }


def _headline(answer: Answer, labels: Sequence[str]) -> tuple[str, str]:
    best, options = top(answer), answer.question.options
    if answer.question.kind == "noul":
        p_true = answer.probabilities[0]
        if p_true == 0.5:
            return "cannot tell", "P(true) is exactly 0.5"
        return best.id, f"P(true) {decimal(p_true)}"
    if answer.question.kind == "choice":
        return best.id, labels[options.index(best)]
    name = "" if best.description is None else f" · {shortened(render(best.description), 120)}"
    return f"{expected_level(answer):.2f} of {len(options) - 1}", f"most likely level: {best.id}{name}"


def _gauge(answer: Answer) -> dict[str, float]:
    """Expected and most likely level, and both as shares of the scale."""
    last = max(len(answer.probabilities) - 1, 1)
    expected, mode = expected_level(answer), int(top(answer).id)
    return {
        "expected": expected,
        "expectedShare": expected / last,
        "mode": mode,
        "modeShare": mode / last,
        "levels": len(answer.probabilities),
    }


def _remarks(answer: Answer) -> list[str]:
    """What the digits alone do not say: ties, and leads smaller than what is shown."""
    if len(answer.probabilities) == 1:
        return ["There is one option only, so its probability is 1 whatever the state says."]
    equals = [option.id for option in tied(answer)]
    if equals and answer.question.kind == "noul":
        return ["Exact tie: true and false are equally probable."]
    if equals:
        names = ", ".join(equals) if len(equals) <= 6 else f"{', '.join(equals[:6])} and {len(equals) - 6} more"
        return [f"Exact tie of {len(equals)}: {names}. The first in the request's order is reported."]
    if margin(answer) < CLOSE:
        return [f"The first two differ by {margin(answer):.2g}: no lead to rely on."]
    return []


def _confidences(answer: Answer) -> list[ConfidenceView]:
    """All public definitions; none for a yes/no question, which has one number and no confidence."""
    if answer.question.kind == "noul":
        return []
    views: list[ConfidenceView] = []
    for name, value in confidences(answer).items():
        title, used = CONFIDENCES[name]
        views.append({"name": name, "title": title, "used": used, "value": value, "text": decimal(value)})
    return views


def media_view(decision: Decision) -> list[dict[str, Any]]:
    """The pictures that were sent, small, and the first frame of each clip."""
    encoded = decision.encoded.media_items
    if encoded is None:
        return []
    return [
        {
            "kind": item.kind,
            "name": item.name,
            "tokens": item.num_tokens,
            "size": f"{item.size_shown[0]} × {item.size_shown[1]}",
            "frames": len(item.frame_times),
            "preview": _png_url(item.preview(max_side=THUMBNAIL_PIXELS)),
        }
        for item in encoded.items
    ]


def _png_url(picture: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(picture).decode("ascii")


def shortened(text: str, limit: int = SHOWN_CHARACTERS) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"
