"""Two deciders on one record: what each answers, and how far every option moves."""

from dataclasses import dataclass
from typing import Any

from clef_model.decision import Answer, Decider, Decision, Limits, expected_level, requested, top
from clef_model.facts import model_facts, notice_facts
from clef_model.schema import Record


@dataclass(frozen=True, slots=True)
class Comparison:
    """The decisions of one record by two deciders, `a` and `b`."""

    a: Decision
    b: Decision

    @property
    def pairs(self) -> tuple[tuple[Answer, Answer], ...]:
        """The answers of both to each question, in the record's order."""
        return tuple(zip(self.a.answers, self.b.answers, strict=True))

    @property
    def changed(self) -> tuple[str, ...]:
        """The ids of the questions that `a` and `b` answer with another option."""
        return tuple(one.question.id for one, other in self.pairs if top(one) != top(other))

    @property
    def largest(self) -> tuple[str, str, float]:
        """Question id, option id and difference, b less a, -1 to 1, of the option that moves most."""
        moves = [
            (one.question.id, option.id, there - here)
            for one, other in self.pairs
            for option, here, there in zip(one.question.options, one.probabilities, other.probabilities, strict=True)
        ]
        return max(moves, key=lambda move: abs(move[2]))


def compare(a: Decider, b: Decider, record: Record, limits: Limits) -> Comparison:
    """The same record decided by both, `a` first. Raises: as `Decider.decide`."""
    return Comparison(a.decide([record], limits)[0], b.decide([record], limits)[0])


def comparison_facts(comparison: Comparison) -> dict[str, Any]:
    """The comparison as JSON; `points` are percentage points, b less a."""
    question, option, difference = comparison.largest
    return {
        "a": _side_facts(comparison.a),
        "b": _side_facts(comparison.b),
        "questions": {one.question.id: _question_facts(one, other) for one, other in comparison.pairs},
        "changed": list(comparison.changed),
        "largest": {"question": question, "option": option, "points": _points(difference)},
    }


def _side_facts(decision: Decision) -> dict[str, Any]:
    return {
        "model": model_facts(decision.model),
        "planned_tokens": len(decision.encoded.input_ids),
        "total_ms": round(decision.timing.total_ms, 3),
        "notices": [notice_facts(notice) for notice in decision.notices or decision.encoded.notices],
    }


def _question_facts(one: Answer, other: Answer) -> dict[str, Any]:
    here, there = requested(one), requested(other)
    facts: dict[str, Any] = {
        "type": one.question.kind,
        "top": {"a": top(one).id, "b": top(other).id},
        "options": {
            option: {"a": here[option], "b": there[option], "points": _points(there[option] - here[option])}
            for option in here
        },
    }
    if one.question.kind == "score":
        facts["score"] = {"a": expected_level(one), "b": expected_level(other)}
    return facts


def _points(difference: float) -> float:
    """Percentage points; what a thousandth of one hides, four decimals of a probability hid before."""
    return round(100 * difference, 3) + 0.0  # never -0.0
