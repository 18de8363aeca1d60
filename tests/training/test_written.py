"""The hand-written states parse, their development part stays apart, and their records say what the text says."""

import random
from itertools import pairwise

import numpy as np
import pytest
import torch

from training import written
from training.losses import consistency_loss, decision_loss
from training.mixture import pad, twins, unanswered
from training.opinions import Opinions
from training.rendering import Example, Renderer
from training.written import Names, Written, parse
from training.written_records import WrittenRecords

BLOCK = """# kitchen
> Anna lent Karl a pan.\\nIt is \\"new\\".
+ Karl borrowed a pan.
- Did Karl lend Anna a pan?
? Who has the pan?
o Anna
* Karl
% How old is the pan?
1 new
2 old
= 1

> {"pan_size": 24, "owner": "Anna"}
+ Anna has a pan.
"""
FILES = sorted(written.WRITTEN.glob("*.txt"))


@pytest.fixture(scope="module")
def items() -> list[Written]:
    return written.read()[0]


@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_every_block_of_a_file_is_well_formed(path) -> None:
    assert parse(path.read_text(encoding="utf-8"))[1] == []


def test_a_block_is_read_with_its_claims_choice_and_score() -> None:
    (text, record), problems = parse(BLOCK)
    assert problems == []
    assert text.domain == record.domain == "kitchen"
    assert text.claims == [("Karl borrowed a pan.", True), ("Did Karl lend Anna a pan?", False)]
    assert text.picks[0].options[text.picks[0].right] == ("", "Karl")
    assert text.scales[0].levels[text.scales[0].right] == "new"
    assert "\n" in text.value
    assert record.value == {"pan_size": 24, "owner": "Anna"}


def test_a_state_or_domain_without_a_blank_line_before_it_begins_a_block() -> None:
    first, second = parse("> One.\n+ It is one.\n# other\n> Two.\n+ It is two.")[0]
    assert (first.state, second.state, second.domain) == ("One.", "Two.", "other")


@pytest.mark.parametrize(
    "block", ["> A state.", "+ No state.", "> S\n+ c\n? q\no a\no b", "> S\n+ c\n% q\n1 a\n2 b\n= 3", "> {broken\n+ c"]
)
def test_a_broken_block_is_named_and_left_out(block: str) -> None:
    assert parse(block)[0] == []
    assert len(parse(block)[1]) == 1


def test_no_development_state_is_trained_on(items: list[Written]) -> None:
    train, development = written.split(items)
    assert not {item.state for item in train} & {item.state for item in development}
    assert 0.03 < len(development) / len(items) < 0.09
    assert {item["state"] for item in written.items_of(development) if isinstance(item["state"], str)}


def test_neither_answer_prevails(items: list[Written]) -> None:
    true = [truth for item in items for _, truth in item.claims]
    assert 0.4 < sum(true) / len(true) < 0.6


def test_people_change_their_names_alike_everywhere() -> None:
    item = parse(BLOCK)[0][0]
    new = WrittenRecords([item]).renamed(random.Random(1), item)
    lender, borrower = new.state.split()[0], new.state.split()[2]
    assert {lender, borrower}.isdisjoint({"Anna", "Karl"})
    assert new.claims[0] == (f"{borrower} borrowed a pan.", True)
    assert new.picks[0].options[new.picks[0].right] == ("", borrower)
    names = Names()
    assert lender in names.list_of["Anna"]
    assert borrower in names.list_of["Karl"]


def test_no_name_is_in_both_lists() -> None:
    women, men = Names().lists
    assert not set(women) & set(men)


def test_records_are_well_formed(items: list[Written]) -> None:
    records, rng = WrittenRecords(items), random.Random(5)
    for _ in range(400):
        _, examples = records.draw(rng)
        assert examples
        for example in examples:
            assert abs(sum(example.target) - 1) < 1e-6
            assert len({option for option, _ in example.options}) == len(example.options) >= 2


def test_a_denied_claim_has_the_other_answer() -> None:
    records, rng = WrittenRecords(parse(BLOCK)[0]), random.Random(3)
    for _ in range(300):
        example = records.claim(rng, "The pan is big.", True)
        if example.kind == "noul":
            text = str(example.instructions).lower()
            denied = any(word in text for word in ("not ", "false", "wrong", "contradicts"))
            assert (example.target[0] > 0.5) != denied, text


def test_a_twin_asks_the_same_in_another_order() -> None:
    renderer = Renderer(written.FOLDER.parent.parent / "models" / "clef-nano")
    examples = [
        Example("a", "noul", "Is it?", [("true", "yes"), ("false", "no")], [0.9, 0.1]),
        Example("b", "score", "How?", [("0", "low"), ("1", "mid"), ("2", "high")], [0.1, 0.3, 0.6]),
        Example("c", "choice", "Which?", [("x", "ex"), ("y", "why")], [0.7, 0.3]),
    ]
    first, second = twins(random.Random(2), renderer, "state", examples, -1)
    assert first.match is not None
    assert second.target[first.match].tolist() == first.target.tolist()
    assert not np.array_equal(first.ids, second.ids)
    batch = pad([first, second])
    assert (batch["match"][0] >= 0).sum() == 7
    assert (batch["match"][1] >= 0).sum() == 0
    tensors = {key: torch.from_numpy(value) for key, value in batch.items()}
    logits = torch.zeros(2, batch["options"].shape[1])
    logits[1, : len(first.match)] = torch.arange(7.0)
    logits[0, : len(first.match)] = logits[1, first.match]
    assert consistency_loss(logits, tensors) == pytest.approx(0, abs=1e-6)
    logits[0, 0] += 1
    assert consistency_loss(logits, tensors) > 0.01


def test_an_unanswered_question_has_no_part_in_the_loss() -> None:
    renderer = Renderer(written.FOLDER.parent.parent / "models" / "clef-nano")
    asked = Example("a", "noul", "Is it?", [("true", "yes"), ("false", "no")], [0.9, 0.1])
    batch = {
        key: torch.from_numpy(value) for key, value in pad([renderer("s", [asked, unanswered(asked, "b")])]).items()
    }
    logits = torch.zeros(1, batch["options"].shape[1])
    alone = decision_loss(logits, batch)[0]
    logits[0, 2] = 3.0
    assert decision_loss(logits, batch)[0] == pytest.approx(float(alone))
    logits[0, 0] = 3.0
    assert decision_loss(logits, batch)[0] != pytest.approx(float(alone))


def test_a_better_word_makes_a_better_review() -> None:
    opinions = Opinions()
    assert sorted(opinions.words) == sorted(opinions.remarks) == [1, 2, 3, 4, 5]
    assert all(not set(opinions.words[low]) & set(opinions.words[high]) for low, high in pairwise(range(1, 6)))
    assert all(-4 <= opinions.draw(random.Random(seed))[1] <= 4 for seed in range(200))
