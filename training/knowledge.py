"""Questions from WordNet and package descriptions: meanings, kinds, opposites, topics, question types and sections."""

import random
from collections import defaultdict
from typing import Any

from training.questions import choice, noul
from training.rendering import Example

Drawn = tuple[str, list[Example], str]
SECTIONS = {
    "games": "Games and amusements",
    "science": "Scientific work",
    "sound": "Audio and music",
    "video": "Video",
    "web": "Web servers and browsers",
    "mail": "E-mail",
    "editors": "Text editors",
    "database": "Databases",
    "graphics": "Images and graphics",
    "fonts": "Fonts",
    "net": "Networking",
    "admin": "System administration",
    "math": "Mathematics",
    "doc": "Documentation",
    "python": "Python modules",
    "perl": "Perl modules",
    "libs": "Shared libraries",
    "libdevel": "Headers for developers",
    "devel": "Development tools",
    "kde": "KDE desktop",
    "gnome": "GNOME desktop",
    "localization": "Translations",
    "java": "Java libraries",
    "electronics": "Electronics",
    "education": "Teaching and learning",
    "text": "Text processing",
    "utils": "Small utilities",
    "ruby": "Ruby libraries",
    "haskell": "Haskell libraries",
    "javascript": "JavaScript libraries",
    "hamradio": "Amateur radio",
    "rust": "Rust crates",
    "golang": "Go packages",
    "debug": "Debug symbols",
    "metapackages": "Collections of packages",
}
# What a question asks for, by its opening and the kind of noun in it (WordNet's lexicographer files).
ANSWER_TEXTS = {
    "person": ("A person or group", "somebody's name", "who it was"),
    "place": ("A place", "a location such as a city or country", "where it is"),
    "number": ("A number, date or amount", "a quantity", "how much, how many or when"),
    "thing": ("An object, animal, product or work", "a thing", "the name of something"),
    "meaning": ("A description, definition or reason", "an explanation", "why or what it means"),
    "letters": ("What letters stand for", "the full form of an abbreviation", "an acronym spelled out"),
}
NOUN_FILES = {"person": (18,), "place": (15,), "thing": (5, 6, 13, 17, 20), "number": (23, 28)}
FILE_NAMES = {
    4: "an action or activity",
    5: "an animal",
    6: "a man-made object",
    8: "a part of the body",
    10: "something said or written",
    12: "a feeling",
    13: "food or drink",
    14: "a group of people or things",
    15: "a place",
    17: "a natural object",
    18: "a person",
    20: "a plant",
    21: "money or property",
    22: "a process",
    23: "a quantity",
    26: "a state or condition",
    27: "a substance",
    28: "a time",
}
AUXILIARIES = ("was", "is", "did", "does", "has")


