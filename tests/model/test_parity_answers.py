"""Answers and checks beside the release's own code."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clef_model.decision import answer, requested, systemone_answer
from clef_model.parsing import parse_record, systemone_fault

torch = pytest.importorskip("torch")
oracle = pytest.importorskip("clef_finetune._vendor.joint_schema_model")

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
LOGITS = st.floats(-60, 60, width=32) | st.integers(-2, 2).map(float) | st.just(-math.inf)
QUESTIONS = st.one_of(
    st.just({"type": "noul"}),
    st.dictionaries(NAMES, st.none() | NAMES, min_size=1, max_size=12).map(lambda c: {"type": "choice", "criteria": c}),
    st.lists(st.none() | NAMES | st.integers() | st.floats(-1, 1), min_size=1, max_size=12).map(
        lambda c: {"type": "score", "criteria": c}
    ),
)


@given(QUESTIONS, st.data())
def test_answers_equal_the_releases_for_the_same_probabilities(question: dict[str, Any], data: st.DataObject) -> None:
    (parsed,) = parse_record({"state": 1, "questions": {"q": question}}).questions
    number = len(parsed.options)
    logits = data.draw(st.lists(LOGITS, min_size=number, max_size=number).filter(lambda row: max(row) > -math.inf))
    probabilities = torch.tensor(logits, dtype=torch.float32).softmax(-1).tolist()
    by_id = dict(zip([option.id for option in parsed.options], probabilities, strict=True))
    theirs = oracle.systemone_answer(question, by_id)
    ours = systemone_answer(parsed.source, requested(answer(parsed, logits, probabilities)))
    assert repr(ours) == repr(theirs)  # the same keys in the same order, the same types and digits


@given(st.lists(st.floats(-60, 60, width=32), min_size=1, max_size=255))
def test_our_softmax_is_the_exact_one_and_torchs_is_near_it(logits: list[float]) -> None:
    (parsed,) = parse_record(
        {"state": 1, "questions": {"q": {"type": "score", "criteria": [None] * len(logits)}}}
    ).questions
    ours = np.array(answer(parsed, logits).probabilities, np.float32)
    shifted = torch.tensor(logits, dtype=torch.float32) - max(logits)
    exact = shifted.double().softmax(-1).float().numpy()
    theirs = torch.tensor(logits, dtype=torch.float32).softmax(-1).numpy()
    assert np.abs(ours.view(np.int32) - exact.view(np.int32)).max() <= 1
    np.testing.assert_allclose(
        theirs, ours, rtol=16 * np.finfo(np.float32).eps, atol=1e-37
    )  # 16 units of the last place


REQUESTS = st.fixed_dictionaries(
    {},
    optional={
        "model": st.sampled_from(["m", "", None, 5]),
        "state": st.none() | st.just("x"),
        "questions": st.sampled_from([None, {}, [], [1]])
        | st.dictionaries(
            NAMES | st.integers(),
            st.fixed_dictionaries(
                {},
                optional={
                    "type": st.sampled_from(["noul", "choice", "score", "bool", None, 1]),
                    "criteria": st.sampled_from([None, {}, [], "", {"a": 1}, ["a"]]),
                },
            ),
            max_size=3,
        ),
    },
)


class PassedTheChecks(Exception):
    pass


class Processor:
    @property
    def tokenizer(self) -> None:
        raise PassedTheChecks


@given(REQUESTS)
def test_the_releases_first_checks_say_the_same(request_: dict[str, Any]) -> None:
    try:
        oracle.systemone(None, Processor(), request_)
    except ValueError as error:
        theirs: str | None = str(error)
    except PassedTheChecks:
        theirs = None
    assert systemone_fault(request_) == theirs
