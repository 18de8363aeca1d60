"""What is wrong with the questions of a draft, all at once, each problem with the field it belongs to."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from clef_model.errors import InvalidRecord, Notice, Problem
from clef_model.json_paths import Path, path_text, shown
from clef_model.json_text import line_and_column, scan_json
from clef_model.parsing import parse_questions
from clef_model.schema import Question
from clef_ui.draft_types import Draft, OptionDraft, QuestionDraft
from clef_ui.json_source import NotJson, read_source
from clef_ui.question_text import Place, Unfit, form_text, question_spans, questions_from_source, text_from_form

Area = Literal["state", "questions", "media", "limits"]

_ROW = re.compile(r"options\[([0-9]+)\]")
_PARTS = ("id", "type", "instructions")  # of a card, in the order they stand on it


@dataclass(frozen=True, slots=True)
class DraftProblem(Problem):
    """A problem with the place on the page it belongs to.

    `field` is a card's "id", "type", "instructions", "options", "options[2].key" or "options[2].description", a limit's
    name, a picture's id, or None for the whole; `uid` is the card's, in JSON mode the question's place from 1.
    """

    area: Area = "questions"
    uid: int | None = None
    field: str | None = None


def form_from_text(text: str) -> tuple[QuestionDraft, ...]:
    """The cards of a question map, numbered from 1; blank text has none. The form may hold what is not valid yet.

    Raises: InvalidRecord: the text is no JSON, or holds something the form has no field for.
    """
    text = text.removeprefix("\ufeff")
    if not text.strip(" \t\n\r"):
        return ()
    try:
        return questions_from_source(read_source(text))
    except (NotJson, Unfit) as error:
        try:
            parse_questions(text)
        except InvalidRecord as invalid:
            raise InvalidRecord(problems_in_text(text, invalid.problems)) from error
        offset = error.offset if isinstance(error, Unfit) else 0
        message = f"{error}, so the form cannot show it. The JSON can be run as it is."
        raise InvalidRecord([DraftProblem("questions", message, *line_and_column(text, offset))]) from error


def problem_view(problem: Problem) -> dict[str, Any]:
    """A problem as the page takes it."""
    placed = problem if isinstance(problem, DraftProblem) else DraftProblem(problem.where, problem.message)
    return {
        "where": placed.where,
        "message": placed.message,
        "line": problem.line,
        "column": problem.column,
        "area": placed.area,
        "uid": placed.uid,
        "field": placed.field,
    }


@dataclass(frozen=True, slots=True)
class CheckedQuestions:
    """The questions without problems with their cards (`uids`) and notices, and the problems of the others."""

    valid: tuple[Question, ...]
    uids: tuple[int, ...]
    notices: tuple[Notice, ...]
    problems: tuple[DraftProblem, ...]


def check_questions(draft: Draft) -> CheckedQuestions:
    """The questions of a draft, read as the record's parser reads them, and everything wrong with them."""
    if draft.questions_mode == "json":
        text = draft.questions_text.removeprefix("\ufeff")
        try:
            questions, notices = parse_questions(text)
        except InvalidRecord as invalid:
            return _valid_part(_written(text), problems_in_text(text, invalid.problems))
        return CheckedQuestions(questions, tuple(range(1, len(questions) + 1)), notices, ())
    mended, problems = _mended(draft.questions)
    problems += _in_form(draft.questions, mended)
    if not draft.questions:
        problems = [DraftProblem("questions", "there is no question yet. Add one.")]
    texts = [(question.uid, text_from_form([question])) for question in draft.questions]
    return _valid_part(texts, sorted(problems, key=_form_order(draft.questions)))


def _valid_part(texts: Sequence[tuple[int, str]], problems: Sequence[DraftProblem]) -> CheckedQuestions:
    """The questions that have no problem of their own; `texts` are maps of one question."""
    faulty = {problem.uid for problem in problems}
    questions: list[Question] = []
    uids: list[int] = []
    notices: list[Notice] = []
    for uid, text in texts:
        if uid in faulty:
            continue
        try:
            (question,), found = parse_questions(text)
        except InvalidRecord:  # told beside another question, such as one with the same id
            continue
        questions.append(question)
        uids.append(uid)
        notices.extend(found)
    return CheckedQuestions(tuple(questions), tuple(uids), tuple(notices), tuple(problems))


def _written(text: str) -> list[tuple[int, str]]:
    """Each question of a JSON text as a map of its own; none when the text is no JSON."""
    try:
        spans = question_spans(read_source(text))
    except NotJson:
        return []
    return [(span.uid, "{" + text[span.start : span.end] + "}") for span in spans]


