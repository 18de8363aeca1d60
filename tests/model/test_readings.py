"""A record with less of its state: the same prompt as the cut gives, and the end of a state to the token."""

from dataclasses import dataclass, field
from typing import Any

import pytest
import tokenizers
from generated_records import states, texts
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tokenizers import SPECIAL_TOKENS, byte_tokenizer
from tokenizers import decoders, models, normalizers, pre_tokenizers
from ui.scripted import ScriptedDecider

from clef_model.decision import Limits
from clef_model.diagnostics.readings import (
    Reading,
    decide_readings,
    end_of_state,
    part_of,
    shortened,
    whole_limits,
)
from clef_model.rendering import render
from clef_model.schema import Record, noul
from clef_model.tokenizer import Tokenizer, from_any

QUESTION = noul("ok", instructions="Is this fine?")


MERGES = [("a", "b"), ("b", "c"), ("ab", "c"), ("Ġ", "a"), ("Ġa", "b"), ("a", "i"), ("ai", "d"), ("s", "aid")]
MERGES += [("'", "s"), ("t", "ai"), ('"', ":")]


def merging() -> Tokenizer:
    """A byte-level tokenizer with some merges, so that the start of a text can have other tokens alone."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = dict.fromkeys([*letters, *(left + right for left, right in MERGES)])
    vocab = {token: place for place, token in enumerate(tokens)}
    fast = tokenizers.Tokenizer(models.BPE(vocab=vocab, merges=MERGES))
    fast.normalizer = normalizers.NFC()
    fast.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    fast.decoder = decoders.ByteLevel()
    fast.add_special_tokens(SPECIAL_TOKENS)
    return from_any(fast)


DECIDERS = [ScriptedDecider(tokenizer=byte_tokenizer(normalizers.NFC())), ScriptedDecider(tokenizer=merging())]
WORDS = st.lists(
    st.sampled_from(["abcd", " ab", "bc", "said", "''tai", "'", "日", "e\u0301", '"a":']), max_size=30
).map("".join)


def state_ids(reading: Reading) -> tuple[int, ...]:
    span = next(segment.span for segment in reading.encoded.ledger if segment.kind == "state")
    return reading.encoded.input_ids[span.start : span.end]


def whole(decider: ScriptedDecider, record: Record) -> Reading:
    limits = whole_limits(decider.plan(record))
    return Reading(record, limits, decider.plan(record, limits))


@settings(max_examples=80)
@given(state=WORDS | texts() | states(), data=st.data())
@pytest.mark.parametrize("decider", DECIDERS)
def test_a_shortened_record_has_the_prompt_of_the_cut(
    decider: ScriptedDecider, state: Any, data: st.DataObject
) -> None:
    record = Record(state, (QUESTION,))
    full = whole(decider, record)
    kept = data.draw(st.integers(0, full.state_tokens))
    reading = shortened(record, full.limits, kept, decider.plan)
    assert reading.encoded.input_ids == decider.plan(record, Limits(max_state_tokens=kept)).input_ids
    assert decider.plan(reading.record, reading.limits).input_ids == reading.encoded.input_ids
    assert reading.state_tokens == kept


@settings(max_examples=80)
@given(state=WORDS | texts() | states(), data=st.data())
@pytest.mark.parametrize("decider", DECIDERS)
def test_the_end_of_a_state_is_its_last_text_within_the_room(
    decider: ScriptedDecider, state: Any, data: st.DataObject
) -> None:
    record = Record(state, (QUESTION,))
    full = whole(decider, record)
    room = data.draw(st.integers(0, full.state_tokens))
    reading, is_exact = end_of_state(record, Limits(), room, decider.plan)
    assert render(record.state).endswith(reading.record.state)
    assert reading.encoded.budget.truncation is None
    assert reading.state_tokens <= room
    ids = state_ids(reading)
    assert is_exact == (state_ids(full)[len(state_ids(full)) - len(ids) :] == ids)


def test_the_end_of_a_text_fills_the_room_where_tokens_are_bytes() -> None:
    reading, is_exact = end_of_state(Record("start middle end", (QUESTION,)), Limits(), 10, DECIDERS[0].plan)
    assert (reading.record.state, reading.state_tokens, is_exact) == ("middle end", 10, True)


def test_a_character_is_not_split_at_the_front_of_an_end() -> None:
    ends = [end_of_state(Record("a日b", (QUESTION,)), Limits(), room, DECIDERS[0].plan)[0] for room in range(6)]
    assert [reading.record.state for reading in ends] == ["", "b", "b", "b", "日b", "a日b"]


def end_of_text(text: str, room: int) -> tuple[list[str], list[str], bool]:
    """The tokens of a text, those of its end within the room, and whether these are exact."""
    decider, record = DECIDERS[1], Record(text, (QUESTION,))
    reading, is_exact = end_of_state(record, Limits(), room, decider.plan)
    spelled = [list(map(decider.tokenizer.token_text, state_ids(each))) for each in (whole(decider, record), reading)]
    return spelled[0], spelled[1], is_exact


def test_an_end_that_needs_more_tokens_alone_loses_more_of_its_front() -> None:
    # Behind two quotes a word begins; behind one, 't is an ending, and what follows it is a word of its own.
    assert end_of_text("''tai", 2) == (["'", "'", "tai"], ["tai"], True)


def test_an_end_of_other_tokens_within_the_room_is_not_exact() -> None:
    assert end_of_text("''said", 2) == (["'", "'", "said"], ["'s", "aid"], False)


def test_the_end_of_a_json_state_is_the_text_of_its_end() -> None:
    record = Record({"b": "last", "a": "first"}, (QUESTION,))
    reading, _ = end_of_state(record, Limits(), 11, DECIDERS[0].plan)
    assert reading.record.state == ',"b":"last"}'[1:]


def test_a_state_beyond_the_models_positions_has_an_end_too() -> None:
    record = Record("x" * 600_000 + " the end", (QUESTION,))
    reading, is_exact = end_of_state(record, Limits(), 8, DECIDERS[0].plan)
    assert (reading.record.state, is_exact) == (" the end", False)


@dataclass
class Counting(ScriptedDecider):
    calls: list[int] = field(default_factory=list)

    def decide(self, records: Any, limits: Any = None, progress: Any = None) -> Any:
        self.calls.append(len(records))
        return super().decide(records, limits, progress)


def test_readings_under_the_same_limits_share_a_call_and_come_back_in_order() -> None:
    decider = Counting()
    record = Record("0123456789", (QUESTION,))
    limits = whole_limits(decider.plan(record))
    readings = [shortened(record, limits, kept, decider.plan) for kept in (7, 3, 10)]
    other = Reading(record, Limits(max_state_tokens=5), decider.plan(record, Limits(max_state_tokens=5)))
    decisions = decide_readings(decider, [readings[0], other, *readings[1:]])
    assert decider.calls == [3, 1]
    assert [decision.encoded.budget.state_kept for decision in decisions] == [7, 5, 3, 10]


def test_progress_goes_over_all_calls() -> None:
    decider, seen = ScriptedDecider(), []
    record = Record("0123456789", (QUESTION,))
    limits = whole_limits(decider.plan(record))
    readings = [Reading(record, each, decider.plan(record, each)) for each in (limits, Limits(max_state_tokens=0))]
    decide_readings(decider, readings, lambda share, stage: seen.append((round(share, 3), stage)))
    first = readings[0].total_tokens / sum(reading.total_tokens for reading in readings)
    assert seen == [(round(first / 2, 3), "scripted"), (round(first + (1 - first) / 2, 3), "scripted")]


def test_no_progress_has_no_parts() -> None:
    assert part_of(None, 0.0, 1.0) is None
