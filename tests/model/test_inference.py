"""Decisions of a tiny release: order, batches, progress, refusals, faults of a model."""

from dataclasses import replace
from typing import Any

import pytest
from media_files import flat
from tiny_release import write_tiny_release

torch = pytest.importorskip("torch")

from clef_model import engine  # noqa: E402
from clef_model.decision import Limits, to_response  # noqa: E402
from clef_model.errors import (  # noqa: E402
    BrokenAnswer,
    BudgetExceeded,
    ContextTooLong,
    InvalidRecord,
    Unsupported,
)
from clef_model.inference import ClefDecider  # noqa: E402
from clef_model.loading import load_release  # noqa: E402
from clef_model.parsing import parse_record  # noqa: E402
from clef_model.schema import ImageInput, Record  # noqa: E402

torch.set_num_threads(1)  # the shapes are tiny

QUESTIONS = {"ok": {"type": "noul"}, "team": {"type": "choice", "criteria": {"z": "last", "a": None}}}
RED = ImageInput("red.png", "image/png", flat((64, 64), "red"))


@pytest.fixture(scope="module")
def decider(tmp_path_factory: pytest.TempPathFactory) -> ClefDecider:
    folder = write_tiny_release(tmp_path_factory.mktemp("tiny"))
    return load_release(folder, device="cpu", dtype="float32")


def record(state: Any = "fine", record_id: str = "r", **changes: Any) -> Record:
    return replace(parse_record({"state": state, "questions": QUESTIONS, "id": record_id}), **changes)


def test_probabilities_of_each_question_sum_to_one_in_the_models_order(decider: ClefDecider) -> None:
    (decision,) = decider.decide([record()])
    assert [[option.id for option in answer.question.options] for answer in decision.answers] == [
        ["true", "false"],
        ["a", "z"],
    ]
    for answer in decision.answers:
        assert sum(answer.probabilities) == pytest.approx(1)
        assert answer.probabilities == tuple(torch.tensor(answer.logits).softmax(-1).tolist())


def test_decisions_come_in_the_order_of_the_records(decider: ClefDecider) -> None:
    states = ["x" * 900, "short", "y" * 300, "", "z" * 40]
    decisions = decider.decide([record(state, f"r{place}") for place, state in enumerate(states)])
    assert [decision.encoded.record.state for decision in decisions] == states
    for state, decision in zip(states, decisions, strict=True):
        (alone,) = decider.decide([record(state)])
        for ours, theirs in zip(decision.answers, alone.answers, strict=True):
            assert ours.logits == pytest.approx(theirs.logits, abs=1e-5)  # float32, padded against unpadded


def test_no_records_give_no_decisions(decider: ClefDecider) -> None:
    assert decider.decide([]) == []


def test_progress_rises_to_one(decider: ClefDecider) -> None:
    heard: list[tuple[float, str]] = []
    decider.decide([record("x" * 3000), record("y" * 3000)], progress=lambda share, stage: heard.append((share, stage)))
    shares = [share for share, _ in heard]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert list(dict.fromkeys(stage for _, stage in heard)) == [
        "deciding record 1 of 2",
        "deciding record 2 of 2",
        "2 of 2 records decided",
    ]


def test_a_pass_can_be_stopped_between_its_layers(decider: ClefDecider) -> None:
    class Stopped(Exception):
        pass

    def stop(share: float, stage: str) -> None:
        if share > 0:
            raise Stopped

    before = decider.decide([record()])[0].answers
    with pytest.raises(Stopped):
        decider.decide([record()], progress=stop)
    assert decider.decide([record()])[0].answers == before


def test_what_progress_raises_stops_the_work_before_the_next_batch(decider: ClefDecider) -> None:
    class Stopped(Exception):
        pass

    def stop(share: float, stage: str) -> None:
        if share >= 0.5:
            raise Stopped

    with pytest.raises(Stopped):
        decider.decide([record("x" * 3000), record("y" * 3000)], progress=stop)


def test_times_are_within_the_total(decider: ClefDecider) -> None:
    (decision,) = decider.decide([record()])
    timing = decision.timing
    assert 0 < timing.encode_ms + timing.forward_ms <= timing.total_ms


def test_a_cut_is_in_the_decision(decider: ClefDecider) -> None:
    (decision,) = decider.decide([record("x" * 100)], Limits(max_state_tokens=40))
    truncation = decision.encoded.budget.truncation
    assert truncation is not None
    assert truncation.lost_tokens == 60
    assert [notice.code for notice in decision.notices] == ["state_cut"]


def test_a_plan_is_what_is_decided_on(decider: ClefDecider) -> None:
    (decision,) = decider.decide([record("x" * 10)])
    assert decider.plan(record("x" * 10)) == decision.encoded


def test_media_are_decided_and_their_tensors_are_not_kept(decider: ClefDecider) -> None:
    (decision,) = decider.decide([record(images=(RED,))])
    assert decision.encoded.budget.media > 64
    assert decision.encoded.media is None
    assert to_response(decision)["usage"]["input_tokens"] == decision.encoded.budget.total


def test_a_record_too_long_is_named_when_there_are_several(decider: ClefDecider) -> None:
    with pytest.raises(ContextTooLong, match=r"^Record 'long': maximum context length exceeded: "):
        decider.decide([record(), record("x" * 900, "long")], Limits(max_length=900, truncate=False))


