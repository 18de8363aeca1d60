"""On a GPU: kept, forked, padded and captured passes against one plain pass, and no waiting inside a pass."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tiny_release import write_tiny_release

torch = pytest.importorskip("torch")

from clef_model.batch import collate  # noqa: E402
from clef_model.decision import Decision  # noqa: E402
from clef_model.inference import ClefDecider  # noqa: E402
from clef_model.loading import load_release  # noqa: E402
from clef_model.parsing import parse_record  # noqa: E402
from clef_model.schema import Record  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA"),
    pytest.mark.timeout(1_200),  # Triton tries its kernels out on first use, for minutes on a busy machine
]
QUESTIONS: dict[str, Any] = {
    "ok": {"type": "noul"},
    "team": {"type": "choice", "criteria": {"z": "last", "a": None}},
    "how": {"type": "score", "instructions": "How much of it?", "criteria": ["none", "some", "all"]},
}
OTHER = {"late": {"type": "noul", "instructions": "Is it about a delay, and does somebody ask for money?"}}
LONG = "The parcel did not arrive before Monday. " * 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_release(tmp_path_factory.mktemp("tiny"))


def decider(folder: Path, dtype: str, *, fast: bool) -> ClefDecider:
    return load_release(folder, device="cuda", dtype=dtype, fast=fast)


def record(state: Any, questions: dict[str, Any] = QUESTIONS) -> Record:
    return parse_record({"state": state, "questions": questions})


def furthest(decider: ClefDecider, decisions: list[Decision]) -> float:
    """The largest difference of a probability from the plain pass."""
    worst = 0.0
    for decision in decisions:
        batch = collate([decision.encoded], decider.tokenizer.pad_token_id, decider.model.device)
        with torch.inference_mode():
            rows = decider.model.logits(batch)[0]
        for answer, row in zip(decision.answers, rows, strict=True):
            plain = row.float().softmax(-1).cpu()
            worst = max(worst, (torch.tensor(answer.probabilities) - plain).abs().max().item())
    return worst


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-3), ("bfloat16", 5e-2)])
def test_every_way_to_read_gives_the_plain_answer(folder: Path, dtype: str, tolerance: float, fast: bool) -> None:
    ours = decider(folder, dtype, fast=fast)
    states = [LONG, LONG[: len(LONG) // 2], LONG + "It came later. " * 9, "short", "a bit longer than short"]
    found = ours.decide([record(state) for state in states])
    for questions in (OTHER, QUESTIONS, OTHER, QUESTIONS, OTHER):
        found += ours.decide([record(LONG, questions)])
    found += ours.decide([record(LONG, questions) for questions in (OTHER, QUESTIONS)])
    assert furthest(ours, found) <= tolerance


def test_captured_passes_serve_every_length(folder: Path) -> None:
    ours = decider(folder, "float32", fast=True)
    chosen = random.Random(1)
    lengths = [1, 63, 64, 65, 300, *(chosen.randrange(1, 1_500) for _ in range(12)), 2_300]
    for length in lengths:
        text = "".join(chosen.choice("abc de") for _ in range(length))
        assert furthest(ours, ours.decide([record(text), record(text[::-1])])[:1]) <= 1e-3
        assert furthest(ours, ours.decide([record(text)])) <= 1e-3


@pytest.mark.parametrize("fast", [False, True])
def test_a_pass_never_waits_for_the_gpu(folder: Path, fast: bool) -> None:
    ours = decider(folder, "bfloat16", fast=fast)
    engine = ours.engine
    sources = [engine.source(ours.plan(record(state))) for state in ("short", "another one")]
    whole = engine.source(ours.plan(record(LONG)))
    with torch.inference_mode():
        trunk, _ = engine.trunk(whole, [whole.prompt.stem])
        for _ in range(3):  # kernels are compiled and captured
            engine.logits(sources), engine.continued(trunk, [whole], [whole.prompt.stem])
        torch.cuda.synchronize()
        decide, scores = engine.head.decide, []
        engine.head.decide = lambda *inputs: (
            scores.append(decide(*inputs))
            or torch.zeros(  # type: ignore[method-assign]
                len(scores[-1]), device="cpu"
            )
        )
        try:
            torch.cuda.set_sync_debug_mode("error")
            engine.logits(sources)
            engine.continued(trunk, [whole], [whole.prompt.stem])
        finally:
            torch.cuda.set_sync_debug_mode("default")
            engine.head.decide = decide  # type: ignore[method-assign]
    assert all(torch.isfinite(score).all() for score in scores)


def test_memory_that_runs_out_is_a_sentence_and_not_the_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = decider(folder, "float32", fast=False)
    failed = []
    make_room = ours._make_room
    monkeypatch.setattr(ours, "_make_room", lambda: (failed.append(1), make_room()))
    free = torch.cuda.mem_get_info()[0]
    hog = torch.empty(max(0, free - 300 * 2**20), dtype=torch.uint8, device="cuda")
    try:
        records = [replace(record(chr(97 + place) * 2_500), id=f"{place}") for place in range(12)]
        assert len(ours.decide(records)) == 12
    finally:
        del hog
        torch.cuda.empty_cache()
    assert failed
