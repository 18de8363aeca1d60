"""Lint rules on options and levels: order, doubles, gaps, and what they cost."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, pairwise
from statistics import median

from clef_model.diagnostics.linted import Finding, LintedQuestion, listed, word_set, words_of
from clef_model.json_paths import counted, shown

MAX_PAIRS = 3  # of doubles named; a schema with more has a pattern that three show
MOST_COMPARED = 120  # options compared with each other: a table of 255 would cost 32,000 comparisons as one types
COSTLY_OPTION = (40, 4)  # tokens, and times the median of the others
COSTLY_QUESTION = (400, 0.5)  # tokens, and share of all questions, when there are at least three

_WAY_OUT = re.compile(
    r"\b(none|others?|neither|nothing|unknown|else|not \w+|no \w+|n/?a|unclear|unsure|uncertain|undecided|cannot|can't|"
    r"misc|miscellaneous|rest|default|neutral|mixed|fine|normal|benign|clean|review|escalate|abstain|skip)\b"
)
_STOP_WORDS = word_set("a an and any are as at be by for from in into is it its of on or that the this to with")
_NUMBERED = re.compile(r"(.*?)([0-9]+)")
# Words of scales, lowest first; a level's rank is that of its first word found.
_SCALES = (
    ("none", "no", "minimal", "very low", "low", "mild", "minor", "medium", "moderate", "high", "major", "very high",
     "severe", "critical", "extreme"),
    ("never", "rarely", "seldom", "sometimes", "occasionally", "often", "usually", "always"),
    ("terrible", "very bad", "bad", "poor", "fair", "ok", "okay", "average", "good", "very good", "great", "excellent"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("very negative", "negative", "neutral", "positive", "very positive"),
    ("tiny", "small", "medium", "large", "huge"),
    ("impossible", "unlikely", "possible", "likely", "certain"),
)  # fmt: skip
_ORDER_WORDS = word_set(
    "no none never not less least low lower lowest few little some slightly somewhat partly mostly more most high "
    "higher highest very extremely fully completely entirely always minor mild moderate medium major severe critical "
    "urgent now immediately today soon later week month year day hour wait small large big bad poor fair good great "
    "excellent weak strong safe dangerous easy hard calm angry furious happy first last only all every half many much "
    "unlikely likely certain rarely sometimes often disagree agree negative neutral positive beginner expert"
)
_SCALE_QUESTION = re.compile(r"\b(how (?!many\b|much\b)\w+|rate|level|degree|severity|scale|extent|how much)\b")


def option_order(asked: LintedQuestion) -> Iterator[Finding]:
    question = asked.question
    if question.kind != "choice" or list(question.request_order) == list(range(len(question.options))):
        return
    names = [option.id for option in question.options]
    message = f"the model reads the options sorted by id: {listed([shown(name) for name in names], 8)}."
    if _numbers_run_wrong(names):
        yield None, f"{message} Numbers are sorted as text; write 01, 02, 10 to keep their order."
    else:
        yield None, f"{message} Only renaming ids changes that."


def _numbers_run_wrong(names: list[str]) -> bool:
    matches = [_NUMBERED.fullmatch(name) for name in names]
    if len({match and match[1] for match in matches}) != 1 or matches[0] is None:
        return False
    numbers = [int(match[2]) for match in matches if match]
    return numbers != sorted(numbers)


def same_words(asked: LintedQuestion) -> Iterator[Finding]:
    """Options whose texts are made of the same words, or whose ids are when nothing describes them."""
    texts = [
        text if text else option.id.replace("_", " ")
        for text, option in zip(asked.descriptions, asked.question.options, strict=True)
    ][:MOST_COMPARED]
    if asked.question.kind == "noul":
        return
    bags = [frozenset(word for word in words_of(text) if word not in _STOP_WORDS) for text in texts]
    found = [pair for pair in combinations(range(len(bags)), 2) if _alike(bags[pair[0]], bags[pair[1]])]
    for one, other in found[:MAX_PAIRS]:
        how = "with the same words" if bags[one] == bags[other] else "with almost the same words"
        yield (
            other,
            f"{asked.option_name(one)} and {asked.option_name(other)} are described {how}. "
            "Say what sets them apart, or merge them.",
        )


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    if not one or not other:
        return False
    return one == other or (len(one | other) >= 6 and len(one & other) >= 0.85 * len(one | other))


def same_tokens(asked: LintedQuestion) -> Iterator[Finding]:
    bags = [Counter(tokens) for tokens in asked.option_tokens[:MOST_COMPARED]]
    found = [pair for pair in combinations(range(len(bags)), 2) if bags[pair[0]] == bags[pair[1]]]
    for one, other in found[:MAX_PAIRS]:
        yield (
            other,
            f"{asked.option_name(one)} and {asked.option_name(other)} are made of the same tokens in another order; "
            "their averages are equal. Use other words for one of them.",
        )


def no_way_out(asked: LintedQuestion) -> Iterator[Finding]:
    question = asked.question
    if question.kind != "choice" or len(question.options) < 3:
        return
    names = [option.id.replace("_", " ") for option in question.options]
    if not any(_WAY_OUT.search(text.lower()) for text in (*names, *asked.descriptions)):
        yield (
            None,
            "no option is for “none of these”, so one is chosen even when none fits. Add one if that can happen.",
        )


def single_option(asked: LintedQuestion) -> Iterator[Finding]:
    if len(asked.question.options) == 1:
        noun = "level" if asked.question.kind == "score" else "option"
        yield None, f"a single {noun} always gets the probability 1, and most servers refuse it. Add another."


def missing_descriptions(asked: LintedQuestion) -> Iterator[Finding]:
    options = asked.question.options
    bare = [place for place, option in enumerate(options) if option.description is None]
    if asked.question.kind == "noul" or not bare:
        return
    names = listed([asked.option_name(place) for place in bare])
    has, them = ("has", "it") if len(bare) == 1 else ("have", "them")
    if len(bare) < len(options):
        yield bare[0], f"{names} {has} no description, while the others do. Describe {them} too."
    elif asked.question.kind == "score":
        yield None, "no level has a description, so the model reads their numbers alone. Describe each."


def levels_unordered(asked: LintedQuestion) -> Iterator[Finding]:
    if asked.question.kind != "score":
        return
    texts = [" ".join(words_of(text)) for text in asked.descriptions]
    for scale in _SCALES:
        ranks = [(place, rank) for place, text in enumerate(texts) if (rank := _rank(text, scale)) is not None]
        if len(ranks) < max(2, len(texts) / 2):
            continue
        order = [rank for _, rank in ranks]
        if order == sorted(order, reverse=True) and len(set(order)) > 1:
            yield None, "the levels run from high to low. The first is the lowest: turn them round."
            return
        for (before, low), (after, high) in pairwise(ranks):
            if high < low:
                yield after, f"level {after} says less than level {before} above it. Order them, lowest first."
                return


def _rank(text: str, scale: tuple[str, ...]) -> int | None:
    """The place of a level on a scale, by the longest of its words that opens the text or is all of it."""
    found = [word for word in scale if text == word or text.startswith(word + " ")]
    return scale.index(max(found, key=len)) if found else None


def levels_without_order(asked: LintedQuestion) -> Iterator[Finding]:
    question = asked.question
    described = [text for text in asked.descriptions if text]
    if question.kind != "score" or len(described) < 2 or _SCALE_QUESTION.search(asked.instructions.lower()):
        return
    if all(text.strip().lstrip("-").replace(".", "").isdigit() for text in described):
        yield None, "the levels are bare numbers, and the model reads words. Say what each level means."
        return
    ordered = [text for text in described if _ORDER_WORDS.intersection(words_of(text)) or re.search(r"[0-9]", text)]
    if len(ordered) < len(described) / 2:
        yield None, "nothing in the levels says which is more. Use words of degree, or ask “how …” in the instructions."


def costly_option(asked: LintedQuestion) -> Iterator[Finding]:
    counts = [len(tokens) for tokens in asked.option_tokens]
    least, times = COSTLY_OPTION
    for place, count in enumerate(counts):
        others = counts[:place] + counts[place + 1 :]
        if others and count > least and count > times * median(others):
            yield (
                place,
                f"{asked.option_name(place)} takes {counted(count, 'token')}, the others about "
                f"{median(others):,.0f}. Shorten it, or say as much of the others.",
            )


def costly_question(asked: LintedQuestion) -> Iterator[Finding]:
    if asked.encoded is None or len(asked.encoded.questions) < 3:
        return
    least, share = COSTLY_QUESTION
    total = sum(segment.num_tokens for segment in asked.encoded.ledger if segment.question is not None)
    if asked.num_tokens > least and asked.num_tokens > share * total:
        part = f"{asked.num_tokens:,} of the {total:,} tokens of all questions"
        yield None, f"this question takes {part}. Shorten its options if the state is cut."
