"""The budget sweep for the page: how much of the state is enough, in words, lines and the same numbers as rows."""

from collections.abc import Sequence
from typing import Any

from clef_model.diagnostics.readings import same_answer
from clef_model.diagnostics.sweep import NUM_POINTS, Plans, Sweep
from clef_model.json_paths import counted
from clef_ui.views import shifts as words
from clef_ui.views.numbers import milliseconds


def plan_view(plans: Plans) -> dict[str, Any]:
    """What the sweep would read."""
    return {
        "state": plans.state_tokens,
        "asked": plans.asked_tokens,
        "points": list(plans.kept),
        "tokens": plans.total_tokens,
        "distinct": plans.distinct_tokens,
    }


def sweep_view(found: Sweep) -> dict[str, Any]:
    """Probabilities by question, option and point; places of points are positions in `points`."""
    kept = [point.state_tokens for point in found.points]
    return {
        "model": {"name": found.model.name, "demonstration": found.model.is_demonstration},
        "state": found.state_tokens,
        "asked": found.asked_tokens,
        "points": kept,
        "forward": milliseconds(found.forward_ms),
        "enough": found.enough_for_all,
        "closer": closer_points(kept, found.enough_for_all),
        "headline": _headline(found, kept),
        "sentences": _sentences(found, kept),
        "questions": [
            words.question_view(place, answer)
            | {
                "enough": found.enough(place),
                "answers": [words.answer_text(point.answers[place]) for point in found.points],
                "p": [list(point.answers[place].probabilities) for point in found.points],
                "labels": [words.labels(point.answers[place]) for point in found.points],
            }
            for place, answer in enumerate(found.points[-1].answers)
        ],
    }


def closer_points(kept: Sequence[int], enough: int) -> list[int]:
    """Points for a second sweep that finds the place of the last change more closely; empty when it is found."""
    if enough == 0 or kept[enough] - kept[enough - 1] <= 1:
        return []
    start, end = kept[enough - 1], kept[enough]
    steps = NUM_POINTS - 3  # both ends of the state are read again, so that the words keep their meaning
    between = {round(start + place * (end - start) / steps) for place in range(steps + 1)}
    return sorted({kept[0], kept[-1], *between})


def _headline(found: Sweep, kept: Sequence[int]) -> str:
    enough, last = found.enough_for_all, len(kept) - 1
    whole = "the whole state" if kept[-1] >= found.state_tokens else f"the {kept[-1]:,} tokens tried last"
    if last == 0:
        return f"One point was read, with {counted(kept[0], 'kept token')}: nothing to compare it with."
    if enough == 0 and kept[0] == 0:
        return f"No answer changes: without any state all are as with {whole}."
    if enough == 0:
        return f"No answer changes: with {counted(kept[0], 'kept token')} all are as with {whole}."
    if enough == last:
        return f"Answers change up to the last point: {kept[-2]:,} tokens are not enough."
    return f"From {kept[enough]:,} of {found.state_tokens:,} state tokens on, every answer stays as it is."


def _sentences(found: Sweep, kept: Sequence[int]) -> list[str]:
    sentences = []
    if found.enough_for_all > 0:
        before = found.enough_for_all - 1
        others = _others(found, before)
        differ = "is answered otherwise" if len(others) == 1 else "are answered otherwise"
        sentences.append(f"With {kept[before]:,}, the next smaller tried, {words.named(others)} {differ}.")
    if found.asked_tokens < found.state_tokens and found.asked_tokens in kept and found.asked_tokens < kept[-1]:
        others = _others(found, kept.index(found.asked_tokens))
        keeps = f"The limit that is set keeps {found.asked_tokens:,}"
        enough = f"{keeps}, which gives the same answers as {kept[-1]:,}."
        sentences.append(f"{keeps}, and more would change {words.named(others)}." if others else enough)
    return sentences


def _others(found: Sweep, place: int) -> list[str]:
    """The ids of the questions whose answer at a point differs from that at the last."""
    pairs = zip(found.points[place].answers, found.points[-1].answers, strict=True)
    return [one.question.id for one, last in pairs if not same_answer(one, last)]
