"""Two numbers in a short text and what follows from their order: limits, prices, ages, times, dates, totals."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from training.grammar import FOLDER
from training.questions import noul
from training.rendering import Example
from training.structured import MONTHS
from training.written import Names

WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
THINGS = (
    "suitcase|trunk|bicycle|table|lamp|wardrobe|guitar|sofa|crate|printer|rug|piano|tent|mirror|cupboard|statue|stove"
)
DAYS = 28  # of every month, so that dates keep the order of their numbers
TESTS: dict[str, Callable[[int, int], bool]] = {
    "<=": lambda left, right: left <= right,
    ">=": lambda left, right: left >= right,
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    ">": lambda left, right: left > right,
}


@dataclass(slots=True)
class Matter:
    """Texts about two numbers a and b between low and high, and claims with the condition under which they hold."""

    low: int = 0
    high: int = 0
    kind: str = ""
    texts: list[str] = field(default_factory=list)
    claims: list[tuple[str, str]] = field(default_factory=list)


def read_matters() -> list[Matter]:
    matters: list[Matter] = []
    for line in (FOLDER / "numbers.txt").read_text(encoding="utf-8").splitlines():
        mark, _, text = line.partition(" ")
        if mark == "=":
            matters.append(Matter())
        elif mark == "@":
            low, high, *kind = text.split()
            matters[-1].low, matters[-1].high, matters[-1].kind = int(low), int(high), "".join(kind)
        elif mark == ">":
            matters[-1].texts.append(text)
        elif mark:
            matters[-1].claims.append((mark, text))
    return matters


def holds(condition: str, a: int, b: int) -> bool:
    """Whether a condition like a<=b or sum>50 is met."""
    sign = next(sign for sign in TESTS if sign in condition)
    known = {"a": a, "b": b, "sum": a + b, "min": min(a, b), "max": max(a, b)}
    left, right = condition.split(sign)
    return TESTS[sign](known[left], known[right] if right in known else int(right))


class Numbers:
    """Draws a text about two numbers with claims about them."""

    def __init__(self) -> None:
        self.matters = read_matters()
        self.names = Names()

    def draw(self, rng: random.Random) -> tuple[Any, list[Example]]:
        matter = rng.choice(self.matters)
        a, b = self.pair(rng, matter)
        text = rng.choice(matter.texts)
        women, men = self.names.lists
        slots = {"name": rng.choice(women), "other": rng.choice(men), "thing": rng.choice(THINGS.split("|"))}
        is_json = text.startswith("{") and text.endswith("}")
        spoken = rng.random() < 0.25 and not is_json
        form = rng.random()
        slots["a"], slots["b"] = (say(number, matter.kind, spoken, form) for number in (a, b))
        state: Any = fill(text, slots)
        if is_json and rng.random() < 0.8:
            state = json.loads(state)
        examples = []
        for condition, claim in rng.sample(matter.claims, min(len(matter.claims), rng.choice((1, 2, 3, 4)))):
            examples.append(noul(rng, fill(claim, slots), float(holds(condition, a, b)), "number", "number claim"))
        return state, examples

    @staticmethod
    def pair(rng: random.Random, matter: Matter) -> tuple[int, int]:
        """Numbers that are equal, near each other or far apart."""
        a = rng.randint(matter.low, matter.high)
        style = rng.random()
        if style < 0.08:
            return a, a
        reach = (
            max(1, abs(a) // 10) if style < 0.4 else max(2, abs(a) // 2) if style < 0.7 else matter.high - matter.low
        )
        b = a + rng.choice((-1, 1)) * rng.randint(1, max(1, reach))
        return a, min(max(b, matter.low), matter.high)


def fill(text: str, slots: dict[str, str]) -> str:
    for name, value in slots.items():
        text = text.replace("{" + name + "}", value)
    return text


def say(number: int, kind: str, spoken: bool, form: float) -> str:
    if kind == "time":
        hours, minutes = divmod(number, 60)
        return (
            f"{hours:02}:{minutes:02}"
            if form < 0.7
            else f"{hours % 12 or 12}:{minutes:02} {'am' if hours < 12 else 'pm'}"
        )
    if kind == "date":
        month, day = divmod(number - 1, DAYS)
        return f"2026-{month + 1:02}-{day + 1:02}" if form < 0.4 else f"{day + 1} {MONTHS[month]}"
    return WORDS[number] if spoken and 0 <= number <= 12 else f"{number:,}" if form < 0.5 else str(number)
