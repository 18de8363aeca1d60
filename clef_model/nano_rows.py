"""The compressed embedding rows of clef-nano and their exact expansion to Clef's 248,320 ids."""

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clef_model.errors import BrokenRelease

ROWS_FILE = "embedding_rows.npz"
NANO_FILE = "clef_nano.json"
VOCABULARY = 248_320  # rows of Clef's embedding
_CHUNK = 1_024  # ids summed at a time, to bound the working memory


def is_nano(release: Path) -> bool:
    """Whether the folder stores its embedding compressed, so that `expand_rows` must supply it."""
    return (release / ROWS_FILE).is_file()


def is_text_only(release: Path) -> bool:
    """Whether the release says of itself that it was never trained on images or videos.

    Source: the key `text_only` of clef_nano.json; a folder without that file is not text-only.
    """
    return bool(_about(release).get("text_only", False))


def measured(release: Path) -> str:
    """What the model was measured at, in a sentence; empty when the release does not say.

    Source: the key `measured` of clef_nano.json, written with the weights from the figures of their card.
    """
    return str(_about(release).get("measured", ""))


def _about(release: Path) -> dict[str, Any]:
    path = release / NANO_FILE
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def expand_rows(release: Path) -> NDArray[np.float32]:
    """The embedding of all 248,320 ids, [248320, hidden], float32, the same bits on every machine.

    The file holds `rows` (int8, [R, hidden]), `scales` (float16, [R]), `lengths` (uint8, [248320]) and `parts`
    (uint16): the embedding of an id is the mean of rows[part] * scales[part] over its parts, added from left to right
    in float32.

    Raises: BrokenRelease: the file is absent, unreadable or does not describe 248,320 ids.
    """
    rows, lengths, parts = _read(release / ROWS_FILE)
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    table = np.empty((VOCABULARY, rows.shape[1]), dtype=np.float32)
    for length in np.unique(lengths):
        ids = np.flatnonzero(lengths == length)
        for first in range(0, len(ids), _CHUNK):
            chunk = ids[first : first + _CHUNK]
            total = rows.take(parts[starts[chunk]], axis=0)
            for place in range(1, int(length)):
                total += rows.take(parts[starts[chunk] + place], axis=0)
            table[chunk] = total / np.float32(length)
    return table


def pack_rows(rows: NDArray[np.float32], lengths: NDArray[np.uint8], parts: NDArray[np.uint16], release: Path) -> None:
    """Writes the rows as `expand_rows` reads them, each row rounded to int8 by its largest entry."""
    scales = (np.abs(rows).max(axis=1) / 127).astype(np.float16)
    scales[scales == 0] = 1
    rounded = np.clip(np.rint(rows / scales.astype(np.float32)[:, None]), -127, 127).astype(np.int8)
    np.savez_compressed(release / ROWS_FILE, rows=rounded, scales=scales, lengths=lengths, parts=parts)


def _read(path: Path) -> tuple[NDArray[np.float32], NDArray[np.uint8], NDArray[np.uint16]]:
    try:
        with np.load(path, allow_pickle=False) as stored:
            rows = stored["rows"].astype(np.float32)
            rows *= stored["scales"].astype(np.float32)[:, None]
            lengths, parts = stored["lengths"], stored["parts"]
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise BrokenRelease(
            f"Release {path.parent}: {path.name} cannot be read ({error}). Download it again."
        ) from error
    if len(lengths) != VOCABULARY or int(lengths.sum(dtype=np.int64)) != len(parts) or int(parts.max()) >= len(rows):
        raise BrokenRelease(
            f"Release {path.parent}: {path.name} describes {len(lengths):,} ids by {len(parts):,} parts of "
            f"{len(rows):,} rows, which do not fit together or are not {VOCABULARY:,} ids. Download it again."
        )
    return rows, lengths, parts
