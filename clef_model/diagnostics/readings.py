"""A record read in several ways: with less of its state, or other limits, decided in as few calls as possible."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from clef_model.decision import Answer, Decider, Decision, Limits, Progress, top
from clef_model.encoding import MAX_POSITIONS, EncodedRecord
from clef_model.rendering import render
from clef_model.schema import Record

Plan = Callable[[Record, Limits], EncodedRecord]


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a record; `encoded` is what `limits` make of it."""

    record: Record
    limits: Limits
    encoded: EncodedRecord

    @property
    def state_tokens(self) -> int:
        """How many tokens of its state are in the prompt."""
        return self.encoded.budget.state_kept

    @property
    def total_tokens(self) -> int:
        return len(self.encoded.input_ids)


def decide_readings(decider: Decider, readings: Sequence[Reading], progress: Progress | None = None) -> list[Decision]:
    """The decisions, in the order of the readings.

    All readings under the same limits go to the model in one call, so that it can put them into one batch and read
    what their prompts begin with once. `progress` counts tokens over all calls; what it raises stops the work.

    Raises: as `Decider.decide`.
    """
    groups: dict[Limits, list[int]] = {}
    for place, reading in enumerate(readings):
        groups.setdefault(reading.limits, []).append(place)
    decisions: dict[int, Decision] = {}
    all_tokens, done = sum(reading.total_tokens for reading in readings), 0
    for limits, places in groups.items():
        tokens = sum(readings[place].total_tokens for place in places)
        part = part_of(progress, done / all_tokens, (done + tokens) / all_tokens)
        decisions.update(zip(places, decider.decide([readings[p].record for p in places], limits, part), strict=True))
        done += tokens
    return [decisions[place] for place in range(len(readings))]


def part_of(progress: Progress | None, start: float, end: float) -> Progress | None:
    """The progress of a piece of work that takes from the share `start` to the share `end` of a larger one."""
    if progress is None:
        return None

    def report(share: float, stage: str) -> None:
        progress(start + share * (end - start), stage)

    return report


def whole_limits(encoded: EncodedRecord) -> Limits:
    """The least limits that read the state whole, or as much of it as the model has positions for."""
    return Limits(max_length=min(encoded.budget.fixed + encoded.budget.state, MAX_POSITIONS))


def shortened(record: Record, limits: Limits, num_tokens: int, plan: Plan) -> Reading:
    """The record with the first tokens of its state alone; `limits` have room for them.

    Where the kept text, tokenized alone, gives the very same prompt, it is the state of a record under `limits`, so
    that readings of different lengths share a call. Where not, `max_state_tokens` makes the cut. Both are exact.
    """
    own = replace(limits, max_state_tokens=num_tokens, truncate=True)
    encoded = plan(record, own)
    kept = next(segment.text for segment in encoded.ledger if segment.kind == "state")
    as_text = replace(record, state=kept)
    again = plan(as_text, limits)
    same = again.input_ids == encoded.input_ids
    return Reading(as_text, limits, again) if same else Reading(record, own, encoded)


def end_of_state(record: Record, limits: Limits, num_tokens: int, plan: Plan) -> tuple[Reading, bool]:
    """The record with the end of its state, at most so many tokens of it, and whether that end is exact.

    The state is parted where one of its tokens begins and no character is split, and what follows is a state of its
    own: a text, also when the state was JSON. Tokenized alone, the first word of that text can come out in other tokens
    than within the whole. The end is exact when its ids are the last ids of the whole state; when it needs more tokens
    than there is room for, more is dropped from its front, so its last token is always the state's last.
    """
    whole = plan(record, Limits(max_length=MAX_POSITIONS))
    text, all_tokens = render(record.state), whole.budget.state
    dropped = max(0, all_tokens - num_tokens)
    while True:
        ending = replace(record, state=text[_start_of_token(record, dropped, plan) :])
        encoded = plan(ending, replace(limits, truncate=True))
        if encoded.budget.state <= num_tokens:
            break
        dropped += 1
    ids, kept = _state_ids(whole), _state_ids(encoded)
    is_whole = whole.budget.truncation is None
    return Reading(ending, limits, encoded), is_whole and ids[len(ids) - len(kept) :] == kept


def _start_of_token(record: Record, place: int, plan: Plan) -> int:
    """The character of the rendered state at which its token at `place` begins; a later one's where that is inside a
    character."""
    text = render(record.state)
    start = 0
    while True:
        rest = record if start == 0 else replace(record, state=text[start:])
        truncation = plan(rest, Limits(max_length=MAX_POSITIONS, max_state_tokens=place)).budget.truncation
        if truncation is None:
            return len(text)
        if truncation.kept_tokens < place and truncation.kept_characters > 0:  # more than the model has positions for
            start += truncation.kept_characters
            place -= truncation.kept_tokens
        elif truncation.splits_character:
            place += 1
        else:
            return start + truncation.kept_characters


def _state_ids(encoded: EncodedRecord) -> tuple[int, ...]:
    span = next(segment.span for segment in encoded.ledger if segment.kind == "state")
    return encoded.input_ids[span.start : span.end]


def shifts(before: Answer, after: Answer) -> tuple[float, ...]:
    """How far the probability of each option moves, -1 to 1, in the model's order."""
    return tuple(p - q for p, q in zip(after.probabilities, before.probabilities, strict=True))


def same_answer(one: Answer, other: Answer) -> bool:
    """Whether the same option would be reported."""
    return top(one) == top(other)
