"""Faster stand-ins, for training, of two functions of Qwen3.5's linear layers where their CUDA packages are absent.

Same results as transformers' own fallbacks: the triangular system of each chunk is inverted by doubling instead of
solved, and the short causal convolution is a sum of shifted copies. flash-linear-attention is not used: it refuses its
backward pass on Hopper with Triton 3.4 to 3.7.0, where the result would be wrong.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers.models.qwen3_5 import modeling_qwen3_5

CHUNK = 64  # tokens


class UnitInverse(torch.autograd.Function):
    """The inverse of I + N for strictly lower triangular N, [..., 64, 64]: N is nilpotent, so doubling is exact."""

    @staticmethod
    def forward(context: Any, lower: Tensor) -> Tensor:
        size = lower.shape[-1]
        power = -lower
        inverse = power + torch.eye(size, device=lower.device, dtype=lower.dtype)
        for _ in range(size.bit_length() - 2):
            power = power @ power
            inverse = inverse + inverse @ power
        context.save_for_backward(inverse)
        return inverse

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:
        (inverse,) = context.saved_tensors
        turned = inverse.transpose(-1, -2)
        return -(turned @ gradient @ turned).tril(-1)


def gated_delta_rule(
    query: Tensor, key: Tensor, value: Tensor, g: Tensor, beta: Tensor, **_: Any
) -> tuple[Tensor, None]:
    """The gated delta rule over chunks of 64 tokens from an empty state; query and key are normalised here.

    query, key: [B, T, H, K]; value: [B, T, H, V]; g: log of the decay and beta: write strength, [B, T, H].
    """
    kind, length = query.dtype, query.shape[1]
    with torch.autocast(query.device.type, enabled=False):
        query, key, value, beta, g = (x.transpose(1, 2).float() for x in (query, key, value, beta, g))
        query = functional.normalize(query, dim=-1, eps=1e-6) * query.shape[-1] ** -0.5
        key = functional.normalize(key, dim=-1, eps=1e-6)
        extra = -length % CHUNK
        query, key, value = (chunks(functional.pad(x, (0, 0, 0, extra))) for x in (query, key, value))
        beta, g = (functional.pad(x, (0, extra)).unflatten(2, (-1, CHUNK)) for x in (beta, g))
        decay = g.cumsum(-1)  # [B, H, N, 64] log of the decay since the chunk's start
        upper = torch.ones(CHUNK, CHUNK, dtype=torch.bool, device=query.device).triu(1)
        between = (decay.unsqueeze(-1) - decay.unsqueeze(-2)).masked_fill(upper, float("-inf")).exp()
        strong_key = key * beta.unsqueeze(-1)
        turned = key.transpose(-1, -2)
        inverse = UnitInverse.apply((strong_key @ turned * between).tril(-1))
        since = decay.exp().unsqueeze(-1)
        values = inverse @ (value * beta.unsqueeze(-1))
        reads = inverse @ (strong_key * since)
        inside = query @ turned * between
        query = query * since
        writes = (key * (decay[..., -1:] - decay).exp().unsqueeze(-1)).transpose(-1, -2)
        whole = decay[..., -1].exp()[..., None, None]
        state = values.new_zeros(*values.shape[:2], key.shape[-1], values.shape[-1])
        out = []
        for place in range(values.shape[2]):
            new = values[:, :, place] - reads[:, :, place] @ state
            out.append(query[:, :, place] @ state + inside[:, :, place] @ new)
            state = state * whole[:, :, place] + writes[:, :, place] @ new
        result = torch.cat(out, dim=2)[:, :, :length].transpose(1, 2)
    gated_delta_rule.calls += 1  # type: ignore[attr-defined]
    return result.to(kind).contiguous(), None


gated_delta_rule.calls = 0  # type: ignore[attr-defined]


def chunks(values: Tensor) -> Tensor:
    return values.unflatten(2, (-1, CHUNK))


def causal_convolution(*inputs: Any, **named: Any) -> Tensor:
    """Depthwise causal convolution of [B, C, T] with weight [C, 4] and SiLU."""
    names = ("hidden_states", "weight", "bias", "activation")
    given = {**dict(zip(names, inputs, strict=False)), **named}
    hidden, weight = given.get("hidden_states", given.get("x")), given["weight"]
    assert given.get("bias") is None
    assert given.get("activation") == "silu"
    size, length = weight.shape[-1], hidden.shape[-1]
    padded = functional.pad(hidden, (size - 1, 0))
    weight = weight.to(hidden.dtype)
    total = sum(padded[..., place : place + length] * weight[:, place : place + 1] for place in range(size))
    return functional.silu(total)


def install(model: torch.nn.Module) -> None:
    """Puts the stand-ins into the module and into layers that hold their own reference."""
    for name, function in (
        ("torch_chunk_gated_delta_rule", gated_delta_rule),
        ("chunk_gated_delta_rule", gated_delta_rule),
        ("causal_conv1d_fn", causal_convolution),
    ):
        if hasattr(modeling_qwen3_5, name):
            setattr(modeling_qwen3_5, name, function)
        for module in model.modules():
            if callable(getattr(module, name, None)) and not isinstance(getattr(module, name), torch.nn.Module):
                setattr(module, name, function)
