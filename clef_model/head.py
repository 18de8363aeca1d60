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

from clef_model.layers import Dense, EvidenceLayer, FieldLayer
from clef_model.layout import Layout, SpannedRecord, plan_layout

MAX_LOG_SCALE = math.log(100.0)  # Source: clef-flash joint_schema_model.py, revision 17f0b0a
NORMALIZE_EPSILON = 1e-12  # of torch's normalize, which the release uses
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
        self.memory_projection = Dense(hidden_size, width, bias=False)
        self.question_projection = Dense(hidden_size, width, bias=False)
        self.option_question_projection = Dense(hidden_size, width, bias=False)
        self.global_projection = Dense(hidden_size, width, bias=False)
        self.option_context_projection = Dense(hidden_size, width, bias=False)
        self.option_lexical_projection = Dense(hidden_size, width, bias=False)
        self.type_embedding = nn.Embedding(NUM_TYPES, width)
        self.evidence_layers = nn.ModuleList(
            EvidenceLayer(width, heads, feedforward, dropout) for _ in range(routing_layers)
        )
        self.option_summary_norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(FieldLayer(width, heads, feedforward, dropout) for _ in range(layers))
        self.field_norm = nn.LayerNorm(width)
        self.option_norm = nn.LayerNorm(width)
        self.residual_scorer = nn.Sequential(
            Dense(4 * width, width, gelu=True), nn.Identity(), nn.Dropout(dropout), Dense(width, 1)
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

    def remember(self, hidden_states: Tensor) -> Tensor:
        """What the head keeps of tokens that hold no span, [B, T, W]."""
        memory: Tensor = self.memory_projection(self.hidden_norm(hidden_states.to(self.memory_projection.weight.dtype)))
        return memory

    def gather(
        self,
        hidden_states: Tensor,
        input_ids: Tensor,
        layout: Layout,
        output_embedding_weight: Tensor,
        remembered: Sequence[Tensor] | None = None,
    ) -> HeadInputs:
        """What the head reads of a pass; `remembered` is the memory [tokens, W] of what each record's start left."""
        dtype = self.memory_projection.weight.dtype
        hidden = self.hidden_norm(hidden_states.to(dtype))
        rows = hidden.reshape(-1, hidden.shape[-1])
        means = _span_means(rows, layout.span_rows, layout.span_starts, dtype)
        option_ids = input_ids.reshape(-1).index_select(0, layout.span_rows[layout.num_question_rows :])
        option_starts = layout.span_starts[layout.num_questions :] - layout.num_question_rows
        memory = self.memory_projection(hidden)
        if remembered is not None:
            memory = _joined(remembered, memory, layout.lengths)
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
        anchors = layout.questions.pad(functional.normalize(anchors, dim=-1))
        products = layout.options.unpad(layout.options.pad(inputs.lexical) @ anchors.transpose(1, 2))  # [O, questions]
        products = products.gather(1, layout.place_in_record[:, None]).squeeze(1)
        norms = torch.linalg.vector_norm(inputs.lexical, dim=-1).clamp_min(NORMALIZE_EPSILON)
        return _scale(self.prior_logit_scale) * (products / norms)  # type: ignore[no-any-return]


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
    return _additive(places < layout.length_of[:, None], memory.dtype)


def _joined(remembered: Sequence[Tensor], memory: Tensor, lengths: Sequence[int]) -> Tensor:
    """The memory of whole records, right-padded, from that of their first tokens and of the rest [B, T, W]."""
    whole = memory.new_zeros(len(memory), max(lengths), memory.shape[-1])
    for place, (first, length) in enumerate(zip(remembered, lengths, strict=True)):
        whole[place, : len(first)] = first
        whole[place, len(first) : length] = memory[place, : length - len(first)]
    return whole


def _span_means(table: Tensor, rows: Tensor, starts: Tensor, dtype: torch.dtype) -> Tensor:
    """The mean of the table's rows of each span, added up in float32 and rounded once."""
    if table.dtype != dtype or (table.device.type == "cpu" and dtype != torch.float32):
        # On the CPU the fused mean rounds twice in half precision; the release's mean rounds once.
        gathered = table.index_select(0, rows).float()
        rows, table = torch.arange(len(rows), device=rows.device), gathered
    return functional.embedding_bag(rows, table, starts, mode="mean").to(dtype)
