"""Did the cut matter, for the page: what would be read, and the answers side by side with their shifts."""

from collections.abc import Sequence
from typing import Any

from clef_model.decision import Answer, Decision
from clef_model.diagnostics.cut_effect import CutEffect, Kind, Variant
from clef_model.diagnostics.readings import same_answer, shifts
from clef_model.encoding import MAX_LENGTH
from clef_model.json_paths import counted
from clef_ui.views import shifts as words

NAMED_CHANGES = 4

_TITLES: dict[Kind, str] = {"cut": "as asked", "larger": "more of it", "end": "the end instead", "none": "no state"}


def plan_view(variants: Sequence[Variant]) -> dict[str, Any]:
    """What the comparison would read; without `readings` nothing is cut."""
    return {
        "readings": [_reading(variant) for variant in variants],
        "tokens": sum(variant.reading.total_tokens for variant in variants),
        "lost": variants[0].reading.encoded.budget.state - variants[0].reading.state_tokens if variants else 0,
    }


def cut_effect_view(effect: CutEffect) -> dict[str, Any]:
    """The verdict in words, and per question each option's probability in each reading with its shift from the cut."""
    decisions = {outcome.variant.kind: outcome.decision for outcome in effect.outcomes if outcome.decision is not None}
    cut = decisions["cut"]
    model = cut.model
    return {
        "model": {"name": model.name, "demonstration": model.is_demonstration},
        "headline": _headline(effect, decisions),
        "sentences": _sentences(effect, decisions),
        "readings": [_reading(o.variant) | {"problem": _problem(effect, o.decision)} for o in effect.outcomes],
        "questions": [
            words.question_view(place, before)
            | {
                "columns": [
                    outcome.decision and _column(outcome.variant.kind, before, outcome.decision.answers[place])
                    for outcome in effect.outcomes
                ]
            }
            for place, before in enumerate(cut.answers)
        ],
    }


def _problem(effect: CutEffect, decision: Decision | None) -> str:
    return effect.problem if decision is None else ""


def _reading(variant: Variant) -> dict[str, Any]:
    """A column's head: its title, what is read of the state, and what else is to be known."""
    reading = variant.reading
    kept, state = reading.state_tokens, reading.encoded.budget.state
    title, notes = _TITLES[variant.kind], []
    if variant.kind == "cut":
        held = f"the first {kept:,} of {counted(state, 'token')}"
    elif variant.kind == "larger":
        title = "the whole state" if kept == state else title
        held = counted(kept, "token") if kept == state else f"the first {kept:,} of {counted(state, 'token')}"
        notes.append(f"max_length {reading.limits.max_length:,}")
        if reading.total_tokens > MAX_LENGTH:
            notes.append("longer than the model was trained on")
    elif variant.kind == "end":
        held = f"the last {counted(kept, 'token')}" if kept else "0 tokens"
        if not variant.is_exact:
            notes.append("its first word has other tokens alone than in the whole")
    else:
        held = "0 tokens"
    return {
        "kind": variant.kind,
        "title": title,
        "held": held,
        "notes": notes,
        "tokens": reading.total_tokens,
        "maxLength": reading.limits.max_length,
    }


def _column(kind: Kind, before: Answer, after: Answer) -> dict[str, Any]:
    """An answer's numbers in the model's order of options."""
    moved = shifts(before, after)
    best = max(after.probabilities)
    return {
        "kind": kind,
        "answer": words.answer_text(after),
        "changed": not same_answer(before, after),
        "cells": [
            {
                "p": p,
                "label": label,
                "points": "" if kind == "cut" else words.points(shift),
                "direction": "same" if kind == "cut" else words.direction(shift),
                "top": p == best,
            }
            for p, label, shift in zip(after.probabilities, words.labels(after), moved, strict=True)
        ],
    }


def _headline(effect: CutEffect, decisions: dict[Kind, Decision]) -> str:
    cut, larger = decisions["cut"], decisions.get("larger")
    if larger is None:
        why = effect.problem or "No larger limit is possible: the state is cut at the last position of the model."
        return f"What the cut changed cannot be said. {why}"
    changed, all_answers = _changed(cut, larger), len(cut.answers)
    if changed:
        return f"The cut changed {words.of_all(len(changed), all_answers)}."
    largest = max(abs(shift) for pair in zip(cut.answers, larger.answers, strict=True) for shift in shifts(*pair))
    answers = {1: "the answer is", 2: "both answers are"}.get(
        all_answers, f"all {all_answers} answers are"
    ) + " the same"
    if largest < words.DEAD_BAND:
        return f"The cut did not matter: {answers}, and no probability moved by half a point."
    return f"The cut changed no answer: {answers}. The largest shift is {100 * largest:.1f} points."


def _sentences(effect: CutEffect, decisions: dict[Kind, Decision]) -> list[str]:
    cut, larger = decisions["cut"], decisions.get("larger")
    found = []
    if larger is not None:
        changes = [
            f"{one.question.id} from {words.answer_text(one)} to {words.answer_text(other)}"
            for one, other in zip(cut.answers, larger.answers, strict=True)
            if not same_answer(one, other)
        ]
        more = f"; and {len(changes) - NAMED_CHANGES} more" if len(changes) > NAMED_CHANGES else ""
        if changes:
            found.append(f"{_more_of_it(effect)} turns {'; '.join(changes[:NAMED_CHANGES])}{more}.")
        if changes and "end" in decisions and not _changed(decisions["end"], larger):
            found.append("The end alone gives the same answers as that: it holds what the start lacks.")
    if "end" in decisions:
        found.append(_turned("The end in place of the start", cut, decisions["end"]))
    if "none" in decisions:
        found.append(_turned("Leaving the state out", cut, decisions["none"]))
        if not _changed(cut, decisions["none"]):
            found[-1] += " What was kept of the state decides none of them."
    return found


def _more_of_it(effect: CutEffect) -> str:
    larger = next(outcome.variant.reading for outcome in effect.outcomes if outcome.variant.kind == "larger")
    whole = larger.state_tokens == larger.encoded.budget.state
    return "The whole state" if whole else f"Reading {larger.state_tokens:,} tokens of the state"


def _turned(what: str, one: Decision, other: Decision) -> str:
    changed = _changed(one, other)
    if not changed:
        return f"{what} changes no answer."
    return f"{what} changes {words.of_all(len(changed), len(one.answers))}: {words.named(changed)}."


def _changed(one: Decision, other: Decision) -> list[str]:
    """The ids of the questions that are answered otherwise."""
    pairs = zip(one.answers, other.answers, strict=True)
    return [before.question.id for before, after in pairs if not same_answer(before, after)]
