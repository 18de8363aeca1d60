"""Where the spans of a batch lie, as index tensors: what lets the head read ragged records without loops."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

import numpy as np
import torch
from torch import Tensor


class SpannedQuestion(Protocol):
    """What the head needs of an encoded question; the release's own class has it too."""

    @property
    def question_type(self) -> int: ...
    @property
    def question_span(self) -> tuple[int, int]: ...
    @property
    def option_spans(self) -> Sequence[tuple[int, int]]: ...


class SpannedRecord(Protocol):
    """What the head needs of an encoded record; the release's own class has it too."""

    @property
    def input_ids(self) -> Sequence[int]: ...
    @property
    def questions(self) -> Sequence[SpannedQuestion]: ...


@dataclass(frozen=True, slots=True)
class Slots:
    """Places of `count` flat rows, sorted by group, in a padded grid of `groups` times `size` places.

    `index` is None when the grid has no empty place, so that a batch of one never pays for padding.
    """

    groups: int
    size: int
    index: Tensor | None  # [count], row-major place of each flat row

    def pad(self, rows: Tensor, fill: float = 0.0) -> Tensor:
        """Flat rows [count, ...] as a grid [groups, size, ...]."""
        tail = rows.shape[1:]
        if self.index is None:
            return rows.reshape(self.groups, self.size, *tail)
        grid = rows.new_full((self.groups * self.size, *tail), fill)
        return grid.index_copy(0, self.index, rows).view(self.groups, self.size, *tail)

    def unpad(self, grid: Tensor) -> Tensor:
        """A grid [groups, size, ...] as flat rows [count, ...]."""
        flat = grid.reshape(self.groups * self.size, *grid.shape[2:])
        return flat if self.index is None else flat.index_select(0, self.index)

    def filled(self, device: torch.device) -> Tensor | None:
        """True where a place holds a row, [groups, size]; None when all do."""
        if self.index is None:
            return None
        mask = torch.zeros(self.groups * self.size, dtype=torch.bool, device=device)
        return mask.index_fill(0, self.index, True).view(self.groups, self.size)


@dataclass(frozen=True, slots=True)
class Layout:
    """The spans of a batch. `Q` questions and `O` options of all records, in prompt order; `S` tokens of all spans.

    A row is a token's place in the batch flattened over [B, T]. Where a record's first tokens were read before and
    are not in the batch, its places count from the first that is.
    """

    lengths: tuple[int, ...]  # tokens of each record, those before the batch included
    question_counts: tuple[int, ...]  # of each record
    option_counts: tuple[int, ...]  # of each question
    length_of: Tensor  # [B], the lengths again
    last_rows: Tensor  # [B]
    span_rows: Tensor  # [S], rows of the question spans, then of the option spans
    span_starts: Tensor  # [Q + O], where each span starts in span_rows
    num_question_rows: int  # how many of span_rows belong to question spans
    types: Tensor  # [Q]
    record_of_question: Tensor  # [Q]
    question_of_option: Tensor  # [O]
    place_in_record: Tensor  # [O], the option's question counted from the first of its record
    question_starts: Tensor  # [Q], the first option of each question
    questions: Slots  # questions by record
    options: Slots  # options by record
    choices: Slots  # options by question

    @property
    def num_questions(self) -> int:
        return len(self.option_counts)

    @property
    def is_ragged(self) -> bool:
        return len(set(self.lengths)) > 1

    def split(self, per_option: Tensor) -> list[list[Tensor]]:
        """One value an option, [O, ...], as views: record by record, question by question."""
        by_question = torch.split(per_option, list(self.option_counts))
        stops = list(accumulate(self.question_counts))
        return [list(by_question[stop - count : stop]) for stop, count in zip(stops, self.question_counts, strict=True)]