class Knowledge:
    """Draws questions from synsets and packages."""

    def __init__(self, synsets: list[dict[str, Any]], packages: list[dict[str, Any]]) -> None:
        self.synsets = [row for row in synsets if row["lemmas"][0].isascii()]
        self.packages = [row for row in packages if row["section"] in SECTIONS]
        self.with_examples = [row for row in self.synsets if row["examples"]]
        self.with_hypernym = [row for row in self.synsets if row["hypernyms"] and row["pos"] == "noun"]
        self.with_antonym = [row for row in self.synsets if row["antonyms"]]
        self.with_topic = [row for row in self.synsets if row["topics"]]
        self.topics = sorted({row["topics"][0] for row in self.with_topic})
        self.by_file: dict[int, list[dict[str, Any]]] = defaultdict(list)
        self.siblings: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in self.synsets:
            if row["pos"] == "noun":
                self.by_file[row["file"]].append(row)
            for hypernym in row["hypernyms"]:
                self.siblings[hypernym].append(row)
        self.nouns_of = {
            kind: [row for file in files for row in self.by_file[file]] for kind, files in NOUN_FILES.items()
        }

    def draw(self, rng: random.Random) -> Drawn:
        maker = rng.choice(
            (
                self.meaning,
                self.kind,
                self.usage,
                self.opposite,
                self.topic,
                self.question_type,
                self.question_type,
                self.package,
            )
        )
        return maker(rng)

    def others(self, rng: random.Random, row: dict[str, Any], count: int) -> list[dict[str, Any]]:
        """Distractors: half of the time siblings under the same hypernym."""
        near = [other for hypernym in row["hypernyms"][:1] for other in self.siblings[hypernym] if other is not row]
        if near and rng.random() < 0.5:
            return rng.sample(near, min(count, len(near)))
        return rng.sample(self.synsets, count)

    def meaning(self, rng: random.Random) -> Drawn:
        """A definition and the word it belongs to, or a word and its definition."""
        row = rng.choice(self.synsets)
        others = self.others(rng, row, rng.choice((1, 2, 3, 5, 9)))
        word = rng.choice(row["lemmas"])
        rows = [row, *others]
        target = [1.0] + [0.0] * len(others)
        if rng.random() < 0.6:
            asked = rng.choice(("Which word is defined?", "What is described here?", "Choose the term for this."))
            names = list(dict.fromkeys(rng.choice(other["lemmas"]) if other is not row else word for other in rows))
            examples = (
                [choice(rng, names, names, target[: len(names)], asked, "word", "meaning")] if len(names) > 1 else []
            )
            other = rng.choice(rows)
            claim = rng.choice(("This describes: {}.", "Is '{}' meant?", "The definition fits the word {}."))
            examples.append(
                noul(rng, claim.format(rng.choice(other["lemmas"])), float(other is row), "word", "meaning claim")
            )
            return row["gloss"], examples, row["gloss"]
        names = [f"meaning {place}" for place in range(len(rows))]
        asked = rng.choice(("What does the word mean?", "Choose the right definition."))
        examples = [choice(rng, names, [other["gloss"] for other in rows], target, asked, "meaning", "meaning")]
        other = rng.choice(rows)
        examples.append(noul(rng, f"It means: {other['gloss']}.", float(other is row), "meaning", "meaning claim"))
        return word, examples, word

    def kind(self, rng: random.Random) -> Drawn:
        """What kind of thing it is, with siblings' kinds and other files as hard wrongs."""
        row = rng.choice(self.with_hypernym)
        word, hypernym = row["lemmas"][0], row["hypernyms"][0]
        wrong = [other["hypernyms"][0] for other in rng.sample(self.with_hypernym, rng.choice((1, 3, 5)))]
        names = list(dict.fromkeys([hypernym, *wrong]))
        text = f"{word}: {row['gloss']}" if rng.random() < 0.6 else row["gloss"]
        examples = []
        if len(names) > 1:
            asked = rng.choice(("What kind of thing is it?", "It is a type of", "Choose the broader term."))
            examples.append(
                choice(
                    rng,
                    names,
                    [f"a kind of {name}" for name in names],
                    [1.0] + [0.0] * (len(names) - 1),
                    asked,
                    "kind",
                    "kind",
                )
            )
        asked_name = rng.choice(names)
        claim = rng.choice(("It is a kind of {}.", "Is this a type of {}?", "This is an example of {}."))
        examples.append(noul(rng, claim.format(asked_name), float(asked_name == hypernym), "kind", "kind claim"))
        if row["file"] in FILE_NAMES:
            file = row["file"] if rng.random() < 0.5 else rng.choice(list(FILE_NAMES))
            examples.append(
                noul(
                    rng,
                    rng.choice(("It is {}.", "Does it describe {}?")).format(FILE_NAMES[file]),
                    float(file == row["file"]),
                    "kind",
                    "kind claim",
                )
            )
        return text, examples, row["gloss"]

    def usage(self, rng: random.Random) -> Drawn:
        """An example sentence and what it is about, by definitions of the word used and of others."""
        row = rng.choice(self.with_examples)
        sentence = rng.choice(row["examples"])
        others = self.others(rng, row, rng.choice((1, 2, 4)))
        names = [f"sense {place}" for place in range(1 + len(others))]
        texts = [row["gloss"], *(other["gloss"] for other in others)]
        asked = rng.choice(
            ("What is the sentence about?", "Which meaning occurs in the sentence?", "Which description fits?")
        )
        examples = [choice(rng, names, texts, [1.0] + [0.0] * len(others), asked, "sense", "usage")]
        other = rng.choice([row, *others])
        claim = rng.choice(("The sentence is about this: {}.", "Does the sentence mention something like this: {}?"))
        examples.append(noul(rng, claim.format(other["gloss"]), float(other is row), "sense", "usage claim"))
        return sentence, examples, sentence

    def opposite(self, rng: random.Random) -> Drawn:
        row = rng.choice(self.with_antonym)
        word, antonym = row["lemmas"][0], row["antonyms"][0]
        same = rng.choice([lemma for lemma in row["lemmas"] if lemma != word] or [row["gloss"]])
        others = [rng.choice(other["lemmas"]) for other in rng.sample(self.with_antonym, rng.choice((0, 1, 3)))]
        names = list(dict.fromkeys([antonym, same, *others]))
        wants_opposite = rng.random() < 0.5
        gold = antonym if wants_opposite else same
        asked = (
            rng.choice(("Choose the opposite.", "Which is the antonym?"))
            if wants_opposite
            else rng.choice(("Which means the same?", "Choose the closest in meaning."))
        )
        claims = (
            (f"It means the opposite of '{antonym}'.", 1.0),
            (f"It means the same as '{antonym}'.", 0.0),
            (f"It means about the same as '{same}'.", 1.0),
            (f"It is the contrary of '{same}'.", 0.0),
        )
        claim, true = rng.choice(claims)
        examples = [
            choice(
                rng, names, names, [float(name == gold) for name in names], asked, "word", "opposite", keep_asked=True
            ),
            noul(rng, claim, true, "word", "opposite claim"),
        ]
        return word, examples, word

    def topic(self, rng: random.Random) -> Drawn:
        row = rng.choice(self.with_topic)
        gold = row["topics"][0]
        names = list(dict.fromkeys([gold, *rng.sample(self.topics, rng.choice((1, 3, 5, 9)))]))
        text = f"{row['lemmas'][0]}: {row['gloss']}" if rng.random() < 0.7 else row["gloss"]
        asked = rng.choice(("Which field does it belong to?", "What is the subject area?", "What is the topic?"))
        claimed = rng.choice(names)
        examples = [
            choice(
                rng,
                names,
                [f"The field of {name}" for name in names],
                [float(name == gold) for name in names],
                asked,
                "field",
                "field",
            ),
            noul(
                rng,
                rng.choice(("It belongs to {}.", "Is this about {}?", "The topic is {}.")).format(claimed),
                float(claimed == gold),
                "field",
                "field claim",
            ),
        ]
        return text, examples, row["gloss"]

    def question_type(self, rng: random.Random) -> Drawn:
        """A question made of WordNet nouns, and what would answer it."""
        gold = rng.choice(list(ANSWER_TEXTS))
        text = self.ask(rng, gold)
        others = rng.sample([kind for kind in ANSWER_TEXTS if kind != gold], rng.choice((1, 2, 3, 5, 5)))
        names = [gold, *others]
        texts = [rng.choice(ANSWER_TEXTS[name]) for name in names]
        asked = rng.choice(
            (
                "What would answer this question?",
                "What kind of answer is expected?",
                "Which type of answer fits?",
                "The question asks for",
            )
        )
        claimed = rng.choice(names)
        claim = rng.choice(("The answer is {}.", "Does the question ask for {}?", "Expected answer: {}")).format(
            rng.choice(ANSWER_TEXTS[claimed]).lower()
        )
        examples = [
            choice(rng, names, texts, [1.0] + [0.0] * len(others), asked, "answer", "question type"),
            noul(rng, claim, float(claimed == gold), "answer", "question type claim"),
        ]
        return text, examples, text

    def ask(self, rng: random.Random, kind: str) -> str:
        def noun(*kinds: str) -> str:
            return rng.choice(rng.choice(self.nouns_of[rng.choice(kinds)])["lemmas"])

        thing, person, place = noun("thing"), noun("person"), noun("place")
        gloss = rng.choice(self.nouns_of["thing"])["gloss"].split(";")[0]
        verb = rng.choice(
            ("invented", "wrote", "discovered", "founded", "won", "painted", "led", "built", "owns", "directed")
        )
        letters = "".join(rng.choices("ABCDEFGHILMNOPRSTU", k=rng.choice((2, 3, 3, 4))))
        forms = {
            "person": (
                f"Who {verb} the {thing}?",
                f"Which {person} {verb} the first {thing}?",
                f"What {person} lived in {place}?",
                f"Who was the {person} of {place}?",
                f"What company makes {thing}s?",
                f"Whose {thing} was it?",
            ),
            "place": (
                f"Where is {place}?",
                f"What country has the most {thing}s?",
                f"Where did the {person} live?",
                f"What city hosted the {person}s?",
                f"In which state is the {place}?",
                f"Where can I find a {thing}?",
            ),
            "number": (
                f"How many {thing}s are there in {place}?",
                f"When did the {person} die?",
                f"What year was the {thing} {verb}?",
                f"How much does a {thing} cost?",
                f"How far is it to {place}?",
                f"What is the population of {place}?",
                f"How old is the {person}?",
                f"What date is the {person}'s birthday?",
            ),
            "thing": (
                f"What {thing} did the {person} use?",
                f"What is the name of the {thing}?",
                f"Name a {thing} found in {place}.",
                f"What kind of {thing} eats {noun('thing')}?",
                f"Which book was written by the {person}?",
                f"What is {gloss} called?",
                f"What color is a {thing}?",
            ),
            "meaning": (
                f"What is a {thing}?",
                f"Why do {person}s like {thing}s?",
                f"How does a {thing} work?",
                f"What does {thing} mean?",
                f"What is the difference between a {thing} and a {noun('thing')}?",
                f"Who is the {person}?" if rng.random() < 0.1 else f"What causes a {thing}?",
                f"Define {thing}.",
                f"How do you make a {thing}?",
            ),
            "letters": (
                f"What does {letters} stand for?",
                f"What is the abbreviation for {thing}?",
                f"What does the acronym {letters} mean?",
                f"{letters} is short for what?",
                f"What is the full form of {letters}?",
            ),
        }
        text = rng.choice(forms[kind])
        return text.replace("?", " ?") if rng.random() < 0.3 else text

    def package(self, rng: random.Random) -> Drawn:
        row = rng.choice(self.packages)
        gold = row["section"]
        names = [gold, *rng.sample([name for name in SECTIONS if name != gold], rng.choice((1, 3, 5, 9, 15)))]
        texts = [SECTIONS[name] for name in names]
        asked = rng.choice(
            ("Which section does the program belong to?", "What kind of software is it?", "Choose the category.")
        )
        claimed = rng.choice(names[:4])
        examples = [
            choice(rng, names, texts, [1.0] + [0.0] * (len(names) - 1), asked, "section", "package"),
            noul(
                rng,
                rng.choice(("It belongs to: {}.", "Is this software for {}?")).format(SECTIONS[claimed].lower()),
                float(claimed == gold),
                "section",
                "package claim",
            ),
        ]
        text = row["text"] if rng.random() < 0.5 else f"{row['name']}: {row['text']}"
        return text, examples, row["text"]
