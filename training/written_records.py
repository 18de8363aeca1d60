"""Draws records of the hand-written states: other names and wrapping, sentences around, claims turned into choices."""

import random
import re
from typing import Any

from training.questions import around, choice, noul, question_id, score
from training.rendering import Example
from training.written import Names, Pick, Written

LETTERS = "abcdefghijkl"
DOUBT = 0.04  # left on what the text states
SWAP = 0.5  # share of records whose people get other names
NOT_SO = (
    "It is not true that {}",
    "It is false that {}",
    "It is not the case that {}",
    "Is it wrong to say that {}",
)
NOT_QUOTED = (
    'The following is false: "{}"',
    'Is this statement wrong? "{}"',
    'The text contradicts this: "{}"',
    "False: {}",
)
QUOTED = ('The text supports this: "{}"', 'Does the state agree with "{}"?', "True: {}", "It holds that: {}")
TRUE_ASKS = (
    "Which statement is true?",
    "Which of these follows from the text?",
    "What does the state say?",
    "Pick the statement that holds.",
    "Choose the correct claim.",
)
FALSE_ASKS = ("Which statement is false?", "Which of these is wrong?", "Pick the claim that does not hold.")
# Words that begin a claim and are no names, so that they can lose their capital inside a sentence.
OPENERS = re.compile(
    "The|An?|This|That|These|Those|It|He|She|They|There|Nobody|Somebody|Someone|Everybody|Everyone|All|No|None|Some|At"
    "|Both|Neither|Only|More|Fewer|Less|Most|Two|Three|Four|Five|Six|Seven|Eight|Nine|Ten|Half|One|Anyone|Nothing|His"
    "|Something|Everything|Her|Its|Their|Not|Every|Each|Several|Many|Few|Because|After|Before|By"
)
FILLERS_BEFORE = (
    "Hi,",
    "Hello there!",
    "Hey :)",
    "Good evening,",
    "Dear all,",
    "Just a quick note.",
    "Hope this finds you well.",
    "Quick update:",
    "FYI:",
    "As promised, here it is.",
    "Sorry, I'm typing this on my phone.",
    "So, here goes.",
    "Okay.",
    "See below.",
    "Copied from my notes:",
    "Right, then.",
)
FILLERS_AFTER = (
    "That's all for now.",
    "More later.",
    "Talk soon.",
    "Bye!",
    "Best,",
    "Regards",
    "Take care.",
    "End of note.",
    "(sent from my phone)",
    "Anyway.",
    "That's it.",
    "Cheers.",
    "-- end --",
    "So much for that.",
)
# A claim with one of these words speaks of the whole text or of anybody, so nothing may stand around its sentence.
WHOLE = re.compile(
    r"\b(text|message|writer|author|sender|speaker|note|any\w*|some\w*|no one|nobody|nothing|none|every\w*|only|all"
    r"|there|people|person|mail|letter|this|reader|customer|mentions?|says|tone|review|post|reviewer|user|client|who|he"
    r"|she|they|it|his|her|their)\b",
    re.IGNORECASE,
)
KEYS = ("text", "message", "body", "note", "comment", "content", "description", "entry", "transcript", "summary")