def plan_layout(
    records: Sequence[SpannedRecord], num_tokens: int, device: torch.device, starts: Sequence[int] | None = None
) -> Layout:
    """The layout of records that lie right-padded in a batch [B, num_tokens].

    `starts` counts each record's tokens that were read before and are not in the batch. All index tensors travel to the
    device in one copy.

    Raises: ValueError: a record without questions, a question without options, or a span that is empty or outside
    its record's tokens in the batch; the release would answer such a span with NaN.
    """
    read_before = np.zeros(len(records), dtype=np.int64) if starts is None else np.array(starts, dtype=np.int64)
    lengths = [len(record.input_ids) for record in records]
    question_counts = [len(record.questions) for record in records]
    questions = [question for record in records for question in record.questions]
    option_counts = [len(question.option_spans) for question in questions]
    if not records or not all(question_counts) or not all(option_counts):
        raise ValueError("every record needs at least one question, and every question at least one option")
    record_of_question = np.repeat(np.arange(len(records)), question_counts)
    question_of_option = np.repeat(np.arange(len(questions)), option_counts)
    spans = np.array(
        [question.question_span for question in questions]
        + [span for question in questions for span in question.option_spans],
        dtype=np.int64,
    )
    record_of_span = np.concatenate([record_of_question, record_of_question[question_of_option]])
    limits = np.array(lengths, dtype=np.int64)[record_of_span]
    first_rows, span_lengths = spans[:, 0] - read_before[record_of_span], spans[:, 1] - spans[:, 0]
    wrong = np.flatnonzero((first_rows < 0) | (span_lengths < 1) | (spans[:, 1] > limits))
    if wrong.size:
        first = wrong[0]
        raise ValueError(
            f"span {tuple(spans[first].tolist())} of record {record_of_span[first]} is empty or lies outside its "
            f"{limits[first]} tokens; every instruction and option needs at least one token"
        )
    span_starts = np.cumsum(span_lengths) - span_lengths
    span_rows = np.arange(span_lengths.sum()) + np.repeat(
        first_rows + record_of_span * num_tokens - span_starts, span_lengths
    )
    options_of_record = np.bincount(record_of_question[question_of_option], minlength=len(records))
    places = [_places(counts) for counts in (np.array(question_counts), options_of_record, np.array(option_counts))]
    pieces = [
        np.array(lengths),
        np.arange(len(records)) * num_tokens + np.array(lengths) - read_before - 1,
        span_rows,
        span_starts,
        np.array([question.question_type for question in questions]),
        record_of_question,
        question_of_option,
        question_of_option - np.repeat(np.cumsum(question_counts) - question_counts, options_of_record),
        np.cumsum(option_counts) - option_counts,
        *(place for _, place in places if place is not None),
    ]
    tensors = iter(_to_device(pieces, device))
    fields = [next(tensors) for _ in range(9)]
    slots = [Slots(*shape, None if place is None else next(tensors)) for shape, place in places]
    return Layout(
        lengths=tuple(lengths),
        question_counts=tuple(question_counts),
        option_counts=tuple(option_counts),
        length_of=fields[0],
        last_rows=fields[1],
        span_rows=fields[2],
        span_starts=fields[3],
        num_question_rows=int(span_lengths[: len(questions)].sum()),
        types=fields[4],
        record_of_question=fields[5],
        question_of_option=fields[6],
        place_in_record=fields[7],
        question_starts=fields[8],
        questions=slots[0],
        options=slots[1],
        choices=slots[2],
    )


def _places(counts: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> tuple[tuple[int, int], np.ndarray | None]:
    """The grid's shape, and each row's place in it unless the grid is full."""
    groups, size = len(counts), int(counts.max())
    if (counts == size).all():
        return (groups, size), None
    starts = np.cumsum(counts) - counts
    return (groups, size), np.arange(counts.sum()) + np.repeat(np.arange(groups) * size - starts, counts)


def _to_device(pieces: Sequence[np.ndarray], device: torch.device) -> list[Tensor]:
    whole = torch.from_numpy(np.concatenate(pieces).astype(np.int64, copy=False))
    return list(torch.split(moved(whole, device), [len(piece) for piece in pieces]))


def moved(tensor: Tensor, device: torch.device) -> Tensor:
    """A tensor of the CPU on the device, without waiting where that is safe."""
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)  # a pageable copy would wait for all that is still to do
