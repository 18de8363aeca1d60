"""One pass of tokens through the layers of a Qwen3.5 text model, from explicit states and to explicit states.

transformers' own cache cannot be rewound, forked at several places or read by a batch of different lengths; here the
state of a layer is a value. The weights, with whatever adapter wraps them, stay in transformers' modules.

Shapes: B records, S new tokens each, P tokens read before, D width, C channels of a convolution, d width of a head.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention.bias import CausalBias, causal_lower_right

from clef_model.delta_rule import gated_delta_rule
from clef_model.elementwise import Elementwise


@dataclass(frozen=True, slots=True)
class DeltaState:
    """A linear layer after some tokens: its convolution's last inputs [B, taps - 1, C], its memory [B, H, d, d]."""

    inputs: Tensor
    memory: Tensor

    @property
    def num_bytes(self) -> int:
        return self.inputs.nbytes + self.memory.nbytes


@dataclass(frozen=True, slots=True)
class Attending:
    """Which tokens a new token looks at.

    `keys` are each full layer's keys and values of one trunk, [1, kv, T, d]; its first `length` tokens have been read,
    and all B records continue them. `mask` [B * S, length + B * S] says who sees what; without it one record continues
    the trunk and sees all up to itself, and `writes` puts its keys into the trunk's. Without `keys` each record sees
    its own tokens up to itself.
    """

    keys: Sequence[tuple[Tensor, Tensor]] | None = None
    length: int = 0
    mask: Tensor | None = None
    writes: bool = False


@dataclass(frozen=True, slots=True)
class Passed:
    """Hidden states after the final norm [B, S, D], and the states of all linear layers at each place asked for."""

    hidden: Tensor
    states: Mapping[int, tuple[DeltaState, ...]]


def pass_layers(
    text_model: Any,
    embeddings: Tensor,
    positions: Tensor,
    attending: Attending,
    before: Sequence[DeltaState] | None,
    ops: Elementwise,
    report: Callable[[float], None] | None = None,
    stops: Sequence[int] = (),
) -> Passed:
    """The pass of new tokens: `embeddings` [B, S, D], their `positions` [3, B, S] in time, height and width.

    `before` are the linear layers' states before them, None at the start of a prompt. `report` is called before each
    layer with the share of layers done; what it raises ends the pass. `stops` are the places, rising and counted from
    the first new token, after which the linear layers' states are wanted.
    """
    turns = text_model.rotary_emb(embeddings, positions)
    bias = _bias(attending, embeddings)
    rows, num_full = embeddings, 0
    states: list[list[DeltaState]] = []
    layers = text_model.layers
    normed = _norm(ops, layers[0].input_layernorm, rows)
    for place, layer in enumerate(layers):
        if report is not None:
            report(place / len(layers))
        if hasattr(layer, "linear_attn"):
            earlier = None if before is None else before[len(states)]
            mixed, at_stops = _delta_net(layer.linear_attn, normed, earlier, ops, stops)
            states.append(at_stops)
        else:
            mixed = _attention(layer.self_attn, normed, turns, attending, bias, num_full, ops)
            num_full += 1
        rows, normed = _add_norm(ops, layer.post_attention_layernorm, rows, mixed)
        mlp = layer.mlp
        mixed = mlp.down_proj(ops.swiglu(mlp.gate_proj(normed), mlp.up_proj(normed)))
        following = layers[place + 1].input_layernorm if place + 1 < len(layers) else text_model.norm
        rows, normed = _add_norm(ops, following, rows, mixed)
    return Passed(normed, {stop: tuple(layer[place] for layer in states) for place, stop in enumerate(stops)})


def empty_keys(text_model: Any, num_tokens: int) -> tuple[tuple[Tensor, Tensor], ...]:
    """Room for the keys and values of so many tokens, [1, kv, T, d] twice a full layer."""
    weight = text_model.embed_tokens.weight
    shapes = (
        (1, layer.self_attn.config.num_key_value_heads, num_tokens, layer.self_attn.head_dim)
        for layer in text_model.layers
        if hasattr(layer, "self_attn")
    )
    return tuple((weight.new_empty(shape), weight.new_empty(shape)) for shape in shapes)


def _norm(ops: Elementwise, module: Any, rows: Tensor) -> Tensor:
    return ops.rms_norm(rows, module.weight, module.eps)


def _add_norm(ops: Elementwise, module: Any, rows: Tensor, more: Tensor) -> tuple[Tensor, Tensor]:
    return ops.add_norm(rows, more, module.weight, module.eps)


