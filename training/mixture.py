"""Draws training records from all sources in fixed shares, adds distilled questions, cuts padded batches."""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from training.events import Events
from training.grammar import read_topics
from training.knowledge import FILE_NAMES, SECTIONS, Knowledge
from training.labelled import GROUP_TEXTS, Labelled
from training.numbers import Numbers
from training.opinions import Opinions
from training.questions import choice, noul
from training.rendering import Example, Rendered, Renderer
from training.structured import Structured
from training.worlds import Worlds
from training.written import Written
from training.written_records import WrittenRecords

SHARES = {
    "facts": 0.17,
    "structured": 0.13,
    "events": 0.10,
    "ladders": 0.07,
    "topics": 0.06,
    "messages": 0.04,
    "intents": 0.12,
    "emotions": 0.05,
    "sentiment": 0.07,
    "offence": 0.02,
    "mail": 0.03,
    "knowledge": 0.08,
    "distilled": 0.06,
}
# Of the second run, on the weights of the first: grammars less often, hand-written states instead.
SECOND_SHARES = {
    "written": 0.14,
    "numbers": 0.05,
    "facts": 0.06,
    "structured": 0.06,
    "events": 0.08,
    "ladders": 0.06,
    "topics": 0.05,
    "messages": 0.04,
    "intents": 0.11,
    "emotions": 0.05,
    "sentiment": 0.12,
    "offence": 0.02,
    "mail": 0.03,
    "knowledge": 0.08,
    "distilled": 0.05,
}
GRAMMAR_DOUBT = 0.08  # spread over all options of a grammar's question in the second run
TWINS = 0.3  # share of records of several questions that come twice, in another order
FOREIGN = 0.5  # share of those with a question of another record, whose answer nobody knows
DISTILL_ALSO = 0.35  # share of labelled texts that get a distilled question as well
TEACHER_TEMPERATURE = 0.06  # of the teacher's cosine
MAX_QUESTIONS = 6
BUCKET = 64  # tokens; lengths are padded to a multiple


@dataclass(slots=True)
class Teacher:
    """Embeddings of all corpus texts and of the phrases offered as options, unit length, float16."""

    index: dict[str, int]  # text -> row of texts
    texts: np.ndarray  # [N, 384]
    phrases: list[str]
    phrase_vectors: np.ndarray  # [M, 384]


def corpus_texts(labelled: Labelled) -> list[str]:
    """Every text that a record's state can be, once."""
    found: dict[str, None] = {}
    for name, rows in labelled.rows.items():
        for row in rows:
            if name == "wordnet":
                found[row["gloss"]] = None
                found.update(dict.fromkeys(row["examples"]))
            else:
                found[row["text"]] = None
    return list(found)


def option_phrases(labelled: Labelled) -> list[str]:
    """Phrases offered as options of distilled questions: labels, descriptions, kinds, fields and common nouns."""
    found: dict[str, None] = {}
    for name in ("topics.txt", "tools.txt"):
        for topic in read_topics(name):
            found.update(dict.fromkeys([topic.name.replace("_", " "), *topic.descriptions]))
    for intents in labelled.intents.values():
        found.update(dict.fromkeys(name.replace("_", " ") for name in intents.names))
    for texts in (*labelled.emotions.values(), *GROUP_TEXTS.values()):
        found.update(dict.fromkeys(texts))
    found.update(dict.fromkeys([*labelled.emotions, *SECTIONS.values(), *FILE_NAMES.values()]))
    nouns = [row for row in labelled.rows["wordnet"] if row["pos"] == "noun"]
    found.update(dict.fromkeys(topic for row in nouns for topic in row["topics"]))
    rng = random.Random(5)
    hypernyms = sorted({name for row in nouns for name in row["hypernyms"]})
    found.update(dict.fromkeys(rng.sample(hypernyms, 4_000)))
    found.update(dict.fromkeys(row["gloss"] for row in rng.sample(nouns, 3_000)))
    return list(found)


