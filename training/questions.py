"""Builds questions: ids, instructions and options in many styles, so that only their meaning can be relied on."""

import random
import string
from collections.abc import Sequence
from typing import Any

from training.rendering import NOUL_TEXTS, Example

SMOOTH = 0.02  # share of doubt left on what a grammar states outright
UNSAID = 0.12  # probability of a proposition that the state says nothing about

NOUL_CRITERIA = (
    ("It holds.", "It does not hold."),
    ("Yes", "No"),
    ("The statement is correct.", "The statement is wrong."),
    ("The state supports this.", "The state does not support this."),
    ("This is the case.", "This is not the case."),
    ("True according to the text.", "False or not stated in the text."),
)
ASK_PREFIXES = (
    "",
    "",
    "",
    "",
    "",
    "Decide whether this is true: ",
    "Is it true? ",
    "Check: ",
    "Proposition: ",
    "Judge the claim. ",
)
CHOICE_ASKS = (
    "What is this about?",
    "Which one fits best?",
    "Choose the best match.",
    "Pick the right category.",
    "Classify the state.",
    "Which option applies?",
    "Select the label for the text.",
    "Assign the text to one of the categories.",
)


def question_id(rng: random.Random, hint: str) -> str:
    style = rng.random()
    if style < 0.35:
        return hint.replace(" ", "_")[:40]
    if style < 0.6:
        return f"{rng.choice(('q', 'question', 'field', 'item', 'check'))}{rng.choice(('', '_'))}{rng.randint(1, 40)}"
    if style < 0.8:
        return "".join(rng.choices(string.ascii_lowercase, k=rng.randint(1, 5)))
    return rng.choice(("result", "answer", "label", "decision", "verdict", "flag", "type", "outcome", "value", "kind"))


def option_ids(rng: random.Random, names: Sequence[str]) -> list[str]:
    """Distinct ids for options: their names, or labels that say nothing."""
    style = rng.random()
    count = len(names)
    if style < 0.45:
        ids = [name.replace(" ", "_") if rng.random() < 0.5 else name for name in names]
        return ids if len(set(ids)) == count else [f"{name} {place}" for place, name in enumerate(names)]
    if style < 0.65:
        letter = rng.choice("iocakx")
        return [f"{letter}{number}" for number in rng.sample(range(max(40, count)), count)]
    if style < 0.8 and count <= 26:
        return rng.sample(string.ascii_lowercase if rng.random() < 0.5 else string.ascii_uppercase, count)
    if style < 0.9:
        return [str(number) for number in rng.sample(range(max(100, count)), count)]
    return [
        f"{rng.choice(('option', 'label', 'class', 'cat'))}_{number}"
        for number in rng.sample(range(max(60, count)), count)
    ]


def says_something(ids: Sequence[str], names: Sequence[str]) -> bool:
    return ids[0].replace("_", " ").startswith(names[0][:4])


def noul(rng: random.Random, proposition: str, true: float, hint: str = "claim", source: str = "") -> Example:
    """A yes/no question whose `true` option has the given probability."""
    style = rng.random()
    options: list[tuple[str, Any]] = list(NOUL_TEXTS.items())
    if style > 0.7:
        yes, no = rng.choice(NOUL_CRITERIA)
        options = [("true", yes), ("false", no)]
    elif style > 0.66:
        options = [("true", None), ("false", None)]
    instructions: Any = rng.choice(ASK_PREFIXES) + proposition
    if rng.random() < 0.02:
        instructions = {"question": proposition}
    true = min(max(true, SMOOTH), 1 - SMOOTH)
    return Example(question_id(rng, hint), "noul", instructions, options, [true, 1 - true], source)


def choice(
    rng: random.Random,
    names: Sequence[str],
    descriptions: Sequence[str | None],
    target: Sequence[float],
    asked: str | None = None,
    hint: str = "category",
    source: str = "",
    keep_asked: bool = False,
) -> Example:
    """A choice whose ids are the names or say nothing; in the latter case every option keeps a description."""
    order = rng.sample(range(len(names)), len(names))
    names = [names[place] for place in order]
    texts = [descriptions[place] for place in order]
    ids = option_ids(rng, names)
    if says_something(ids, names):
        if rng.random() < 0.3:
            texts = [None] * len(texts)
    else:
        texts = [text or name for text, name in zip(texts, names, strict=True)]
        if rng.random() < 0.15:
            texts = list(names)
    total = sum(target)
    target = [(1 - SMOOTH) * target[place] / total + SMOOTH / len(order) for place in order]
    asked = asked if asked and (keep_asked or rng.random() < 0.85) else rng.choice(CHOICE_ASKS)
    return Example(question_id(rng, hint), "choice", asked, list(zip(ids, texts, strict=True)), target, source)


def score(
    rng: random.Random,
    levels: Sequence[Any],
    target: Sequence[float],
    asked: str,
    hint: str = "score",
    source: str = "",
) -> Example:
    """A question on an ordinal scale, lowest level first."""
    total = sum(target)
    options = [(str(place), level) for place, level in enumerate(levels)]
    return Example(question_id(rng, hint), "score", asked, options, [share / total for share in target], source)


def around(level: float, count: int, spread: float = 0.45) -> list[float]:
    """Probabilities of the levels 0 to count - 1 for a true position `level`, falling off with distance."""
    weights = [2.718 ** (-((place - level) ** 2) / (2 * spread**2)) for place in range(count)]
    total = sum(weights)
    return [0.97 * weight / total + 0.03 / count for weight in weights]
