"""The backbone's cheap operations between its matrix products, each in one function that a compiler can fuse.

On a GPU they are a third of a long pass when every product and sum is a kernel of its own; `fused` makes one of each.
Formulas as in transformers' qwen3_5, the same roundings included.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields

import torch
from torch import Tensor
from torch.nn import functional


def rms_norm(rows: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """Rows scaled to unit mean square and by one plus the weight; float32 inside."""
    wide = rows.float()
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + epsilon)
    return (wide * (1.0 + weight.float())).to(rows.dtype)


def add_norm(rows: Tensor, more: Tensor, weight: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    """The sum, and its norm."""
    total = rows + more
    return total, rms_norm(total, weight, epsilon)


def gated_norm(rows: Tensor, gate: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """Rows of a linear layer's heads scaled to unit mean square, then gated by the SiLU of `gate`."""
    wide = rows.float()
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + epsilon)
    return ((weight * wide.to(rows.dtype)) * functional.silu(gate.float())).to(rows.dtype)


def convolved(earlier: Tensor, rows: Tensor, weight: Tensor) -> Tensor:
    """Depthwise causal convolution and SiLU of rows [B, S, C] after `earlier` ones [B, taps - 1, C]; [C, 1, taps]."""
    whole = torch.cat([earlier, rows], dim=1)
    taps, length = weight.shape[-1], rows.shape[1]
    total = whole[:, :length].float() * weight[:, 0, 0].float()
    for place in range(1, taps):
        total = total + whole[:, place : place + length].float() * weight[:, 0, place].float()
    return functional.silu(total.to(rows.dtype))


def decays(rates: Tensor, log_speed: Tensor, bias: Tensor) -> Tensor:
    """The logarithm of how much of its state a linear layer keeps at each token, float32."""
    return -log_speed.float().exp() * functional.softplus(rates.float() + bias)


def rotated(rows: Tensor, weight: Tensor, epsilon: float, cosine: Tensor, sine: Tensor) -> Tensor:
    """Queries or keys [B, S, heads, d], normalised and turned by position; `cosine` and `sine` [B, S, turned part]."""
    rows = rms_norm(rows, weight, epsilon)
    cosine, sine = cosine.unsqueeze(2), sine.unsqueeze(2)
    size = cosine.shape[-1]
    part, rest = rows[..., :size], rows[..., size:]
    turned = torch.cat([-part[..., size // 2 :], part[..., : size // 2]], dim=-1)
    return torch.cat([part * cosine + turned * sine, rest], dim=-1)


def gated(rows: Tensor, gate: Tensor) -> Tensor:
    """What full attention read, gated."""
    return rows * torch.sigmoid(gate)


def swiglu(gate: Tensor, rows: Tensor) -> Tensor:
    return functional.silu(gate) * rows


@dataclass(frozen=True)
class Elementwise:
    """The functions of this module, as they are or fused."""

    rms_norm: Callable[..., Tensor] = rms_norm
    add_norm: Callable[..., tuple[Tensor, Tensor]] = add_norm
    gated_norm: Callable[..., Tensor] = gated_norm
    convolved: Callable[..., Tensor] = convolved
    decays: Callable[..., Tensor] = decays
    rotated: Callable[..., Tensor] = rotated
    gated: Callable[..., Tensor] = gated
    swiglu: Callable[..., Tensor] = swiglu


def fused() -> Elementwise:
    """Each function compiled for any length; the first call of each takes seconds."""
    plain = Elementwise()
    names = [field.name for field in fields(Elementwise)]
    return Elementwise(**{name: torch.compile(getattr(plain, name), dynamic=True) for name in names})
