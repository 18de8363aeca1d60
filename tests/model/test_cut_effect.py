"""Did the cut matter: what is read, what it costs, and what is said when a part of it fails."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from ui.reading import ReadingDecider

from clef_model.decision import Limits, top
from clef_model.diagnostics.cut_effect import CutEffect, cut_effect, variants
from clef_model.diagnostics.readings import same_answer, shifts
from clef_model.encoding import MAX_POSITIONS
from clef_model.errors import InvalidRecord, Unsupported
from clef_model.schema import Record, choice, noul

DECIDER = ReadingDecider()
STATE = "first word, many more words, last word"
RECORD = Record(STATE, (noul("first"), noul("last"), choice("other", {"b": None, "a": None})))
LIMITS = Limits(max_state_tokens=10)


def effect(record: Record = RECORD, limits: Limits = LIMITS, decider: Any = DECIDER) -> CutEffect:
    return cut_effect(decider, variants(record, limits, decider.plan))


def tops(found: CutEffect) -> dict[str, list[str]]:
    return {
        outcome.variant.kind: [top(answer).id for answer in outcome.decision.answers]
        for outcome in found.outcomes
        if outcome.decision is not None
    }


def test_the_four_readings_differ_in_what_they_hold_of_the_state() -> None:
    planned = variants(RECORD, LIMITS, DECIDER.plan)
    texts = {each.kind: DECIDER.kept_text(each.reading.encoded) for each in planned}
    assert texts == {"cut": STATE[:10], "larger": STATE, "end": STATE[-10:], "none": ""}
    assert [each.reading.state_tokens for each in planned] == [10, len(STATE), 10, 0]


def test_the_answers_follow_what_is_read() -> None:
    assert tops(effect()) == {
        "cut": ["true", "false", "a"],
        "larger": ["true", "true", "a"],
        "end": ["false", "true", "a"],
        "none": ["false", "false", "a"],
    }


def test_shifts_are_differences_of_probabilities() -> None:
    cut, larger = (outcome.decision for outcome in effect().outcomes[:2])
    assert cut is not None
    assert larger is not None
    moved = shifts(cut.answers[1], larger.answers[1])
    assert moved == pytest.approx((0.462117, -0.462117), abs=1e-6)  # logits 0, 1 turn to 1, 0
    assert not same_answer(cut.answers[1], larger.answers[1])
    assert shifts(cut.answers[0], larger.answers[0]) == (0.0, 0.0)


def test_nothing_is_compared_when_nothing_is_cut() -> None:
    assert variants(RECORD, Limits(), DECIDER.plan) == ()


def test_a_larger_limit_of_ones_own_is_taken() -> None:
    fixed = DECIDER.plan(RECORD).budget.fixed
    larger = variants(RECORD, LIMITS, DECIDER.plan, larger=fixed + 20)[1].reading
    assert (larger.state_tokens, larger.limits) == (20, Limits(max_length=fixed + 20))


def test_a_limit_that_is_not_larger_is_refused_with_what_is_possible() -> None:
    with pytest.raises(InvalidRecord) as refused:
        variants(RECORD, LIMITS, DECIDER.plan, larger=100)
    least = DECIDER.plan(RECORD).budget.fixed + 11
    assert str(refused.value) == (
        f"larger limit: found 100; a number from {least:,}, one more than is read now, to 262,144, the positions of "
        "the model, is expected."
    )


def test_a_cut_by_the_models_positions_has_no_larger_reading() -> None:
    record = Record("x" * MAX_POSITIONS, (noul("first"),))
    planned = variants(record, Limits(max_length=MAX_POSITIONS), DECIDER.plan)
    assert [each.kind for each in planned] == ["cut", "end", "none"]


def test_a_limit_on_truncation_does_not_keep_from_asking() -> None:
    assert len(variants(RECORD, Limits(max_state_tokens=10, truncate=False), DECIDER.plan)) == 4


@dataclass
class SmallDecider(ReadingDecider):
    """Runs out of memory beyond the record that was asked for."""

    def decide(self, records: Sequence[Record], limits: Limits = LIMITS, progress: Any = None) -> Any:
        if limits.max_state_tokens is None:
            raise Unsupported("its 1,000 tokens need more memory than is free.")
        return super().decide(records, limits, progress)


def test_the_rest_is_answered_when_the_larger_reading_does_not_fit() -> None:
    found = effect(decider=SmallDecider())
    assert tops(found).keys() == {"cut", "end", "none"}
    assert found.problem == "its 1,000 tokens need more memory than is free."


def test_an_error_of_all_readings_is_raised() -> None:
    class Broken(ReadingDecider):
        def decide(self, *_: Any, **__: Any) -> Any:
            raise Unsupported("media are not read.")

    with pytest.raises(Unsupported, match="media are not read"):
        effect(decider=Broken())


def test_the_work_stops_where_progress_raises() -> None:
    class Stopped(Exception):
        pass

    seen: list[float] = []

    def stop_late(share: float, _: str) -> None:
        seen.append(share)
        if len(seen) == 2:
            raise Stopped

    with pytest.raises(Stopped):
        cut_effect(DECIDER, variants(RECORD, LIMITS, DECIDER.plan), stop_late)
    assert 0 < seen[0] < seen[1] < 1
