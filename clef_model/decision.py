"""What is answered: probabilities, answers in the release's shape, and the Decider every surface talks to."""

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from clef_model.encoding import MAX_LENGTH, EncodedRecord
from clef_model.errors import BrokenAnswer, InvalidRecord, Notice, Problem
from clef_model.json_paths import Json, describe, path_text, shown
from clef_model.schema import Option, Question, Record, unknown_key

SHOWN_DIGITS = 4  # of a probability in a System One response, as in the release


@dataclass(frozen=True, slots=True)
class Answer:
    """One question's answer: a logit and a probability (0 to 1, sum 1) per option, in the model's order.

    An answer read from another server has the logarithms of its probabilities as logits.
    """

    question: Question
    logits: tuple[float, ...]
    probabilities: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds; `total_ms` includes what the other two leave out.

    `known_tokens` at the start of the prompt were not read again, since an earlier pass had read them.
    """

    encode_ms: float
    forward_ms: float  # the pass; of another server, from sending to the whole reply, retries and waits included
    total_ms: float
    known_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """What answers: shown beside every decision and in every export."""

    name: str  # "clef-nano", "Cloudflare/clef-flash", a folder's name
    revision: str | None
    device: str
    dtype: str
    is_demonstration: bool  # true for clef-nano, which is never shown as Clef
    accepts_media: bool
    tokenizer: str  # identity of the tokenizer, a short hash
    tokenizer_is_exact: bool  # false: token counts are approximate outside plain English
    note: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a record the model reads; None for `max_state_tokens` is no extra limit."""

    max_length: int = MAX_LENGTH
    max_state_tokens: int | None = None
    truncate: bool = True


@dataclass(frozen=True, slots=True)
class Decision:
    """The answers of one record, in its question order, with the exact prompt they were computed on.

    When another server answered, the prompt is what this machine plans for it, and `said` is its reply as it came.
    """

    encoded: EncodedRecord
    answers: tuple[Answer, ...]
    timing: Timing
    model: ModelStatus
    notices: tuple[Notice, ...] = ()
    said: Mapping[str, Json] | None = None


Progress = Callable[[float, str], None]  # share done (0 to 1), what is being done; may raise to stop the work


class Decider(Protocol):
    """Whatever decides. `plan` needs a tokenizer only; `decide` answers in the order of the records.

    Raises: InvalidRecord, BudgetExceeded, ContextTooLong, Unsupported, BrokenAnswer; each names the record.
    """

    @property
    def status(self) -> ModelStatus: ...

    def plan(self, record: Record, limits: Limits = ...) -> EncodedRecord: ...

    def decide(
        self, records: Sequence[Record], limits: Limits = ..., progress: Progress | None = None
    ) -> list[Decision]: ...


def answer(question: Question, logits: Sequence[float], probabilities: Sequence[float] | None = None) -> Answer:
    """The answer of one question from its float32 logits, one per option in the model's order.

    Without `probabilities` the softmax is the exact one, rounded to float32; torch's own, which the release takes, lies
    within a few units of the last place of it and differs between devices. Who has torch's passes it.

    Raises: BrokenAnswer: a logit is NaN or infinite (a single -inf only means the probability 0).
    """
    assert len(logits) == len(question.options), "one logit for each option"
    rounded = _float32(logits)
    broken = [place for place, logit in enumerate(rounded) if math.isnan(logit) or logit == math.inf]
    if broken or max(rounded) == -math.inf:
        place = broken[0] if broken else 0
        found = f"the model returned {logits[place]} for option {shown(question.options[place].id)}"
        more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
        where = path_text(("questions", question.id))
        raise BrokenAnswer(f"{where}: {found}{more}, which is no answer. Run it in float32, or load the release again.")
    return Answer(question, tuple(logits), tuple(_softmax(rounded) if probabilities is None else probabilities))


def _softmax(logits: Sequence[float]) -> list[float]:
    highest = max(logits)
    powers = [math.exp(shifted) for shifted in _float32([logit - highest for logit in logits])]
    total = math.fsum(powers)
    return _float32([power / total for power in powers])


def _float32(values: Sequence[float]) -> list[float]:
    """Each value rounded to the nearest 32-bit float."""
    return array("f", values).tolist()


def requested(answer: Answer) -> dict[str, float]:
    """The probability of each option by its id, in the request's order, at full precision."""
    options = answer.question.options
    return {options[place].id: answer.probabilities[place] for place in answer.question.request_order}


def predictions(decision: Decision) -> dict[str, dict[str, float]]:
    """{question id: {option id: probability}}, both in the request's order, at full precision."""
    return {answer.question.id: requested(answer) for answer in decision.answers}


def top(answer: Answer) -> Option:
    """The most probable option; of several that share the highest probability the first in the request's order."""
    places = answer.question.request_order
    return answer.question.options[max(places, key=answer.probabilities.__getitem__)]


