"""Records as one right-padded batch, with the tensors of their media."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor

from clef_model.encoding import EncodedRecord
from clef_model.layout import SpannedRecord, moved
from clef_model.pixels import media_tensors

# Names of the release; each tensor is joined over the records that have it.
MEDIA_TENSORS = ("pixel_values", "image_grid_thw", "pixel_values_videos", "video_grid_thw")
TYPE_IDS = "mm_token_type_ids"


class BatchRecord(SpannedRecord, Protocol):
    """What a batch needs of an encoded record; the release's own class has it too."""

    @property
    def media(self) -> Mapping[str, Any] | None: ...


@dataclass(frozen=True, slots=True)
class Batch:
    """Records side by side: `input_ids` and `attention_mask` [B, T], padding on the right. `media` is empty without."""

    input_ids: Tensor
    attention_mask: Tensor
    records: Sequence[BatchRecord]
    media: Mapping[str, Tensor]

    def select(self, places: Sequence[int]) -> "Batch":
        """The records at these places; all records with media are among them, or none."""
        rows = torch.tensor(places, device=self.input_ids.device)
        media = dict(self.media) if any(self.records[place].media for place in places) else {}
        if TYPE_IDS in media:
            media[TYPE_IDS] = media[TYPE_IDS].index_select(0, rows)
        return Batch(
            input_ids=self.input_ids.index_select(0, rows),
            attention_mask=self.attention_mask.index_select(0, rows),
            records=[self.records[place] for place in places],
            media=media,
        )


def with_media_tensors(record: EncodedRecord) -> EncodedRecord:
    """The record with the tensors of its images and videos, which are not kept until they are needed."""
    if record.media is not None or record.media_items is None or not record.media_items.items:
        return record
    return replace(record, media=media_tensors(record.media_items, token_offset=record.budget.prefix))


def collate(records: Sequence[BatchRecord], pad_token_id: int, device: torch.device) -> Batch:
    """The batch of records whose media tensors are there.

    Raises: ValueError: no records.
    Source: clef-flash joint_schema_model.py, collate_records, revision 17f0b0a.
    """
    if not records:
        raise ValueError("a batch needs at least one record")
    length = max(len(record.input_ids) for record in records)
    # Padded on the host, so that a batch is one copy instead of one a record.
    padded = torch.tensor(
        [[*record.input_ids, *[pad_token_id] * (length - len(record.input_ids))] for record in records]
    )
    lengths = torch.tensor([len(record.input_ids) for record in records])
    mask = (torch.arange(length) < lengths[:, None]).long()
    return Batch(
        input_ids=moved(padded, device),
        attention_mask=moved(mask, device),
        records=records,
        media={name: moved(tensor, device) for name, tensor in _media(records, length)},
    )


def _media(records: Sequence[BatchRecord], length: int) -> Iterable[tuple[str, Tensor]]:
    for name in MEDIA_TENSORS:
        parts = [record.media[name] for record in records if record.media and name in record.media]
        if parts:
            yield name, torch.cat(parts)
    typed = [(place, record.media) for place, record in enumerate(records) if record.media and TYPE_IDS in record.media]
    if typed:
        types = torch.zeros(len(records), length, dtype=torch.long)
        for place, media in typed:
            start = media["token_offset"]
            types[place, start : start + len(media[TYPE_IDS])] = torch.tensor(media[TYPE_IDS])
        yield TYPE_IDS, types
