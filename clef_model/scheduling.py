"""Which passes a call takes: prompts with a common start continue one trunk, others share a pass with their like."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from clef_model.forking import Family, Prompt, families

# Tokens of a pass with its padding, by device: what bounds its memory.
BATCH_TOKENS = {"cuda": 32_768, "mps": 8_192, "cpu": 4_096}
# Tokens that must be common, or worth keeping, for a pass of their own: each pass has a cost that no token explains.
LEAST_SHARED = {"cuda": 1_024, "mps": 512, "cpu": 256}
# Tokens that may follow a trunk in one pass: off CUDA a mask says what each of them sees of all before it.
MOST_AFTER = {"cuda": 16_384, "mps": 2_048, "cpu": 2_048}
FORK_MASK_CELLS = {"cuda": 2**27, "mps": 2**25, "cpu": 2**25}  # of the mask of records side by side
# Tokens of the records side by side, their starts included.
FORK_MEMORY_TOKENS = {"cuda": 262_144, "mps": 65_536, "cpu": 65_536}


@dataclass(frozen=True, slots=True)
class Batch:
    """Prompts that share a pass, by place, and how many tokens of each were read before it."""

    members: tuple[int, ...]
    cuts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Batches and the trunk they continue, the start of the prompt at place `trunk` with states at `stops`."""

    batches: tuple[Batch, ...]
    trunk: int | None = None
    stops: tuple[int, ...] = ()

    def num_tokens(self, prompts: Sequence[Prompt]) -> int:
        """How many tokens its passes read, padding left out, when nothing is known before."""
        pairs = [pair for batch in self.batches for pair in zip(batch.members, batch.cuts, strict=True)]
        return sum(len(prompts[place].ids) - cut for place, cut in pairs) + (self.stops[-1] if self.stops else 0)


def schedule(prompts: Sequence[Prompt], device: str, known: Callable[[Prompt], int]) -> list[Group]:
    """The groups of a call, the longest first, so that memory runs out early or never.

    `known` says how many tokens of a prompt need not be read again. A prompt that shares nothing is its own trunk when
    it is the only one, when half of it is known, or when it would fill a pass alone.
    """
    least, most_after, room = _of(LEAST_SHARED, device), _of(MOST_AFTER, device), _of(BATCH_TOKENS, device)
    found, lonely = families(prompts, least, most_after)
    groups = [Group(tuple(_forks(prompts, family, device)), family.trunk, family.stops) for family in found]
    whole: list[int] = []
    for place in lonely:
        prompt = prompts[place]
        if prompt.parts(least, most_after) and (
            len(prompts) == 1 or 2 * len(prompt.ids) > room or 2 * known(prompt) >= prompt.stem
        ):
            groups.append(alone(prompt, place))
        else:
            whole.append(place)
    groups += [Group((Batch(places, (0,) * len(places)),)) for places in pack(prompts, whole, room)]
    return sorted(groups, key=lambda group: -max(len(prompts[p].ids) for batch in group.batches for p in batch.members))


def alone(prompt: Prompt, place: int) -> Group:
    """A prompt by itself, its start read as a trunk."""
    return Group((Batch((place,), (prompt.stem,)),), place, (prompt.stem,))


def pack(prompts: Sequence[Prompt], places: Sequence[int], batch_tokens: int) -> Iterator[tuple[int, ...]]:
    """The prompts at these places in batches of similar length, padded to at most so many tokens."""
    batch: list[int] = []
    for place in sorted(places, key=lambda place: len(prompts[place].ids), reverse=True):
        if batch and (len(batch) + 1) * len(prompts[batch[0]].ids) > batch_tokens:
            yield tuple(batch)
            batch = []
        batch.append(place)
    if batch:
        yield tuple(batch)


def _forks(prompts: Sequence[Prompt], family: Family, device: str) -> Iterator[Batch]:
    """The members of a family in batches: those that leave the trunk near each other share one."""
    room, memory, cells = _of(BATCH_TOKENS, device), _of(FORK_MEMORY_TOKENS, device), _of(FORK_MASK_CELLS, device)
    batch: list[tuple[int, int]] = []
    longest = whole = deepest = 0
    for cut, place in sorted(zip(family.cuts, family.members, strict=True)):
        tokens = len(prompts[place].ids)
        new_longest, new_whole, new_deepest = max(longest, tokens - cut), max(whole, tokens), max(deepest, cut)
        rows = (len(batch) + 1) * new_longest
        fits = rows <= room and rows * (rows + new_deepest) <= cells and (len(batch) + 1) * new_whole <= memory
        if batch and not fits:
            yield _batch(batch)
            batch = []
            new_longest, new_whole, new_deepest = tokens - cut, tokens, cut
        batch.append((cut, place))
        longest, whole, deepest = new_longest, new_whole, new_deepest
    yield _batch(batch)


def _batch(members: Sequence[tuple[int, int]]) -> Batch:
    return Batch(tuple(place for _, place in members), tuple(cut for cut, _ in members))


def _of(sizes: dict[str, int], device: str) -> int:
    return sizes.get(device, sizes["cpu"])
