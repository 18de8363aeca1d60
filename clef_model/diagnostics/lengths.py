"""How long many states are: percentiles, how many a limit cuts, and the limit that keeps nearly all whole."""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from clef_model.errors import ClefError
from clef_model.json_paths import Json, shown
from clef_model.json_text import scan_json
from clef_model.rendering import render

MOST_BINS = 30
MAX_FIELD_CHARACTERS = 2**24  # of one cell; Python's own limit of 131,072 is below a long state
WHOLE = ""  # the column that stands for a whole JSON line

TableFormat = Literal["jsonl", "csv"]


@dataclass(frozen=True, slots=True)
class Table:
    """What the start of a file says: its columns, and the one that probably holds the state."""

    format: TableFormat
    columns: tuple[str, ...]
    suggested: str


@dataclass(frozen=True, slots=True)
class States:
    """Rendered states of a part of a file, and the lines that could not be read with the reason."""

    texts: tuple[str, ...]
    problems: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """Token counts of many states. `num_cut` are longer than `room`, what a limit leaves for the state; `whole_limit`
    is the max_length at which 99 in 100 are read in full. Each bin is (first, last, number of states)."""

    count: int
    p50: int
    p95: int
    p99: int
    longest: int
    total: int
    room: int
    num_cut: int
    whole_limit: int
    bins: tuple[tuple[int, int, int], ...]


def read_table(start: str, name: str) -> Table:
    """What kind of table a file is, from its first lines and its name.

    Raises: ClefError: the start is no JSON line and the file is not called .csv or .tsv.
    """
    first = next((line for line in start.removeprefix("\ufeff").splitlines() if line.strip()), "")
    if not name.lower().endswith((".csv", ".tsv")):
        located = scan_json(first)
        if located.problems:
            raise ClefError(
                f"{name}: the first line is no JSON ({located.problems[0]}). Choose a file with one JSON value a line, "
                "or a table called .csv."
            )
        keys = tuple(located.value) if isinstance(located.value, dict) else ()
        is_request = {"state", "questions"} <= set(keys)
        return Table("jsonl", (WHOLE, *keys), "state" if is_request or keys == ("state",) else WHOLE)
    columns = tuple(_rows(start.removeprefix("\ufeff"), first)[0])
    likely = ("state", "text", "message", "body", "content")
    return Table("csv", columns, next((column for column in columns if column.lower() in likely), columns[0]))


def read_states(text: str, table: TableFormat, column: str, header: str = "", first_line: int = 1) -> States:
    """The states of some lines of a file, as the model would read them.

    A CSV cell is text. `header` is the file's first line, `first_line` the number of the first of these lines.
    """
    texts: list[str] = []
    problems: list[tuple[int, str]] = []
    if table == "csv":
        columns = _rows(header, header)[0]
        for place, row in enumerate(_rows(text, header)):
            if not row:
                continue
            cells = dict(zip(columns, row, strict=False))
            if column in cells:
                texts.append(cells[column])
            else:
                problems.append((first_line + place, f"the row has no column {shown(column)}"))
        return States(tuple(texts), tuple(problems))
    for place, line in enumerate(text.split("\n")):
        if not line.strip():
            continue
        found = _json_state(line, column)
        if isinstance(found, ClefError):
            problems.append((first_line + place, str(found)))
        else:
            texts.append(found)
    return States(tuple(texts), tuple(problems))


def spread(lengths: Sequence[int], *, fixed: int, max_length: int, max_state_tokens: int | None = None) -> Spread:
    """The spread of the states' lengths against the limits; `fixed` are the tokens of everything but the state."""
    if not lengths:
        raise ClefError("There is no state to count. Choose another column or file.")
    ordered = sorted(lengths)
    room = max(0, max_length - fixed)
    room = room if max_state_tokens is None else min(room, max_state_tokens)
    return Spread(
        count=len(ordered),
        p50=percentile(ordered, 50),
        p95=percentile(ordered, 95),
        p99=percentile(ordered, 99),
        longest=ordered[-1],
        total=sum(ordered),
        room=room,
        num_cut=sum(length > room for length in ordered),
        whole_limit=fixed + percentile(ordered, 99),
        bins=_bins(ordered),
    )


def percentile(ordered: Sequence[int], percent: int) -> int:
    """The smallest value that at least `percent` in 100 of the values do not exceed: one that occurs."""
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def _json_state(line: str, column: str) -> str | ClefError:
    located = scan_json(line)
    if located.problems:
        return ClefError(str(located.problems[0]))
    value: Json = located.value
    if column == WHOLE:
        return render(value)
    if not isinstance(value, dict) or column not in value:
        return ClefError(f"the line has no {shown(column)}")
    return render(value[column])


def _rows(text: str, header: str) -> list[list[str]]:
    csv.field_size_limit(MAX_FIELD_CHARACTERS)
    delimiter = max(",;\t", key=header.count)
    try:
        return list(csv.reader(text.splitlines(keepends=True), delimiter=delimiter))
    except csv.Error as error:
        raise ClefError(f"The table cannot be read: {error}.") from error


def _bins(ordered: Sequence[int]) -> tuple[tuple[int, int, int], ...]:
    """Bins of equal width that cover all lengths, at most MOST_BINS."""
    low, high = ordered[0], ordered[-1]
    width = max(1, math.ceil((high - low + 1) / MOST_BINS))
    counts = [0] * ((high - low) // width + 1)
    for length in ordered:
        counts[(length - low) // width] += 1
    return tuple((low + place * width, low + (place + 1) * width - 1, count) for place, count in enumerate(counts))
