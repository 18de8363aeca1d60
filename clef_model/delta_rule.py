"""The gated delta rule of the linear layers: over chunks of 64 tokens, from any state, on any device.

Shapes: B records, S tokens, K key heads, H value heads (a multiple of K), d width of a head; N chunks of C.
Source of the recurrence: "Gated Delta Networks" (arXiv 2412.06464); conventions as in transformers' qwen3_5.
"""

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

CHUNK = 64  # tokens; a pass cut at multiples of it adds up the very same numbers
EPSILON = 1e-6  # of the norm of queries and keys


def gated_delta_rule(
    query: Tensor, key: Tensor, value: Tensor, decay: Tensor, strength: Tensor, state: Tensor | None
) -> tuple[Tensor, Tensor]:
    """What each token reads, [B, S, H, d], and the state after the last, float32 [B, H, d, d].

    `query` and `key` [B, S, K, d] are normalised here; `value` [B, S, H, d]; `decay` (its logarithm, at most 0, in
    float32) and `strength` (0 to 1) [B, S, H]. `state` is that after earlier tokens, None for none.
    """
    kernel = cuda_kernel() if query.is_cuda else None
    if kernel is not None:
        read, last = kernel(
            query,
            key,
            value,
            g=decay,
            beta=strength,
            initial_state=state,
            output_final_state=True,
            use_qk_l2norm_in_kernel=True,
        )
        return read, last
    return in_torch(query, key, value, decay, strength, state)


@cache
def cuda_kernel() -> Callable[..., Any] | None:
    """The rule of flash-linear-attention, where it is installed and can be imported."""
    if find_spec("fla") is None:
        return None
    try:
        from fla.ops.gated_delta_rule import chunk_gated_delta_rule
    except Exception:  # it asks for a Triton or a driver that is not there
        return None
    return chunk_gated_delta_rule  # type: ignore[no-any-return]


def in_torch(
    query: Tensor, key: Tensor, value: Tensor, decay: Tensor, strength: Tensor, state: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The same in PyTorch alone, in float32."""
    kind, length, groups = value.dtype, value.shape[1], key.shape[2]
    # Value heads that share a key head stand side by side, so that what depends on keys alone is computed once.
    query, key = (_chunks(_unit(rows.float()), groups) for rows in (query, key))  # [B, K, 1, N, C, d]
    value = _chunks(value.float(), groups)  # [B, K, H/K, N, C, d]
    decay, strength = (_chunks(rows.float().unsqueeze(-1), groups).squeeze(-1) for rows in (decay, strength))
    query = query * key.shape[-1] ** -0.5
    turned = key.transpose(-1, -2)
    since = decay.cumsum(-1)  # log of the decay since the chunk began
    later = torch.ones(CHUNK, CHUNK, dtype=torch.bool, device=key.device).triu(1)
    between = (since.unsqueeze(-1) - since.unsqueeze(-2)).masked_fill_(later, float("-inf")).exp_()
    since_power = since.exp().unsqueeze(-1)
    # Within a chunk each token corrects what the earlier ones wrote: one triangular system for all corrections.
    system = (key @ turned) * strength.unsqueeze(-1) * between
    written = torch.cat([value, (key * since_power).expand(*value.shape[:-1], key.shape[-1])], dim=-1)
    solved = torch.linalg.solve_triangular(system, written * strength.unsqueeze(-1), upper=False, unitriangular=True)
    values, reads = solved.split([value.shape[-1], key.shape[-1]], dim=-1)
    inside = (query @ turned) * between
    asks = query * since_power
    writes = (key * (since[..., -1:] - since).exp().unsqueeze(-1)).transpose(-1, -2)
    whole = since_power[..., -1:, :]  # [B, K, H/K, N, 1, 1]
    batch, _, per_group, num_chunks = value.shape[:4]
    if state is None:
        state = value.new_zeros(batch, groups * per_group, key.shape[-1], value.shape[-1])
    state = state.float().view(batch, groups, per_group, key.shape[-1], value.shape[-1])
    out = torch.empty_like(value)
    for place in range(num_chunks):
        new = values[:, :, :, place] - reads[:, :, :, place] @ state
        out[:, :, :, place] = asks[:, :, :, place] @ state + inside[:, :, :, place] @ new
        state = state * whole[:, :, :, place] + writes[:, :, :, place] @ new
    read = out.flatten(3, 4).flatten(1, 2)[:, :, :length].transpose(1, 2)
    return read.to(kind), state.flatten(1, 2)


def _unit(rows: Tensor) -> Tensor:
    return rows * torch.rsqrt((rows * rows).sum(-1, keepdim=True) + EPSILON)


def _chunks(rows: Tensor, groups: int) -> Tensor:
    """[B, S, heads, d] as [B, groups, heads / groups, N, C, d], filled up with zeros to whole chunks."""
    batch, length, heads, size = rows.shape
    rows = functional.pad(rows, (0, 0, 0, 0, 0, -length % CHUNK))
    return rows.view(batch, -1, CHUNK, groups, heads // groups, size).permute(0, 3, 4, 1, 2, 5)
