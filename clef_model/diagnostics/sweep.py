"""Budget sweep: every option's probability against the kept tokens of the state, and how many are enough."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from clef_model.decision import Answer, Decider, Limits, ModelStatus, Progress
from clef_model.diagnostics.readings import Plan, Reading, decide_readings, same_answer, shortened, whole_limits
from clef_model.errors import InvalidRecord, Problem
from clef_model.schema import Record

NUM_POINTS = 16
MOST_POINTS = 64


@dataclass(frozen=True, slots=True)
class Plans:
    """The readings of a sweep, from few kept tokens to many; `readings[i]` keeps `kept[i]` tokens of the state.

    `state_tokens` are those of the whole state, `asked_tokens` those that the asked limits keep.
    """

    kept: tuple[int, ...]
    readings: tuple[Reading, ...]
    state_tokens: int
    asked_tokens: int

    @property
    def total_tokens(self) -> int:
        """The tokens of all readings together, each counted whole."""
        return sum(reading.total_tokens for reading in self.readings)

    @property
    def distinct_tokens(self) -> int:
        """About how many a model goes over that reads once what is shared: the longest, and the others' schemas."""
        longest = max(reading.total_tokens for reading in self.readings)
        budgets = (reading.encoded.budget for reading in self.readings[:-1])
        return longest + sum(budget.schema + budget.suffix for budget in budgets)


@dataclass(frozen=True, slots=True)
class Point:
    """The answers, in the record's question order, with so many tokens of the state kept."""

    state_tokens: int
    total_tokens: int
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Sweep:
    """Points from few kept tokens to many, at least one; counts are tokens, `forward_ms` of all passes together."""

    points: tuple[Point, ...]
    state_tokens: int
    asked_tokens: int
    model: ModelStatus
    forward_ms: float

    def enough(self, question: int) -> int:
        """The place of the first point from which this question's answer stays the same to the last one."""
        last = self.points[-1].answers[question]
        place = len(self.points) - 1
        while place > 0 and same_answer(self.points[place - 1].answers[question], last):
            place -= 1
        return place

    @property
    def enough_for_all(self) -> int:
        """The place of the first point from which every answer stays the same to the last one."""
        return max(self.enough(question) for question in range(len(self.points[0].answers)))


def even_points(state_tokens: int, num_points: int = NUM_POINTS, asked_tokens: int | None = None) -> tuple[int, ...]:
    """Kept tokens spread evenly from 0 to all, both included; the nearest in between gives way to `asked_tokens`."""
    steps = max(1, num_points - 1)
    points = sorted({round(place * state_tokens / steps) for place in range(steps + 1)})
    if asked_tokens is not None and asked_tokens not in points and len(points) > 2:
        nearest = min(points[1:-1], key=lambda point: abs(point - asked_tokens))
        points = sorted({*points, asked_tokens} - {nearest})
    return tuple(points)


def plan_sweep(record: Record, limits: Limits, plan: Plan, points: Sequence[int] | None = None) -> Plans:
    """The readings of a sweep over `points`, kept tokens of the state; without them over 16 that are spread evenly.

    The limits set the place that is asked for, not how far the sweep goes: that is the whole state, as far as the model
    has positions.

    Raises: InvalidRecord: a point lies outside of the state, or there are too many. As `plan`.
    """
    asked = plan(record, replace(limits, truncate=True))
    most = whole_limits(asked)
    reach = most.max_length - asked.budget.fixed
    if points is None:
        chosen = even_points(reach, asked_tokens=asked.budget.state_kept)
    else:
        chosen = tuple(sorted(set(points)))
        _check(chosen, reach)
    whole = Reading(record, most, plan(record, most))
    readings = tuple(whole if kept >= reach else shortened(record, most, kept, plan) for kept in chosen)
    return Plans(chosen, readings, asked.budget.state, asked.budget.state_kept)


def sweep(decider: Decider, plans: Plans, progress: Progress | None = None) -> Sweep:
    """The answers at each point.

    Nearly all points share one call of the model, each the start of the next one, so a model that keeps what it has
    read goes over the state once.

    Raises: as `Decider.decide`, and what `progress` raises to stop the work.
    """
    decisions = decide_readings(decider, plans.readings, progress)
    points = (
        Point(kept, reading.total_tokens, decision.answers)
        for kept, reading, decision in zip(plans.kept, plans.readings, decisions, strict=True)
    )
    forward_ms = sum(decision.timing.forward_ms for decision in decisions)
    return Sweep(tuple(points), plans.state_tokens, plans.asked_tokens, decisions[0].model, forward_ms)


def _check(points: Sequence[int], reach: int) -> None:
    problems = []
    if not 1 <= len(points) <= MOST_POINTS:
        expected = f"1 to {MOST_POINTS} numbers of kept tokens are expected. Leave it empty for {NUM_POINTS}."
        problems.append(Problem("points", f"found {len(points)}; {expected}"))
    outside = [point for point in points if not 0 <= point <= reach]
    if outside:
        found = ", ".join(f"{point:,}" for point in outside[:3])
        problems.append(Problem("points", f"found {found}; the state can be kept from 0 to {reach:,} tokens."))
    if problems:
        raise InvalidRecord(problems)
