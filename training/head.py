"""The joint schema head over padded batches, for training: the release's names, one pass for all records.

Shapes: B records, T tokens, Q questions and O options of a record at most, D backbone width, W head width.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the questions and options of a padded batch lie."""

    tokens: Tensor  # [B, T] bool, real tokens
    last: Tensor  # [B] index of the last real token
    questions: Tensor  # [B, Q, 2] half-open token spans; empty where there is no question
    kinds: Tensor  # [B, Q] 0 noul, 1 choice, 2 score
    options: Tensor  # [B, O, 2] half-open token spans; empty where there is no option
    owner: Tensor  # [B, O] index of the option's question


class EvidenceLayer(nn.Module):
    """Options look at the record: pre-norm cross-attention over the memory, then a feed-forward step."""

    def __init__(self, width: int, heads: int, feedforward: int) -> None:
        super().__init__()
        self.query_norm = nn.LayerNorm(width)
        self.memory_norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.feedforward_norm = nn.LayerNorm(width)
        self.feedforward = nn.Sequential(
            nn.Linear(width, feedforward),
            nn.GELU(),
            nn.Identity(),  # the release has dropout here and below; its place keeps the key names
            nn.Linear(feedforward, width),
            nn.Identity(),
        )

    def forward(self, options: Tensor, memory: Tensor, padding: Tensor) -> Tensor:
        keys = self.memory_norm(memory)
        found, _ = self.attention(self.query_norm(options), keys, keys, key_padding_mask=padding, need_weights=False)
        options = options + found
        return options + self.feedforward(self.feedforward_norm(options))


class BatchedHead(nn.Module):
    """Logits of every option, [B, O], from the backbone's hidden states and the lexical means of the options."""

    def __init__(
        self, hidden_size: int, width: int, routing_layers: int, layers: int, heads: int, feedforward: int
    ) -> None:
        super().__init__()
        self.hidden_norm = nn.LayerNorm(hidden_size)
        self.memory_projection = nn.Linear(hidden_size, width, bias=False)
        self.question_projection = nn.Linear(hidden_size, width, bias=False)
        self.option_question_projection = nn.Linear(hidden_size, width, bias=False)
        self.global_projection = nn.Linear(hidden_size, width, bias=False)
        self.option_context_projection = nn.Linear(hidden_size, width, bias=False)
        self.option_lexical_projection = nn.Linear(hidden_size, width, bias=False)
        self.type_embedding = nn.Embedding(3, width)
        self.evidence_layers = nn.ModuleList(EvidenceLayer(width, heads, feedforward) for _ in range(routing_layers))
        self.option_summary_norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(
            nn.TransformerDecoderLayer(
                width, heads, feedforward, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
            )
            for _ in range(layers)
        )
        self.field_norm = nn.LayerNorm(width)
        self.option_norm = nn.LayerNorm(width)
        self.residual_scorer = nn.Sequential(nn.Linear(4 * width, width), nn.GELU(), nn.Identity(), nn.Linear(width, 1))
        self.prior_logit_scale = nn.Parameter(torch.zeros(()))
        self.joint_logit_scale = nn.Parameter(torch.zeros(()))
        self.residual_gate = nn.Parameter(torch.zeros(()))

    def forward(self, hidden: Tensor, lexical: Tensor, layout: Layout) -> Tensor:
        normed = self.hidden_norm(hidden)  # [B, T, D]
        padding = ~layout.tokens
        memory = self.memory_projection(normed)  # [B, T, W]
        rows = torch.arange(len(normed), device=normed.device)
        whole = normed[rows, layout.last]  # [B, D]
        questions = span_means(normed, layout.questions)  # [B, Q, D]
        contexts = span_means(normed, layout.options)  # [B, O, D]
        owner = layout.owner.unsqueeze(-1)
        own_question = questions.gather(1, owner.expand(-1, -1, questions.shape[-1]))  # [B, O, D]

        routed = (
            self.option_context_projection(contexts)
            + self.option_lexical_projection(lexical)
            + self.option_question_projection(own_question)
        )  # [B, O, W]
        for layer in self.evidence_layers:
            routed = layer(routed, memory, padding)

        fields = self.question_projection(questions)  # [B, Q, W]
        fields = (
            fields
            + self.option_summary_norm(self._summaries(fields, routed, layout))
            + self.global_projection(whole).unsqueeze(1)
            + self.type_embedding(layout.kinds)
        )
        absent = layout.questions[..., 1] <= layout.questions[..., 0]  # [B, Q]
        for layer in self.layers:
            fields = layer(fields, memory, tgt_key_padding_mask=absent, memory_key_padding_mask=padding)
        fields = self.field_norm(fields)

        anchor = functional.normalize(own_question + whole.unsqueeze(1), dim=-1)
        prior = bounded_exp(self.prior_logit_scale) * (functional.normalize(lexical, dim=-1) * anchor).sum(-1)
        own_field = fields.gather(1, owner.expand(-1, -1, fields.shape[-1]))  # [B, O, W]
        return prior + torch.sigmoid(self.residual_gate) * self._joint(own_field, self.option_norm(routed))

    def _summaries(self, fields: Tensor, routed: Tensor, layout: Layout) -> Tensor:
        """Each question's softmax-weighted mean of its own options, [B, Q, W]."""
        scores = fields @ routed.transpose(1, 2) / math.sqrt(routed.shape[-1])  # [B, Q, O]
        places = torch.arange(fields.shape[1], device=fields.device).view(1, -1, 1)
        present = (layout.options[..., 1] > layout.options[..., 0]).unsqueeze(1)
        own = (layout.owner.unsqueeze(1) == places) & present
        weights = scores.float().masked_fill(~own, -1e9).softmax(-1) * own
        return weights.to(routed.dtype) @ routed

    def _joint(self, fields: Tensor, options: Tensor) -> Tensor:
        cosine = functional.cosine_similarity(fields, options, dim=-1)
        features = torch.cat([fields, options, fields * options, (fields - options).abs()], dim=-1)
        return bounded_exp(self.joint_logit_scale) * cosine + self.residual_scorer(features).squeeze(-1)


def bounded_exp(scale: Tensor) -> Tensor:
    return scale.clamp(max=math.log(100.0)).exp()


def span_means(values: Tensor, spans: Tensor) -> Tensor:
    """The mean of values [B, T, D] over each half-open span [B, N, 2], zero over an empty one."""
    places = torch.arange(values.shape[1], device=values.device)
    inside = (places >= spans[..., :1]) & (places < spans[..., 1:])  # [B, N, T]
    lengths = (spans[..., 1] - spans[..., 0]).clamp(min=1).unsqueeze(-1)
    return (inside / lengths).to(values.dtype) @ values
