"""Decisions by a loaded release: records in batches through backbone and head, answers in order."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from clef_model import backbone
from clef_model.batch import Batch, collate, with_media_tensors
from clef_model.decision import Answer, Decision, Limits, ModelStatus, Progress, Timing, answer
from clef_model.encoding import EncodedRecord
from clef_model.errors import BrokenAnswer, BudgetExceeded, ClefError, InvalidRecord, Problem, Unsupported
from clef_model.head import JointSchemaHead
from clef_model.layout import plan_layout
from clef_model.planner import ReleasePlanner
from clef_model.schema import Record
from clef_model.tokenizer import Tokenizer

# Tokens of a batch with its padding, by device: what bounds the memory of a pass.
BATCH_TOKENS = {"cuda": 32_768, "mps": 8_192, "cpu": 4_096}


class ClefModel(nn.Module):
    """Backbone and head, called as the release's own: `model(batch)[record][question]` are a question's logits."""

    def __init__(self, language_model: nn.Module, head: JointSchemaHead) -> None:
        super().__init__()
        self.language_model = language_model
        self.head = head

    @property
    def device(self) -> torch.device:
        return self.head.prior_logit_scale.device

    def forward(self, batch: Mapping[str, Any]) -> list[list[Tensor]]:
        """A logit per option for each question of each record of a batch of `collate_records`."""
        return self.logits(
            Batch(batch["input_ids"], batch["attention_mask"], batch["records"], batch.get("media") or {})
        )

    def logits(self, batch: Batch, *, on_cpu: bool = False) -> list[list[Tensor]]:
        """As `forward`; `on_cpu` brings them there in float32, one copy for all questions that shared a pass."""
        base = backbone.unwrapped(self.language_model)
        by_place: dict[int, list[Tensor]] = {}
        for places, part in self._parts(batch):
            states = backbone.hidden_states(base, part.input_ids, part.attention_mask, part.media)
            layout = plan_layout(part.records, states.shape[1], states.device)
            scores = self.head.score(states, part.input_ids, layout, backbone.output_embeddings(base))
            by_place.update(zip(places, layout.split(scores.float().cpu() if on_cpu else scores), strict=True))
        return [by_place[place] for place in range(len(batch.records))]

    def _parts(self, batch: Batch) -> Iterator[tuple[Sequence[int], Batch]]:
        """The batch in parts that can share a pass, each with the places of its records.

        A text that holds a placeholder such as <|image_pad|> is plain text alone. Beside a record with media the
        backbone would count it as a part of an image and fail, so the texts get a pass of their own then.
        """
        every = range(len(batch.records))
        texts = [place for place in every if not batch.records[place].media]
        placeholders = backbone.placeholder_ids(backbone.unwrapped(self.language_model)) if batch.media else frozenset()
        if any(not placeholders.isdisjoint(batch.records[place].input_ids) for place in texts):
            pictures = [place for place in every if batch.records[place].media]
            yield texts, batch.select(texts)
            yield pictures, batch.select(pictures)
        else:
            yield every, batch


@dataclass(frozen=True, slots=True)
class _Planned:
    """A record of a call, encoded; `place` is its position in the call."""

    place: int
    encoded: EncodedRecord
    encode_ms: float
    started: float


class ClefDecider:
    """A loaded release as a `Decider`."""

    def __init__(self, model: ClefModel, planner: ReleasePlanner, status: ModelStatus) -> None:
        self.model = model
        self.planner = planner
        self._status = status

    @property
    def status(self) -> ModelStatus:
        return self._status

    @property
    def tokenizer(self) -> Tokenizer:
        return self.planner.tokenizer

    def plan(self, record: Record, limits: Limits | None = None) -> EncodedRecord:
        """The record as the model would read it; media are counted even when the release cannot read them."""
        return self.planner.plan(record, limits or Limits())

    def decide(
        self, records: Sequence[Record], limits: Limits | None = None, progress: Progress | None = None
    ) -> list[Decision]:
        """The decisions, in the order of the records.

        A record's `forward_ms` is its equal share of its batch's pass. `progress` is called before each layer of each
        batch and after the last; what it raises stops the work there.

        Raises: InvalidRecord, BudgetExceeded, ContextTooLong: a record cannot be encoded. Unsupported: the release
        reads no media, or one record alone needs more memory than there is. BrokenAnswer: the model gave no number.
        """
        report = progress or _silent
        planned = self._plan_all(records, limits or Limits())
        decisions: dict[int, Decision] = {}
        for batch in pack(planned, BATCH_TOKENS.get(self.model.device.type, BATCH_TOKENS["cpu"])):
            done, stage = len(decisions), f"deciding record {len(decisions) + 1} of {len(planned)}"

            def within(share: float, done: int = done, size: int = len(batch), stage: str = stage) -> None:
                report((done + share * size) / len(planned), stage)

            within(0.0)
            with backbone.layer_by_layer(backbone.unwrapped(self.model.language_model), within):
                decided = self._decide_batch(batch)
            decisions.update((item.place, decision) for item, decision in zip(batch, decided, strict=True))
        report(1.0, f"{len(planned)} of {len(planned)} records decided")
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
            planned.append(_Planned(place, encoded, _ms_since(started), started))
        if errors:
            raise _joined(errors, len(records))
        return planned

    def _check_media(self, record: Record) -> None:
        if (record.images or record.videos) and not self._status.accepts_media:
            raise Unsupported(
                f"Record {record.id!r}: {self._status.name} reads text only and was never trained on images or videos. "
                "Remove the media, or load Cloudflare/clef-flash or Cloudflare/clef."
            )

    def _decide_batch(self, batch: Sequence[_Planned]) -> list[Decision]:
        started = time.perf_counter()
        logits = None
        try:
            logits = self._logits([item.encoded for item in batch])
        except torch.OutOfMemoryError as error:
            if len(batch) == 1:
                raise _too_large(batch[0].encoded, self._status.device) from error
        if logits is None:
            # Outside of the handler, since the error holds the tensors of the pass that failed.
            torch.cuda.empty_cache()
            middle = len(batch) // 2
            return [*self._decide_batch(batch[:middle]), *self._decide_batch(batch[middle:])]
        forward_ms = _ms_since(started) / len(batch)
        return [
            Decision(
                encoded=item.encoded,
                answers=_answers(item.encoded, rows, named=len(batch) > 1),
                timing=Timing(item.encode_ms, forward_ms, _ms_since(item.started)),
                model=self._status,
                notices=item.encoded.notices,
            )
            for item, rows in zip(batch, logits, strict=True)
        ]

    @torch.inference_mode()
    def _logits(self, records: Sequence[EncodedRecord]) -> list[list[Tensor]]:
        """Float32 logits on the CPU, one tensor a question."""
        tensors = [with_media_tensors(record) for record in records]
        return self.model.logits(collate(tensors, self.tokenizer.pad_token_id, self.model.device), on_cpu=True)


def pack(planned: Sequence[_Planned], batch_tokens: int) -> Iterator[Sequence[_Planned]]:
    """The records in batches of similar length, the longest first, so that memory runs out early or never."""
    batch: list[_Planned] = []
    for item in sorted(planned, key=lambda item: len(item.encoded.input_ids), reverse=True):
        if batch and (len(batch) + 1) * len(batch[0].encoded.input_ids) > batch_tokens:
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch


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
