"""What a request probably did not mean, though the release accepts it: one notice each, with a stable code."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from unicodedata import normalize

from clef_model.errors import Notice
from clef_model.json_paths import Json, Path, counted, describe, path_text, shown
from clef_model.schema import NOUL_DESCRIPTIONS, Question

# Source: the documentation of Workers AI, October 2026; Ollama and llama.cpp also want two options.
HOSTED_QUESTIONS = 64
HOSTED_OPTIONS = (2, 255)
HOSTED_LEVELS = (2, 10)

MAX_NOTICES = 20  # of one kind in one value

_EMBEDDED = re.compile(r"data:(?:image|video)/[\w.+-]+(?:;[\w=.+-]+)*,", re.IGNORECASE)
_BASE64_STARTS = ("iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR")  # PNG, JPEG, GIF and WebP
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]{64,}")  # one class of characters: a long text costs one pass
_CHAT_PARTS = ("image_url", "video_url", "input_image", "input_audio", "inline_data")
_LINE_BREAK = re.compile(r"[\n\r\v\f\x85\u2028\u2029]")
_SCAFFOLD = r"END FIELD|ALLOWED OPTIONS:|SCHEMA FIELDS:|JOINT SCHEMA DECISIONS:"
_SCAFFOLD_IN_ID = re.compile(rf"{_SCAFFOLD}|\b(?:FIELD|OPTION) [0-9]+\b")
_SCAFFOLD_LINE = re.compile(rf"^(?:{_SCAFFOLD}|FIELD [0-9]+|OPTION [0-9]+: )", re.MULTILINE)


def record_slips(state: Json, questions: Sequence[Question]) -> Iterator[Notice]:
    """The notices of a whole record."""
    yield from _embedded_media(state, ("state",))
    yield from _chat_parts(state)
    if isinstance(state, str) and (forged := _SCAFFOLD_LINE.search(state)):
        yield _forged(("state",), forged[0])
    yield from _equal_after_nfc((question.id for question in questions), ("questions",), "question")
    if len(questions) > HOSTED_QUESTIONS:
        found = f"found {len(questions)} questions; the hosted service takes 1 to {HOSTED_QUESTIONS}."
        yield Notice("hosted_limit", "questions", found)
    for question in questions:
        yield from question_slips(question)


def question_slips(question: Question) -> Iterator[Notice]:
    """The notices of one question."""
    here: Path = ("questions", question.id)
    yield from _id_slips(question.id, here)
    yield from _instruction_slips(question.instructions, (*here, "instructions"))
    if question.kind == "noul":
        yield from _noul_slips(question.source, (*here, "criteria"))
    else:
        yield from _count_slips(question, (*here, "criteria"))
        yield from _equal_after_nfc((option.id for option in question.options), (*here, "criteria"), "option")
    yield from _embedded_media(dict(question.source), here)


def _id_slips(question_id: str, here: Path) -> Iterator[Notice]:
    if not question_id.strip():
        yield Notice(
            "blank_id", path_text(here), "the question's id is only white space; the model reads it as its name."
        )
    if forged := _SCAFFOLD_IN_ID.search(question_id):
        yield _forged(here, forged[0])
    elif _LINE_BREAK.search(question_id):
        message = "the question's id has a line break, and it goes into the prompt as it is. Keep ids on one line."
        yield Notice("id_line_break", path_text(here), message)


def _instruction_slips(instructions: Json, here: Path) -> Iterator[Notice]:
    if not isinstance(instructions, str):
        return
    if instructions and not instructions.strip():
        message = (
            "the instructions are only white space, and the model reads that. Leave them out to use the id instead."
        )
        yield Notice("blank_instructions", path_text(here), message)
    if forged := _SCAFFOLD_LINE.search(instructions):
        yield _forged(here, forged[0])


def _noul_slips(source: Mapping[str, Json], here: Path) -> Iterator[Notice]:
    criteria = source.get("criteria")
    if isinstance(criteria, dict):
        ignored = [shown(key) for key in criteria if key not in NOUL_DESCRIPTIONS]
        if ignored:
            names = ", ".join(ignored[:5]) + (f" and {len(ignored) - 5} more" if len(ignored) > 5 else "")
            message = f"only 'true' and 'false' are read; ignored: {names}."
            yield Notice("noul_keys_ignored", path_text(here), message)
    elif criteria is not None:
        message = f"{describe(criteria)} stands for no criteria, so the usual descriptions are used."
        yield Notice("noul_criteria_ignored", path_text(here), message)


def _count_slips(question: Question, here: Path) -> Iterator[Notice]:
    noun, (low, high) = ("option", HOSTED_OPTIONS) if question.kind == "choice" else ("level", HOSTED_LEVELS)
    number = len(question.options)
    if number == 1:
        message = f"a single {noun} always gets the probability 1, and most servers refuse it. Add another."
        yield Notice("single_option", path_text(here), message)
    elif number > high:
        message = f"found {counted(number, noun)}; the hosted service takes {low} to {high}."
        yield Notice("hosted_limit", path_text(here), message)


def _equal_after_nfc(ids: Iterable[str], here: Path, noun: str) -> Iterator[Notice]:
    """Ids that differ in their code points and reach the model as the same tokens, which are made of NFC text."""
    spellings = defaultdict(list)
    for name in ids:
        spellings[normalize("NFC", name)].append(name)
    for same in spellings.values():
        if len(same) > 1:
            names = " and ".join(ascii(name) for name in same[:3])
            message = f"the {noun} ids {names} look the same and reach the model as the same text (NFC). Rename one."
            yield Notice("ids_equal_after_nfc", path_text(here), message)


def _embedded_media(value: Json, here: Path) -> Iterator[Notice]:
    found = [(path, text) for path, text in _strings(value, here) if _looks_like_media(text)]
    for path, text in found[:MAX_NOTICES]:
        message = (
            f"looks like an embedded image or video, which is read as text ({len(text):,} characters) and not seen."
        )
        yield Notice("embedded_media", path_text(path), f"{message} Attach it instead.")
    if len(found) > MAX_NOTICES:
        yield Notice("embedded_media", path_text(here), f"{len(found) - MAX_NOTICES:,} more look like embedded media.")


def _looks_like_media(text: str) -> bool:
    if "data:" in text and _EMBEDDED.search(text):
        return True
    return text.startswith(_BASE64_STARTS) and _BASE64.fullmatch(text) is not None


def _strings(value: Json, here: Path) -> Iterator[tuple[Path, str]]:
    """All strings that are values, with their paths."""
    if isinstance(value, str):
        yield here, value
    for path, container in _containers(value, here):
        for step, child in _entries(container):
            if isinstance(child, str):
                yield (*path, step), child


def _chat_parts(state: Json) -> Iterator[Notice]:
    for path, container in _containers(state, ("state",)):
        if isinstance(container, dict) and container.get("type") in _CHAT_PARTS:
            part = container["type"]
            message = (
                f"found a chat message's {part} part, which is read as JSON text and not seen. Attach the file instead."
            )
            yield Notice("chat_parts", path_text(path), message)
            return  # one says enough


def _containers(value: Json, here: Path) -> Iterator[tuple[Path, Json]]:
    """Every object and list in a value, itself included."""
    stack: list[tuple[Path, Json]] = [(here, value)] if isinstance(value, dict | list) else []
    while stack:
        path, container = stack.pop()
        yield path, container
        inner = [((*path, step), child) for step, child in _entries(container) if isinstance(child, dict | list)]
        stack.extend(reversed(inner))


def _entries(container: Json) -> Iterable[tuple[str | int, Json]]:
    entries: Iterable[tuple[str | int, Json]]
    entries = container.items() if isinstance(container, dict) else enumerate(container)
    return entries


def _forged(here: Path, words: str) -> Notice:
    message = (
        f"holds {shown(words)}, words of the prompt's own frame, which the model may take for the schema. Reword it."
    )
    return Notice("forged_schema_text", path_text(here), message)
