"""What the ledger and the cut promise, on a thousand records made up by chance, with a cut anywhere."""

import random
from typing import Any

import pytest
from generated_records import SCRAPS
from small_tokenizers import byte_tokenizer
from test_truncation import expand, longest_reading, paths_of
from tokenizers import normalizers

from clef_model.encoding import EncodedRecord, encode
from clef_model.json_paths import parse_path
from clef_model.parsing import parse_record
from clef_model.rendering import render

NUM_RECORDS = 1_000
NFC = byte_tokenizer(normalizers.NFC())
WORDS = ["a", "b c", "refund", "Zürich", "0", " ", "\\", '"', "{[,:]}", "\n"]
NUMBERS = [0, -1, 12, 10**30, 1.0, -0.0, 1e-05, 2.5, 1e22, True, False, None]


def text(rng: random.Random) -> str:
    return "".join(rng.choice(SCRAPS + WORDS) for _ in range(rng.randrange(5)))


def value(rng: random.Random, depth: int = 3) -> Any:
    kind = rng.random()
    if depth and kind < 0.3:
        return {text(rng): value(rng, depth - 1) for _ in range(rng.randrange(5))}
    if depth and kind < 0.5:
        return [value(rng, depth - 1) for _ in range(rng.randrange(5))]
    return rng.choice(NUMBERS) if kind < 0.7 else text(rng)


def question(rng: random.Random) -> dict[str, Any]:
    kind = rng.choice(["noul", "choice", "score"])
    names = [f"{place}{text(rng)}" for place in range(rng.randint(1, 4))]
    criteria: dict[str, Any] = {
        "noul": rng.choice([None, {"true": text(rng)}, {"false": None}]),
        "choice": {name: rng.choice([None, text(rng), value(rng, 1)]) for name in names},
        "score": [value(rng, 1) for _ in names],
    }
    return {"type": kind, "criteria": criteria[kind], "instructions": rng.choice([None, "", text(rng), value(rng, 1)])}


def encoded_record(rng: random.Random) -> EncodedRecord:
    """A record at limits that mostly cut it, somewhere."""
    state = rng.choice([text, value, lambda rng: {f"k{place}": value(rng) for place in range(rng.randrange(6))}])(rng)
    questions = {f"{place}{text(rng)}": question(rng) for place in range(rng.randint(1, 3))}
    record = parse_record({"state": state, "questions": questions})
    budget = encode(record, NFC).budget
    limits: dict[str, Any] = {"max_length": rng.randint(budget.fixed, budget.total)}
    if rng.random() < 0.5:
        limits = {"max_state_tokens": rng.randint(0, budget.state)}
    return encode(record, NFC, **limits)


@pytest.fixture(scope="module")
def records() -> list[EncodedRecord]:
    rng = random.Random("ledger")
    found = [encoded_record(rng) for _ in range(NUM_RECORDS)]
    cut = [encoded for encoded in found if encoded.budget.truncation is not None]
    assert len(cut) > NUM_RECORDS / 2
    assert sum(not isinstance(encoded.record.state, str) for encoded in cut) > NUM_RECORDS / 4
    assert sum(encoded.budget.truncation.splits_character for encoded in cut) > NUM_RECORDS / 50
    return found


def test_the_spans_of_the_ledger_tile_the_ids(records: list[EncodedRecord]) -> None:
    for encoded in records:
        spans = [segment.span for segment in encoded.ledger]
        assert [span.start for span in spans] == [0, *(span.end for span in spans[:-1])]
        assert spans[-1].end == len(encoded.input_ids) == encoded.budget.total
        assert all(s.num_tokens == s.span.length for s in encoded.ledger if s.kind != "state_cut")


def test_every_piece_but_the_state_spells_its_own_ids(records: list[EncodedRecord]) -> None:
    for encoded in records:
        for segment in encoded.ledger:
            if not segment.kind.startswith("state"):
                ids = encoded.input_ids[segment.span.start : segment.span.end]
                assert NFC.decode(ids) == NFC.normalized(segment.text)


def test_kept_and_lost_text_together_are_the_state(records: list[EncodedRecord]) -> None:
    for encoded in records:
        parts = [segment for segment in encoded.ledger if segment.kind.startswith("state")]
        assert "".join(segment.text for segment in parts) == render(encoded.record.state)
        assert sum(segment.num_tokens for segment in parts) == encoded.budget.state


def test_the_lost_paths_are_those_absent_from_the_longest_parseable_reading(records: list[EncodedRecord]) -> None:
    for encoded in records:
        state, truncation = encoded.record.state, encoded.budget.truncation
        if truncation is None or isinstance(state, str):
            assert truncation is None or truncation.lost_paths == ()
            continue
        kept = next(segment.text for segment in encoded.ledger if segment.kind == "state")
        reading = longest_reading(kept)
        present = set() if reading is None else paths_of(reading[0])
        lost = [parse_path(path) for path in truncation.lost_paths]
        assert expand(state, lost) == paths_of(state) - present, kept
