"""What a model keeps of the starts of prompts it has read, so that an unchanged state is not read again.

A trunk is one text read from its first token: keys and values of the full layers and the head's memory for every token,
and the states of the linear layers at chosen places, since those cannot be rewound. It can be continued from each.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from torch import Tensor

from clef_model.forking import Ids, common_length
from clef_model.mixers import DeltaState


@dataclass(frozen=True, slots=True, eq=False)
class Trunk:
    """A text of T tokens as read by one model. Nothing in it changes once it is in a cache.

    `media` names the images and videos among its tokens, empty for none. `keys` are [1, kv, T, d] twice a full layer,
    `memory` is [T, W], `states` those of all linear layers after so many tokens.
    """

    ids: Ids
    media: bytes
    keys: tuple[tuple[Tensor, Tensor], ...]
    memory: Tensor
    states: Mapping[int, tuple[DeltaState, ...]]

    @property
    def num_bytes(self) -> int:
        tensors = [self.memory, *(tensor for pair in self.keys for tensor in pair)]
        states = (state.num_bytes for at_place in self.states.values() for state in at_place)
        return sum(tensor.nbytes for tensor in tensors) + sum(states)


@dataclass(frozen=True, slots=True)
class CacheFacts:
    """Sizes in bytes. `reads` counts the prompts for which a start was looked for, `hits` those where one was found;
    `reused_tokens` were not read again, of `asked_tokens` that could have been."""

    trunks: int
    num_bytes: int
    max_bytes: int
    reads: int
    hits: int
    reused_tokens: int
    asked_tokens: int
    too_large: int  # trunks that were not kept, since alone they are larger than the cache


@dataclass(slots=True)
class _Counts:
    reads: int = 0
    hits: int = 0
    reused: int = 0
    asked: int = 0
    too_large: int = 0


@dataclass(slots=True)
class PrefixCache:
    """The trunks of one model, the least recently used given up first; safe to use from several threads."""

    max_bytes: int  # 0 keeps nothing
    _trunks: "OrderedDict[int, Trunk]" = field(default_factory=OrderedDict)
    _bytes: int = 0
    _counts: _Counts = field(default_factory=_Counts)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def find(self, ids: Ids, media: bytes, wanted: Sequence[int]) -> tuple[Trunk, int] | None:
        """The trunk to go on from and the place to do so, for a text whose states are wanted at some places.

        A place is as late as it can be: the trunk has a state there, is equal to `ids` before it, and has a state at
        each wanted place that lies earlier. `wanted` rises and ends with what is to be read.
        """
        end = wanted[-1]
        with self._lock:
            best: tuple[Trunk, int] | None = None
            for trunk in self._trunks.values():
                place = _place(trunk, ids[:end], media, wanted)
                if place > (best[1] if best else 0):
                    best = (trunk, place)
            self._counts.reads += 1
            self._counts.asked += end
            if best is not None:
                self._counts.hits += 1
                self._counts.reused += best[1]
                self._trunks.move_to_end(id(best[0]))
            return best

    def known(self, ids: Ids, media: bytes, end: int) -> int:
        """How many of the first `end` ids need not be read; counts as no read."""
        with self._lock:
            return max((_place(trunk, ids[:end], media, (end,)) for trunk in self._trunks.values()), default=0)

    def holds(self, trunk: Trunk) -> bool:
        return id(trunk) in self._trunks  # the one that has this number, since it is held

    def keep(self, trunk: Trunk) -> None:
        """Keeps it, in place of those that are nothing but its start, and gives up others until there is room."""
        size = trunk.num_bytes
        with self._lock:
            if size > self.max_bytes:
                self._counts.too_large += 1
                return
            for key, other in list(self._trunks.items()):
                if other.media == trunk.media and common_length(other.ids, trunk.ids) == len(other.ids):
                    self._drop(key)
            while self._bytes + size > self.max_bytes:
                self._drop(next(iter(self._trunks)))
            self._trunks[id(trunk)] = trunk
            self._bytes += size

    def clear(self) -> None:
        """Gives up everything; the counts go on."""
        with self._lock:
            self._trunks.clear()
            self._bytes = 0

    @property
    def facts(self) -> CacheFacts:
        # Without the lock: whoever asks must not hold it while a Space with ZeroGPU forks the process that decides.
        counts = self._counts
        return CacheFacts(
            len(self._trunks),
            self._bytes,
            self.max_bytes,
            counts.reads,
            counts.hits,
            counts.reused,
            counts.asked,
            counts.too_large,
        )

    def _drop(self, key: int) -> None:
        self._bytes -= self._trunks.pop(key).num_bytes


def _place(trunk: Trunk, ids: Ids, media: bytes, wanted: Iterable[int]) -> int:
    if trunk.media != media:
        return 0
    common = common_length(trunk.ids, ids)
    missing = next((place for place in wanted if place not in trunk.states), len(ids))
    return max((place for place in trunk.states if place <= common and place <= missing), default=0)
