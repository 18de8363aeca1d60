"""Training renders records exactly as the release's own code does, and its head gives the same logits."""

from pathlib import Path

import numpy as np
import pytest

from training.rendering import NOUL_TEXTS, Example, Renderer, to_request

RELEASE = Path(__file__).parents[2] / "models" / "clef-nano"
EXAMPLES = [
    Example("urgent", "noul", "Is it urgent?", list(NOUL_TEXTS.items()), [1.0, 0.0]),
    Example("team", "choice", None, [("zebra", "Stripes"), ("ant", None)], [0.0, 1.0]),
    Example("level", "score", {"ask": "How bad?"}, [("0", "fine"), ("1", "bad"), ("2", "worst")], [0.2, 0.3, 0.5]),
]
STATES = ("plain text", "", {"b": 1.0, "a": "é", "n": None}, 'quote " and <|im_end|> inside')


@pytest.fixture(scope="module")
def renderer() -> Renderer:
    return Renderer(RELEASE)


@pytest.mark.parametrize("state", STATES)
def test_ids_and_spans_are_the_references(renderer: Renderer, state: object) -> None:
    from clef_finetune._vendor.joint_schema_model import encode_record

    class Wrapped:
        def __call__(self, text: str, add_special_tokens: bool) -> "Wrapped":
            assert not add_special_tokens
            self.input_ids = list(renderer.tokens(text))
            return self

    ours = renderer(state, EXAMPLES)
    theirs = encode_record(Wrapped(), {"state": state, "questions": to_request(EXAMPLES)})
    assert ours.ids.tolist() == list(theirs.input_ids)
    assert [tuple(span) for span in ours.questions] == [question.question_span for question in theirs.questions]
    assert [tuple(span) for span in ours.options] == [span for q in theirs.questions for span in q.option_spans]


def test_a_choices_targets_move_with_its_sorted_options(renderer: Renderer) -> None:
    assert renderer("x", EXAMPLES).target.tolist() == pytest.approx([1, 0, 1, 0, 0.2, 0.3, 0.5])


def test_the_tokenizer_is_clefs(renderer: Renderer) -> None:
    from training.rendering import PREFIX, SUFFIX

    assert len(renderer.tokens(PREFIX)) == 36
    assert len(renderer.tokens(SUFFIX)) == 18
    assert renderer.tokens(SUFFIX)[-1] == 25
    assert renderer.tokens("<|endoftext|><|im_start|><|im_end|>") == (248044, 248045, 248046)
    assert renderer.tokens("<|vision_start|><|image_pad|><|video_pad|><think></think>") == (
        248053,
        248056,
        248057,
        248068,
        248069,
    )


def test_the_batched_head_gives_the_references_logits() -> None:
    import torch
    from clef_finetune._vendor import joint_schema_model as reference

    from training.head import BatchedHead, Layout, span_means

    torch.manual_seed(0)
    shape = {"hidden_size": 32, "width": 16, "routing_layers": 1, "layers": 1, "heads": 2, "feedforward": 24}
    ours = BatchedHead(**shape)
    for parameter in ours.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    theirs = reference.JointSchemaHead(**shape)
    theirs.load_state_dict(ours.state_dict(), strict=True)
    table, ids, hidden = torch.randn(50, 32), torch.randint(0, 50, (2, 30)), torch.randn(2, 30, 32)
    mask = torch.ones(2, 30, dtype=torch.long)
    mask[1, 24:] = 0
    question = reference.EncodedQuestion
    asked = [
        (
            question("a", 0, (4, 6), ((7, 9), (10, 12)), ("true", "false")),
            question("b", 2, (13, 15), ((16, 18), (18, 20), (20, 21)), ("0", "1", "2")),
        ),
        (question("c", 1, (5, 8), ((9, 11), (12, 16)), ("x", "y")),),
    ]
    records = [reference.EncodedRecord(tuple(ids[row].tolist()), questions, "r") for row, questions in enumerate(asked)]
    want = theirs(hidden, ids, mask, records, table)
    spans, kinds = torch.zeros(2, 2, 2, dtype=torch.long), torch.zeros(2, 2, dtype=torch.long)
    options, owner = torch.zeros(2, 5, 2, dtype=torch.long), torch.zeros(2, 5, dtype=torch.long)
    for row, questions in enumerate(asked):
        place = 0
        for number, one in enumerate(questions):
            spans[row, number] = torch.tensor(one.question_span)
            kinds[row, number] = one.question_type
            for span in one.option_spans:
                options[row, place], owner[row, place] = torch.tensor(span), number
                place += 1
    layout = Layout(mask.bool(), mask.sum(1) - 1, spans, kinds, options, owner)
    got = ours(hidden, span_means(table[ids], options), layout)
    # float32 on the CPU; means and sums in another order
    assert torch.allclose(got[0], torch.cat(want[0]), atol=1e-5)
    assert torch.allclose(got[1, :2], want[1][0], atol=1e-5)


def test_the_fast_layers_are_transformers_own_fallbacks() -> None:
    import torch
    from transformers.models.qwen3_5 import modeling_qwen3_5

    from training.fast_layers import causal_convolution, gated_delta_rule

    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 90, 2, 16, requires_grad=True) for _ in range(3))
    decay, beta = (-torch.rand(2, 90, 2)).requires_grad_(), torch.rand(2, 90, 2, requires_grad=True)
    weight = torch.randn(2, 90, 2, 16)
    results = []
    for rule in (modeling_qwen3_5.torch_chunk_gated_delta_rule, gated_delta_rule):
        out, _ = rule(query, key, value, g=decay, beta=beta, use_qk_l2norm_in_kernel=True)
        results.append((out, *torch.autograd.grad((out * weight).sum(), (query, key, value, decay, beta))))
    for theirs, ours in zip(*results, strict=True):
        assert torch.allclose(theirs, ours, atol=1e-4, rtol=1e-4)
    signal, taps = torch.randn(2, 8, 20), torch.randn(8, 4)
    theirs = modeling_qwen3_5.causal_conv1d_fn(signal, taps, None, activation="silu")
    assert torch.allclose(theirs, causal_convolution(signal, taps, None, activation="silu"), atol=1e-5)


def test_padding_keeps_every_record(renderer: Renderer) -> None:
    from training.mixture import pad

    records = [renderer(state, EXAMPLES[: number + 1]) for number, state in enumerate(STATES[:3])]
    batch = pad(records)
    for row, record in enumerate(records):
        assert np.array_equal(batch["ids"][row, : batch["length"][row]], record.ids)
        assert np.array_equal(batch["options"][row, : len(record.options)], record.options)
        assert batch["target"][row].sum() == pytest.approx(record.target.sum())
