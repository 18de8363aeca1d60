"""Short reviews of our own making, graded in five steps: adjectives and remarks in the register of critics."""

import random
from typing import Any

from training.grammar import FOLDER

WORKS = {
    "film": ("acting", "script", "plot", "direction", "ending", "dialogue", "cast", "music", "camera work", "pacing"),
    "movie": ("story", "performances", "premise", "humour", "editing", "lead actor", "final act", "romance"),
    "drama": ("screenplay", "central performance", "atmosphere", "tone", "dialogue"),
    "comedy": ("jokes", "timing", "supporting cast", "slapstick", "script"),
    "thriller": ("suspense", "twist", "villain", "opening", "chase"),
    "documentary": ("narration", "interviews", "footage", "argument"),
    "novel": ("prose", "heroine", "plot", "final chapter", "translation"),
    "album": ("singing", "lyrics", "production", "second half"),
    "restaurant": ("food", "service", "dessert", "wine list", "atmosphere"),
    "hotel": ("room", "breakfast", "staff", "view", "bed"),
    "game": ("controls", "graphics", "story", "sound", "level design"),
    "phone": ("screen", "battery", "camera", "design"),
}
# Of the emotions named in comments, from -4 to 4.
EMOTION_VALENCE = {
    "joy": 2.6,
    "love": 2.8,
    "admiration": 2.3,
    "excitement": 2.3,
    "gratitude": 2.2,
    "pride": 2.0,
    "amusement": 1.6,
    "relief": 1.3,
    "optimism": 1.3,
    "approval": 1.2,
    "caring": 1.2,
    "neutral": 0.0,
    "anger": -2.4,
    "disgust": -2.6,
    "grief": -2.6,
    "sadness": -2.0,
    "annoyance": -1.6,
    "disappointment": -1.7,
    "disapproval": -1.4,
    "fear": -1.6,
    "remorse": -1.4,
    "embarrassment": -1.2,
    "nervousness": -1.0,
}
PLURAL = ("performances", "jokes", "interviews", "lyrics", "controls", "graphics", "staff")


class Opinions:
    """Draws a text and its level, 0 to 4, as a valence from -4 to 4."""

    def __init__(self) -> None:
        self.words: dict[int, list[str]] = {}
        self.remarks: dict[int, list[str]] = {}
        for line in (FOLDER / "opinions.txt").read_text(encoding="utf-8").splitlines():
            mark, _, texts = line.partition(" ")
            (self.words if mark[1] == ":" else self.remarks)[int(mark[0])] = texts.split("|")
        self.simple = {level: [word for word in words if " " not in word] for level, words in self.words.items()}

    def draw(self, rng: random.Random) -> tuple[str, float]:
        level = rng.randint(1, 5)
        work = (
            rng.choice(list(WORKS)) if rng.random() < 0.45 else rng.choice(("film", "movie", "film", "drama", "comedy"))
        )
        style = rng.random()
        if style < 0.25:
            text: Any = rng.choice(self.remarks[level])
            mean = float(level)
            if rng.random() < 0.4:
                other = min(5, max(1, level + rng.choice((-1, 0, 0, 1))))
                text, mean = f"{self.sentence(rng, work, other)} {text}", (level + other) / 2
        elif style < 0.45:
            other = rng.randint(1, 5)
            text, mean = self.contrast(rng, work, other, level), 0.3 * other + 0.7 * level
        elif style < 0.55 and level in (2, 4):
            text, mean = self.negated(rng, work, level), 6 - level + (0.3 if level == 4 else -0.4)
        elif style < 0.75:
            other = min(5, max(1, level + rng.choice((-1, 0, 0, 1))))
            parts = [self.sentence(rng, work, level), self.sentence(rng, work, other)]
            text, mean = " ".join(parts), (level + other) / 2
        else:
            text, mean = self.sentence(rng, work, level), float(level)
        if rng.random() < 0.3:
            text = text.lower().replace(", ", " , ").replace(".", " .").strip()
        return text, (mean - 3) * 1.15

    def sentence(self, rng: random.Random, work: str, level: int) -> str:
        word, simple = rng.choice(self.words[level]), rng.choice(self.simple[level])
        second = rng.choice(self.simple[level])
        aspect = rng.choice(WORKS[work])
        verb = "are" if aspect in PLURAL else "is"
        article = "An" if simple[0] in "aeiou" else "A"
        return rng.choice(
            (
                f"{article} {simple} {work}.",
                f"{article} {simple}, {second} {work}.",
                f"{article} {simple} {work} with {('a ' if aspect not in PLURAL else '')}{second} {aspect}.",
                f"The {aspect} {verb} {word}.",
                f"The {work} is {word}.",
                f"What {'an' if simple[0] in 'aeiou' else 'a'} {simple} {work}!",
                f"I found the {aspect} {simple} and {second}.",
                f"From start to finish, this {work} is {word}.",
                f"{simple.capitalize()} and {second}, above all the {aspect}.",
            )
        )

    def contrast(self, rng: random.Random, work: str, first: int, last: int) -> str:
        """Two judgements, the second of which counts more."""
        one, two = rng.sample(WORKS[work], 2)
        are = ["are" if aspect in PLURAL else "is" for aspect in (one, two)]
        words = [rng.choice(self.words[level]) for level in (first, last)]
        return rng.choice(
            (
                f"The {one} {are[0]} {words[0]}, but the {work} as a whole is {words[1]}.",
                f"Although the {one} {are[0]} {words[0]}, the {work} is {words[1]}.",
                f"The {work} is {words[1]}, even if the {one} {are[0]} {words[0]}.",
                f"Never mind that the {one} {are[0]} {words[0]}: overall it is {words[1]}.",
                f"The {one} {are[0]} {words[0]} while the {two} {are[1]} {words[1]}, and that decides it.",
            )
        )

    def negated(self, rng: random.Random, work: str, level: int) -> str:
        word = rng.choice(self.simple[level])
        return rng.choice(
            (
                f"The {work} is not {word} at all.",
                f"It is anything but {word}.",
                f"This {work} is never {word}.",
                f"Nothing about the {work} is {word}.",
                f"Far from {word}.",
                f"I would not call it {word}.",
            )
        )
