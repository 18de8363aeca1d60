"""How much a question's id, place and neighbours move its answer: python -m benchmarks.portability [--json]

TypeSafe's API promises that they do not (jevcompat, `semantics.*`: less than 0.05 on average); in Clef's prompt they
stand beside the question. The requests are the presets without media and jevcompat's own.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from clef_model.decision import Decider, requested
from clef_model.loading import load_release
from clef_model.parsing import parse_record
from clef_model.schema import Record, to_request
from clef_ui.presets import read_presets

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 0.05  # jevcompat's, of the mean of repeated calls; ours repeat exactly

Request = dict[str, Any]
Change = Callable[[Request], tuple[Request, dict[str, str]]]  # the other request, and its id for each of the ids

TICKET = (
    "Hi, I was charged twice for my March invoice (order #4471) and the refund I was promised last week still hasn't "
    "arrived. I've emailed three times. Please fix this today or I will dispute the charge with my bank."
)
QUESTIONS: Request = {
    "refund": {"type": "noul", "instructions": "Is the customer asking for money back?"},
    "team": {
        "type": "choice",
        "instructions": "Which team should handle this ticket?",
        "criteria": {
            "Billing": "Payments, invoices, refunds",
            "Technical": "Bugs, outages",
            "Sales": "Pricing, upgrades",
        },
    },
    "anger": {
        "type": "score",
        "instructions": "How frustrated is the customer?",
        "criteria": ["Calm", "Frustrated", "Very angry"],
    },
}
MORE: Request = {
    "urgent": {"type": "noul", "instructions": "Does the customer need an answer today?"},
    "language": {
        "type": "choice",
        "instructions": "What language is it in?",
        "criteria": {"English": None, "Other": None},
    },
    "polite": {
        "type": "score",
        "instructions": "How polite is the message?",
        "criteria": ["Rude", "Neutral", "Polite"],
    },
}


def with_questions(request: Request, questions: Request) -> Request:
    return {**request, "questions": questions}


def renamed(request: Request) -> tuple[Request, dict[str, str]]:
    names = {name: f"zz-renamed.{place}" for place, name in enumerate(request["questions"], 1)}
    return with_questions(request, {names[name]: question for name, question in request["questions"].items()}), names


def reversed_order(request: Request) -> tuple[Request, dict[str, str]]:
    questions = dict(reversed(request["questions"].items()))
    return with_questions(request, questions), {name: name for name in questions}


def with_more(request: Request) -> tuple[Request, dict[str, str]]:
    questions = request["questions"]
    return with_questions(request, {**questions, **MORE}), {name: name for name in questions}


CHANGES: dict[str, Change] = {"other ids": renamed, "reversed order": reversed_order, "three more questions": with_more}


def requests() -> Iterator[Request]:
    yield {"state": TICKET, "questions": QUESTIONS}
    for preset in read_presets(ROOT / "presets"):
        if not preset.record.images and not preset.record.videos:
            yield to_request(preset.record)


def answered(decider: Decider, request: Request) -> dict[str, dict[str, float]]:
    (decision,) = decider.decide([parsed(request)])
    return {answer.question.id: requested(answer) for answer in decision.answers}


def parsed(request: Request) -> Record:
    return parse_record({key: value for key, value in request.items() if key != "model"})


def moves(decider: Decider, change: Change) -> dict[str, Any]:
    """The largest change of a probability of each question, gathered over all requests."""
    largest, num_other_top = [], 0
    for request in requests():
        before = answered(decider, request)
        other, names = change(request)
        after = answered(decider, other)
        for name, probabilities in before.items():
            moved = after[names[name]]
            largest.append(max(abs(moved[option] - p) for option, p in probabilities.items()))
            num_other_top += max(moved, key=moved.__getitem__) != max(probabilities, key=probabilities.__getitem__)
    return {
        "questions": len(largest),
        "mean": round(sum(largest) / len(largest), 3),
        "largest": round(max(largest), 3),
        f"over {LIMIT}": sum(move > LIMIT for move in largest),
        "other top answer": num_other_top,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", default="", help="folder or hub id (default: clef-nano)")
    parser.add_argument("--json", action="store_true")
    flags = parser.parse_args()
    decider = load_release(flags.release) if flags.release else load_release()
    result = {name: moves(decider, change) for name, change in CHANGES.items()}
    if flags.json:
        print(json.dumps({"model": decider.status.name, "moves": result}, indent=2))
        return
    print(decider.status.name)
    for name, found in result.items():
        print(f"{name:22}", "  ".join(f"{key} {value}" for key, value in found.items()))


if __name__ == "__main__":
    main()
