"""Window canary: how much of a long state really reaches the model, found by changing its last word."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from clef_model.decision import Answer, Decider, Decision, Limits, Progress
from clef_model.encoding import MAX_LENGTH, MAX_POSITIONS
from clef_model.errors import BudgetExceeded, InvalidRecord
from clef_model.json_paths import Json
from clef_model.schema import Record, choice

FIRST_TOKENS = 256  # of the state in the first sample; each further one has twice as many
WORDS = ("amber", "cobalt")
LEAST_CHANGE = 5e-5  # below what four decimals show; a change that is smaller may come from how a server batches
NOISE_MARGIN = 3  # times the change between two equal requests
LEAST_STEP = 64  # tokens between what is read and what is not, where the search ends; or a part of the whole
PART = 64

_FILLER = "Line {number}: paper, string, glue and a ladder stand on the shelf.\n"
_END = "The last word of this text is {word}."


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a measurement takes at most; `dollars` is None when no price is known. Most take less than half."""

    num_requests: int
    input_tokens: int
    dollars: float | None


@dataclass(frozen=True, slots=True)
class Sample:
    """One length of state. `change` is the largest that the last word makes to a probability, 0 to 1.

    `counted_tokens` are those of the whole request that the server reports, `refusal` its words when it took none.
    """

    state_tokens: int
    total_tokens: int
    reads_end: bool
    change: float = 0.0
    counted_tokens: int | None = None
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Window:
    """How much is read, in tokens of the state by this machine's count; samples are in the order they were taken.

    The true limit lies from `read_tokens` up to below `unread_tokens`, which is None when all was read. Nothing can be
    said when not even the end of a short state matters to the answer: then `is_conclusive` is False.
    """

    samples: tuple[Sample, ...]
    read_tokens: int
    unread_tokens: int | None
    noise: float
    is_conclusive: bool

    @property
    def is_refused(self) -> bool:
        """Whether longer states are refused, and not cut."""
        return any(sample.refusal for sample in self.samples)


def estimate(decider: Decider, max_tokens: int, dollars_per_million: float | None = None) -> Estimate:
    """What measuring a window of up to so many tokens of state takes at most. Asks nobody."""
    fixed = decider.plan(_record(0, WORDS[0]), Limits()).budget.fixed
    sizes = [*_doubling(max_tokens)]
    steps = max(0, math.ceil(math.log2(max(1, max_tokens / 2) / _step(max_tokens))))
    states = [*sizes, *[max_tokens] * steps]
    tokens = sum(2 * (size + fixed) for size in states) + sizes[0] + fixed
    dollars = None if dollars_per_million is None else tokens * dollars_per_million / 1e6
    return Estimate(2 * len(states) + 1, tokens, dollars)


def measure_window(decider: Decider, max_tokens: int, progress: Progress | None = None) -> Window:
    """How much of a state is read, looked for up to `max_tokens` of it.

    Two texts that differ in their last word alone are decided: when the answers differ, that word was read. The text
    grows until they do not, and the limit is then closed in on. What `progress` raises stops the work.

    Raises: as `Decider.decide`, but for a text that is refused for its length.
    """
    return _Search(decider, max_tokens, progress or _silent).window()


class _Search:
    def __init__(self, decider: Decider, max_tokens: int, progress: Progress) -> None:
        self._decider = decider
        self._max_tokens = max_tokens
        self._progress = progress
        self._samples: list[Sample] = []
        self._end_tokens = self._state_tokens(0)
        self._line_tokens = max(1, (self._state_tokens(100) - self._end_tokens) // 100)
        self._noise = 0.0

    def window(self) -> Window:
        read, unread = 0, None
        for size in _doubling(self._max_tokens):
            sample = self._sample(self._lines(size), is_first=not self._samples)
            if not sample.reads_end:
                unread = sample.state_tokens
                break
            read = sample.state_tokens
        is_conclusive = read > 0
        while is_conclusive and unread is not None and unread - read > _step(unread):
            lines = self._lines((read + unread) // 2)
            if not read < self._state_tokens(lines) < unread:
                break  # a line is all that lies between
            sample = self._sample(lines)
            read, unread = (sample.state_tokens, unread) if sample.reads_end else (read, sample.state_tokens)
        self._progress(1.0, "measured")
        return Window(tuple(self._samples), read, unread, self._noise, is_conclusive)

    def _sample(self, lines: int, *, is_first: bool = False) -> Sample:
        records = [_record(lines, word) for word in WORDS]
        budget = self._decider.plan(records[0], Limits(MAX_POSITIONS)).budget
        limits = Limits(max_length=min(max(MAX_LENGTH, budget.total + 1), MAX_POSITIONS))
        self._progress(min(0.95, len(self._samples) / 20), f"asking with {budget.state:,} tokens of state")
        try:
            one, other = self._decider.decide(records, limits)
            if is_first:
                self._noise = _change(one, self._decider.decide(records[:1], limits)[0])
        except (BudgetExceeded, InvalidRecord) as error:
            sample = Sample(budget.state, budget.total, reads_end=False, refusal=str(error))
        else:
            change = _change(one, other)
            reads_end = change > max(LEAST_CHANGE, NOISE_MARGIN * self._noise)
            sample = Sample(budget.state, budget.total, reads_end, change, _counted(one))
        self._samples.append(sample)
        return sample

    def _lines(self, size: int) -> int:
        """How many lines make a state of about so many tokens, and not more."""
        lines = max(0, (size - self._end_tokens) // self._line_tokens)
        while lines > 0 and (tokens := self._state_tokens(lines)) > size:
            lines -= max(1, (tokens - size) // (2 * self._line_tokens))
        return max(0, lines)

    def _state_tokens(self, lines: int) -> int:
        return self._decider.plan(_record(lines, WORDS[0]), Limits(MAX_POSITIONS)).budget.state


def _doubling(max_tokens: int) -> Iterator[int]:
    size = FIRST_TOKENS
    while size < max_tokens:
        yield size
        size *= 2
    yield max_tokens


def _step(tokens: int) -> int:
    return max(LEAST_STEP, tokens // PART)


def _record(lines: int, word: str) -> Record:
    filler = "".join(_FILLER.format(number=number) for number in range(1, lines + 1))
    asked = choice("last_word", dict.fromkeys(WORDS), "Which word does the end of the text name?")
    return Record(state=filler + _END.format(word=word), questions=(asked,))


def _change(one: Decision, other: Decision) -> float:
    def probabilities(decision: Decision) -> Iterator[float]:
        answers: tuple[Answer, ...] = decision.answers
        return (p for answer in answers for p in answer.probabilities)

    return max(abs(p - q) for p, q in zip(probabilities(one), probabilities(other), strict=True))


def _counted(decision: Decision) -> int | None:
    """The tokens that the server says it has read."""
    said: Json = decision.said or {}
    usage = said.get("result", said).get("usage") if isinstance(said.get("result", said), dict) else None
    tokens = usage.get("input_tokens") if isinstance(usage, dict) else None
    return tokens if isinstance(tokens, int) and not isinstance(tokens, bool) else None


def _silent(share: float, stage: str) -> None:
    pass
