"""Backbone and head as one model, called as the release's own: one plain pass over whole records."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from clef_model import backbone
from clef_model.batch import Batch
from clef_model.head import JointSchemaHead
from clef_model.layout import plan_layout


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

    def logits(self, batch: Batch) -> list[list[Tensor]]:
        """As `forward`: one plain pass over whole records, through the backbone's own class."""
        base = backbone.unwrapped(self.language_model)
        by_place: dict[int, list[Tensor]] = {}
        for places, part in self._parts(batch):
            states = backbone.hidden_states(base, part.input_ids, part.attention_mask, part.media)
            layout = plan_layout(part.records, states.shape[1], states.device)
            scores = self.head.score(states, part.input_ids, layout, backbone.output_embeddings(base))
            by_place.update(zip(places, layout.split(scores), strict=True))
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
