"""Passes that read a text once: trunks in chunks, prompts that continue them side by side, and prompts on their own.

Shapes: B records, S tokens of the longest of them in this pass, D width of the backbone, W width of the head.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from clef_model import backbone
from clef_model.batch import with_media_tensors
from clef_model.elementwise import Elementwise, fused
from clef_model.encoding import EncodedRecord
from clef_model.forking import Ids, Prompt, cut_before
from clef_model.graphs import Graphs
from clef_model.head import JointSchemaHead
from clef_model.layout import moved, plan_layout
from clef_model.media import IMAGE_TYPE, VIDEO_TYPE
from clef_model.mixers import Attending, DeltaState, empty_keys, pass_layers
from clef_model.prefix_cache import PrefixCache, Trunk
from clef_model.telling import Report

CHUNK_TOKENS = {"cuda": 4_096, "mps": 2_048, "cpu": 1_024}  # of a trunk in one pass: what bounds its memory
KEPT_STATES = 4  # of a trunk: its end, and earlier places to go on from when the text was edited in its middle


class Source:
    """A record's prompt as the backbone reads it: embeddings, media included, and positions."""

    def __init__(self, encoded: EncodedRecord, base: Any) -> None:
        self.encoded = encoded
        self._base = base
        self.ids: Ids = np.array(encoded.input_ids, dtype=np.int32)

    @cached_property
    def prompt(self) -> Prompt:
        """Raises: InvalidRecord: a media file can no longer be read."""
        budget, media = self.encoded.budget, self.encoded.media_items
        return Prompt(
            self.ids,
            cut_before(budget.prefix + budget.media + budget.state_kept),
            b"" if media is None else media.digest,
            0 if media is None or not media.items else budget.prefix + budget.media,
        )

    def positions(self, start: int, stop: int) -> Tensor:
        """[3, stop - start], on the CPU."""
        return self._positions[:, start:stop]

    @cached_property
    def _positions(self) -> Tensor:
        types = self._types
        if types is None:
            return torch.arange(len(self.ids)).expand(3, -1)
        media = self.encoded.media_items
        assert media is not None
        grids = {
            f"{kind}_grid_thw": torch.tensor([item.grid for item in media.items if item.kind == kind])
            for kind in dict.fromkeys(item.kind for item in media.items)
        }
        ids = torch.from_numpy(self.ids).long().unsqueeze(0)
        positions: Tensor = self._base.model.get_rope_index(ids, mm_token_type_ids=types.unsqueeze(0), **grids)[0]
        return positions[:, 0]

    @cached_property
    def _types(self) -> Tensor | None:
        """What each token stands for, [tokens]; None without media."""
        media = self.encoded.media_items
        if media is None or not media.items:
            return None
        types = torch.zeros(len(self.ids), dtype=torch.long)
        start = self.encoded.budget.prefix
        types[start : start + len(media.mm_token_type_ids)] = torch.tensor(media.mm_token_type_ids)
        return types

    def place_media(self, embeddings: Tensor, start: int) -> None:
        """Puts the rows of images and videos into the embeddings [S, D] of the tokens from `start`, in place."""
        types = self._types
        if types is None:
            return
        for kind in (IMAGE_TYPE, VIDEO_TYPE):
            places = (types == kind).nonzero().squeeze(-1)
            here = ((places >= start) & (places < start + len(embeddings))).nonzero().squeeze(-1)
            if len(here):
                rows = self._features[kind].index_select(0, here.to(embeddings.device))
                embeddings[(places[here] - start).to(embeddings.device)] = rows.to(embeddings.dtype)

    def forget_media(self) -> None:
        """Gives up the rows of images and videos, once nothing is left to read of them."""
        self.__dict__.pop("_features", None)

    @cached_property
    def _features(self) -> dict[int, Tensor]:
        """The vision tower's rows, one a placeholder, [tokens, D]."""
        media = with_media_tensors(self.encoded).media
        assert media is not None
        model, found = self._base.model, {}
        device = self._base.get_input_embeddings().weight.device
        for kind, pixels, grid, read in (
            (IMAGE_TYPE, "pixel_values", "image_grid_thw", model.get_image_features),
            (VIDEO_TYPE, "pixel_values_videos", "video_grid_thw", model.get_video_features),
        ):
            if pixels in media:
                output = read(media[pixels].to(device), media[grid].to(device), return_dict=True)
                found[kind] = torch.cat(tuple(output.pooler_output))
        return found


