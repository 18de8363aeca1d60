"""The building blocks of the joint schema head: dense product, attention, evidence layer and field layer.

Shapes: B records, T tokens of a record with padding, N flat rows (options or questions of all records), W head width.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from clef_model.layout import Slots


def dense(rows: Tensor, weight: Tensor, bias: Tensor | None, *, gelu: bool = False) -> Tensor:
    """`rows @ weight.T + bias`, then the exact GELU if asked.

    Without gradients on a CPU, oneDNN does it in one call: 1.1 to 1.4 times as fast as torch's default product,
    measured at the head's sizes on two cores of an AMD EPYC.
    """
    if _onednn_serves(rows, weight):
        activation, algorithm = ("gelu", "none") if gelu else ("none", "")
        product: Tensor = torch.ops.mkldnn._linear_pointwise(rows, weight, bias, activation, [], algorithm)
        return product
    product = functional.linear(rows, weight, bias)
    return functional.gelu(product) if gelu else product


def _onednn_serves(rows: Tensor, weight: Tensor) -> bool:
    return (
        rows.device.type == "cpu"
        and rows.dtype == weight.dtype == torch.float32
        and not (torch.is_grad_enabled() and (rows.requires_grad or weight.requires_grad))
        and torch._C._has_mkldnn
    )


class Dense(nn.Linear):
    """A linear layer through `dense`, with the GELU after it if asked."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True, *, gelu: bool = False) -> None:
        super().__init__(inputs, outputs, bias)
        self.gelu = gelu

    def forward(self, rows: Tensor) -> Tensor:
        return dense(rows, self.weight, self.bias, gelu=self.gelu)


class Attention(nn.Module):
    """Multi-head attention with torch's parameter names; padding exists only inside the attention itself."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.in_proj_weight = nn.Parameter(torch.empty(3 * width, width))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * width))
        self.out_proj = Dense(width, width)
        nn.init.xavier_uniform_(self.in_proj_weight)
        nn.init.zeros_(self.out_proj.bias)

    def among(self, rows: Tensor, slots: Slots, mask: Tensor | None) -> Tensor:
        """Flat rows [N, W] that attend to the rows of their own group."""
        projected = dense(rows, self.in_proj_weight, self.in_proj_bias)
        queries, keys, values = self._split_heads(slots.pad(projected), 3)
        return self._merge_heads(self._attend(queries, keys, values, mask), slots)

    def over(
        self, rows: Tensor, memory: Tensor, slots: Slots, mask: Tensor | None, weights: list[Tensor] | None = None
    ) -> Tensor:
        """Flat rows [N, W] that attend to their own group's memory [B, T, W]; appends [N, T] to `weights` if asked."""
        width = rows.shape[-1]
        projected = dense(rows, self.in_proj_weight[:width], self.in_proj_bias[:width])
        (queries,) = self._split_heads(slots.pad(projected), 1)
        if self._is_small(slots, memory):
            routed, looks = self._attend_unprojected(queries, memory, mask)
            if weights is not None:
                weights.append(slots.unpad(looks.mean(dim=1)))
            return self._merge_heads(routed, slots)
        keys, values = self._split_heads(dense(memory, self.in_proj_weight[width:], self.in_proj_bias[width:]), 2)
        if weights is not None:
            weights.append(slots.unpad(_mean_weights(queries, keys, mask)))
        return self._merge_heads(self._attend(queries, keys, values, mask), slots)

    def _split_heads(self, projected: Tensor, parts: int) -> tuple[Tensor, ...]:
        """[B, N, parts * W] as `parts` tensors [B, heads, N, W / heads]."""
        batch, count, _ = projected.shape
        return projected.view(batch, count, parts, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)

    def _merge_heads(self, routed: Tensor, slots: Slots) -> Tensor:
        return self.out_proj(slots.unpad(routed.transpose(1, 2).flatten(2)))  # type: ignore[no-any-return]

    def _attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        return functional.scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask, dropout_p=self.dropout if self.training else 0.0
        )

    def _is_small(self, slots: Slots, memory: Tensor) -> bool:
        """Whether so few rows look at the memory that projecting all of it would be most of the work.

        On a GPU the projection costs little, and in half precision rounding should stay the release's.
        """
        few = 2 * slots.size * self.heads <= memory.shape[-1] and slots.size <= memory.shape[1]
        return few and memory.device.type == "cpu" and memory.dtype == torch.float32 and not self.training

    def _attend_unprojected(self, queries: Tensor, memory: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """What `_attend` gives, with the key and value matrices moved to the queries' side; weights [B, heads, N, T].

        q . (K m + k) differs between tokens only by (q K) . m, and the mean of V m + v is V (mean of m) + v.
        """
        batch, heads, count, size = queries.shape
        width = memory.shape[-1]
        _, key_weight, value_weight = self.in_proj_weight.view(3, heads, size, width)
        lifted = torch.einsum("bhnd,hdw->bhnw", queries, key_weight).reshape(batch, heads * count, width)
        scores = lifted @ memory.transpose(1, 2) / math.sqrt(size)
        looks = (scores if mask is None else scores + mask[:, 0]).softmax(-1)
        seen = (looks @ memory).view(batch, heads, count, width)
        value_bias = self.in_proj_bias[2 * width :].view(heads, 1, size)
        routed = torch.einsum("bhnw,hdw->bhnd", seen, value_weight) + value_bias
        return routed, looks.view(batch, heads, count, -1)


class EvidenceLayer(nn.Module):
    """Options gather evidence from the tokens of their record; they do not see each other."""

    def __init__(self, width: int, heads: int, feedforward: int, dropout: float) -> None:
        super().__init__()
        self.query_norm = nn.LayerNorm(width)
        self.memory_norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads, dropout)
        self.attention_dropout = nn.Dropout(dropout)
        self.feedforward_norm = nn.LayerNorm(width)
        self.feedforward = nn.Sequential(
            Dense(width, feedforward, gelu=True),
            nn.Identity(),  # the checkpoint counts the GELU as a place of its own
            nn.Dropout(dropout),
            Dense(feedforward, width),
            nn.Dropout(dropout),
        )

    def forward(
        self, options: Tensor, memory: Tensor, slots: Slots, mask: Tensor | None, weights: list[Tensor] | None
    ) -> Tensor:
        routed = self.attention.over(self.query_norm(options), self.memory_norm(memory), slots, mask, weights)
        options = options + self.attention_dropout(routed)
        return options + self.feedforward(self.feedforward_norm(options))  # type: ignore[no-any-return]