class WrittenRecords:
    """Endless records of the given states, all states once before any comes again."""

    def __init__(self, items: list[Written]) -> None:
        self.items = items
        self.names = Names()
        self.order: list[int] = []

    def draw(self, rng: random.Random) -> tuple[Any, list[Example]]:
        if not self.order:
            self.order = rng.sample(range(len(self.items)), len(self.items))
        item = self.items[self.order.pop()]
        if rng.random() < SWAP:
            item = self.renamed(rng, item)
        return self.state(rng, item), self.questions(rng, item)

    def renamed(self, rng: random.Random, item: Written) -> Written:
        """The same with other people in it."""
        texts = [item.state, *(claim for claim, _ in item.claims)]
        for pick in item.picks:
            texts += [pick.asked, *(part for option in pick.options for part in option)]
        for scale in item.scales:
            texts += [scale.asked, *scale.levels]
        swapped = iter(self.names.swap(rng, "\x1f".join(texts)).split("\x1f"))
        new = Written(item.domain, next(swapped))
        new.claims = [(next(swapped), true) for _, true in item.claims]
        for pick in item.picks:
            new.picks.append(Pick(next(swapped), [], pick.right))
            new.picks[-1].options = [(next(swapped), next(swapped)) for _ in pick.options]
        new.scales = [type(s)(next(swapped), [next(swapped) for _ in s.levels], s.right) for s in item.scales]
        return new

    def state(self, rng: random.Random, item: Written) -> Any:
        value = item.value
        style = rng.random()
        if not isinstance(value, str):
            if style < 0.2:
                return item.state
            if style < 0.35:
                return {rng.choice(("record", "data", "entry", "item", "payload")): value}
            return restyled(rng, value) if style < 0.55 else value
        if style < 0.12:
            return {rng.choice(KEYS): value, **({"id": rng.randint(1, 9_999)} if rng.random() < 0.4 else {})}
        if style < 0.16:
            return [{"role": rng.choice(("user", "customer")), "content": value}]
        if style < 0.20:
            return f"{rng.choice(('Message', 'Text', 'Note', 'Input', 'Entry'))}: {value}"
        if style < 0.32:
            before = rng.choice(FILLERS_BEFORE) if rng.random() < 0.7 else ""
            after = rng.choice(FILLERS_AFTER) if not before or rng.random() < 0.4 else ""
            glue = rng.choice((" ", " ", "\n"))
            return glue.join(part for part in (before, value, after) if part)
        if style < 0.42 and not any(WHOLE.search(claim) for claim, _ in item.claims) and not item.scales:
            return self.among_others(rng, item, value)
        return value

    def among_others(self, rng: random.Random, item: Written, value: str) -> str:
        """The text before or after one of another domain, whose people have other names."""
        for _ in range(5):
            other = rng.choice(self.items)
            text = self.renamed(rng, other).value
            if other.domain != item.domain and isinstance(text, str) and len(text) < 260:
                parts = [value, text] if rng.random() < 0.5 else [text, value]
                return rng.choice((" ", "\n", "\n\n")).join(parts)
        return value

    def questions(self, rng: random.Random, item: Written) -> list[Example]:
        claims = rng.sample(item.claims, len(item.claims))
        count = rng.choice((1, 2, 3, 3, 4, 4, 5, 6))
        examples = [self.claim(rng, text, true) for text, true in claims[:count]]
        for pick in item.picks:
            if rng.random() < 0.8:
                examples.append(self.pick(rng, pick))
            elif rng.random() < 0.5:
                examples.append(self.pick_claim(rng, pick))
        for scale in item.scales:
            if rng.random() < 0.85:
                target = around(scale.right, len(scale.levels), 0.4)
                examples.append(score(rng, scale.levels, target, scale.asked, "score", "written score"))
        if rng.random() < 0.15:
            statements = statement_choice(rng, item)
            if statements:
                examples.append(statements)
        rng.shuffle(examples)
        return examples

    def claim(self, rng: random.Random, text: str, true: bool) -> Example:
        style = rng.random()
        asked = text.rstrip().endswith("?")
        if not asked and style < 0.05:
            first, _, rest = text.partition(" ")
            if OPENERS.fullmatch(first) and rest:
                text = rng.choice(NOT_SO).format(f"{first.lower()} {rest}")
                text = text.rstrip(".") + "?" if text.startswith("Is ") else text
            else:
                text = rng.choice(NOT_QUOTED).format(text)
            true = not true
        elif not asked and style < 0.09:
            text = rng.choice(QUOTED).format(text)
        elif style < 0.13:
            text = text.lower().rstrip(".?!")
        target = 1 - DOUBT if true else DOUBT
        if style > 0.95:
            names, texts = ["yes", "no"], ["", ""]
            texts = [rng.choice(("Yes", "It is so", "True")), rng.choice(("No", "It is not so", "False"))]
            return choice(rng, names, texts, [target, 1 - target], text, "answer", "written yes/no", keep_asked=True)
        example = noul(rng, text, target, hint(rng, text), "written claim")
        if asked or style < 0.13:
            example.instructions = text
        return example

    def pick(self, rng: random.Random, pick: Pick) -> Example:
        target = [float(place == pick.right) for place in range(len(pick.options))]
        names = [name for name, _ in pick.options]
        texts = [text for _, text in pick.options]
        if names[0]:
            return choice(rng, names, texts, target, pick.asked, "choice", "written choice", keep_asked=True)
        # Ids that say nothing, so every option keeps its description.
        order = rng.sample(range(len(texts)), len(texts))
        ids = rng.choice((LETTERS, LETTERS.upper(), [f"option_{number}" for number in range(1, 13)]))
        return Example(
            question_id(rng, "choice"),
            "choice",
            pick.asked,
            [(ids[number], texts[place]) for number, place in enumerate(order)],
            [(1 - DOUBT) * target[place] + DOUBT / len(order) for place in order],
            "written choice",
        )

    def pick_claim(self, rng: random.Random, pick: Pick) -> Example:
        """Whether one option is the right one."""
        place = pick.right if rng.random() < 0.5 else rng.randrange(len(pick.options))
        name, text = pick.options[place]
        said = text if rng.random() < 0.6 or not name else name.replace("_", " ")
        form = rng.choice(("{} {}", "{} Answer: {}", "{} Is it this: {}?", "{} - {}"))
        target = 1 - DOUBT if place == pick.right else DOUBT
        return noul(rng, form.format(pick.asked, said), target, "option", "written option")


