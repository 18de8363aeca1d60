"""Which prompts of a call begin alike, so that what they share is read once: pure planning over token ids."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from clef_model.delta_rule import CHUNK

Ids = np.ndarray[tuple[int], np.dtype[np.int32]]

MAX_STOPS = 32  # of a trunk: each holds the states of all linear layers, some 50 MB at clef-flash's size
MOST_OF_IT = 0.5  # share of a prompt that must be common for it to continue another one's trunk


@dataclass(frozen=True, slots=True, eq=False)
class Prompt:
    """A prompt's ids, and `stem`: how many of them hold no question, a multiple of 64. `media` as in `Trunk`.

    `media_end` is the place after the last token of an image or video; a cut before it is none.
    """

    ids: Ids
    stem: int
    media: bytes = b""
    media_end: int = 0

    def parts(self, least: int, most_after: int) -> bool:
        """Whether its stem is worth a pass of its own, and what follows is short enough for one."""
        return self.stem >= max(least, self.media_end, 1) and len(self.ids) - self.stem <= most_after


@dataclass(frozen=True, slots=True)
class Family:
    """Prompts that continue the first one's start: `members` and, beside each, how many of its tokens they share."""

    members: tuple[int, ...]
    cuts: tuple[int, ...]

    @property
    def trunk(self) -> int:
        return self.members[0]

    @property
    def stops(self) -> tuple[int, ...]:
        """The places at which the trunk's states are wanted, rising."""
        return tuple(sorted(set(self.cuts)))


def cut_before(place: int) -> int:
    """The last place up to this one at which a pass can be parted without adding up other numbers."""
    return place // CHUNK * CHUNK


def families(prompts: Sequence[Prompt], least: int, most_after: int) -> tuple[list[Family], list[int]]:
    """The families of a call, and the prompts that share less than `least` tokens with any other.

    At most `most_after` tokens follow the trunk in a member.
    """
    by_start: dict[bytes, list[int]] = {}
    alone: list[int] = []
    for place, prompt in enumerate(prompts):
        if not prompt.parts(least, most_after):
            alone.append(place)
        else:
            by_start.setdefault(prompt.media + prompt.ids[:least].tobytes(), []).append(place)
    found: list[Family] = []
    for places in by_start.values():
        for family in _split(prompts, sorted(places, key=lambda place: -prompts[place].stem), most_after):
            if len(family.members) > 1:
                found.append(family)
            else:
                alone.append(family.trunk)
    return found, sorted(alone)


def _split(prompts: Sequence[Prompt], longest_first: Sequence[int], most_after: int) -> Iterator[Family]:
    left = list(longest_first)
    while left:
        trunk, rest = prompts[left[0]], []
        members, cuts = [left[0]], [trunk.stem]
        for place in left[1:]:
            prompt = prompts[place]
            cut = cut_before(min(common_length(trunk.ids, prompt.ids), prompt.stem, trunk.stem))
            if cut not in cuts and len(set(cuts)) >= MAX_STOPS:
                cut = max((other for other in cuts if other < cut), default=0)
            is_near = cut >= MOST_OF_IT * prompt.stem and len(prompt.ids) - cut <= most_after
            if is_near and cut >= prompt.media_end:
                members.append(place)
                cuts.append(cut)
            else:
                rest.append(place)
        yield Family(tuple(members), tuple(cuts))
        left = rest


def common_length(one: Ids, other: Ids) -> int:
    """How many ids both begin with."""
    length = min(len(one), len(other))
    differing = np.flatnonzero(one[:length] != other[:length])
    return int(differing[0]) if differing.size else length