class Mixture:
    """Draws records; the same seed draws the same records."""

    def __init__(
        self,
        corpus: Path,
        teacher: Teacher | None = None,
        written: Sequence[Written] | None = None,
        written_share: float = SECOND_SHARES["written"],
    ) -> None:
        """With `written` the shares of the second run, in which `written_share` of the records are hand-written."""
        self.labelled = Labelled(corpus)
        self.knowledge = Knowledge(self.labelled.rows["wordnet"], self.labelled.rows["packages"])
        self.worlds = Worlds()
        self.structured = Structured()
        self.events = Events(self.worlds.words, self.knowledge.synsets)
        self.written = WrittenRecords(list(written)) if written else None
        self.labelled.opinions = Opinions() if written else None
        shares = SHARES
        if written:
            rest = (1 - written_share) / (1 - SECOND_SHARES["written"])
            shares = {name: share * rest for name, share in SECOND_SHARES.items()} | {"written": written_share}
        self.sources = list(shares)
        self.shares = list(shares.values())
        self.numbers = Numbers()
        self.teacher: Teacher | None = None
        self.texts: list[str] = []
        if teacher:
            self.learn_from(teacher)

    def learn_from(self, teacher: Teacher) -> None:
        self.teacher = teacher
        self.texts = list(teacher.index)

    def draw(self, rng: random.Random) -> tuple[Any, list[Example], int]:
        """State, questions and the row of the state's teacher embedding (-1 for none)."""
        source = rng.choices(self.sources, self.shares)[0]
        if source == "written":
            assert self.written is not None
            state, examples = self.written.draw(rng)
            return state, self.distinct(examples), -1
        worlds, labelled = self.worlds, self.labelled
        own = {
            "facts": worlds.fact_record,
            "structured": self.structured.record,
            "ladders": worlds.ladder_record,
            "topics": worlds.topic_record,
            "messages": worlds.message_record,
            "events": self.events.draw,
            "numbers": self.numbers.draw,
        }
        if source in own:
            state, examples = own[source](rng)
            if self.written:
                for example in examples:
                    even = GRAMMAR_DOUBT / len(example.target)
                    example.target = [(1 - GRAMMAR_DOUBT) * share + even for share in example.target]
            return state, self.distinct(examples), -1
        drawers = {
            "intents": labelled.intent,
            "emotions": labelled.emotion,
            "sentiment": labelled.sentiment,
            "offence": labelled.offence,
            "mail": labelled.mail,
            "knowledge": self.knowledge.draw,
            "distilled": self.distilled_only,
        }
        text, examples, key = drawers[source](rng)
        row = self.teacher.index.get(key, -1) if self.teacher else -1
        if row >= 0 and source != "distilled" and rng.random() < DISTILL_ALSO:
            examples.append(self.distilled(rng, row))
        state = text if source == "knowledge" and rng.random() < 0.8 else self.wrap(rng, text)
        return state, self.distinct(examples), row

    def distilled_only(self, rng: random.Random) -> tuple[str, list[Example], str]:
        if not self.teacher:
            return self.knowledge.draw(rng)
        text = rng.choice(self.texts)
        row = self.teacher.index[text]
        return text, [self.distilled(rng, row) for _ in range(rng.choice((1, 2, 3)))], text

    def distilled(self, rng: random.Random, row: int) -> Example:
        """Which of some phrases is nearest in meaning, with the teacher's probabilities."""
        assert self.teacher is not None
        drawn = rng.sample(range(len(self.teacher.phrases)), 60)
        likeness = self.teacher.phrase_vectors[drawn].astype(np.float32) @ self.teacher.texts[row].astype(np.float32)
        nearest = np.argsort(-likeness)
        if rng.random() < 0.4:
            place = int(nearest[0] if rng.random() < 0.5 else nearest[rng.randrange(3, 60)])
            true = float(1 / (1 + np.exp(-14 * (likeness[place] - 0.33))))
            form = rng.choice(
                ("This is about {}.", "Does the text concern {}?", "It has to do with {}.", "Related to: {}")
            )
            return noul(
                rng,
                form.format(self.teacher.phrases[drawn[place]]),
                min(max(true, 0.04), 0.96),
                "about",
                "distilled claim",
            )
        count = rng.choice((2, 3, 4, 5, 8, 12))
        places = [*nearest[: rng.choice((1, 1, 2))], *rng.sample(list(nearest[3:]), count)][:count]
        weights = np.exp((likeness[places] - likeness[places].max()) / TEACHER_TEMPERATURE)
        names = [self.teacher.phrases[drawn[place]] for place in places]
        return choice(rng, names, names, weights.tolist(), None, "topic", "distilled")

    def wrap(self, rng: random.Random, text: str) -> Any:
        style = rng.random()
        if style < 0.7:
            return text
        if style < 0.85:
            key = rng.choice(("text", "message", "body", "comment", "review", "utterance", "query", "content", "note"))
            return {key: text, **self.worlds.clutter(rng)}
        if style < 0.93:
            return [{"role": rng.choice(("user", "customer")), "content": text}]
        return f"{rng.choice(('Message', 'Text', 'Customer', 'Comment', 'Note', 'Input'))}: {text}"

    @staticmethod
    def distinct(examples: list[Example]) -> list[Example]:
        """At most six questions, each under its own id."""
        seen: set[str] = set()
        for place, example in enumerate(examples[:MAX_QUESTIONS]):
            if example.id in seen:
                example.id = f"{example.id}_{place}"
            seen.add(example.id)
        return examples[:MAX_QUESTIONS]


