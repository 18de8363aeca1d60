"""The head: names and shapes, agreement with a slow twin, ragged batches, read-out, and work that does not grow."""

from collections import Counter
from typing import Any

import pytest
from slow_head import slow_logits

torch = pytest.importorskip("torch")

from clef_model.encoding import EncodedQuestion  # noqa: E402
from clef_model.head import JointSchemaHead  # noqa: E402
from clef_model.layout import plan_layout  # noqa: E402
from clef_model.ledger import Span  # noqa: E402

SIZES = {"hidden_size": 24, "width": 16, "routing_layers": 2, "layers": 2, "heads": 2, "feedforward": 20}
VOCABULARY = 50
TOLERANCE = {"atol": 1e-5, "rtol": 0}  # float32 on a CPU: sums are taken in another order

torch.set_num_threads(1)  # the shapes are tiny


class Fake:
    """An encoded record as the head sees it."""

    def __init__(self, tokens: int, option_counts: list[int], seed: int = 0) -> None:
        draw = torch.Generator().manual_seed(seed)

        def number(low: int, high: int) -> int:
            return int(torch.randint(low, high, (), generator=draw))

        def span() -> Span:
            start = number(0, tokens)
            return Span(start, number(start + 1, min(start + 6, tokens) + 1))

        self.input_ids = tuple(number(0, VOCABULARY) for _ in range(tokens))
        self.media = None
        self.questions = tuple(
            EncodedQuestion(str(place), number(0, 3), span(), tuple(span() for _ in range(count)), ())
            for place, count in enumerate(option_counts)
        )


def random_head(**changes: Any) -> JointSchemaHead:
    torch.manual_seed(1)
    head = JointSchemaHead(**{**SIZES, **changes}).eval()
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return head


def inputs(records: list[Fake], seed: int = 2) -> tuple[Any, ...]:
    """What a head is called with; the padding holds large numbers, which must not matter."""
    torch.manual_seed(seed)
    length = max(len(record.input_ids) for record in records)
    ids = torch.zeros(len(records), length, dtype=torch.long)
    mask = torch.zeros_like(ids)
    hidden = torch.randn(len(records), length, SIZES["hidden_size"])
    for place, record in enumerate(records):
        ids[place, : len(record.input_ids)] = torch.tensor(record.input_ids)
        mask[place, : len(record.input_ids)] = 1
        hidden[place, len(record.input_ids) :] = 1e4
    return hidden, ids, mask, records, torch.randn(VOCABULARY, SIZES["hidden_size"])


def counted(head: JointSchemaHead, record: Fake) -> Counter[str]:
    """How often each torch operation runs in one pass, as the profiler counts them."""
    hidden, ids, _, records, table = inputs([record])
    layout = plan_layout(records, hidden.shape[1], hidden.device)
    with torch.inference_mode(), torch.profiler.profile() as profile:
        head.score(hidden, ids, layout, table)
    return Counter({event.key: event.count for event in profile.key_averages()})


def test_the_release_sizes_give_the_checkpoints_122_tensors() -> None:
    sizes = {"hidden_size": 4096, "width": 1024, "routing_layers": 2, "layers": 4, "heads": 16, "feedforward": 4096}
    with torch.device("meta"):
        state = JointSchemaHead(**sizes).state_dict()
    assert len(state) == 122
    assert sum(tensor.numel() for tensor in state.values()) == 121_762_820
    assert tuple(state["evidence_layers.1.attention.in_proj_weight"].shape) == (3072, 1024)
    assert tuple(state["layers.3.linear2.weight"].shape) == (1024, 4096)
    assert tuple(state["residual_scorer.3.weight"].shape) == (1, 1024)


def test_the_state_dict_is_the_releases() -> None:
    oracle = pytest.importorskip("clef_finetune._vendor.joint_schema_model")
    theirs = oracle.JointSchemaHead(**SIZES).state_dict()
    ours = JointSchemaHead(**SIZES).state_dict()
    assert {name: tensor.shape for name, tensor in ours.items()} == {
        name: tensor.shape for name, tensor in theirs.items()
    }


@pytest.mark.parametrize("option_counts", [[1], [2, 2, 2], [3, 1, 7, 2]])
def test_one_record_agrees_with_the_slow_twin(option_counts: list[int]) -> None:
    record, head = Fake(30, option_counts), random_head()
    hidden, ids, mask, records, table = inputs([record])
    with torch.no_grad():
        (logits,) = head(hidden, ids, mask, records, table)
        expected = slow_logits(head, hidden[0], record, table)
    torch.testing.assert_close(logits, expected, **TOLERANCE)


def test_gradients_flow_through_the_same_numbers() -> None:
    # With gradients other kernels run than without.
    record, head = Fake(30, [3, 2]), random_head()
    hidden, ids, mask, records, table = inputs([record])
    logits = torch.cat(head(hidden.requires_grad_(), ids, mask, records, table)[0])
    torch.testing.assert_close(logits, torch.cat(slow_logits(head, hidden[0], record, table)), **TOLERANCE)
    logits.sum().backward()
    assert hidden.grad is not None
    assert [name for name, parameter in head.named_parameters() if parameter.grad is None] == []


