"""Decisions by a loaded release: records in batches through backbone and head, answers in order."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from clef_model.decision import Answer, Decision, Limits, ModelStatus, Progress, Timing, answer
from clef_model.encoding import EncodedRecord
from clef_model.engine import Engine, Source
from clef_model.errors import BrokenAnswer, BudgetExceeded, ClefError, InvalidRecord, Problem, Unsupported
from clef_model.model import ClefModel
from clef_model.planner import ReleasePlanner
from clef_model.prefix_cache import CacheFacts, PrefixCache, Trunk
from clef_model.scheduling import Group, alone, schedule
from clef_model.schema import Record
from clef_model.telling import Telling
from clef_model.tokenizer import Tokenizer

# What is kept of states between two calls, by device. A state of 16,384 tokens takes 0.6 GB of clef-flash, in bfloat16
# with the places to go on from, and 90 MB of clef-nano.
CACHE_BYTES = {"cuda": 2 * 2**30, "mps": 2**30, "cpu": 128 * 2**20}


@dataclass(frozen=True, slots=True)
class _Planned:
    """A record of a call, encoded; `place` is its position in the call."""

    place: int
    source: Source
    encode_ms: float
    started: float

    @property
    def encoded(self) -> EncodedRecord:
        return self.source.encoded


class ClefDecider:
    """A loaded release as a `Decider`."""

    def __init__(
        self,
        model: ClefModel,
        planner: ReleasePlanner,
        status: ModelStatus,
        *,
        cache_bytes: int | None = None,
        fast: bool = False,
    ) -> None:
        """`cache_bytes` bounds what is kept of states between calls; 0 keeps nothing, None is the device's usual.

        `fast` as in `Engine`.
        """
        self.model = model
        self.planner = planner
        self._status = status
        size = CACHE_BYTES.get(model.device.type, CACHE_BYTES["cpu"]) if cache_bytes is None else cache_bytes
        pad = planner.tokenizer.pad_token_id
        self.engine = Engine(model.language_model, model.head, pad, PrefixCache(size), fast=fast)

    @property
    def status(self) -> ModelStatus:
        return self._status

    @property
    def tokenizer(self) -> Tokenizer:
        return self.planner.tokenizer

    @property
    def cache_facts(self) -> CacheFacts:
        """What is kept of the states that were read, and how often it was of use."""
        return self.engine.cache.facts

    def clear_cache(self) -> None:
        """Gives up everything that was kept; the next call reads its states again."""
        self.engine.clear()

    def plan(self, record: Record, limits: Limits | None = None) -> EncodedRecord:
        """The record as the model would read it; media are counted even when the release cannot read them."""
        return self.planner.plan(record, limits or Limits())

    @torch.inference_mode()
    def decide(
        self, records: Sequence[Record], limits: Limits | None = None, progress: Progress | None = None
    ) -> list[Decision]:
        """The decisions, in the order of the records.

        What the prompts of a call share is read once, and what an earlier call has read is not read again; the answers
        are those of whole passes but for rounding. A record's `forward_ms` is its equal share of the passes it shared.
        `progress` is called before each pass, before each layer of those that are not captured as graphs, and after the
        last; what it raises stops the work there.

        Raises: InvalidRecord, BudgetExceeded, ContextTooLong: a record cannot be encoded. Unsupported: the release
        reads no media, or one record alone needs more memory than there is. BrokenAnswer: the model gave no number.
        """
        planned = self._plan_all(records, limits or Limits())
        prompts = [item.source.prompt for item in planned]
        groups = schedule(prompts, self.model.device.type, self.engine.known)
        told = Telling(progress or _silent, len(planned), sum(group.num_tokens(prompts) for group in groups))
        decisions: dict[int, Decision] = {}
        for group in groups:
            for item, decision in self._decide_group(group, planned, told):
                decisions[item.place] = decision
        told.finished()
        return [decisions[place] for place in range(len(planned))]

    def _plan_all(self, records: Sequence[Record], limits: Limits) -> list[_Planned]:
        planned, errors = [], []
        for place, record in enumerate(records):
            started = time.perf_counter()
            try:
                self._check_media(record)
                encoded = self.plan(record, limits)
            except (InvalidRecord, BudgetExceeded, Unsupported) as error:
                errors.append((place, error))
                continue
            planned.append(_Planned(place, self.engine.source(encoded), _ms_since(started), started))
        if errors:
            raise _joined(errors, len(records))
        return planned

    def _check_media(self, record: Record) -> None:
        if (record.images or record.videos) and not self._status.accepts_media:
            raise Unsupported(
                f"Record {record.id!r}: {self._status.name} reads text only and was never trained on images or videos. "
                "Remove the media, or load Cloudflare/clef-flash or Cloudflare/clef."
            )

    def _decide_group(
        self, group: Group, planned: Sequence[_Planned], told: Telling
    ) -> Iterator[tuple[_Planned, Decision]]:
        started = time.perf_counter()
        members = [place for batch in group.batches for place in batch.members]
        trunk, known, trunk_ms = None, 0, 0.0
        if group.trunk is not None:
            found = self._read_trunk(planned[group.trunk].source, group.stops, told, alone=len(members) == 1)
            if found is None:  # too many places to keep at once: each by itself
                for place in members:
                    yield from self._decide_group(alone(planned[place].source.prompt, place), planned, told)
                return
            trunk, known = found
            trunk_ms = _ms_since(started) / len(members)
        for batch in group.batches:
            items = [planned[place] for place in batch.members]
            decided = self._decide_batch(items, batch.cuts, trunk, trunk_ms, told, time.perf_counter())
            for item, cut, decision in zip(items, batch.cuts, decided, strict=True):
                item.source.forget_media()
                timing = replace(decision.timing, known_tokens=min(known, cut))
                yield item, replace(decision, timing=timing)

    def _read_trunk(
        self, source: Source, stops: Sequence[int], told: Telling, *, alone: bool
    ) -> tuple[Trunk, int] | None:
        """The trunk and how much of it was known; None when it does not fit beside all the states that are wanted."""
        for last_try in (False, True):
            try:
                return self.engine.trunk(source, stops, told.reading(stops[-1]))
            except torch.OutOfMemoryError as error:
                if last_try and alone:
                    raise _too_large(source.encoded, self._status.device) from error
            self._make_room()
        return None

    def _decide_batch(
        self,
        items: Sequence[_Planned],
        cuts: Sequence[int],
        trunk: Trunk | None,
        trunk_ms: float,
        told: Telling,
        started: float,
        *,
        last_try: bool = False,
    ) -> list[Decision]:
        sources = [item.source for item in items]
        logits = None
        try:
            report = told.reading(sum(len(source.ids) - cut for source, cut in zip(sources, cuts, strict=True)))
            if trunk is None:
                logits = self.engine.logits(sources, report)
            else:
                logits = self.engine.continued(trunk, sources, cuts, report)
        except torch.OutOfMemoryError as error:
            if len(items) == 1 and last_try:
                raise _too_large(items[0].encoded, self._status.device) from error
        if logits is None:
            self._make_room()
            middle = (len(items) + 1) // 2
            decided: list[Decision] = []
            for half in (slice(None, middle), slice(middle, None)):
                if items[half]:
                    # What the failed pass took is part of the time of the first half.
                    began = started if not decided else time.perf_counter()
                    decided += self._decide_batch(
                        items[half], cuts[half], trunk, trunk_ms, told, began, last_try=len(items) == 1
                    )
            return decided
        told.decided(len(items))
        forward_ms = trunk_ms + _ms_since(started) / len(items)
        return [
            Decision(
                encoded=item.encoded,
                answers=_answers(item.encoded, rows, named=len(items) > 1),
                timing=Timing(item.encode_ms, forward_ms, _ms_since(item.started)),
                model=self._status,
                notices=item.encoded.notices,
            )
            for item, rows in zip(items, logits, strict=True)
        ]

    def _make_room(self) -> None:
        """After memory ran out, and outside of the handler, since the error holds the tensors of the failed pass."""
        self.clear_cache()
        if self.model.device.type == "cuda":
            torch.cuda.empty_cache()


def _answers(encoded: EncodedRecord, logits: Sequence[Tensor], *, named: bool) -> tuple[Answer, ...]:
    try:
        return tuple(
            answer(question, row.tolist(), row.softmax(-1).tolist())
            for question, row in zip(encoded.record.questions, logits, strict=True)
        )
    except BrokenAnswer as error:
        if not named:
            raise
        raise BrokenAnswer(f"Record {encoded.record_id!r}: {error}") from error


def _joined(errors: Sequence[tuple[int, ClefError]], num_records: int) -> ClefError:
    """One error for all records of a call that cannot be encoded, each named by its position when there are several."""
    if num_records == 1:
        return errors[0][1]
    problems: list[Problem] = []
    for place, error in errors:
        where = f"records[{place}]"
        if isinstance(error, InvalidRecord):
            problems += [replace(p, where=f"{where}.{p.where}" if p.where else where) for p in error.problems]
        else:
            problems.append(Problem(where, str(error)))
    if len(errors) > 1 or isinstance(errors[0][1], InvalidRecord):
        return InvalidRecord(problems)
    return errors[0][1]


def _too_large(encoded: EncodedRecord, device: str) -> Unsupported:
    return Unsupported(
        f"Record {encoded.record_id!r}: its {len(encoded.input_ids):,} tokens need more memory than is free on "
        f"{device}. Lower max_length, remove media, or free memory there."
    )


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000


def _silent(share: float, stage: str) -> None:
    pass
