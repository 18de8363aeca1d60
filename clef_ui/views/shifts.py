"""How far probabilities and answers move from one reading to another, in words and percentage points."""

from collections.abc import Sequence
from typing import Any

from clef_model.decision import Answer, expected_level, top
from clef_model.json_paths import counted
from clef_ui.views.answers import TYPES
from clef_ui.views.numbers import percents

DEAD_BAND = 0.005  # half a percentage point: a smaller shift is no finding
NAMED = 4  # questions that a sentence names


def points(shift: float) -> str:
    """A shift of a probability (-1 to 1) as signed percentage points: "+12.3", "−0.8"; empty when it is no finding."""
    if abs(shift) < DEAD_BAND:
        return ""
    return f"{'+' if shift > 0 else '−'}{abs(100 * shift):.1f}"


def direction(shift: float) -> str:
    """ "up", "down" or "same"."""
    if abs(shift) < DEAD_BAND:
        return "same"
    return "up" if shift > 0 else "down"


def answer_text(answer: Answer) -> str:
    """What is answered: the top option's id, for a score with the mean level."""
    best = top(answer).id
    return f"{best}, mean {expected_level(answer):.2f}" if answer.question.kind == "score" else best


def question_view(place: int, answer: Answer) -> dict[str, Any]:
    """What a table says of a question besides its numbers; `order` are its options' places as the request has them."""
    question = answer.question
    return {
        "question": place,
        "id": question.id,
        "type": TYPES[question.kind],
        "options": [option.id for option in question.options],
        "order": list(question.request_order),
    }


def labels(answer: Answer) -> list[str]:
    """Each probability in percent, in the model's order."""
    return percents(answer.probabilities)


def named(ids: Sequence[str]) -> str:
    """The ids as a list in words, the first few of many."""
    if len(ids) > NAMED:
        return f"{', '.join(ids[:NAMED])} and {len(ids) - NAMED} more"
    return " and ".join([*([", ".join(ids[:-1])] if len(ids) > 1 else []), *ids[-1:]])


def of_all(number: int, all_of_them: int) -> str:
    """ "2 of 3 answers", "the answer" when there is one only."""
    return "the answer" if all_of_them == 1 else f"{number} of {counted(all_of_them, 'answer')}"
