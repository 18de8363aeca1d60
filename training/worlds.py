"""Records from the hand-written grammars: facts stated or denied, ladders, topics, tools, messages."""

import random
from typing import Any

from training import grammar
from training.grammar import Fact, Ladder, Slots, Topic
from training.questions import UNSAID, around, choice, noul, score
from training.rendering import Example

Record = tuple[Any, list[Example]]
NONE_NAMES = ("none of these", "other", "none", "something else", "not listed", "unclear")
NONE_TEXTS = (
    "None of the other options fits",
    "Anything else",
    "No option applies",
    "The text is about something else",
)
MESSAGE_CLAIMS = (
    ("This is spam or a scam.", "unwanted"),
    ("Is this an unwanted advertisement or fraud?", "unwanted"),
    ("Should this message be filtered out as junk?", "unwanted"),
    ("Is this a mass mailing nobody asked for?", "unwanted"),
    ("Unsolicited bulk message", "unwanted"),
    ("The message is trustworthy.", "wanted"),
    ("Is it an ordinary, legitimate message?", "wanted"),
    ("This is a normal personal or business message.", "wanted"),
    ("It is safe to do what the message asks.", "wanted"),
    ("This is a phishing attempt or another fraud.", "fraud"),
    ("The sender tries to trick the reader.", "fraud"),
    ("Is somebody trying to get money or data dishonestly?", "fraud"),
)
GREETINGS = (
    "Hello,",
    "Hi team,",
    "Dear Sir or Madam,",
    "Good morning,",
    "Hi there",
    "To whom it may concern,",
    "Hey,",
    "",
)
CLOSINGS = (
    "Kind regards,",
    "Best wishes",
    "Thanks in advance,",
    "Cheers",
    "Sincerely,",
    "Looking forward to your reply.",
    "",
)
OPINION = ("About this matter: ", "Note: ", "Update: ", "", "", "", "", "")


