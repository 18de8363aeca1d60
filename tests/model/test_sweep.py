"""The budget sweep: which points are read, how often the model is called, and how many tokens are enough."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ui.reading import ReadingDecider

from clef_model.decision import Limits, top
from clef_model.diagnostics.sweep import Sweep, even_points, plan_sweep, sweep
from clef_model.encoding import MAX_POSITIONS
from clef_model.errors import InvalidRecord
from clef_model.schema import Record, noul

DECIDER = ReadingDecider()
STATE = "one two three four five six seven eight"
RECORD = Record(STATE, (noul("two"), noul("five"), noul("never")))


def swept(record: Record = RECORD, limits: Limits | None = None, points: Any = None) -> Sweep:
    return sweep(DECIDER, plan_sweep(record, limits or Limits(), DECIDER.plan, points))


@given(state_tokens=st.integers(0, 5_000), num_points=st.integers(2, 20), share=st.none() | st.floats(0, 1))
def test_even_points_hold_both_ends_and_the_asked_place(
    state_tokens: int, num_points: int, share: float | None
) -> None:
    asked = None if share is None else round(share * state_tokens)
    points = even_points(state_tokens, num_points, asked)
    assert points[0] == 0
    assert points[-1] == state_tokens
    assert list(points) == sorted(set(points))
    assert len(points) <= num_points
    assert len(points) == min(num_points, state_tokens + 1)
    assert asked is None or len(points) <= 2 or asked in points


def test_sixteen_points_are_usual() -> None:
    assert even_points(150) == (0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150)
    assert even_points(150, asked_tokens=44) == (0, 10, 20, 30, 44, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150)


def test_each_point_reads_so_many_tokens_and_the_answers_follow() -> None:
    found = swept(points=[0, 7, 23, len(STATE)])
    assert [point.state_tokens for point in found.points] == [0, 7, 23, 39]
    answers = [[top(answer).id for answer in point.answers] for point in found.points]
    assert answers == [
        ["false", "false", "false"],
        ["true", "false", "false"],
        ["true", "true", "false"],
        ["true", "true", "false"],
    ]
    assert [point.total_tokens - found.points[0].total_tokens for point in found.points] == [0, 7, 23, 39]


def test_enough_is_where_answers_stay_to_the_end() -> None:
    found = swept(points=[0, 7, 23, len(STATE)])
    assert [found.points[found.enough(question)].state_tokens for question in range(3)] == [7, 23, 0]
    assert found.points[found.enough_for_all].state_tokens == 23


def test_an_answer_that_changes_back_was_not_enough_before() -> None:
    class Fickle(ReadingDecider):
        def kept_text(self, encoded: Any) -> str:
            return "" if encoded.budget.state_kept == 2 else "end"

    record = Record("abcd", (noul("end"),))
    found = sweep(Fickle(), plan_sweep(record, Limits(), DECIDER.plan))
    assert found.enough(0) == 3


def test_the_sweep_goes_beyond_the_asked_cut_and_holds_its_place() -> None:
    plans = plan_sweep(RECORD, Limits(max_state_tokens=20), DECIDER.plan)
    assert (plans.kept[0], plans.kept[-1], plans.asked_tokens, plans.state_tokens) == (0, 39, 20, 39)
    assert 20 in plans.kept
    assert len(plans.kept) == 16


def test_a_state_of_plain_text_takes_one_call_of_the_model() -> None:
    calls: list[int] = []

    class Counting(ReadingDecider):
        def decide(self, records: Any, limits: Any = None, progress: Any = None) -> Any:
            calls.append(len(records))
            return super().decide(records, limits, progress)

    sweep(Counting(), plan_sweep(RECORD, Limits(), DECIDER.plan))
    assert calls == [16]


def test_a_cut_within_a_character_takes_a_call_of_its_own_and_keeps_so_many_tokens() -> None:
    plans = plan_sweep(Record("日本", (noul("q"),)), Limits(), DECIDER.plan, [0, 1, 3, 6])
    assert [reading.state_tokens for reading in plans.readings] == [0, 1, 3, 6]
    assert [reading.limits.max_state_tokens for reading in plans.readings] == [None, 1, None, None]


def test_the_cost_counts_every_reading_whole() -> None:
    fixed = DECIDER.plan(RECORD).budget.fixed
    assert plan_sweep(RECORD, Limits(), DECIDER.plan, [0, 39]).total_tokens == 2 * fixed + 39


def test_an_empty_state_has_one_point() -> None:
    found = swept(Record("", (noul("q"),)))
    assert [point.state_tokens for point in found.points] == [0]
    assert found.enough_for_all == 0


def test_a_state_beyond_the_models_positions_is_swept_as_far_as_they_go() -> None:
    record = Record("x" * (MAX_POSITIONS + 5), (noul("q"),))
    plans = plan_sweep(record, Limits(), DECIDER.plan, [0, 5])
    reach = MAX_POSITIONS - plans.readings[0].encoded.budget.fixed
    assert plan_sweep(record, Limits(), DECIDER.plan, [reach]).kept == (reach,)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([-1, 5, 40], "points: found -1, 40; the state can be kept from 0 to 39 tokens."),
        ([], "points: found 0; 1 to 64 numbers of kept tokens are expected. Leave it empty for 16."),
        (
            range(70),
            "points: found 70; 1 to 64 numbers of kept tokens are expected. Leave it empty for 16.\n"
            "points: found 40, 41, 42; the state can be kept from 0 to 39 tokens.",
        ),
    ],
)
def test_points_outside_of_the_state_are_refused(points: Any, message: str) -> None:
    with pytest.raises(InvalidRecord) as refused:
        plan_sweep(RECORD, Limits(), DECIDER.plan, points)
    assert str(refused.value) == message


def test_the_forward_time_is_that_of_all_passes() -> None:
    assert swept(points=[0, 39]).forward_ms == pytest.approx(81.2)
