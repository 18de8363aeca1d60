"""Held-out decisions stay frozen, and no text of them reaches the corpus."""

import hashlib
import json

import pytest

from training.grammar import read_facts, read_ladders, read_topics
from training.heldout import FOLDER, parse_answer
from training.sources import Overlap

# Of the files as they were frozen; a change here would make later figures mean something else.
FROZEN = {
    "own.json": "2087a69998f66267",
    "everyday.json": "f9bd13f5cb5d5354",
    "fresh.json": "cae4f7cc067c02e7",
    "second.json": "036a789ac35873de",
}
# Of second.json, found after the run: a writer had chosen the same sentence, or eight words of it.
LEFT_OUT = [
    "The sofa didn't fit through the door, it's on its way back to the shop.",
    "The lift carries eight people at most. Eleven are waiting.",
]


@pytest.mark.parametrize("name", list(FROZEN))
def test_a_held_out_file_is_as_it_was_frozen(name: str) -> None:
    assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()[:16] == FROZEN[name]


@pytest.mark.parametrize("name", list(FROZEN))
def test_no_hand_written_decision_repeats_a_training_sentence(name: str) -> None:
    items = [item for item in json.loads((FOLDER / name).read_text(encoding="utf-8")) if "grammar" not in item["task"]]
    overlap = Overlap(item["state"] for item in items if isinstance(item["state"], str))
    trained = [text for fact in read_facts() for text in (*fact.stated, *fact.denied)]
    trained += [text for ladder in read_ladders() for level in ladder.sentences for text in level]
    trained += [
        text for kind in ("topics.txt", "tools.txt", "messages.txt") for t in read_topics(kind) for text in t.texts
    ]
    assert [text for text in trained if text in overlap] == []


def test_the_frozen_figures_leave_out_what_a_hand_written_training_state_repeats() -> None:
    from training.report import frozen_items

    every = json.loads((FOLDER / "second.json").read_text(encoding="utf-8"))
    counted = frozen_items()
    assert [item["state"] for item in every if item not in counted] == LEFT_OUT


def test_the_overlap_finds_equal_words_and_eight_words_in_a_row() -> None:
    overlap = Overlap(["The quick brown fox jumps over the lazy dog today."])
    assert "the QUICK brown fox jumps over the lazy dog, today" in overlap
    assert "I saw that quick brown fox jumps over the lazy dog myself" in overlap
    assert "The quick brown fox is gone" not in overlap


def test_the_corpus_drops_a_text_that_repeats_a_held_out_one(tmp_path) -> None:
    from training import sources
    from training.sources import build_corpus, read_jsonl, write_jsonl

    heldout = tmp_path / "heldout.json"
    heldout.write_text(json.dumps([{"text": "my parcel never came"}]), encoding="utf-8")
    for name in sources.LABELLED:
        write_jsonl(
            tmp_path / "texts" / f"{name}.jsonl.gz", [{"text": "My parcel never came!"}, {"text": "it came early"}]
        )
    folder = tmp_path / "wordnet"
    folder.mkdir()
    for part in ("noun", "verb", "adj", "adv"):
        (folder / f"data.{part}").write_text("", encoding="utf-8")
    sources_read = sources.read_packages
    sources.read_packages = list
    try:
        counts = build_corpus(tmp_path / "texts", folder, [heldout], tmp_path / "out")
    finally:
        sources.read_packages = sources_read
    assert counts["clinc150"] == 1
    assert read_jsonl(tmp_path / "out" / "clinc150.jsonl.gz") == [{"text": "it came early"}]


def test_an_answer_line_names_its_gold() -> None:
    assert parse_answer("T")["gold"] == "true"
    assert parse_answer(">low;*high")["gold"] == "1"
    assert parse_answer("a: One; *b: Two")["gold"] == "b"