class Engine:
    """The passes of one model. What it keeps of texts between two calls is in `cache`.

    `fast`, on CUDA, fuses the operations between matrix products and captures short passes as graphs: the first passes
    of each length take seconds longer, the others are the faster for it.
    """

    def __init__(
        self, language_model: Any, head: JointSchemaHead, pad_token_id: int, cache: PrefixCache, *, fast: bool = False
    ) -> None:
        self.base = backbone.unwrapped(language_model)
        self.head = head
        self.cache = cache
        self._pad = pad_token_id
        self._text: Any = self.base.model.language_model
        fast = fast and self.device.type == "cuda"
        self.ops = fused() if fast else Elementwise()
        self._graphs = Graphs(self._text, self.ops) if fast else None

    @property
    def device(self) -> torch.device:
        return self.head.prior_logit_scale.device

    def source(self, encoded: EncodedRecord) -> Source:
        return Source(encoded, self.base)

    def known(self, prompt: Prompt) -> int:
        """How many of a prompt's tokens need not be read again."""
        return self.cache.known(prompt.ids, prompt.media, prompt.stem)

    def logits(self, sources: Sequence[Source], report: Report | None = None) -> list[list[Tensor]]:
        """A float32 logit on the CPU for each option of each question of prompts that share a pass, read as a whole."""
        starts = [0] * len(sources)
        embeddings, positions, ids = self._inputs(sources, starts)
        hidden = None if self._graphs is None else self._graphs.whole(embeddings, positions)
        if hidden is None:
            hidden = pass_layers(self._text, embeddings, positions, Attending(), None, self.ops, report).hidden
        return self._decide(sources, starts, hidden, ids, None)

    def continued(
        self, trunk: Trunk, sources: Sequence[Source], cuts: Sequence[int], report: Report | None = None
    ) -> list[list[Tensor]]:
        """As `logits`, of prompts that begin with as many of the trunk's tokens as `cuts` say; it has states there."""
        embeddings, positions, ids = self._inputs(sources, cuts)
        hidden = None
        if len(sources) == 1:
            before, mask = trunk.states[cuts[0]], None
            if self._graphs is not None:
                self._graphs.keep_only(self.cache.holds)
                if self.cache.holds(trunk):
                    hidden = self._graphs.continued(trunk, cuts[0], before, embeddings, positions)
        else:
            before, mask = _states_at(trunk, cuts), _fork_mask(cuts, embeddings.shape[1], self.device)
        if hidden is None:
            attending = Attending(trunk.keys, max(cuts), mask)
            hidden = pass_layers(self._text, embeddings, positions, attending, before, self.ops, report).hidden
        return self._decide(sources, cuts, hidden, ids, [trunk.memory[:cut] for cut in cuts])

    def clear(self) -> None:
        """Gives up every text that is kept."""
        self.cache.clear()
        if self._graphs is not None:
            self._graphs.clear()

    def trunk(self, source: Source, stops: Sequence[int], report: Report | None = None) -> tuple[Trunk, int]:
        """The start of a prompt up to the last of `stops` with states at each, and how much of it was known before."""
        prompt = source.prompt
        found = self.cache.find(prompt.ids, prompt.media, stops)
        if found is not None and found[1] == stops[-1]:
            return found
        trunk, states = self._room(prompt, found, stops)
        known, end = found[1] if found else 0, stops[-1]
        start = known
        size = CHUNK_TOKENS.get(self.device.type, CHUNK_TOKENS["cpu"])
        while start < end:
            stop = min(start // size * size + size, end)
            share = None if report is None else _part(report, start, stop, known, end)
            embeddings, positions, _ = self._inputs([source], [start], stop)
            wanted = [place - start for place in sorted({*stops, stop}) if start < place <= stop]
            attending = Attending(trunk.keys, start, writes=True)
            passed = pass_layers(
                self._text, embeddings, positions, attending, states.get(start), self.ops, share, wanted
            )
            trunk.memory[start:stop] = self.head.remember(passed.hidden)[0]
            states.update((start + place, state) for place, state in passed.states.items())
            start = stop
        self.cache.keep(_thinned(trunk))
        return trunk, known

    def _room(
        self, prompt: Prompt, found: tuple[Trunk, int] | None, stops: Sequence[int]
    ) -> tuple[Trunk, dict[int, tuple[DeltaState, ...]]]:
        """A trunk to be filled, holding what was found of it, and its states."""
        end = stops[-1]
        weight = self.head.memory_projection.weight
        keys = empty_keys(self._text, end)
        memory = weight.new_empty(end, weight.shape[0])
        states: dict[int, tuple[DeltaState, ...]] = {}
        if found is not None:
            known, length = found
            for pair, old_pair in zip(keys, known.keys, strict=True):
                for room, old in zip(pair, old_pair, strict=True):
                    room[:, :, :length] = old[:, :, :length]
            memory[:length] = known.memory[:length]
            states = {place: state for place, state in known.states.items() if place <= length}
        return Trunk(prompt.ids[:end], prompt.media, keys, memory, states), states

    def _inputs(
        self, sources: Sequence[Source], starts: Sequence[int], stop: int | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Embeddings [B, S, D], positions [3, B, S] and ids [B, S] of each prompt from its start, right-padded."""
        pieces = [source.ids[start:stop] for source, start in zip(sources, starts, strict=True)]
        length = max(len(piece) for piece in pieces)
        ids = np.full((len(pieces), length), self._pad, dtype=np.int64)
        positions = torch.zeros(3, len(pieces), length, dtype=torch.long)
        for row, (piece, source, start) in enumerate(zip(pieces, sources, starts, strict=True)):
            ids[row, : len(piece)] = piece
            positions[:, row, : len(piece)] = source.positions(start, start + len(piece))
        on_device = moved(torch.from_numpy(ids), self.device)
        embeddings = self._text.embed_tokens(on_device)
        for row, (piece, source, start) in enumerate(zip(pieces, sources, starts, strict=True)):
            source.place_media(embeddings[row, : len(piece)], start)
        return embeddings, moved(positions, self.device), on_device

    def _decide(
        self,
        sources: Sequence[Source],
        starts: Sequence[int],
        hidden: Tensor,
        ids: Tensor,
        remembered: Sequence[Tensor] | None,
    ) -> list[list[Tensor]]:
        records = [source.encoded for source in sources]
        layout = plan_layout(records, hidden.shape[1], hidden.device, starts)
        embeddings = backbone.output_embeddings(self.base)
        scores = self.head.decide(self.head.gather(hidden, ids, layout, embeddings, remembered), layout)
        return layout.split(scores.float().cpu())


def _states_at(trunk: Trunk, cuts: Sequence[int]) -> tuple[DeltaState, ...]:
    """The states of the linear layers at each cut, as those of one batch."""
    layers = zip(*(trunk.states[cut] for cut in cuts), strict=True)
    return tuple(
        DeltaState(torch.cat([state.inputs for state in layer]), torch.cat([state.memory for state in layer]))
        for layer in layers
    )


def _fork_mask(cuts: Sequence[int], length: int, device: torch.device) -> Tensor:
    """Who sees what when records continue one trunk side by side: its own start of the trunk, and its own tokens.

    [B * S, P + B * S], true where a token may look, P the longest start.
    """
    starts = moved(torch.tensor(cuts), device)
    shared = torch.arange(max(cuts), device=device) < starts.repeat_interleave(length)[:, None]
    places = torch.arange(len(cuts) * length, device=device)
    same = places[:, None] // length == places // length
    return torch.cat([shared, same & (places <= places[:, None])], dim=1)


def _part(report: Report, start: int, stop: int, first: int, end: int) -> Report:
    """The report of one chunk of a trunk that is read from `first` to `end`."""
    return lambda share: report((start + share * (stop - start) - first) / (end - first))


def _thinned(trunk: Trunk) -> Trunk:
    """The trunk with states at its end and at a few places spread over it."""
    if len(trunk.states) <= KEPT_STATES:
        return trunk
    end = len(trunk.ids)
    wanted = [end * part // KEPT_STATES for part in range(1, KEPT_STATES + 1)]
    kept = {min(trunk.states, key=lambda place: abs(place - goal)) for goal in wanted}
    return Trunk(trunk.ids, trunk.media, trunk.keys, trunk.memory, {place: trunk.states[place] for place in kept})