def hint(rng: random.Random, text: str) -> str:
    """A question id of two words of the claim, or one that says little."""
    words = [word for word in re.findall(r"[a-z]{4,}", text.lower()) if word not in ("does", "there", "that", "this")]
    if len(words) < 2 or rng.random() < 0.5:
        return rng.choice(("claim", "check", "fact", "holds", "statement"))
    at = rng.randrange(len(words) - 1)
    return f"{words[at]}_{words[at + 1]}"


def statement_choice(rng: random.Random, item: Written) -> Example | None:
    """Which of the claims is true, or which one is false."""
    said = [(text, true) for text, true in item.claims if not text.endswith("?") and not text.startswith("True or")]
    wanted = rng.random() < 0.75
    right = [text for text, true in said if true == wanted]
    wrong = [text for text, true in said if true != wanted]
    if not right or not wrong:
        return None
    texts = [rng.choice(right), *rng.sample(wrong, min(len(wrong), rng.choice((1, 2, 3, 4))))]
    names = [f"statement {place + 1}" for place in range(len(texts))]
    target = [1 - DOUBT] + [DOUBT / (len(texts) - 1)] * (len(texts) - 1)
    asked = rng.choice(TRUE_ASKS if wanted else FALSE_ASKS)
    options = rng.sample(list(zip(texts, target, strict=True)), len(texts))
    return Example(
        question_id(rng, "statement"),
        "choice",
        asked,
        [(name, text) for name, (text, _) in zip(names, options, strict=True)],
        [share for _, share in options],
        "written statements",
    )


def restyled(rng: random.Random, value: Any) -> Any:
    """The record with its keys in another style; keys that would meet are left alone."""
    style = rng.choice(("camel", "spaces", "kebab"))

    def key_of(key: str) -> str:
        parts = key.split("_")
        if style == "camel":
            return parts[0] + "".join(part[:1].upper() + part[1:] for part in parts[1:])
        return (" " if style == "spaces" else "-").join(parts)

    if isinstance(value, dict):
        return {key_of(key): restyled_as(key_of, inner) for key, inner in value.items()}
    return restyled_as(key_of, value)


def restyled_as(key_of: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return {key_of(key): restyled_as(key_of, inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [restyled_as(key_of, inner) for inner in value]
    return value