def problems_in_text(text: str, problems: Sequence[Problem]) -> list[DraftProblem]:
    """Problems of JSON mode, each with the question it lies in."""
    try:
        spans = question_spans(read_source(text))
    except NotJson:
        spans = ()
    placed = []
    for problem in problems:
        uid = _innermost(spans, _offset(text, problem)).uid if problem.line is not None else 0
        placed.append(DraftProblem(problem.where, problem.message, problem.line, problem.column, uid=uid or None))
    return placed


def _mended(questions: Sequence[QuestionDraft]) -> tuple[tuple[QuestionDraft, ...], list[DraftProblem]]:
    """The cards with other ids where one is empty or taken, so that the rest can be checked; and these problems."""
    problems: list[DraftProblem] = []
    mended: list[QuestionDraft] = []
    first: dict[str, int] = {}
    for position, question in enumerate(questions):
        identity = question.id
        if not identity:
            message = "found an empty question id; the model reads it as the question's name. Name the question."
            problems.append(DraftProblem("questions", message, uid=question.uid, field="id"))
        elif identity in first:
            message = f"found the id {shown(identity)} twice: question {first[identity] + 1} has it too. Rename one."
            problems.append(DraftProblem(path_text(("questions", identity)), message, uid=question.uid, field="id"))
        else:
            first[identity] = position
        is_own = first.get(identity) == position
        options, faults = _mended_options(question)
        problems += [_at(question, field, message) for field, message in faults]
        mended.append(replace(question, id=identity if is_own else f"{identity}~{position}", options=options))
    return tuple(mended), problems


def _mended_options(question: QuestionDraft) -> tuple[tuple[OptionDraft, ...], list[tuple[str, str]]]:
    if question.kind != "noul" and not question.options:
        found = "found no option. Add one." if question.kind == "choice" else "found no level. Add one."
        return (OptionDraft("~"),), [("options", found)]
    if question.kind != "choice":
        return question.options, []
    faults: list[tuple[str, str]] = []
    mended: list[OptionDraft] = []
    first: dict[str, int] = {}
    for place, option in enumerate(question.options):
        if not option.key:
            message = "found an empty option id; the answer is given by it. Name the option."
            faults.append((f"options[{place}].key", message))
        elif option.key in first:
            message = f"found the id {shown(option.key)} twice: option {first[option.key] + 1} has it too. Rename one."
            faults.append((f"options[{place}].key", message))
        else:
            first[option.key] = place
        is_own = first.get(option.key) == place
        mended.append(option if is_own else replace(option, key=f"{option.key}~{place}"))
    return tuple(mended), faults


def _in_form(questions: Sequence[QuestionDraft], mended: Sequence[QuestionDraft]) -> Iterator[DraftProblem]:
    """What the strict reader finds in the cards: values that are no JSON, and characters that are none."""
    cards = {question.uid: question for question in questions}
    text, places, broken = form_text(mended, mended=True)
    for place, literal in broken:
        for found in scan_json(literal).problems:
            start = f"line {found.line}, column {found.column} of this JSON value: " if found.line else ""
            yield _at(cards[place.uid], place.field, start + found.message)
    if not mended:
        return
    try:
        parse_questions(text)
    except InvalidRecord as invalid:
        for problem in invalid.problems:
            place = _innermost(places, _offset(text, problem))
            if place.uid in cards:
                yield _at(cards[place.uid], place.field, problem.message)
            else:
                yield DraftProblem("questions", problem.message)


def _at(question: QuestionDraft, field: str, message: str) -> DraftProblem:
    """A problem of one field of a card, with its path in the request."""
    path: Path = ("questions", question.id)
    row = _ROW.match(field)
    if field == "instructions" or field == "type":
        path = (*path, field)
    elif row and question.kind == "score":
        path = (*path, "criteria", int(row[1]))
    elif row and question.options[int(row[1])].key:
        path = (*path, "criteria", question.options[int(row[1])].key)
    elif field.startswith("options"):
        path = (*path, "criteria")
    return DraftProblem(path_text(path), message, uid=question.uid, field=field or None)


def _form_order(questions: Sequence[QuestionDraft]) -> Callable[[DraftProblem], tuple[int, int, int]]:
    order = {question.uid: position for position, question in enumerate(questions)}

    def key(problem: DraftProblem) -> tuple[int, int, int]:
        row = _ROW.match(problem.field or "")
        rank = _PARTS.index(problem.field) if problem.field in _PARTS else len(_PARTS)
        return order.get(problem.uid or 0, len(order)), rank, int(row[1]) if row else -1

    return key


def _offset(text: str, problem: Problem) -> int:
    """Where in the text a problem stands; -1 without a place."""
    if problem.line is None or problem.column is None:
        return -1
    start = 0
    for _ in range(problem.line - 1):
        start = text.index("\n", start) + 1
    return start + problem.column - 1


def _innermost(places: Sequence[Place], offset: int) -> Place:
    around = [place for place in places if place.start <= offset < place.end]
    return min(around, key=lambda place: place.end - place.start, default=Place(0, 0, 0, ""))
