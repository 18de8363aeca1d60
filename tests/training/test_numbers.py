"""Texts about two numbers: the claims hold exactly when their conditions do."""

import random

import pytest

from training.numbers import Numbers, holds, read_matters, say


@pytest.mark.parametrize(
    ("condition", "a", "b", "met"),
    [
        ("a>b", 31, 30, True),
        ("a<=b", 30, 30, True),
        ("sum>50", 25, 25, False),
        ("min>=18", 17, 40, False),
        ("b<0", 1, -1, True),
    ],
)
def test_a_condition_is_about_the_two_numbers(condition: str, a: int, b: int, met: bool) -> None:
    assert holds(condition, a, b) is met


def test_every_claim_can_be_true_and_false() -> None:
    numbers, rng = Numbers(), random.Random(1)
    for matter in read_matters():
        pairs = [numbers.pair(rng, matter) for _ in range(600)]
        for condition, claim in matter.claims:
            assert {holds(condition, *pair) for pair in pairs} == {True, False}, claim


def test_dates_and_times_keep_their_order() -> None:
    assert [say(number, "date", False, 0.1) for number in (28, 29)] == ["2026-01-28", "2026-02-01"]
    assert say(336, "date", False, 0.9) == "28 December"
    assert say(13 * 60 + 5, "time", False, 0.9) == "1:05 pm"


def test_no_slot_is_left_open() -> None:
    numbers, rng = Numbers(), random.Random(2)
    for _ in range(500):
        state, examples = numbers.draw(rng)
        texts = [str(example.instructions) for example in examples]
        texts += [state] if isinstance(state, str) and not state.startswith("{") else []
        assert not [text for text in texts if "{a}" in text or "{name}" in text or "{thing}" in text]
