"""Lint rules on ids and instructions: what they ask, how, and what else the model reads in them."""

import re
from collections.abc import Iterator

from clef_model.diagnostics.linted import Finding, LintedQuestion, listed, word_set, words_of
from clef_model.json_paths import counted, shown

MAX_ID_WORDS = 6  # more is a sentence

# The added tokens of the release's tokenizer that a text may hold, spelt as the tokenizer finds them.
_SPECIAL = re.compile(
    r"<\|(?:im_start|im_end|endoftext|vision_start|vision_end|vision_pad|image_pad|video_pad|audio_\w+|object_ref_\w+|"
    r"box_\w+|quad_\w+|fim_\w+|repo_name|file_sep)\|>|</?(?:think|tool_call|tool_response)>"
)
_INVISIBLE = re.compile(r"[\s\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]*")
_COMPUTES = re.compile(
    r"\b(how many|count (?:the|all|how|each)|number of|sum (?:of|up)|total (?:of|number|amount|cost|price|sum)|"
    r"calculate|compute|add up|multipl(?:y|ied)|subtract|average (?:of|number)|percentage of|what percentage|"
    r"difference between .{0,40}(?:number|amount|price|date|total)s?|days (?:between|since|until)|how old|"
    r"(?:greater|less|more|fewer|larger|smaller) than [0-9$€£])"
)
_NEGATION = re.compile(
    r"\b(not|no|never|none|without|neither|nor|cannot|lacks?|fails? to|\w+n't|isnt|doesnt|wont|cant)\b"
)
_NO_NEGATION = re.compile(r"\b(yes (?:or|/) no|or not|no longer|not only|no\.)")
_VERBS = r"is|are|was|were|does|do|did|has|have|had|should|can|could|will|would|must"
_ASKING = rf"(?:{_VERBS}|which|what|who|how|when|where|why)"
_SECOND = re.compile(rf"\b(?:and|or|also)\s+(?:also\s+)?(?P<second>{_ASKING})\s+\w+")
_OPEN = re.compile(r"\W*(which|what|who|whom|whose|when|where|why|how)\b")
_SAYS = re.compile(rf"\b(?:{_VERBS}|be|been|being|\w+s|\w+ed|\w+ing)\b")
_NAMELESS = re.compile(r"(?:q|question|field|item|f|x|id)?[ _-]*[0-9]*", re.IGNORECASE)
_ORDERS = word_set(
    "ignore disregard forget always never answer choose select pick return respond reply say output print classify "
    "decide determine tell give please must assume pretend"
)
_LEANING = word_set(
    "urgent critical important fraud fraudulent spam scam phishing malicious suspicious toxic illegal guilty fake bad "
    "good safe unsafe dangerous confirmed likely probably definitely obviously correct incorrect wrong right best "
    "worst default approved rejected approve reject passed failed positive negative true false yes no valid invalid"
)


def special_token(asked: LintedQuestion) -> Iterator[Finding]:
    question = asked.question
    places: list[tuple[int | None, str]] = [(None, question.id), (None, asked.instructions)]
    for place, (option, text) in enumerate(zip(question.options, asked.descriptions, strict=True)):
        places += [(place, option.id), (place, text)]
    seen: set[tuple[int | None, str]] = set()
    for option_place, text in places:
        for found in dict.fromkeys(_SPECIAL.findall(text)):
            if (option_place, found) in seen:
                continue
            seen.add((option_place, found))
            yield (
                option_place,
                f"the text holds {found!r}, which becomes a control token that the model may obey. Respell it.",
            )


def empty_span(asked: LintedQuestion) -> Iterator[Finding]:
    if asked.has_instructions and _INVISIBLE.fullmatch(asked.instructions):
        yield None, "the instructions hold nothing to read. Write them, or leave them out so that the id is read."
    elif asked.encoded and asked.encoded.questions[asked.position].question_span.length == 0:
        yield None, "the instructions become no token at all, and the answer may be no number. Write them."
    for place, option in enumerate(asked.question.options):
        if isinstance(option.description, str) and _INVISIBLE.fullmatch(option.description):
            yield place, f"the description of {asked.option_name(place)} holds nothing to read. Write it, or use null."


def counts_or_computes(asked: LintedQuestion) -> Iterator[Finding]:
    found = _COMPUTES.search(asked.instructions.lower()) if asked.has_instructions else None
    if found:
        yield (
            None,
            f"{shown(found[0])} asks to count or compute, which one pass of the model does badly. "
            "Put the result into the state, and ask about that.",
        )


def double_negation(asked: LintedQuestion) -> Iterator[Finding]:
    if asked.question.kind != "noul":
        return
    found = [match[0] for match in _NEGATION.finditer(_NO_NEGATION.sub(" ", asked.instructions.lower()))]
    if len(found) > 1:
        names = listed([shown(word) for word in found])
        yield None, f"found {counted(len(found), 'negation')}, {names}. Say it in the positive, and read false for no."


def two_questions(asked: LintedQuestion) -> Iterator[Finding]:
    text = asked.instructions.lower()
    if not asked.has_instructions or not isinstance(asked.question.instructions, str):
        return
    second = _SECOND.search(text) if re.match(rf"\W*{_ASKING}\b", text) else None
    if len(re.findall(r"\?(?:\s|$)", text)) > 1:
        yield None, "there is more than one question mark, and one answer. Make a question of each."
    elif second:
        yield None, f"{shown(second[0])} begins a second question, and one answer cannot hold both. Make two questions."


def no_question(asked: LintedQuestion) -> Iterator[Finding]:
    question = asked.question
    text = question.instructions
    if not asked.has_instructions and _NAMELESS.fullmatch(question.id):
        yield (
            None,
            f"there are no instructions, so the model reads the id {shown(question.id)} as the question. Ask it.",
        )
    # Other languages write a whole sentence as what looks like one word here.
    if question.kind != "noul" or not isinstance(text, str) or not text.isascii() or not asked.words:
        return
    opening = _OPEN.match(text.lower())
    if opening:
        asks = f"this asks {shown(opening[1])}"
        yield None, f"a yes/no question needs something to be true or false, and {asks}. Use a choice."
    elif len(asked.words) <= 3 and "?" not in text and not _SAYS.search(text.lower()):
        yield None, f"{shown(text)} states nothing that is true or false. Write a sentence or a question."


def id_is_instruction(asked: LintedQuestion) -> Iterator[Finding]:
    question = asked.question
    if _reads_as_instruction(question.id, asked.id_words):
        yield (
            None,
            f"the id {shown(question.id)} reads as an instruction, and the model reads ids. Keep it a short name.",
        )
    if question.kind != "choice":
        return
    for place, option in enumerate(question.options):
        if _reads_as_instruction(option.id, words_of(option.id.replace("_", " "))) and len(option.id.split()) > 1:
            yield place, f"the option id {shown(option.id)} reads as an instruction. Keep it a short name."


def _reads_as_instruction(text: str, words: list[str]) -> bool:
    return bool(words) and (len(words) > MAX_ID_WORDS or (words[0] in _ORDERS and len(words) > 1) or text.endswith("!"))


def id_carries_meaning(asked: LintedQuestion) -> Iterator[Finding]:
    if not asked.has_instructions:
        return
    told = set(asked.words).union(*(words_of(text) for text in asked.descriptions))
    told |= {word for option in asked.question.options for word in words_of(option.id.replace("_", " "))}
    extra = [word for word in asked.id_words if word in _LEANING and word not in told]
    if extra:
        names = listed([shown(word) for word in dict.fromkeys(extra)])
        yield None, f"the id says {names}, the instructions do not, and the model reads both. Use a neutral id."