class FieldLayer(nn.Module):
    """Questions of a record look at each other, then at its tokens: a pre-norm decoder layer."""

    def __init__(self, width: int, heads: int, feedforward: int, dropout: float) -> None:
        super().__init__()
        self.self_attn = Attention(width, heads, dropout)
        self.multihead_attn = Attention(width, heads, dropout)
        self.linear1 = Dense(width, feedforward, gelu=True)
        self.linear2 = Dense(feedforward, width)
        self.norm1 = nn.LayerNorm(width)
        self.norm2 = nn.LayerNorm(width)
        self.norm3 = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, fields: Tensor, memory: Tensor, slots: Slots, field_mask: Tensor | None, token_mask: Tensor | None
    ) -> Tensor:
        fields = fields + self.dropout(self.self_attn.among(self.norm1(fields), slots, field_mask))
        fields = fields + self.dropout(self.multihead_attn.over(self.norm2(fields), memory, slots, token_mask))
        return fields + self.dropout(self.linear2(self.dropout(self.linear1(self.norm3(fields)))))  # type: ignore[no-any-return]


def _mean_weights(queries: Tensor, keys: Tensor, mask: Tensor | None) -> Tensor:
    """Attention weights, mean over heads, [B, N, T]; one head at a time, since all at once can fill a GPU."""
    total = queries.new_zeros(queries.shape[0], queries.shape[2], keys.shape[2])
    for head in range(queries.shape[1]):
        scores = queries[:, head] @ keys[:, head].transpose(1, 2) / math.sqrt(queries.shape[-1])
        total = total + (scores if mask is None else scores + mask[:, 0]).softmax(-1)
    return total / queries.shape[1]
