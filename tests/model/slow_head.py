"""The joint schema head as a slow, obvious twin: one option, one question, one attention head at a time."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def slow_logits(head: Any, hidden: Tensor, record: Any, table: Tensor) -> list[Tensor]:
    """The logits of each question of one record; hidden [T, D] and the table [vocabulary, D] are unpadded."""
    weights = dict(head.named_parameters())
    heads = head.layers[0].self_attn.heads
    rows = [norm(weights, "hidden_norm", row) for row in hidden[: len(record.input_ids)]]
    memory = [project(weights, "memory_projection", row) for row in rows]
    means = [mean(rows[slice(*question.question_span)]) for question in record.questions]
    fields = []
    options: list[list[Tensor]] = []
    lexical: list[list[Tensor]] = []
    for question, question_mean in zip(record.questions, means, strict=True):
        words = [mean([table[i] for i in record.input_ids[slice(*span)]]) for span in question.option_spans]
        queries = [
            project(weights, "option_context_projection", mean(rows[slice(*span)]))
            + project(weights, "option_lexical_projection", word)
            + project(weights, "option_question_projection", question_mean)
            for span, word in zip(question.option_spans, words, strict=True)
        ]
        for layer in range(len(head.evidence_layers)):
            queries = [evidence(weights, f"evidence_layers.{layer}", query, memory, heads) for query in queries]
        options.append(queries)
        lexical.append(words)
        base = project(weights, "question_projection", question_mean)
        scores = torch.stack([query @ base / math.sqrt(len(base)) for query in queries]).softmax(0)
        summary = sum(score * query for score, query in zip(scores, queries, strict=True))
        fields.append(
            base
            + norm(weights, "option_summary_norm", summary)
            + project(weights, "global_projection", rows[-1])
            + weights["type_embedding.weight"][question.question_type]
        )
    for layer in range(len(head.layers)):
        fields = decoder(weights, f"layers.{layer}", fields, memory, heads)
    return [
        torch.stack(
            [
                logit(weights, norm(weights, "field_norm", field), norm(weights, "option_norm", option))
                + prior(weights, word, question_mean + rows[-1])
                for option, word in zip(options[place], lexical[place], strict=True)
            ]
        )
        for place, (field, question_mean) in enumerate(zip(fields, means, strict=True))
    ]


def logit(weights: Any, field: Tensor, option: Tensor) -> Tensor:
    features = torch.cat([field, option, field * option, (field - option).abs()])
    hidden = functional.gelu(weights["residual_scorer.0.weight"] @ features + weights["residual_scorer.0.bias"])
    residual = (weights["residual_scorer.3.weight"] @ hidden + weights["residual_scorer.3.bias"]).squeeze()
    cosine = field @ option / (field.norm() * option.norm())
    joint = weights["joint_logit_scale"].clamp(max=math.log(100)).exp() * cosine + residual
    return torch.sigmoid(weights["residual_gate"]) * joint


def prior(weights: Any, word: Tensor, anchor: Tensor) -> Tensor:
    return weights["prior_logit_scale"].clamp(max=math.log(100)).exp() * (word @ anchor / (word.norm() * anchor.norm()))


def evidence(weights: Any, name: str, query: Tensor, memory: list[Tensor], heads: int) -> Tensor:
    seen = [norm(weights, f"{name}.memory_norm", row) for row in memory]
    query = query + attend(weights, f"{name}.attention", norm(weights, f"{name}.query_norm", query), seen, heads)
    inner = functional.gelu(
        weights[f"{name}.feedforward.0.weight"] @ norm(weights, f"{name}.feedforward_norm", query)
        + weights[f"{name}.feedforward.0.bias"]
    )
    return query + weights[f"{name}.feedforward.3.weight"] @ inner + weights[f"{name}.feedforward.3.bias"]


def decoder(weights: Any, name: str, fields: list[Tensor], memory: list[Tensor], heads: int) -> list[Tensor]:
    normed = [norm(weights, f"{name}.norm1", field) for field in fields]
    fields = [
        field + attend(weights, f"{name}.self_attn", query, normed, heads)
        for field, query in zip(fields, normed, strict=True)
    ]
    result = []
    for field in fields:
        field = field + attend(weights, f"{name}.multihead_attn", norm(weights, f"{name}.norm2", field), memory, heads)
        inner = functional.gelu(
            weights[f"{name}.linear1.weight"] @ norm(weights, f"{name}.norm3", field) + weights[f"{name}.linear1.bias"]
        )
        result.append(field + weights[f"{name}.linear2.weight"] @ inner + weights[f"{name}.linear2.bias"])
    return result


def attend(weights: Any, name: str, query: Tensor, memory: list[Tensor], heads: int) -> Tensor:
    weight, bias = weights[f"{name}.in_proj_weight"].chunk(3), weights[f"{name}.in_proj_bias"].chunk(3)
    q = (weight[0] @ query + bias[0]).chunk(heads)
    keys = [(weight[1] @ row + bias[1]).chunk(heads) for row in memory]
    values = [(weight[2] @ row + bias[2]).chunk(heads) for row in memory]
    looked = []
    for head in range(heads):
        scores = torch.stack([q[head] @ key[head] / math.sqrt(len(q[head])) for key in keys]).softmax(0)
        looked.append(sum(score * value[head] for score, value in zip(scores, values, strict=True)))
    return weights[f"{name}.out_proj.weight"] @ torch.cat(looked) + weights[f"{name}.out_proj.bias"]


def project(weights: Any, name: str, row: Tensor) -> Tensor:
    return weights[f"{name}.weight"] @ row


def norm(weights: Any, name: str, row: Tensor) -> Tensor:
    return functional.layer_norm(row, row.shape, weights[f"{name}.weight"], weights[f"{name}.bias"], 1e-5)


def mean(rows: Any) -> Tensor:
    return sum(rows) / len(rows)