def test_ragged_records_of_a_batch_agree_with_each_alone() -> None:
    records, head = (
        [Fake(30, [3, 1, 2], 1), Fake(9, [4], 2), Fake(51, [1, 1], 3), Fake(30, [2, 6, 2, 2], 4)],
        random_head(),
    )
    hidden, ids, mask, _, table = inputs(records)
    with torch.no_grad():
        together = head(hidden, ids, mask, records, table)
        for place, record in enumerate(records):
            torch.testing.assert_close(together[place], slow_logits(head, hidden[place], record, table), **TOLERANCE)


def test_many_questions_take_the_projected_way_with_the_same_numbers() -> None:
    # Few rows look at the memory unprojected, many at its keys and values.
    record, head = Fake(40, [5] * 9), random_head(width=64, heads=4)
    hidden, ids, mask, records, table = inputs([record])
    with torch.no_grad():
        torch.testing.assert_close(
            head(hidden, ids, mask, records, table)[0], slow_logits(head, hidden[0], record, table), **TOLERANCE
        )


def test_a_batch_longer_than_its_records_changes_nothing() -> None:
    record, head = Fake(12, [2, 3]), random_head()
    hidden, ids, mask, records, table = inputs([record])
    longer = torch.cat([hidden, torch.full((1, 5, SIZES["hidden_size"]), 1e4)], dim=1)
    with torch.no_grad():
        alone = head(hidden, ids, mask, records, table)
        padded = head(
            longer, torch.nn.functional.pad(ids, (0, 5)), torch.nn.functional.pad(mask, (0, 5)), records, table
        )
    torch.testing.assert_close(padded, alone, **TOLERANCE)


def test_a_head_in_float32_reads_a_backbone_in_bfloat16() -> None:
    record, head = Fake(30, [3, 2]), random_head()
    hidden, ids, mask, records, table = inputs([record])
    hidden, table = hidden.bfloat16(), table.bfloat16()
    with torch.no_grad():
        (logits,) = head(hidden, ids, mask, records, table)
        expected = slow_logits(head, hidden[0].float(), record, table.float())
    assert logits[0].dtype == torch.float32
    torch.testing.assert_close(logits, expected, **TOLERANCE)


@pytest.mark.parametrize("option_counts", [[8] * 64, [8, 2] * 32], ids=["equal", "ragged"])
def test_the_number_of_operations_does_not_grow_with_questions_or_options(option_counts: list[int]) -> None:
    head = random_head()
    eighth = counted(head, Fake(80, option_counts[: len(option_counts) // 8]))
    assert counted(head, Fake(80, option_counts)) == eighth
    assert sum(eighth.values()) <= sum(counted(head, Fake(80, [2])).values())  # one question alone


def test_the_readout_adds_up_to_the_logits() -> None:
    records, head = [Fake(30, [3, 1], 1), Fake(12, [4], 2)], random_head()
    arguments = inputs(records)
    with torch.no_grad():
        readout, logits = head.readout(*arguments), head(*arguments)
    for record, rows in zip(readout.records, logits, strict=True):
        for question, row in zip(record, rows, strict=True):
            joint = readout.joint_scale * question.cosine + question.residual
            torch.testing.assert_close(question.prior + readout.gate * joint, row, **TOLERANCE)
            torch.testing.assert_close(question.logits, row, **TOLERANCE)
            torch.testing.assert_close(question.routing.sum(), torch.tensor(1.0), **TOLERANCE)


@pytest.mark.parametrize("sizes", [{}, {"width": 64, "heads": 2}], ids=["projected", "unprojected"])
def test_the_readouts_attention_is_over_the_records_own_tokens_and_sums_to_one(sizes: dict[str, int]) -> None:
    records, head = [Fake(30, [3, 1], 1), Fake(12, [4], 2)], random_head(**sizes)
    with torch.no_grad():
        readout = head.readout(*inputs(records))
    shapes = [[tuple(question.attention.shape) for question in record] for record in readout.records]
    assert shapes == [[(2, 3, 30), (2, 1, 30)], [(2, 4, 12)]]
    sums = torch.cat([question.attention.sum(-1).flatten() for record in readout.records for question in record])
    torch.testing.assert_close(sums, torch.ones_like(sums), **TOLERANCE)


def test_an_empty_span_is_refused_where_the_release_would_answer_nan() -> None:
    record = Fake(30, [2])
    question = record.questions[0]
    record.questions = (EncodedQuestion("q", 0, Span(4, 4), question.option_spans, ()),)
    with pytest.raises(
        ValueError, match=r"^span \(4, 4\) of record 0 is empty or lies outside its 30 tokens; every"
    ) as caught:
        random_head()(*inputs([record]))
    assert "needs at least one token" in str(caught.value)
