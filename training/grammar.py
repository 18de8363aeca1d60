"""Reads the hand-written grammars: facts stated or denied, ladders, topics, tools, messages, record fields.

Every eighth fact of facts.txt, domain, topic and tool and two ladders are kept out of training; `held_out=True` reads
only those.
"""

import random
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "grammar"
HELD_OUT_STEP = 8
HELD_OUT_LADDERS = ("pain_level", "interest")


@dataclass(slots=True)
class Fact:
    """A fact: sentences that state it and that deny it, questions about it, statements of its opposite."""

    name: str
    stated: list[str] = field(default_factory=list)
    denied: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    opposite: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Ladder:
    """An ordinal scale: what is asked, and for each level its wordings and sentences at that level."""

    name: str
    asked: list[str] = field(default_factory=list)
    wordings: list[list[str]] = field(default_factory=list)
    sentences: list[list[str]] = field(default_factory=list)


@dataclass(slots=True)
class Topic:
    """A label with descriptions and texts that belong to it; `unwanted` marks scams and advertising among messages."""

    name: str
    descriptions: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    unwanted: bool = True


@dataclass(slots=True)
class Domain:
    """A kind of structured record: field names with their type, `bool`, `int LOW HIGH`, a word list or values by |."""

    name: str
    fields: dict[str, str] = field(default_factory=dict)


def blocks(name: str) -> list[tuple[str, list[str]]]:
    """Headline and lines of each block; a headline starts with '= ' or '+ ' at a block's begin."""
    found: list[tuple[str, list[str]]] = []
    for line in (FOLDER / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("= ") or (name == "messages.txt" and line.startswith("+ ")):
            found.append((line, []))
        elif line.strip():
            found[-1][1].append(line)
    return found


def kept(place: int, held_out: bool) -> bool:
    return (place % HELD_OUT_STEP == HELD_OUT_STEP - 1) == held_out


def read_facts(held_out: bool = False) -> list[Fact]:
    facts = []
    for name in ("facts.txt", "facts_more.txt"):
        if name == "facts_more.txt" and held_out:
            continue
        for place, (headline, lines) in enumerate(blocks(name)):
            fact = Fact(headline[2:].strip())
            kinds = {"+": fact.stated, "-": fact.denied, "?": fact.asked, "!": fact.opposite}
            for line in lines:
                kinds[line[0]].append(line[2:].strip())
            if name == "facts_more.txt" or kept(place, held_out):
                facts.append(fact)
    return facts


def read_ladders(held_out: bool = False) -> list[Ladder]:
    ladders = []
    for headline, lines in blocks("ladders.txt"):
        ladder = Ladder(headline[2:].strip())
        for line in lines:
            text = line[2:].strip()
            if line[0] == "@":
                ladder.asked.append(text)
            elif line[0] == "#":
                ladder.wordings.append([wording.strip() for wording in text.split("|")])
                ladder.sentences.append([])
            else:
                ladder.sentences[-1].append(text)
        if (ladder.name in HELD_OUT_LADDERS) == held_out:
            ladders.append(ladder)
    return ladders


def read_topics(name: str, held_out: bool | None = False) -> list[Topic]:
    """Topics of topics.txt, tools.txt or messages.txt; None reads all."""
    topics = []
    for place, (headline, lines) in enumerate(blocks(name)):
        label, *descriptions = [part.strip() for part in headline[2:].split("|")]
        topic = Topic(label, descriptions, [line[2:].strip() for line in lines], unwanted=headline.startswith("="))
        if held_out is None or kept(place, held_out):
            topics.append(topic)
    return topics


def read_domains(held_out: bool = False) -> list[Domain]:
    domains = []
    for place, (headline, lines) in enumerate(blocks("domains.txt")):
        fields = dict(line.split(": ", 1) for line in lines)
        if kept(place, held_out):
            domains.append(Domain(headline[2:].strip(), fields))
    return domains


def read_words() -> dict[str, list[str]]:
    lines = (FOLDER / "words.txt").read_text(encoding="utf-8").splitlines()
    return {name: values.split("|") for name, values in (line.split(": ", 1) for line in lines)}


class Slots:
    """Fills {name}, {money}, {link} and the like with random values."""

    def __init__(self, words: dict[str, list[str]]) -> None:
        self.words = words

    def __call__(self, text: str, rng: random.Random) -> str:
        while "{" in text:
            slot = text[text.index("{") + 1 : text.index("}")]
            text = text.replace("{" + slot + "}", self.value(slot, rng), 1)
        return text

    def value(self, slot: str, rng: random.Random) -> str:
        if slot == "time":
            return f"{rng.randint(7, 20)}:{rng.choice(('00', '15', '30', '45'))}"
        if slot == "code":
            return str(rng.randint(1000, 999_999))
        if slot == "day":
            return rng.choice(self.words["weekday"])
        if slot == "money":
            return rng.choice(self.words["money_word"])
        return rng.choice(self.words[slot])
