"""Records of who did what, to whom, when and where: role swaps, denials, inverse verbs, substitutes and opposites."""

import random
from collections import Counter
from typing import Any

from training.questions import UNSAID, choice, noul
from training.rendering import Example
from training.sources import words as words_of

COMMON = 6  # times a word occurs in WordNet's own definitions and examples
LIVING_OR_MADE = (5, 6, 13, 18, 20)  # WordNet's files of animals, artefacts, food, people and plants
Record = tuple[Any, list[Example]]
# past, base form, and the same event told from the other side
VERBS = (
    ("sold the {t} to", "sell the {t} to", "bought the {t} from"),
    ("lent the {t} to", "lend the {t} to", "borrowed the {t} from"),
    ("gave the {t} to", "give the {t} to", "got the {t} from"),
    ("sent the {t} to", "send the {t} to", "received the {t} from"),
    ("handed the {t} to", "hand the {t} to", "was handed the {t} by"),
    ("showed the {t} to", "show the {t} to", "was shown the {t} by"),
    ("returned the {t} to", "return the {t} to", "got the {t} back from"),
    ("promised the {t} to", "promise the {t} to", "was promised the {t} by"),
    ("rented the {t} to", "rent the {t} to", "rented the {t} from"),
    ("repaired the {t} for", "repair the {t} for", "had the {t} repaired by"),
    ("called", "call", "was called by"),
    ("invited", "invite", "was invited by"),
    ("thanked", "thank", "was thanked by"),
    ("hired", "hire", "was hired by"),
    ("defeated", "defeat", "lost to"),
    ("taught", "teach", "was taught by"),
    ("visited", "visit", "was visited by"),
    ("paid", "pay", "was paid by"),
    ("helped", "help", "was helped by"),
    ("blamed", "blame", "was blamed by"),
    ("interviewed", "interview", "was interviewed by"),
    ("replaced", "replace", "was replaced by"),
)
SOLO = (
    ("signed the {t}", "sign the {t}"),
    ("broke the {t}", "break the {t}"),
    ("cleaned the {t}", "clean the {t}"),
    ("painted the {t}", "paint the {t}"),
    ("lost the {t}", "lose the {t}"),
    ("found the {t}", "find the {t}"),
    ("ordered the {t}", "order the {t}"),
    ("approved the {t}", "approve the {t}"),
    ("deleted the {t}", "delete the {t}"),
    ("opened the {t}", "open the {t}"),
    ("closed the {t}", "close the {t}"),
    ("read the {t}", "read the {t}"),
    ("moved the {t}", "move the {t}"),
    ("tested the {t}", "test the {t}"),
    ("cancelled the {t}", "cancel the {t}"),
    ("forgot the {t}", "forget the {t}"),
)
THINGS = [
    "car",
    "book",
    "ladder",
    "contract",
    "laptop",
    "form",
    "camera",
    "house",
    "letter",
    "bicycle",
    "report",
    "ticket",
    "key",
    "painting",
    "parcel",
    "invoice",
    "tent",
    "guitar",
    "file",
    "printer",
    "boat",
    "watch",
]
DAYS = [
    "on Monday",
    "on Tuesday",
    "on Wednesday",
    "on Thursday",
    "on Friday",
    "on Saturday",
    "on Sunday",
    "yesterday",
    "last week",
    "in March",
    "in 2019",
    "this morning",
    "at noon",
]


