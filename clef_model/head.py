"""The joint schema head: one logit for every option of every question, in one pass without loops.

Shapes: B records, T tokens of a record with padding, Q questions and O options of all records, D backbone width,
W head width, R evidence layers. Attributes carry the checkpoint's names, so its 122 tensors load strictly and map-free.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from clef_model.layout import Layout, Slots, SpannedRecord, plan_layout

MAX_LOG_SCALE = math.log(100.0)  # Source: clef-flash joint_schema_model.py, revision 17f0b0a
NUM_TYPES = 3  # noul, choice, score


@dataclass(frozen=True, slots=True)
class QuestionReadout:
    """How the logits of one question came about: `logits = prior + gate * (joint_scale * cosine + residual)`.

    `routing` is the share (0 to 1, sum 1) of each option in the question's summary of its options; `attention[r, o, t]`
    how much option o looks at token t of its record in evidence layer r, mean over heads (each row sums to 1).
    """

    logits: Tensor  # [options]
    prior: Tensor  # [options], scale included
    cosine: Tensor  # [options], -1 to 1
    residual: Tensor  # [options]
    routing: Tensor  # [options]
    attention: Tensor  # [R, options, tokens]


@dataclass(frozen=True, slots=True)
class HeadReadout:
    """The read-out of a batch; the three scalars are the same for every question."""

    gate: float  # 0 to 1
    prior_scale: float
    joint_scale: float
    records: tuple[tuple[QuestionReadout, ...], ...]


@dataclass(frozen=True, slots=True)
class HeadInputs:
    """All that the head reads of the backbone: what a chunked or cached pass has to keep."""

    memory: Tensor  # [B, T, W]
    token_mask: Tensor | None  # [B, 1, 1, T], added to attention scores; None when no token is padding
    last: Tensor  # [B, D], the normalised hidden state of the last token
    question_means: Tensor  # [Q, D]
    option_means: Tensor  # [O, D]
    lexical: Tensor  # [O, D], mean rows of the output embedding


class Attention(nn.Module):
    """Multi-head attention with torch's parameter names; padding exists only inside the attention itself."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.in_proj_weight = nn.Parameter(torch.empty(3 * width, width))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * width))
        self.out_proj = nn.Linear(width, width)
        nn.init.xavier_uniform_(self.in_proj_weight)
        nn.init.zeros_(self.out_proj.bias)

    def among(self, rows: Tensor, slots: Slots, mask: Tensor | None) -> Tensor:
        """Flat rows [N, W] that attend to the rows of their own group."""
        projected = functional.linear(rows, self.in_proj_weight, self.in_proj_bias)
        queries, keys, values = self._split_heads(slots.pad(projected), 3)
        return self._attend(queries, keys, values, slots, mask)

    def over(
        self, rows: Tensor, memory: Tensor, slots: Slots, mask: Tensor | None, weights: list[Tensor] | None = None
    ) -> Tensor:
        """Flat rows [N, W] that attend to their own group's memory [B, T, W]; appends [N, T] to `weights` if asked."""
        width = rows.shape[-1]
        projected = functional.linear(rows, self.in_proj_weight[:width], self.in_proj_bias[:width])
        (queries,) = self._split_heads(slots.pad(projected), 1)
        keys, values = self._split_heads(
            functional.linear(memory, self.in_proj_weight[width:], self.in_proj_bias[width:]), 2
        )
        if weights is not None:
            weights.append(slots.unpad(_mean_weights(queries, keys, mask)))
        return self._attend(queries, keys, values, slots, mask)

    def _split_heads(self, projected: Tensor, parts: int) -> tuple[Tensor, ...]:
        """[B, N, parts * W] as `parts` tensors [B, heads, N, W / heads]."""
        batch, count, _ = projected.shape
        return projected.view(batch, count, parts, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)

    def _attend(self, queries: Tensor, keys: Tensor, values: Tensor, slots: Slots, mask: Tensor | None) -> Tensor:
        routed = functional.scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask, dropout_p=self.dropout if self.training else 0.0
        )
        return self.out_proj(slots.unpad(routed.transpose(1, 2).flatten(2)))  # type: ignore[no-any-return]


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
            nn.Linear(width, feedforward),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(feedforward, width),
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
        self.linear1 = nn.Linear(width, feedforward)
        self.linear2 = nn.Linear(feedforward, width)
        self.norm1 = nn.LayerNorm(width)
        self.norm2 = nn.LayerNorm(width)
        self.norm3 = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, fields: Tensor, memory: Tensor, slots: Slots, field_mask: Tensor | None, token_mask: Tensor | None
    ) -> Tensor:
        fields = fields + self.dropout(self.self_attn.among(self.norm1(fields), slots, field_mask))
        fields = fields + self.dropout(self.multihead_attn.over(self.norm2(fields), memory, slots, token_mask))
        inner = self.dropout(functional.gelu(self.linear1(self.norm3(fields))))
        return fields + self.dropout(self.linear2(inner))  # type: ignore[no-any-return]