class Worlds:
    """Draws records from the grammars; `held_out` uses only the parts kept out of training."""

    def __init__(self, held_out: bool = False) -> None:
        self.facts = grammar.read_facts(held_out)
        self.ladders = grammar.read_ladders(held_out)
        self.topics = grammar.read_topics("topics.txt", held_out)
        self.tools = grammar.read_topics("tools.txt", held_out)
        self.messages = grammar.read_topics("messages.txt", None)
        self.words = grammar.read_words()
        self.slots = Slots(self.words)

    def fact_record(self, rng: random.Random) -> Record:
        """A few facts stated or denied among each other, and propositions that are true, hard-false or unsaid."""
        facts = rng.sample(self.facts, min(rng.choice((1, 1, 2, 2, 3, 4, 5)), len(self.facts)))
        values = [rng.random() < 0.55 for _ in facts]
        sentences = [
            rng.choice(fact.stated if value else fact.denied) for fact, value in zip(facts, values, strict=True)
        ]
        if rng.random() < 0.25:
            topic = rng.choice(self.topics)
            sentences.insert(rng.randint(0, len(sentences)), rng.choice(topic.texts))
        state = self.wrap_sentences(rng, sentences)
        examples = []
        for _ in range(rng.choice((1, 2, 2, 3, 4))):
            place = rng.randrange(len(facts))
            examples.append(self.fact_question(rng, facts[place], values[place]))
        if rng.random() < 0.5:
            absent = rng.choice(self.facts)
            if absent not in facts:
                examples.append(noul(rng, rng.choice(absent.asked), UNSAID, absent.name, "fact unsaid"))
        if len(facts) == 1 and rng.random() < 0.5:
            examples.append(self.fact_choice(rng, facts[0], values[0]))
        rng.shuffle(examples)
        return state, examples

    def fact_question(self, rng: random.Random, fact: Fact, value: bool) -> Example:
        style = rng.random()
        if style < 0.6 or not fact.opposite:
            return noul(rng, rng.choice(fact.asked), float(value), fact.name, "fact")
        if style < 0.85:
            return noul(rng, rng.choice(fact.opposite), float(not value), fact.name, "fact opposite")
        said = rng.choice(fact.stated if rng.random() < 0.5 else fact.denied)
        agrees = (said in fact.stated) == value
        ask = rng.choice(
            ('The text agrees with: "{}"', 'Does the state mean the same as "{}"?', 'Is this consistent with "{}"?')
        )
        return noul(rng, ask.format(said), float(agrees), fact.name, "fact paraphrase")

    def fact_choice(self, rng: random.Random, fact: Fact, value: bool) -> Example:
        """Which of several statements follows."""
        true = [fact.asked[0] if value else fact.opposite[0]]
        wrong = [fact.opposite[0] if value else fact.asked[0]]
        others = [other for other in rng.sample(self.facts, min(4, len(self.facts))) if other is not fact]
        wrong += [rng.choice((other.asked[0], other.opposite[0])) for other in others[: rng.randint(0, 3)]]
        statements = true + wrong
        names = [f"statement {place}" for place in range(len(statements))]
        asked = rng.choice(
            ("Which statement follows from the state?", "Which of these is true?", "What does the text say?")
        )
        return choice(
            rng, names, statements, [1.0] + [0.0] * len(wrong), asked, "statement", "fact choice", keep_asked=True
        )

    def wrap_sentences(self, rng: random.Random, sentences: list[str]) -> Any:
        style = rng.random()
        if style < 0.45:
            return rng.choice(OPINION) + " ".join(sentences)
        if style < 0.62:
            opening, closing = rng.choice(GREETINGS), rng.choice(CLOSINGS)
            sign = rng.choice(self.words["name"]) if rng.random() < 0.5 else ""
            return "\n".join(part for part in (opening, " ".join(sentences), closing, sign) if part)
        if style < 0.7:
            return "\n".join(f"- {sentence}" for sentence in sentences)
        if style < 0.8:
            return {
                "messages": [{"role": rng.choice(("user", "customer", "agent")), "content": text} for text in sentences]
            }
        key = rng.choice(("text", "message", "body", "note", "comment", "description", "content", "transcript"))
        return {key: " ".join(sentences), **self.clutter(rng)}

    def clutter(self, rng: random.Random) -> dict[str, Any]:
        """Some fields that have nothing to do with the matter."""
        fields = {
            "id": rng.randint(1, 99_999),
            "channel": rng.choice(("email", "chat", "phone", "web")),
            "received": f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
            "author": rng.choice(self.words["name"]),
            "lang": "en",
            "source": rng.choice(("crm", "app", "import")),
        }
        return dict(rng.sample(list(fields.items()), rng.randint(0, 4)))

    def ladder_record(self, rng: random.Random) -> Record:
        """A text at one level of a scale, asked as a score, as a choice of levels and as propositions."""
        ladder = rng.choice(self.ladders)
        level = rng.randrange(len(ladder.sentences))
        sentences = rng.sample(ladder.sentences[level], min(rng.choice((1, 1, 2)), len(ladder.sentences[level])))
        examples = [self.ladder_question(rng, ladder, level)]
        if rng.random() < 0.4:
            examples.append(self.ladder_choice(rng, ladder, level))
        for _ in range(rng.choice((0, 1, 1, 2))):
            examples.append(self.ladder_claim(rng, ladder, level))
        rng.shuffle(examples)
        return self.wrap_sentences(rng, sentences), examples

    def ladder_question(self, rng: random.Random, ladder: Ladder, level: int) -> Example:
        top = len(ladder.wordings) - 1
        if rng.random() < 0.35:
            count = rng.choice((2, 3, 3, 4, 6, 7, 10))
            levels: list[Any] = [None] * count
            for place in range(count):
                near = round(place * top / (count - 1))
                exact = abs(near - place * top / (count - 1)) < 0.2
                levels[place] = rng.choice(ladder.wordings[near]) if exact or place in (0, count - 1) else None
            levels = [text or f"level {place} of {count - 1}" for place, text in enumerate(levels)]
            return score(
                rng,
                levels,
                around(level * (count - 1) / top, count, 0.6),
                rng.choice(ladder.asked),
                ladder.name,
                "ladder",
            )
        wording = rng.random()
        levels = [wordings[0] if wording < 0.5 else rng.choice(wordings) for wordings in ladder.wordings]
        if wording > 0.85:
            levels = [", ".join(wordings) for wordings in ladder.wordings]
        return score(rng, levels, around(level, top + 1), rng.choice(ladder.asked), ladder.name, "ladder")

    def ladder_choice(self, rng: random.Random, ladder: Ladder, level: int) -> Example:
        names = [wordings[0] for wordings in ladder.wordings]
        texts = [rng.choice(wordings) for wordings in ladder.wordings]
        target = around(level, len(names))
        return choice(rng, names, texts, target, rng.choice(ladder.asked), ladder.name, "ladder choice")

    def ladder_claim(self, rng: random.Random, ladder: Ladder, level: int) -> Example:
        asked = rng.randrange(len(ladder.wordings))
        wording = rng.choice(ladder.wordings[asked])
        subject = ladder.name.replace("_", " ")
        top = len(ladder.wordings) - 1
        style = rng.random()
        if style < 0.5:
            claim = rng.choice(("The {s} is: {w}.", "Would you describe the {s} as '{w}'?", "{w}", "Is the {s} '{w}'?"))
            true = max(0.0, 1 - 0.5 * abs(asked - level)) if abs(asked - level) != 1 else 0.3
            return noul(rng, claim.format(s=subject, w=wording), true, ladder.name, "ladder claim")
        high = style < 0.75
        claim = rng.choice(("The {s} is {d}.", "Is the {s} {d}?", "This shows {d} {s}.")).format(
            s=subject, d="high" if high else "low"
        )
        position = level / top
        return noul(rng, claim, position if high else 1 - position, ladder.name, "ladder claim")

    def topic_record(self, rng: random.Random) -> Record:
        """A text of one topic or a request for one tool: routing, none-of-these and propositions."""
        tools = rng.random() < 0.3
        pool = self.tools if tools else self.topics
        gold = rng.choice(pool)
        text = rng.choice(gold.texts)
        examples = [self.topic_choice(rng, pool, gold, tools)]
        for _ in range(rng.choice((1, 1, 2, 3))):
            asked = gold if rng.random() < 0.5 else rng.choice(pool)
            examples.append(self.topic_claim(rng, asked, asked is gold, tools))
        rng.shuffle(examples)
        return self.wrap_sentences(rng, [text]), examples

    def topic_choice(self, rng: random.Random, pool: list[Topic], gold: Topic, tools: bool) -> Example:
        count = min(rng.choice((2, 3, 4, 5, 6, 8, 12, 20)), len(pool))
        others = [topic for topic in rng.sample(pool, count) if topic is not gold][: count - 1]
        missing = rng.random() < 0.12
        shown = others if missing and others else [gold, *others]
        target = [float(topic is gold) for topic in shown]
        texts = [self.topic_description(rng, topic) for topic in shown]
        names = [topic.name for topic in shown]
        if missing or rng.random() < 0.15:
            names.append(rng.choice(NONE_NAMES))
            texts.append(rng.choice(NONE_TEXTS))
            target.append(float(gold not in shown))
        if len(names) < 2:
            names.append("other")
            texts.append("Anything else")
            target.append(0.0)
        asked = (
            rng.choice(
                (
                    "Which tool should be called?",
                    "Pick the tool for this request.",
                    "What should the assistant do next?",
                )
            )
            if tools
            else rng.choice(
                ("Where should this be routed?", "What is the topic?", "Which team handles this?", "What is it about?")
            )
        )
        return choice(rng, names, texts, target, asked, "tool" if tools else "topic", "topic choice")

    @staticmethod
    def topic_description(rng: random.Random, topic: Topic) -> str:
        style = rng.random()
        if style < 0.6 and topic.descriptions:
            return rng.choice(topic.descriptions)
        if style < 0.75:
            return f"Anything about {topic.name.replace('_', ' ')}"
        if style < 0.85 and topic.descriptions:
            return f"{topic.name.replace('_', ' ')}: {rng.choice(topic.descriptions).lower()}"
        return f"such as: {rng.choice(topic.texts)}"

    @staticmethod
    def topic_claim(rng: random.Random, topic: Topic, true: bool, tools: bool) -> Example:
        phrase = rng.choice([topic.name.replace("_", " "), *topic.descriptions]).lower()
        forms = (
            ("The right tool is: {}.", "Should the assistant use a tool for this: {}?", "The user wants this: {}.")
            if tools
            else (
                "This is about {}.",
                "Does the text concern {}?",
                "The topic is {}.",
                "Is it a matter of {}?",
                "The message belongs to: {}.",
            )
        )
        return noul(rng, rng.choice(forms).format(phrase), float(true), "topic", "topic claim")

    def message_record(self, rng: random.Random) -> Record:
        """A scam, advertising or ordinary message."""
        unwanted = rng.random() < 0.5
        gold = rng.choice([topic for topic in self.messages if topic.unwanted == unwanted])
        text = self.slots(rng.choice(gold.texts), rng)
        if rng.random() < 0.2:
            text = text.upper() if unwanted and rng.random() < 0.5 else text.lower()
        if rng.random() < 0.25 and not unwanted:
            other = self.slots(rng.choice(gold.texts), rng)
            text = f"{text} {other}"
        examples = []
        for claim, holds_for in rng.sample(MESSAGE_CLAIMS, rng.choice((1, 1, 2, 3))):
            holds = {"unwanted": unwanted, "wanted": not unwanted, "fraud": unwanted and is_fraud(gold)}[holds_for]
            examples.append(noul(rng, claim, float(holds), "spam", "message claim"))
        if rng.random() < 0.5:
            pool = rng.sample(self.messages, rng.randint(2, 8))
            shown = [gold, *(topic for topic in pool if topic is not gold)]
            asked = rng.choice(("What kind of message is this?", "Classify the message.", "Which type fits?"))
            texts = [f"A message of the type {topic.name}" for topic in shown]
            examples.append(
                choice(
                    rng,
                    [topic.name for topic in shown],
                    texts,
                    [float(topic is gold) for topic in shown],
                    asked,
                    "message type",
                    "message choice",
                )
            )
        if rng.random() < 0.4:
            names = rng.choice(
                (
                    ("spam", "ham"),
                    ("unwanted", "wanted"),
                    ("scam", "legitimate"),
                    ("junk", "normal"),
                    ("block", "allow"),
                )
            )
            texts = ("Advertising, fraud or phishing", "An ordinary message between people or from a service")
            examples.append(
                choice(rng, names, texts, [float(unwanted), float(not unwanted)], None, "filter", "message filter")
            )
        rng.shuffle(examples)
        return self.wrap_sentences(rng, [text]), examples


def is_fraud(topic: Topic) -> bool:
    return any(word in topic.name for word in ("scam", "phishing", "fraud", "fee", "trap"))
