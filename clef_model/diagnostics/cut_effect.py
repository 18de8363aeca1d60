"""Did the cut matter: the answers at the cut, under a larger limit, with the state's end instead, and without it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from clef_model.decision import Decider, Decision, Limits, Progress
from clef_model.diagnostics.readings import Plan, Reading, decide_readings, end_of_state, part_of, whole_limits
from clef_model.encoding import MAX_POSITIONS
from clef_model.errors import InvalidRecord, Problem, Unsupported
from clef_model.schema import Record

# "cut" is the record as asked; "larger" reads more of the state, "end" its end in place of its start, "none" nothing.
Kind = Literal["cut", "larger", "end", "none"]


@dataclass(frozen=True, slots=True)
class Variant:
    """`is_exact` is false when the state's end has other tokens alone than it has within the whole."""

    kind: Kind
    reading: Reading
    is_exact: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """`decision` is None when the model could not read that much."""

    variant: Variant
    decision: Decision | None


@dataclass(frozen=True, slots=True)
class CutEffect:
    """`problem` says why the larger reading has no decision, when it has none."""

    outcomes: tuple[Outcome, ...]
    problem: str = ""


def variants(record: Record, limits: Limits, plan: Plan, larger: int | None = None) -> tuple[Variant, ...]:
    """The four ways to read a record whose state is cut, the one asked for first; none when nothing is cut.

    `larger` is the max_length of the second, in tokens; without it the state is read whole, as far as the model has
    positions, and left out where it has no more than are asked for. It has no limit of the state beside it.

    Raises: InvalidRecord: the larger limit is not larger. As `plan`.
    """
    limits = replace(limits, truncate=True)
    asked = plan(record, limits)
    if asked.budget.truncation is None:
        return ()
    kept = asked.budget.state_kept
    more = whole_limits(asked) if larger is None else Limits(max_length=larger)
    least = asked.budget.fixed + kept + 1
    is_larger = least <= more.max_length <= MAX_POSITIONS
    if larger is not None and not is_larger:
        expected = f"from {least:,}, one more than is read now, to {MAX_POSITIONS:,}, the positions of the model"
        raise InvalidRecord([Problem("larger limit", f"found {larger:,}; a number {expected}, is expected.")])
    ending, is_exact = end_of_state(record, limits, kept, plan)
    stateless = replace(record, state="")
    return (
        Variant("cut", Reading(record, limits, asked)),
        *([Variant("larger", Reading(record, more, plan(record, more)))] if is_larger else []),
        Variant("end", ending, is_exact),
        Variant("none", Reading(stateless, limits, plan(stateless, limits))),
    )


def cut_effect(decider: Decider, planned: Sequence[Variant], progress: Progress | None = None) -> CutEffect:
    """The answers of each variant, in their order, in two calls of the model.

    When the larger reading needs more memory than there is, the others are still answered.

    Raises: as `Decider.decide`, and what `progress` raises to stop the work.
    """
    small = [variant for variant in planned if variant.kind != "larger"]
    large = [variant for variant in planned if variant.kind == "larger"]
    share = _tokens(small) / max(1, _tokens(planned))
    decisions = _decided(decider, small, part_of(progress, 0.0, share))
    problem = ""
    try:
        decisions |= _decided(decider, large, part_of(progress, share, 1.0))
    except Unsupported as error:
        problem = str(error)
    return CutEffect(tuple(Outcome(variant, decisions.get(variant.kind)) for variant in planned), problem)


def _tokens(planned: Sequence[Variant]) -> int:
    return sum(variant.reading.total_tokens for variant in planned)


def _decided(decider: Decider, planned: Sequence[Variant], progress: Progress | None) -> dict[Kind, Decision]:
    decisions = decide_readings(decider, [variant.reading for variant in planned], progress)
    return {variant.kind: decision for variant, decision in zip(planned, decisions, strict=True)}
