"""The hand-written grammars parse, keep their held-out parts apart, and state what their targets say."""

import random

from training import grammar
from training.structured import Structured
from training.worlds import Worlds


def test_every_fact_has_sentences_denials_and_questions() -> None:
    for fact in (*grammar.read_facts(), *grammar.read_facts(held_out=True)):
        assert len(fact.stated) >= 2, fact.name
        assert len(fact.denied) >= 2, fact.name
        assert len(fact.asked) >= 2, fact.name
        assert fact.opposite, fact.name


def test_no_sentence_of_a_held_out_fact_is_trained_on() -> None:
    trained = {text for fact in grammar.read_facts() for text in (*fact.stated, *fact.denied, *fact.asked)}
    held = {text for fact in grammar.read_facts(held_out=True) for text in (*fact.stated, *fact.denied, *fact.asked)}
    assert held
    assert not trained & held


def test_every_level_of_a_ladder_has_wordings_and_sentences() -> None:
    for ladder in (*grammar.read_ladders(), *grammar.read_ladders(held_out=True)):
        assert len(ladder.wordings) == len(ladder.sentences) >= 3, ladder.name
        assert all((*ladder.wordings, *ladder.sentences)), ladder.name


def test_targets_are_probabilities_and_ids_are_distinct() -> None:
    worlds, rng = Worlds(), random.Random(7)
    makers = (worlds.fact_record, worlds.ladder_record, worlds.topic_record, worlds.message_record)
    for maker in (*makers, Structured().record):
        for _ in range(200):
            _, examples = maker(rng)
            for example in examples:
                assert abs(sum(example.target) - 1) < 1e-6
                assert len({option for option, _ in example.options}) == len(example.options) >= 2


def test_the_same_seed_draws_the_same_records() -> None:
    structured = Structured()
    first = [structured.record(random.Random(3)) for _ in range(5)]
    second = [structured.record(random.Random(3)) for _ in range(5)]
    assert first == second


def test_a_flag_claim_is_true_exactly_when_the_flag_is() -> None:
    structured, rng = Structured(), random.Random(11)
    domain = next(domain for domain in structured.domains if "bool" in domain.fields.values())
    name = next(name for name, kind in domain.fields.items() if kind == "bool")
    for _ in range(100):
        value = rng.random() < 0.5
        example = structured.field_claim(rng, domain, name, value)
        said = str(example.instructions)
        negated = any(word in said for word in ("not true", "is false", "set to no", f"not {name}"))
        assert (example.target[0] > 0.5) == (value != negated), said
