"""Passes captured as CUDA graphs: a short pass is hundreds of small kernels, and starting them takes most of its time.

A graph has fixed shapes and addresses. Short prompts run in buckets of lengths, padded on the right, where the backbone
is causal and nobody looks; what continues a trunk runs in a graph that holds this trunk's tensors.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from clef_model.elementwise import Elementwise
from clef_model.mixers import Attending, DeltaState, pass_layers
from clef_model.prefix_cache import Trunk

MAX_TOKENS = 2_048  # measured on one H200 at clef-flash's size: from here on a graph gains nothing
MAX_CONTINUED = 4  # graphs that continue a trunk, which they keep in memory
WARM_UPS = 2  # runs before the capture: compilers and autotuners work then


def bucket(num_tokens: int) -> int:
    """The length that a pass of so many tokens is padded to: the next multiple of 64, or at most a quarter more."""
    step = max(64, 1 << max(0, (num_tokens - 1).bit_length() - 3))
    return -(-num_tokens // step) * step


class Graphs:
    """The captured passes of one text model; one runs at a time."""

    def __init__(self, text_model: Any, ops: Elementwise) -> None:
        self._text = text_model
        self._ops = ops
        self._lock = threading.Lock()
        self._pool: Any = None
        self._aside: Any = None
        self._whole: OrderedDict[int, _Captured] = OrderedDict()
        self._continued: OrderedDict[tuple[int, int, int], _Captured] = OrderedDict()
        self._seen: OrderedDict[tuple[int, int, int], Trunk] = OrderedDict()

    def whole(self, embeddings: Tensor, positions: Tensor) -> Tensor | None:
        """The hidden states [1, S, D] of one prompt on its own; None where no graph serves."""
        size = bucket(embeddings.shape[1])
        if len(embeddings) != 1 or size > MAX_TOKENS:
            return None
        with self._lock:
            return self._run(self._whole, size, size, Attending(), None, None, None, embeddings, positions)

    def continued(
        self, trunk: Trunk, cut: int, before: Sequence[DeltaState], embeddings: Tensor, positions: Tensor
    ) -> Tensor | None:
        """The hidden states [1, S, D] of what follows the first `cut` tokens of a trunk, from its second time on."""
        size = bucket(embeddings.shape[1])
        if len(embeddings) != 1 or size > MAX_TOKENS:
            return None
        key = (id(trunk), cut, size)
        with self._lock:
            if key not in self._continued and key not in self._seen:
                self._seen[key] = trunk  # held, so that its number stays its own
                _bound(self._seen, MAX_CONTINUED)
                return None
            self._seen.pop(key, None)  # from here on its graph holds it
            attending = Attending(trunk.keys, cut)
            return self._run(self._continued, key, size, attending, before, trunk, MAX_CONTINUED, embeddings, positions)

    def keep_only(self, is_kept: Callable[[Trunk], bool]) -> None:
        """Gives up what holds a trunk that is kept no longer."""
        with self._lock:
            for key in [key for key, trunk in self._seen.items() if not is_kept(trunk)]:
                del self._seen[key]
            for key in [key for key, graph in self._continued.items() if graph.trunk and not is_kept(graph.trunk)]:
                del self._continued[key]

    def clear(self) -> None:
        """Gives up what holds a trunk."""
        with self._lock:
            self._continued.clear()
            self._seen.clear()

    def _run(
        self,
        graphs: "OrderedDict[Any, _Captured]",
        key: Any,
        size: int,
        attending: Attending,
        before: Sequence[DeltaState] | None,
        trunk: Trunk | None,
        most: int | None,
        embeddings: Tensor,
        positions: Tensor,
    ) -> Tensor:
        if key not in graphs:
            if self._pool is None:
                device = self._text.embed_tokens.weight.device
                self._pool = torch.cuda.graph_pool_handle()
                self._aside = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
            graphs[key] = _Captured(self._text, self._ops, size, attending, before, trunk, self._pool, self._aside)
            if most is not None:
                _bound(graphs, most)
        graphs.move_to_end(key)
        return graphs[key](embeddings, positions)


class _Captured:
    """One pass of a fixed length, after nothing or after the start of a trunk."""

    def __init__(
        self,
        text_model: Any,
        ops: Elementwise,
        size: int,
        attending: Attending,
        before: Sequence[DeltaState] | None,
        trunk: Trunk | None,
        pool: Any,
        aside: Any,
    ) -> None:
        weight = text_model.embed_tokens.weight
        self.trunk = trunk  # the graph reads its tensors where they are
        self._embeddings = weight.new_zeros(1, size, weight.shape[1])
        self._positions = torch.arange(size, device=weight.device).expand(3, 1, -1).contiguous()

        def run() -> Tensor:
            return pass_layers(text_model, self._embeddings, self._positions, attending, before, ops).hidden

        with torch.cuda.device(weight.device):
            aside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(aside):
                for _ in range(WARM_UPS):
                    run()
            torch.cuda.current_stream().wait_stream(aside)
            self._graph = torch.cuda.CUDAGraph()
            # Other threads may use the GPU meanwhile: what they do is no part of the capture.
            with torch.cuda.graph(self._graph, pool=pool, stream=aside, capture_error_mode="thread_local"):
                self._hidden = run()

    def __call__(self, embeddings: Tensor, positions: Tensor) -> Tensor:
        length = embeddings.shape[1]
        room = self._embeddings.shape[1] - length
        self._embeddings.copy_(functional.pad(embeddings, (0, 0, 0, room)))
        self._positions.copy_(functional.pad(positions, (0, room)))
        with torch.cuda.device(self._embeddings.device):
            self._graph.replay()
        return self._hidden[:, :length].clone()  # the next replay writes there


def _bound(kept: "OrderedDict[Any, Any]", most: int) -> None:
    while len(kept) > most:
        kept.popitem(last=False)
