"""What a System One server replied, checked against the record it was asked and taken apart into answers."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clef_model.decision import Answer, requested, systemone_answer
from clef_model.errors import BrokenAnswer, Notice
from clef_model.json_paths import Json, Path, describe, path_text, shown
from clef_model.schema import Question, Record

ROUNDING = 1e-4  # servers round probabilities to four decimals or not at all
MAX_REASON = 300  # characters shown of a server's own error


@dataclass(frozen=True, slots=True)
class Reply:
    """Answers in the record's question order, recomputed from the probabilities; `said` is what the server wrote."""

    answers: tuple[Answer, ...]
    said: Mapping[str, Json]
    model: str | None
    input_tokens: int | None
    notices: tuple[Notice, ...] = ()


def parse_reply(record: Record, body: Json) -> Reply:
    """The reply to a record, with or without the envelope of Workers AI.

    Raises: BrokenAnswer: the server reports an error, or its answers do not fit the record or contradict themselves;
    with all that was found.
    """
    body = _unwrapped(body)
    said = body.get("answers")
    if not isinstance(said, dict):
        raise BrokenAnswer(f"answers: expected an object by question id, got {describe(said)}.")
    reading = _Reading()
    asked = {question.id: question for question in record.questions}
    for question_id in said:
        if question_id not in asked:
            reading.report(("answers", question_id), "found an answer to a question that was not asked.")
    answers = [reading.answer(question, said) for question in record.questions]
    input_tokens = reading.input_tokens(body.get("usage"))
    if reading.problems:
        raise BrokenAnswer("\n".join(reading.problems))
    model = body.get("model")
    return Reply(
        answers=tuple(answer for answer in answers if answer is not None),
        said=said,
        model=model if isinstance(model, str) else None,
        input_tokens=input_tokens,
        notices=tuple(reading.notices),
    )


def _unwrapped(body: Json) -> Mapping[str, Json]:
    """The response inside an envelope."""
    if isinstance(body, dict) and ("success" in body or "result" in body):
        if body.get("success", True) is not True or not isinstance(body.get("result"), dict):
            raise BrokenAnswer(f"the server reports an error: {_reason(body)}")
        body = body["result"]
    if not isinstance(body, dict):
        raise BrokenAnswer(f"the server's reply: expected an object with answers, got {describe(body)}.")
    if "error" in body and "answers" not in body:
        raise BrokenAnswer(f"the server reports an error: {_reason(body)}")
    return body


def _reason(body: Mapping[str, Json]) -> str:
    """The codes and messages of an envelope's errors, or of a plain error."""
    errors = body.get("errors") or body.get("error")
    reasons = []
    for error in errors if isinstance(errors, list) else [errors]:
        if isinstance(error, dict):
            code, message = error.get("code"), error.get("message")
            reasons.append(" ".join(str(part) for part in (code, message) if part is not None))
        elif error is not None:
            reasons.append(str(error))
    text = "; ".join(reason for reason in reasons if reason) or "it gives no reason and no answers"
    text = "".join(char if char.isprintable() else " " for char in text[: 2 * MAX_REASON])
    return text if len(text) <= MAX_REASON else f"{text[:MAX_REASON]}…"


class _Reading:
    """Collects what is wrong in one reply."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.notices: list[Notice] = []

    def report(self, path: Path, message: str) -> None:
        self.problems.append(f"{path_text(path)}: {message}")

    def answer(self, question: Question, said: Mapping[str, Json]) -> Answer | None:
        here: Path = ("answers", question.id)
        given = said.get(question.id)
        if not isinstance(given, dict):
            self.report(here, f"expected an answer, got {describe(given) if question.id in said else 'nothing'}.")
            return None
        self._check_type(question, given.get("type"), (*here, "type"))
        num_problems = len(self.problems)
        if question.kind == "noul":
            true = self._probability(given.get("noul"), (*here, "noul"))
            by_id = {"true": true, "false": 1 - true}
        else:
            by_id = self._distribution(question, given.get("probabilities"), (*here, "probabilities"))
        if len(self.problems) > num_problems:
            return None
        probabilities = tuple(by_id[option.id] for option in question.options)
        answer = Answer(question, tuple(math.log(p) if p > 0 else -math.inf for p in probabilities), probabilities)
        for step, contradiction in _contradictions(answer, given):
            self.report((*here, step), contradiction)
        return answer

    def _check_type(self, question: Question, kind: Json, path: Path) -> None:
        if kind == "boolean" and question.kind == "noul":
            self.notices.append(Notice("reply_type", path_text(path), "the server calls noul 'boolean'; read as noul."))
        elif kind != question.kind:
            self.report(path, f"expected {question.kind!r}, got {describe(kind)}.")

    def _probability(self, value: Any, path: Path) -> float:
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
            return float(value)
        self.report(path, f"expected a probability from 0 to 1, got {describe(value)}.")
        return 0.0

    def _distribution(self, question: Question, given: Json, path: Path) -> dict[str, float]:
        if not isinstance(given, dict):
            self.report(path, f"expected a probability for each option, got {describe(given)}.")
            return {}
        names = [option.id for option in question.options]
        for name in given:
            if name not in names:
                self.report((*path, name), "found an option that was not asked.")
        by_id = {name: self._probability(given.get(name), (*path, name)) for name in names}
        total = math.fsum(by_id.values())
        if all(name in given for name in names) and abs(total - 1) > ROUNDING * (len(names) + 1):
            self.report(path, f"the probabilities sum to {total:.4f}, and not to 1.")
        return by_id

    def input_tokens(self, usage: Json) -> int | None:
        value = usage.get("input_tokens") if isinstance(usage, dict) else None
        if value is None:
            return None
        is_whole = (isinstance(value, int) and not isinstance(value, bool)) or (
            isinstance(value, float) and value.is_integer()
        )
        if is_whole and value >= 0:
            return int(value)
        message = f"expected a whole number of tokens, got {describe(value)}; the count is unknown."
        self.notices.append(Notice("reply_usage", "usage.input_tokens", message))
        return None


def _contradictions(answer: Answer, given: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """Where the server's headline is not what its own probabilities say; its confidence may have any definition."""
    computed = systemone_answer(answer.question.source, requested(answer))
    by_id = requested(answer)
    if answer.question.kind == "choice" and "choice" in given:
        chosen = given["choice"]
        if not isinstance(chosen, str) or chosen not in by_id:
            yield "choice", f"expected one of the options, got {describe(chosen)}."
        elif by_id[chosen] < max(by_id.values()) - ROUNDING:
            best = computed["choice"]
            found = f"{shown(chosen)} with {by_id[chosen]:g}; {shown(best)} has {by_id[best]:g}"
            yield "choice", f"the choice is not the most probable option: {found}."
    if answer.question.kind == "score" and "score" in given:
        score, levels = given["score"], len(by_id)
        is_number = isinstance(score, int | float) and not isinstance(score, bool)
        if not is_number or not 0 <= score <= levels or abs(score - computed["score"]) > ROUNDING * levels * levels:
            yield "score", f"expected the mean level {computed['score']:g} of the probabilities, got {describe(score)}."