def _delta_net(
    module: Any, rows: Tensor, before: DeltaState | None, ops: Elementwise, stops: Sequence[int]
) -> tuple[Tensor, list[DeltaState]]:
    inputs = module.in_proj_qkv(rows)
    taps = module.conv_kernel_size
    earlier = inputs.new_zeros(len(rows), taps - 1, inputs.shape[-1]) if before is None else before.inputs
    mixed = ops.convolved(earlier, inputs, module.conv1d.weight)
    query, key, value = torch.split(mixed, [module.key_dim, module.key_dim, module.value_dim], dim=-1)
    query, key = _heads(query, module.head_k_dim), _heads(key, module.head_k_dim)
    value = _heads(value, module.head_v_dim)
    decay = ops.decays(module.in_proj_a(rows), module.A_log, module.dt_bias)
    strength = module.in_proj_b(rows).sigmoid()
    # The rule alone is parted at the stops: all else of the layer stays one pass.
    memory = None if before is None else before.memory
    pieces, states, start = [], [], 0
    for stop in dict.fromkeys((*stops, rows.shape[1])):
        part = slice(start, stop)
        piece, memory = gated_delta_rule(
            query[:, part], key[:, part], value[:, part], decay[:, part], strength[:, part], memory
        )
        pieces.append(piece)
        if stop in stops:
            last = torch.cat([earlier, inputs[:, max(0, stop - taps + 1) : stop]], dim=1)[:, -(taps - 1) :]
            states.append(DeltaState(last.clone(), memory))
        start = stop
    read = pieces[0] if len(pieces) == 1 else torch.cat(pieces, dim=1)
    gate = _heads(module.in_proj_z(rows), module.head_v_dim)
    read = ops.gated_norm(read, gate, module.norm.weight, module.norm.variance_epsilon)
    return module.out_proj(read.flatten(2)), states


def _attention(
    module: Any,
    rows: Tensor,
    turns: tuple[Tensor, Tensor],
    attending: Attending,
    bias: Any,
    num_full: int,
    ops: Elementwise,
) -> Tensor:
    batch, length, _ = rows.shape
    query, gate = _heads(module.q_proj(rows), 2 * module.head_dim).chunk(2, dim=-1)
    query = ops.rotated(query, module.q_norm.weight, module.q_norm.eps, *turns).transpose(1, 2)
    key = _heads(module.k_proj(rows), module.head_dim)
    key = ops.rotated(key, module.k_norm.weight, module.k_norm.eps, *turns).transpose(1, 2)
    value = _heads(module.v_proj(rows), module.head_dim).transpose(1, 2)
    if attending.keys is None:
        read = _attend(query, key, value, bias, module.scaling).transpose(1, 2)
    else:
        keys, values = attending.keys[num_full]
        end = attending.length + length
        if attending.writes:
            keys[:, :, attending.length : end] = key
            values[:, :, attending.length : end] = value
            keys, values = keys[:, :, :end], values[:, :, :end]
        else:
            keys = torch.cat([keys[:, :, : attending.length], _side_by_side(key)], dim=2)
            values = torch.cat([values[:, :, : attending.length], _side_by_side(value)], dim=2)
        # All records continue one trunk: side by side they are one row of queries, and the trunk is read once.
        read = _attend(_side_by_side(query), keys, values, bias, module.scaling)
        read = read[0].transpose(0, 1).reshape(batch, length, -1, module.head_dim)
    return module.o_proj(ops.gated(read.flatten(2), gate.flatten(2)))  # type: ignore[no-any-return]


def _heads(rows: Tensor, size: int) -> Tensor:
    """[B, S, heads * size] as [B, S, heads, size]."""
    return rows.view(*rows.shape[:-1], -1, size)


def _side_by_side(rows: Tensor) -> Tensor:
    """[B, heads, S, d] as [1, heads, B * S, d]."""
    return rows if len(rows) == 1 else rows.transpose(0, 1).flatten(1, 2).unsqueeze(0)


def _bias(attending: Attending, embeddings: Tensor) -> Any:
    """Who sees what, made once for all layers of a pass; None where each new token sees all new ones up to itself."""
    new = embeddings.shape[0] * embeddings.shape[1]
    if attending.keys is None or (attending.mask is None and attending.length == 0):
        return None
    mask = attending.mask
    if mask is None:
        if embeddings.is_cuda and embeddings.dtype != torch.float32:  # its kernel needs no mask in memory
            return causal_lower_right(new, attending.length + new)
        mask = torch.ones(new, attending.length + new, dtype=torch.bool, device=embeddings.device)
        mask = mask.tril(attending.length)
    if embeddings.is_cuda:
        return mask
    # The CPU's kernel would make these numbers of the mask in every layer.
    return embeddings.new_zeros(mask.shape).masked_fill_(mask.logical_not(), float("-inf"))


def _attend(query: Tensor, key: Tensor, value: Tensor, bias: Any, scale: float) -> Tensor:
    """Grouped-query attention; without a bias it is causal."""
    if query.is_cuda and bias is not None and not isinstance(bias, CausalBias):
        # The kernel that takes a mask knows no groups.
        groups = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    return functional.scaled_dot_product_attention(
        query, key, value, attn_mask=bias, is_causal=bias is None, scale=scale, enable_gqa=True
    )