def rounded(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def pad(records: list[Rendered]) -> dict[str, np.ndarray]:
    """Records as one padded batch of arrays; `text` is the row of the state's teacher embedding."""
    tokens = rounded(max(len(record.ids) for record in records), BUCKET)
    questions = rounded(max(len(record.kinds) for record in records), 2)
    options = rounded(max(len(record.owner) for record in records), 8)
    count = len(records)
    batch = {
        "ids": np.full((count, tokens), 248_044, dtype=np.int32),
        "length": np.asarray([len(record.ids) for record in records], dtype=np.int32),
        "state": np.asarray([record.state for record in records], dtype=np.int32),
        "questions": np.zeros((count, questions, 2), dtype=np.int32),
        "kinds": np.zeros((count, questions), dtype=np.int32),
        "options": np.zeros((count, options, 2), dtype=np.int32),
        "owner": np.zeros((count, options), dtype=np.int32),
        "target": np.zeros((count, options), dtype=np.float32),
        "text": np.asarray([record.text for record in records], dtype=np.int32),
        "match": np.full((count, options), -1, dtype=np.int32),
    }
    for place, record in enumerate(records):
        batch["ids"][place, : len(record.ids)] = record.ids
        for name, values in (
            ("questions", record.questions),
            ("kinds", record.kinds),
            ("options", record.options),
            ("owner", record.owner),
            ("target", record.target),
        ):
            batch[name][place, : len(values)] = values
        if record.match is not None:
            batch["match"][place, : len(record.match)] = record.match
    return batch


def twins(rng: random.Random, renderer: Renderer, state: Any, examples: list[Example], row: int) -> list[Rendered]:
    """The record with its questions in two orders; the first knows the place of each of its options in the second."""
    order = rng.sample(range(len(examples)), len(examples))
    if order == sorted(order):
        order.reverse()
    first = renderer(state, examples, text=row)
    second = renderer(state, [examples[place] for place in order], text=row)
    starts = dict(zip(order, np.cumsum([0, *(len(examples[place].options) for place in order)]), strict=False))
    match = [starts[place] + number for place, one in enumerate(examples) for number in range(len(one.options))]
    first.match = np.asarray(match, dtype=np.int32)
    return [first, second]


def unanswered(example: Example, name: str) -> Example:
    """The question without a target: it may only be answered alike wherever it stands."""
    return replace(example, id=name, target=[0.0] * len(example.target))


def batches(
    mixture: Mixture, renderer: Renderer, seed: int, batch_tokens: int, max_tokens: int = 768
) -> Iterator[dict[str, np.ndarray]]:
    """Endless padded batches of batch_tokens tokens; records wait in a bucket of their length until it is full.

    Few distinct shapes keep the allocator of the GPU from asking for memory again and again.
    """
    rng = random.Random(seed)
    buckets: dict[int, list[list[Rendered]]] = defaultdict(list)
    foreign: list[Example] = []
    while True:
        state, examples, row = mixture.draw(rng)
        if not examples:
            continue
        if mixture.written and len(examples) > 1 and rng.random() < TWINS:
            if foreign and len(examples) < MAX_QUESTIONS and rng.random() < FOREIGN:
                others = rng.sample(foreign, min(len(foreign), rng.choice((1, 2))))
                more = [unanswered(other, f"other_{place}") for place, other in enumerate(others)]
                examples = Mixture.distinct(rng.sample([*examples, *more], len(examples) + len(more)))
            unit = twins(rng, renderer, state, examples, row)
        else:
            unit = [renderer(state, examples, text=row)]
        if len(examples[0].options) < 6 and sum(examples[0].target) > 0:
            foreign = [*foreign[-200:], examples[0]]
        tokens = rounded(max(len(record.ids) for record in unit), BUCKET)
        if tokens > max_tokens:
            continue
        buckets[tokens].append(unit)
        if sum(map(len, buckets[tokens])) >= max(1, batch_tokens // tokens):
            yield pad([record for records in buckets.pop(tokens) for record in records])