def tied(answer: Answer) -> tuple[Option, ...]:
    """The options that share the highest probability exactly, in the request's order; empty when there is only one."""
    highest = max(answer.probabilities)
    options = answer.question.options
    sharing = tuple(options[place] for place in answer.question.request_order if answer.probabilities[place] == highest)
    return sharing if len(sharing) > 1 else ()


def expected_level(answer: Answer) -> float:
    """The mean level, counted from 0, of a score's answer, unrounded."""
    return sum(level * probability for level, probability in enumerate(answer.probabilities))


def margin(answer: Answer) -> float:
    """The lead of the most probable option over the next, 0 to 1; 1 when it is the only one."""
    first, second = sorted([*answer.probabilities, 0.0], reverse=True)[:2]
    return first - second


def normalised_entropy(answer: Answer) -> float:
    """The entropy as a share of the largest possible: 0 when one option has all, 1 when all are equal."""
    if len(answer.probabilities) == 1:
        return 0.0
    entropy = -math.fsum(p * math.log(p) for p in answer.probabilities if p > 0)
    return min(max(entropy / math.log(len(answer.probabilities)), 0.0), 1.0)


def rescaled_peak(answer: Answer) -> float:
    """The highest probability with chance moved to 0. Source: TypeSafe's formula, in llama.cpp and SGLang."""
    number = len(answer.probabilities)
    return max(0.0, (number * max(answer.probabilities) - 1) / (number - 1)) if number > 1 else 1.0


def distance(answer: Answer) -> float:
    """One minus the mean distance from the likeliest level, against that of equal levels from their middle.

    Source: TypeSafe's formula for scores, in llama.cpp and SGLang.
    """
    number = len(answer.probabilities)
    if number == 1:
        return 1.0
    mode = answer.probabilities.index(max(answer.probabilities))
    mean = math.fsum(p * abs(level - mode) for level, p in enumerate(answer.probabilities))
    return max(0.0, 1 - mean / (sum(abs(level - (number - 1) / 2) for level in range(number)) / number))


def confidences(answer: Answer) -> dict[str, float]:
    """What servers call `confidence`, by definition, 0 to 1; a noul answer has none.

    "max_probability" is the release's. "rescaled_peak" (choice) and "distance" (score) are TypeSafe's, "entropy" is
    Ollama's: one minus the normalised entropy.
    """
    if answer.question.kind == "noul":
        return {}
    name, reading = ("distance", distance) if answer.question.kind == "score" else ("rescaled_peak", rescaled_peak)
    return {
        "max_probability": max(answer.probabilities),
        name: reading(answer),
        "entropy": 1 - normalised_entropy(answer),
    }


def systemone_answer(question: Mapping[str, Json], probabilities: Mapping[str, float]) -> dict[str, Json]:
    """The System One answer to a question of a request, from the probability of each option by its id.

    Source: clef-flash joint_schema_model.py, systemone_answer, revision 17f0b0a.
    """
    kind = question["type"]
    if kind == "noul":
        return {"type": kind, "noul": round(probabilities["true"], SHOWN_DIGITS)}
    criteria = question["criteria"]
    names = [str(name) for name in criteria] if kind == "choice" else [str(level) for level in range(len(criteria))]
    rounded = {name: round(probabilities[name], SHOWN_DIGITS) for name in names}
    highest = max(names, key=lambda name: probabilities[name])
    confidence = rounded[highest]
    if kind == "choice":
        return {"type": kind, "choice": highest, "confidence": confidence, "probabilities": rounded}
    mean = sum(level * probabilities[name] for level, name in enumerate(names))
    legend = dict(zip(names, criteria, strict=True))
    score = round(mean, SHOWN_DIGITS)
    return {"type": kind, "score": score, "confidence": confidence, "legend": legend, "probabilities": rounded}


def to_response(decision: Decision) -> dict[str, Json]:
    """The decision as the System One response of the release: probabilities of four decimals, nothing added."""
    record = decision.encoded.record
    return {
        "model": decision.model.name if record.model is None else record.model,
        "answers": {
            answer.question.id: systemone_answer(answer.question.source, requested(answer))
            for answer in decision.answers
        },
        "usage": {"input_tokens": len(decision.encoded.input_ids), "output_tokens": 0},
    }


def parse_limits(settings: Mapping[str, Any]) -> Limits:
    """The limits of a call from `max_length`, `max_state_tokens` and `truncate`, each of which may be absent.

    Raises: InvalidRecord: with all problems.
    """
    names = tuple(Limits.__dataclass_fields__)
    problems = [Problem(key, unknown_key(key, names)) for key in settings if key not in names]
    for name, lowest in (("max_length", 1), ("max_state_tokens", 0)):
        value = settings.get(name)
        absent = name not in settings or (name == "max_state_tokens" and value is None)
        if not absent and (not isinstance(value, int) or isinstance(value, bool) or value < lowest):
            problems.append(Problem(name, f"expected a whole number of tokens from {lowest}, got {describe(value)}."))
    if not isinstance(settings.get("truncate", True), bool):
        problems.append(Problem("truncate", f"expected true or false, got {describe(settings['truncate'])}."))
    if problems:
        raise InvalidRecord(problems)
    return Limits(**settings)