class Events:
    """Draws events with people from `words` and substitutions from WordNet."""

    def __init__(self, words: dict[str, list[str]], synsets: list[dict[str, Any]]) -> None:
        self.names = [name.split()[0] for name in words["name"]]
        self.cities = words["city"]
        counts = Counter(
            word for row in synsets for text in (row["gloss"], *row["examples"]) for word in words_of(text)
        )
        self.adjectives = [
            row
            for row in synsets
            if row["pos"] == "adj"
            and row["antonyms"]
            and counts[row["lemmas"][0]] >= COMMON
            and counts[row["antonyms"][0]] >= COMMON
        ]
        self.things = [
            row
            for row in synsets
            if row["pos"] == "noun"
            and row["file"] in LIVING_OR_MADE
            and row["hypernyms"]
            and counts[row["lemmas"][0]] >= COMMON
        ]
        self.siblings: dict[str, list[str]] = {}
        for row in self.things:
            self.siblings.setdefault(row["hypernyms"][0], []).append(row["lemmas"][0])

    def draw(self, rng: random.Random) -> Record:
        return rng.choice((self.exchange, self.exchange, self.several, self.solo, self.quality, self.substitute))(rng)

    def exchange(self, rng: random.Random) -> Record:
        """One event between two people, asked with roles, time, place and verb changed."""
        first, second, third = rng.sample(self.names, 3)
        thing, other = rng.sample(THINGS, 2)
        verb = rng.choice(VERBS)
        past, base, inverse = (form.format(t=thing) for form in verb)
        day, wrong_day = rng.sample(DAYS, 2)
        city, wrong_city = rng.sample(self.cities, 2)
        told = rng.random() < 0.75
        sentence = f"{first} {past} {second}" if told else f"{second} {inverse} {first}"
        state = f"{sentence} {day} in {city}."
        claims = [
            (f"{first} {past} {second}.", 1.0),
            (f"{second} {inverse} {first}.", 1.0),
            (f"Did {first} {base} {second}?", 1.0),
            (f"{second} {past} {first}.", 0.0),
            (f"{first} {inverse} {second}.", 0.0),
            (f"Did {second} {base} {first}?", 0.0),
            (f"{first} {past} {third}.", 0.0),
            (f"{third} {past} {second}.", 0.0),
            (f"{first} did not {base} {second}.", 0.0),
            (f"It happened {day}.", 1.0),
            (f"It happened {wrong_day}.", 0.0),
            (f"This took place in {city}.", 1.0),
            (f"This took place in {wrong_city}.", 0.0),
            (f"Was it in {city}?", 1.0),
            (f"Was it in {wrong_city}?", 0.0),
            (f"{third} was involved.", UNSAID),
        ]
        if "{t}" in verb[0]:
            claims.append((f"{first} {verb[0].format(t=other)} {second}.", 0.0))
            claims.append((f"It was about a {thing}.", 1.0))
            claims.append((f"It was about a {other}.", 0.0))
        examples = [
            noul(rng, claim, true, "event", "event claim") for claim, true in rng.sample(claims, rng.choice((2, 3, 4)))
        ]
        if rng.random() < 0.4:
            who = rng.random() < 0.5
            asked = f"Who {past} {second}?" if who else f"Who {inverse} {first}?"
            gold = first if who else second
            names = rng.sample(
                [
                    first,
                    second,
                    third,
                    *rng.sample([n for n in self.names if n not in (first, second, third)], rng.randint(0, 3)),
                ],
                3,
            )
            names = list(dict.fromkeys([gold, *names]))
            examples.append(
                choice(
                    rng,
                    names,
                    names,
                    [float(name == gold) for name in names],
                    asked,
                    "person",
                    "event who",
                    keep_asked=True,
                )
            )
        return state, examples

    def several(self, rng: random.Random) -> Record:
        """Some did it and some did not."""
        people = rng.sample(self.names, rng.choice((2, 2, 3, 4)))
        thing = rng.choice(THINGS)
        past, base = (form.format(t=thing) for form in rng.choice(SOLO))
        did = [rng.random() < 0.5 for _ in people]
        parts = [f"{name} {past}" if done else f"{name} did not {base}" for name, done in zip(people, did, strict=True)]
        state = rng.choice((", ", "; ", ". ", ", but ")).join(parts) + "."
        if rng.random() < 0.25:
            nobody = rng.random() < 0.5
            did = [not nobody] * len(people)
            state = (
                f"None of them {past}: {', '.join(people)}." if nobody else f"All of them {past}: {', '.join(people)}."
            )
        claims = []
        for name, done in zip(people, did, strict=True):
            claims += [
                (f"{name} {past}.", float(done)),
                (f"{name} did not {base}.", float(not done)),
                (f"Did {name} {base}?", float(done)),
            ]
        claims += [
            (f"Nobody {past}.", float(not any(did))),
            (f"Everyone {past}.", float(all(did))),
            (f"Somebody {past}.", float(any(did))),
        ]
        examples = [
            noul(rng, claim, true, "event", "event claim") for claim, true in rng.sample(claims, rng.choice((2, 3)))
        ]
        if sum(did) == 1 and len(people) > 1:
            gold = people[did.index(True)]
            examples.append(
                choice(
                    rng,
                    people,
                    people,
                    [float(name == gold) for name in people],
                    f"Who {past}?",
                    "person",
                    "event who",
                    keep_asked=True,
                )
            )
        return state, examples

    def solo(self, rng: random.Random) -> Record:
        """Two events in order."""
        first, second = rng.sample(self.names, 2)
        one, two = rng.sample(SOLO, 2)
        thing, other = rng.sample(THINGS, 2)
        a, b = f"{first} {one[0].format(t=thing)}", f"{second} {two[0].format(t=other)}"
        after = rng.random() < 0.5
        state = f"{a}. Later {b}." if after else f"Before {a}, {b}."
        claims = [
            (f"{a}.", 1.0),
            (f"{b}.", 1.0),
            (f"{second} {one[0].format(t=thing)}.", 0.0),
            (f"{first} {two[0].format(t=other)}.", 0.0),
            (f"{first} {one[0].format(t=other)}.", 0.0),
            (f"{a} first.", float(after)),
            (f"{b} after that.", float(after)),
            (f"{first} acted before {second}.", float(after)),
        ]
        return state, [noul(rng, claim, true, "event", "event claim") for claim, true in rng.sample(claims, 3)]

    def quality(self, rng: random.Random) -> Record:
        """A thing has a quality: asked by synonym, opposite and negation."""
        row = rng.choice(self.adjectives)
        word, opposite = row["lemmas"][0], row["antonyms"][0]
        same = rng.choice(row["lemmas"]) if len(row["lemmas"]) > 1 else word
        thing = rng.choice(THINGS) if rng.random() < 0.5 else rng.choice(self.things)["lemmas"][0]
        negated = rng.random() < 0.35
        state = rng.choice(
            ("The {t} is {n}{w}.", "We found that the {t} was {n}{w}.", "Everyone says the {t} is {n}{w}.")
        ).format(t=thing, n="not " if negated else "", w=word)
        claims = [
            (f"The {thing} is {word}.", float(not negated)),
            (f"The {thing} is {same}.", float(not negated)),
            (f"The {thing} is {opposite}.", 0.75 if negated else 0.0),
            (f"The {thing} is not {word}.", float(negated)),
            (f"Is the {thing} {same}?", float(not negated)),
            (f"Is the {thing} {opposite}?", 0.75 if negated else 0.0),
        ]
        if not negated:
            claims.append((f"The {thing} is not {opposite}.", 1.0))
            claims.append((f"It is {row['gloss'].split(';')[0]}.", 1.0))
            claims.append((f"It is {rng.choice(self.adjectives)['gloss'].split(';')[0]}.", 0.06))
        return state, [noul(rng, claim, true, "quality", "quality claim") for claim, true in rng.sample(claims, 2)]

    def substitute(self, rng: random.Random) -> Record:
        """A thing of some kind occurs: asked by its broader kind and by a sibling."""
        row = rng.choice(self.things)
        word, kind = row["lemmas"][0], row["hypernyms"][0]
        others = [other for other in self.siblings.get(kind, []) if other != word]
        far = rng.choice(self.things)
        name = rng.choice(self.names)
        told = rng.choice(
            (
                "{p} saw a {w}",
                "There was a {w} in the yard",
                "{p} wrote about a {w}",
                "A {w} was mentioned",
                "{p} dreamed of a {w}",
            )
        )
        claims = [
            (told.format(p=name, w=kind) + ".", 1.0),
            (told.format(p=name, w=word) + ".", 1.0),
            (told.format(p=name, w=far["lemmas"][0]) + ".", 0.0),
            (told.format(p=name, w=far["hypernyms"][0]) + ".", 0.5 if far["hypernyms"][0] == kind else 0.04),
        ]
        if others:
            claims.append((told.format(p=name, w=rng.choice(others)) + ".", 0.0))
        examples = [noul(rng, claim, true, "thing", "thing claim") for claim, true in rng.sample(claims, 2)]
        return told.format(p=name, w=word) + ".", examples