class JointSchemaHead(nn.Module):
    """Reads hidden states and answers every question of every record of a batch together.

    Source: clef-flash joint_schema_model.py, JointSchemaHead, revision 17f0b0a (names, shapes and formulas).
    """

    def __init__(
        self,
        hidden_size: int,
        width: int,
        routing_layers: int,
        layers: int,
        heads: int,
        feedforward: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.hidden_norm = nn.LayerNorm(hidden_size)
        self.memory_projection = nn.Linear(hidden_size, width, bias=False)
        self.question_projection = nn.Linear(hidden_size, width, bias=False)
        self.option_question_projection = nn.Linear(hidden_size, width, bias=False)
        self.global_projection = nn.Linear(hidden_size, width, bias=False)
        self.option_context_projection = nn.Linear(hidden_size, width, bias=False)
        self.option_lexical_projection = nn.Linear(hidden_size, width, bias=False)
        self.type_embedding = nn.Embedding(NUM_TYPES, width)
        self.evidence_layers = nn.ModuleList(
            EvidenceLayer(width, heads, feedforward, dropout) for _ in range(routing_layers)
        )
        self.option_summary_norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(FieldLayer(width, heads, feedforward, dropout) for _ in range(layers))
        self.field_norm = nn.LayerNorm(width)
        self.option_norm = nn.LayerNorm(width)
        self.residual_scorer = nn.Sequential(
            nn.Linear(4 * width, width), nn.GELU(), nn.Dropout(dropout), nn.Linear(width, 1)
        )
        self.prior_logit_scale = nn.Parameter(torch.zeros(()))
        self.joint_logit_scale = nn.Parameter(torch.zeros(()))
        self.residual_gate = nn.Parameter(torch.zeros(()))

    def forward(
        self,
        hidden_states: Tensor,
        input_ids: Tensor,
        attention_mask: Tensor,
        records: Sequence[SpannedRecord],
        output_embedding_weight: Tensor,
    ) -> list[list[Tensor]]:
        """A logit per option, record by record and question by question, as views of one tensor.

        `hidden_states` [B, T, D] after the backbone's final norm; `input_ids` [B, T], right-padded;
        `output_embedding_weight` [vocabulary, D]. Each record's length is that of its own ids; `attention_mask` is
        taken for the release's signature and carries nothing more.
        """
        del attention_mask
        layout = plan_layout(records, hidden_states.shape[1], hidden_states.device)
        return layout.split(self.score(hidden_states, input_ids, layout, output_embedding_weight))

    def score(
        self, hidden_states: Tensor, input_ids: Tensor, layout: Layout, output_embedding_weight: Tensor
    ) -> Tensor:
        """The logits [O] of a batch; the number of torch operations does not depend on the schema."""
        return self.decide(self.gather(hidden_states, input_ids, layout, output_embedding_weight), layout)

    def gather(
        self, hidden_states: Tensor, input_ids: Tensor, layout: Layout, output_embedding_weight: Tensor
    ) -> HeadInputs:
        """What the head reads of one whole pass."""
        dtype = self.memory_projection.weight.dtype
        hidden = self.hidden_norm(hidden_states.to(dtype))
        rows = hidden.reshape(-1, hidden.shape[-1])
        means = _span_means(rows, layout.span_rows, layout.span_starts, dtype)
        option_ids = input_ids.reshape(-1).index_select(0, layout.span_rows[layout.num_question_rows :])
        option_starts = layout.span_starts[layout.num_questions :] - layout.num_question_rows
        memory = self.memory_projection(hidden)
        return HeadInputs(
            memory=memory,
            token_mask=_token_mask(layout, memory),
            last=rows.index_select(0, layout.last_rows),
            question_means=means[: layout.num_questions],
            option_means=means[layout.num_questions :],
            lexical=_span_means(output_embedding_weight, option_ids, option_starts, dtype),
        )

    def decide(self, inputs: HeadInputs, layout: Layout) -> Tensor:
        """The logits [O]."""
        return self._decide(inputs, layout, None)[0]

    def readout(
        self,
        hidden_states: Tensor,
        input_ids: Tensor,
        attention_mask: Tensor,
        records: Sequence[SpannedRecord],
        output_embedding_weight: Tensor,
    ) -> HeadReadout:
        """The same pass with all that explains its logits; arguments as in `forward`."""
        del attention_mask
        layout = plan_layout(records, hidden_states.shape[1], hidden_states.device)
        inputs = self.gather(hidden_states, input_ids, layout, output_embedding_weight)
        weights: list[Tensor] = []
        parts = self._decide(inputs, layout, weights)
        return HeadReadout(
            gate=torch.sigmoid(self.residual_gate).item(),
            prior_scale=_scale(self.prior_logit_scale).item(),
            joint_scale=_scale(self.joint_logit_scale).item(),
            records=_question_readouts(layout, parts, torch.stack(weights, dim=1)),
        )

    def _decide(self, inputs: HeadInputs, layout: Layout, weights: list[Tensor] | None) -> tuple[Tensor, ...]:
        """Logits, prior, cosine, residual and routing, each [O]."""
        options = self._route_evidence(inputs, layout, weights)
        fields, routing = self._read_fields(inputs, options, layout)
        fields = fields.index_select(0, layout.question_of_option)  # [O, W]
        options = self.option_norm(options)
        cosine = functional.cosine_similarity(fields, options, dim=-1)
        features = torch.cat([fields, options, fields * options, (fields - options).abs()], dim=-1)
        residual = self.residual_scorer(features).squeeze(-1)
        prior = self._score_prior(inputs, layout)
        joint = _scale(self.joint_logit_scale) * cosine + residual
        return prior + torch.sigmoid(self.residual_gate) * joint, prior, cosine, residual, routing

    def _route_evidence(self, inputs: HeadInputs, layout: Layout, weights: list[Tensor] | None) -> Tensor:
        """Each option after looking for evidence in its record, [O, W]."""
        asked = self.option_question_projection(inputs.question_means)
        options: Tensor = (
            self.option_context_projection(inputs.option_means)
            + self.option_lexical_projection(inputs.lexical)
            + asked.index_select(0, layout.question_of_option)
        )
        for layer in self.evidence_layers:
            options = layer(options, inputs.memory, layout.options, inputs.token_mask, weights)
        return options

    def _read_fields(self, inputs: HeadInputs, options: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
        """Each question after looking at its options, the other questions and the record, [Q, W]; routing [O]."""
        base = self.question_projection(inputs.question_means)
        scores = (options * base.index_select(0, layout.question_of_option)).sum(-1, dtype=torch.float32)
        scores = scores.to(options.dtype) / math.sqrt(options.shape[-1])
        routing = layout.choices.unpad(layout.choices.pad(scores, -math.inf).softmax(-1))  # [O]
        every_option = torch.arange(len(options), device=options.device)
        summaries = functional.embedding_bag(
            every_option, options, layout.question_starts, mode="sum", per_sample_weights=routing
        )
        fields = (
            base
            + self.option_summary_norm(summaries)
            + self.global_projection(inputs.last).index_select(0, layout.record_of_question)
            + self.type_embedding(layout.types)
        )
        filled = layout.questions.filled(fields.device)
        field_mask = None if filled is None else _additive(filled, fields.dtype)
        for layer in self.layers:
            fields = layer(fields, inputs.memory, layout.questions, field_mask, inputs.token_mask)
        return self.field_norm(fields), routing

    def _score_prior(self, inputs: HeadInputs, layout: Layout) -> Tensor:
        """How near each option's own words are to its question and the record's end, [O]."""
        anchors = inputs.question_means + inputs.last.index_select(0, layout.record_of_question)
        anchors = functional.normalize(anchors, dim=-1).index_select(0, layout.question_of_option)
        products = functional.normalize(inputs.lexical, dim=-1) * anchors
        return _scale(self.prior_logit_scale) * products.sum(-1)


def _question_readouts(
    layout: Layout, parts: tuple[Tensor, ...], attention: Tensor
) -> tuple[tuple[QuestionReadout, ...], ...]:
    """`parts` as `_decide` returns them; `attention` [O, R, T]."""
    logits, prior, cosine, residual, routing = (layout.split(part) for part in parts)
    looks = layout.split(attention)
    return tuple(
        tuple(
            QuestionReadout(
                logits=logits[record][question],
                prior=prior[record][question],
                cosine=cosine[record][question],
                residual=residual[record][question],
                routing=routing[record][question],
                attention=looks[record][question][:, :, : layout.lengths[record]].transpose(0, 1),
            )
            for question in range(count)
        )
        for record, count in enumerate(layout.question_counts)
    )


def _scale(log_scale: Tensor) -> Tensor:
    return log_scale.clamp(max=MAX_LOG_SCALE).exp()


def _additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """True where attention may look, [B, K], as a mask [B, 1, 1, K] added to its scores."""
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, -math.inf)[:, None, None, :]


def _token_mask(layout: Layout, memory: Tensor) -> Tensor | None:
    if not layout.is_ragged and layout.lengths[0] == memory.shape[1]:
        return None
    places = torch.arange(memory.shape[1], device=memory.device)
    lengths = layout.last_rows - torch.arange(len(layout.lengths), device=memory.device) * memory.shape[1] + 1
    return _additive(places < lengths[:, None], memory.dtype)


def _span_means(table: Tensor, rows: Tensor, starts: Tensor, dtype: torch.dtype) -> Tensor:
    """The mean of the table's rows of each span, added up in float32 and rounded once."""
    if table.dtype != dtype or (table.device.type == "cpu" and dtype != torch.float32):
        # On the CPU the fused mean rounds twice in half precision; the release's mean rounds once.
        gathered = table.index_select(0, rows).float()
        rows, table = torch.arange(len(rows), device=rows.device), gathered
    return functional.embedding_bag(rows, table, starts, mode="mean").to(dtype)


def _mean_weights(queries: Tensor, keys: Tensor, mask: Tensor | None) -> Tensor:
    """Attention weights, mean over heads, [B, N, T]; one head at a time, since all at once can fill a GPU."""
    total = queries.new_zeros(queries.shape[0], queries.shape[2], keys.shape[2])
    for head in range(queries.shape[1]):
        scores = queries[:, head] @ keys[:, head].transpose(1, 2) / math.sqrt(queries.shape[-1])
        total = total + (scores if mask is None else scores + mask[:, 0]).softmax(-1)
    return total / queries.shape[1]