def test_all_records_that_cannot_be_encoded_are_named_at_once(decider: ClefDecider) -> None:
    with pytest.raises(InvalidRecord) as caught:
        decider.decide([record("x", "a"), record("x", "b")], Limits(max_length=100))
    assert [problem.where for problem in caught.value.problems] == ["records[0]", "records[1]"]
    with pytest.raises(BudgetExceeded, match=r"^Record 'a': schema requires \d+ tokens"):
        decider.decide([record("x", "a")], Limits(max_length=100))


def test_a_problem_of_one_record_of_several_has_its_position(decider: ClefDecider) -> None:
    broken = record("the tag <|image_pad|>", images=(RED,))
    with pytest.raises(InvalidRecord) as caught:
        decider.decide([record(), broken])
    assert [problem.where for problem in caught.value.problems] == ["records[1].state"]


def test_a_text_only_release_refuses_media_and_still_plans_them(decider: ClefDecider) -> None:
    status = replace(decider.status, name="clef-nano", accepts_media=False)
    text_only = ClefDecider(decider.model, decider.planner, status)
    with pytest.raises(Unsupported) as caught:
        text_only.decide([record(record_id="photo", images=(RED,))])
    assert str(caught.value) == (
        "Record 'photo': clef-nano reads text only and was never trained on images or videos. Remove the media, or "
        "load Cloudflare/clef-flash or Cloudflare/clef."
    )
    assert text_only.plan(record(images=(RED,))).budget.media > 64


def test_numbers_that_are_no_answer_are_refused_with_the_record(decider: ClefDecider) -> None:
    gate = decider.model.head.residual_gate
    kept = gate.detach().clone()
    try:
        with torch.no_grad():
            gate.fill_(float("nan"))
        with pytest.raises(BrokenAnswer, match=r"^questions.ok: the model returned nan for option 'true' and 1 more"):
            decider.decide([record()])
        with pytest.raises(BrokenAnswer, match=r"^Record 'first': questions.ok: "):
            decider.decide([record(record_id="first"), record(record_id="second")])
    finally:
        with torch.no_grad():
            gate.copy_(kept)


def out_of_memory_above(rows: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lets passes of more than so many records fail; the sizes that were tried."""
    tried: list[int] = []
    whole = engine.pass_layers

    def limited(text_model: Any, embeddings: Any, *rest: Any) -> Any:
        tried.append(len(embeddings))
        if len(embeddings) > rows:
            raise torch.OutOfMemoryError
        return whole(text_model, embeddings, *rest)

    monkeypatch.setattr(engine, "pass_layers", limited)
    return tried


def test_a_batch_that_needs_too_much_memory_is_halved(decider: ClefDecider, monkeypatch: pytest.MonkeyPatch) -> None:
    decider.clear_cache()
    states = ["a", "bb", "ccc", "dddd", "eeeee"]
    before = decider.decide([record(state) for state in states])
    tried = out_of_memory_above(2, monkeypatch)
    decisions = decider.decide([record(state) for state in states])
    assert tried == [5, 3, 2, 1, 2]
    assert [decision.encoded.record.state for decision in decisions] == states
    for ours, theirs in zip(decisions, before, strict=True):
        assert ours.answers[0].logits == pytest.approx(theirs.answers[0].logits, abs=1e-5)


def test_records_beside_each_other_on_one_state_are_halved_too(
    decider: ClefDecider, monkeypatch: pytest.MonkeyPatch
) -> None:
    decider.clear_cache()
    states = [f"{'a long beginning ' * 40}{end}" for end in ("one", "six", "ten")]
    tried = out_of_memory_above(1, monkeypatch)
    decisions = decider.decide([record(state) for state in states])
    assert tried[-5:] == [3, 2, 1, 1, 1]
    assert set(tried[:-5]) == {1}  # the shared beginning
    assert [decision.encoded.record.state for decision in decisions] == states


def test_a_record_that_alone_needs_too_much_memory_is_named(
    decider: ClefDecider, monkeypatch: pytest.MonkeyPatch
) -> None:
    decider.clear_cache()
    out_of_memory_above(0, monkeypatch)
    for state in ("x" * 400, "x" * 90):  # with a start that is kept, and without
        with pytest.raises(
            Unsupported, match=r"^Record 'big': its [\d,]+ tokens need more memory than is free on cpu\. Lower"
        ):
            decider.decide([record(state, "big")])


def test_what_is_kept_makes_room_before_a_record_is_refused(
    decider: ClefDecider, monkeypatch: pytest.MonkeyPatch
) -> None:
    decider.decide([record("y" * 900)])
    assert decider.cache_facts.trunks > 0
    whole, failures = engine.pass_layers, iter([True, False, False])

    def once(*arguments: Any) -> Any:
        if next(failures):
            raise torch.OutOfMemoryError
        return whole(*arguments)

    monkeypatch.setattr(engine, "pass_layers", once)
    (decision,) = decider.decide([record("z" * 900)])
    assert decision.encoded.record.state == "z" * 900


def test_records_that_want_too_many_states_of_a_trunk_are_decided_each_by_itself(
    decider: ClefDecider, monkeypatch: pytest.MonkeyPatch
) -> None:
    decider.clear_cache()
    states = ["w" * (600 + 64 * place) for place in range(4)]
    whole = decider.engine.trunk

    def limited(source: Any, stops: Any, report: Any) -> Any:
        if len(stops) > 1:
            raise torch.OutOfMemoryError
        return whole(source, stops, report)

    monkeypatch.setattr(decider.engine, "trunk", limited)
    decisions = decider.decide([record(state) for state in states])
    assert [decision.encoded.record.state for decision in decisions] == states
