"""Texts that are read once: kept, continued, forked and chunked passes against one plain pass over the whole record."""

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from generated_records import record_of, requests
from hypothesis import given, settings
from hypothesis import strategies as st
from media_files import flat
from tiny_release import NANO, write_tiny_release

torch = pytest.importorskip("torch")

from clef_model import engine as engine_module  # noqa: E402
from clef_model import forking, scheduling  # noqa: E402
from clef_model.batch import collate, with_media_tensors  # noqa: E402
from clef_model.decision import Decision, Limits  # noqa: E402
from clef_model.diagnostics.sweep import plan_sweep, sweep  # noqa: E402
from clef_model.inference import ClefDecider  # noqa: E402
from clef_model.loading import load_release  # noqa: E402
from clef_model.parsing import parse_record  # noqa: E402
from clef_model.schema import ImageInput, Record, VideoInput  # noqa: E402

torch.set_num_threads(1)  # the shapes are tiny
TOLERANCE = 1e-5  # float32 on a CPU: sums are taken in another order
QUESTIONS: dict[str, Any] = {
    "ok": {"type": "noul"},
    "team": {"type": "choice", "criteria": {"z": "last", "a": None, "m": {"in": ["the", "middle"]}}},
    "how": {"type": "score", "instructions": "How much of it?", "criteria": ["none", "some", "all"]},
}
OTHER = {"late": {"type": "noul", "instructions": "Is it about a delay, and does somebody ask for money?"}}
LONG = "The parcel did not arrive before Monday. " * 40


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> ClefDecider:
    return load_release(write_tiny_release(tmp_path_factory.mktemp("tiny")), device="cpu", dtype="float32")


@pytest.fixture(scope="module")
def nano() -> ClefDecider:
    return load_release(NANO, device="cpu", dtype="float32")


@pytest.fixture(autouse=True)
def _nothing_kept(tiny: ClefDecider) -> None:
    tiny.clear_cache()


def record(state: Any = LONG, questions: dict[str, Any] = QUESTIONS, **changes: Any) -> Record:
    return replace(parse_record({"state": state, "questions": questions}), **changes)


def picture(seed: int, size: tuple[int, int] = (64, 64)) -> ImageInput:
    return ImageInput(f"{seed}.png", "image/png", flat(size, ("red", "green", "blue", "white")[seed % 4]))


def plain_logits(decider: ClefDecider, decision: Decision) -> list[Any]:
    """One pass over the whole record through the backbone's own class and the head."""
    encoded = with_media_tensors(decision.encoded)
    with torch.inference_mode():
        return decider.model.logits(collate([encoded], decider.tokenizer.pad_token_id, torch.device("cpu")))[0]


def furthest(decider: ClefDecider, decisions: Sequence[Decision]) -> float:
    """The largest difference of a logit from the plain pass."""
    return max(
        (torch.tensor(answer.logits) - row).abs().max().item()
        for decision in decisions
        for answer, row in zip(decision.answers, plain_logits(decider, decision), strict=True)
    )


def test_an_edited_question_does_not_read_the_state_again(tiny: ClefDecider) -> None:
    first = tiny.decide([record()])
    before = tiny.cache_facts
    edited = tiny.decide([record(questions=OTHER)])
    after = tiny.cache_facts
    assert (after.hits - before.hits, after.trunks) == (1, 1)
    assert after.reused_tokens - before.reused_tokens > len(LONG) - 64
    assert furthest(tiny, [*first, *edited]) <= TOLERANCE


def test_a_kept_state_gives_the_very_same_answer(tiny: ClefDecider) -> None:
    assert tiny.decide([record()])[0].answers == tiny.decide([record()])[0].answers


def test_a_state_that_grew_at_its_end_is_read_from_there(tiny: ClefDecider) -> None:
    tiny.decide([record(LONG)])
    before = tiny.cache_facts.reused_tokens
    grown = tiny.decide([record(LONG + "It came on Tuesday. " * 30)])
    assert tiny.cache_facts.reused_tokens - before > len(LONG) - 64
    assert tiny.cache_facts.trunks == 1  # the longer one stands for both
    assert furthest(tiny, grown) <= TOLERANCE


def test_a_state_edited_in_its_middle_is_read_from_an_earlier_place(
    tiny: ClefDecider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(engine_module.CHUNK_TOKENS, "cpu", 128)
    tiny.decide([record(LONG)])
    before = tiny.cache_facts.reused_tokens
    middle = len(LONG) * 2 // 3
    edited = tiny.decide([record(LONG[:middle] + "X" + LONG[middle + 1 :])])
    assert middle > tiny.cache_facts.reused_tokens - before > 0
    assert furthest(tiny, edited) <= TOLERANCE


@pytest.mark.parametrize("chunk", [64, 192, 1_024])
def test_a_long_state_is_read_in_chunks(tiny: ClefDecider, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(engine_module.CHUNK_TOKENS, "cpu", chunk)
    longest = []
    whole = engine_module.pass_layers

    def watched(text_model: Any, embeddings: Any, *rest: Any) -> Any:
        longest.append(embeddings.shape[1])
        return whole(text_model, embeddings, *rest)

    monkeypatch.setattr(engine_module, "pass_layers", watched)
    decisions = tiny.decide([record(LONG * 2)])
    assert max(longest[:-1]) <= chunk  # the last one holds the schema
    assert furthest(tiny, decisions) <= TOLERANCE


def test_many_schemas_on_one_state_read_it_once(tiny: ClefDecider) -> None:
    before = tiny.cache_facts.reads
    schemas = [
        QUESTIONS,
        OTHER,
        {"one": {"type": "choice", "criteria": {f"option {n}": None for n in range(9)}}},
        {**OTHER, **QUESTIONS},
    ]
    decisions = tiny.decide([record(questions=questions) for questions in schemas])
    assert (tiny.cache_facts.trunks, tiny.cache_facts.reads - before) == (1, 1)
    assert furthest(tiny, decisions) <= TOLERANCE


def test_each_question_alone_beside_all_of_them(nano: ClefDecider) -> None:
    alone = [{name: question} for name, question in QUESTIONS.items()]
    decisions = nano.decide([record(questions=questions) for questions in (QUESTIONS, *alone)])
    assert furthest(nano, decisions) <= TOLERANCE


def test_a_sweep_reads_the_state_once(nano: ClefDecider, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    whole = engine_module.pass_layers

    def watched(text_model: Any, embeddings: Any, *rest: Any) -> Any:
        read.append(embeddings.shape[0] * embeddings.shape[1])
        return whole(text_model, embeddings, *rest)

    monkeypatch.setattr(engine_module, "pass_layers", watched)
    plans = plan_sweep(record(LONG * 3, OTHER), Limits(), nano.plan)
    swept = sweep(nano, plans)
    points = len(plans.kept)
    schema = plans.readings[0].total_tokens
    assert sum(read) <= plans.readings[-1].total_tokens + points * (schema + 64)
    for reading, point in zip(plans.readings, swept.points, strict=True):
        encoded = reading.encoded
        with torch.inference_mode():
            rows = nano.model.logits(collate([encoded], nano.tokenizer.pad_token_id, torch.device("cpu")))[0]
        for answer, row in zip(point.answers, rows, strict=True):
            assert answer.logits == pytest.approx(row.tolist(), abs=TOLERANCE)


def test_images_are_kept_with_the_state_behind_them(tiny: ClefDecider) -> None:
    shown = record(images=(picture(0), picture(1, (96, 64))))
    first = tiny.decide([shown])
    before = tiny.cache_facts.hits
    edited = tiny.decide([replace(record(questions=OTHER), images=shown.images)])
    assert tiny.cache_facts.hits == before + 1
    assert furthest(tiny, [*first, *edited]) <= TOLERANCE


def test_another_image_of_the_same_size_is_another_state(tiny: ClefDecider) -> None:
    tiny.decide([record(images=(picture(0),))])
    before = tiny.cache_facts.hits
    other = tiny.decide([record(images=(picture(2),))])
    assert tiny.cache_facts.hits == before
    assert furthest(tiny, other) <= TOLERANCE


def test_a_text_after_an_image_has_its_own_positions(tiny: ClefDecider) -> None:
    """transformers keeps the offset of the last image on the model, which a text must not get."""
    tiny.decide([record(images=(picture(0, (256, 64)),))])
    assert furthest(tiny, tiny.decide([record()])) <= TOLERANCE
    assert furthest(tiny, tiny.decide([record(questions=OTHER)])) <= TOLERANCE


def test_records_of_all_kinds_in_one_call(tiny: ClefDecider) -> None:
    image = picture(3)
    records = [
        record("short"),
        record(LONG),
        record(LONG, OTHER),
        record(LONG, images=(image,)),
        record(LONG, OTHER, images=(image,)),
        record("a picture", OTHER, images=(picture(1),)),
        record(LONG[: len(LONG) // 2], OTHER),
        record("the tag <|image_pad|> is text here"),
        record({"a": [1, 2.5, None], "b": "x" * 400}),
    ]
    decisions = tiny.decide(records)
    assert [decision.encoded.record for decision in decisions] == records
    assert furthest(tiny, decisions) <= TOLERANCE


@settings(max_examples=40)
@given(st.lists(requests(), min_size=1, max_size=4))
def test_generated_records(tiny: ClefDecider, asked: list[dict[str, Any]]) -> None:
    assert furthest(tiny, tiny.decide([record_of(request) for request in asked])) <= TOLERANCE


def test_nothing_is_kept_without_room(tiny: ClefDecider) -> None:
    forgetful = ClefDecider(tiny.model, tiny.planner, tiny.status, cache_bytes=0)
    first = forgetful.decide([record()])
    assert forgetful.cache_facts.trunks == 0
    assert forgetful.cache_facts.too_large == 1
    assert forgetful.decide([record()])[0].answers == first[0].answers


def test_the_least_recently_used_state_is_given_up(tiny: ClefDecider) -> None:
    tiny.decide([record("a" * 900)])
    size = tiny.cache_facts.num_bytes
    small = ClefDecider(tiny.model, tiny.planner, tiny.status, cache_bytes=2 * size + size // 2)
    for letter in "ab":
        small.decide([record(letter * 900)])
    small.decide([record("a" * 900, OTHER)])  # used again
    small.decide([record("c" * 900)])
    assert small.cache_facts.trunks == 2
    assert small.cache_facts.num_bytes <= small.cache_facts.max_bytes
    before = small.cache_facts.hits
    small.decide([record("a" * 900)])
    assert small.cache_facts.hits == before + 1
    small.decide([record("b" * 900)])
    assert small.cache_facts.hits == before + 1
    small.clear_cache()
    assert (small.cache_facts.trunks, small.cache_facts.num_bytes) == (0, 0)


EDITS, THREADS = 2_000, 4


def test_two_thousand_edits_from_several_threads_never_give_another_records_answer(
    tiny: ClefDecider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small cache that always gives something up, texts that share starts, images that share sizes."""
    monkeypatch.setitem(scheduling.LEAST_SHARED, "cpu", 64)  # short states, so that many fit into a test
    tiny.decide([record("a" * 300)])
    decider = ClefDecider(tiny.model, tiny.planner, tiny.status, cache_bytes=3 * tiny.cache_facts.num_bytes)
    chosen = random.Random(7)
    pictures = [picture(seed) for seed in range(4)]
    schemas = [QUESTIONS, OTHER, {"ok": QUESTIONS["ok"]}]
    # Few enough different records that each one's plain answer is computed once.
    records = []
    for _ in range(60):
        start = chosen.choice(["a", "b"]) * chosen.choice([90, 180, 192, 193, 300])
        state = start + chosen.choice(["", "c", "the end", "d" * 90])
        images = (chosen.choice(pictures),) if chosen.random() < 0.3 else ()
        records.append(record(state, chosen.choice(schemas), images=images))
    expected = [plain_logits(tiny, Fake(tiny.plan(each))) for each in records]  # type: ignore[arg-type]

    def session(seed: int) -> float:
        mine, worst, done = random.Random(seed), 0.0, 0
        while done < EDITS // THREADS:
            places = [mine.randrange(len(records)) for _ in range(mine.choice([1, 1, 1, 2, 4]))]
            if mine.random() < 0.01:
                decider.clear_cache()
            for place, decision in zip(places, decider.decide([records[place] for place in places]), strict=True):
                assert decision.encoded.record == records[place]
                for answer, row in zip(decision.answers, expected[place], strict=True):
                    worst = max(worst, (torch.tensor(answer.logits) - row).abs().max().item())
            done += len(places)
        return worst

    with ThreadPoolExecutor(THREADS) as pool:
        assert max(pool.map(session, range(THREADS))) <= TOLERANCE
    facts = decider.cache_facts
    assert facts.hits > EDITS // 10
    assert facts.reads - facts.hits > EDITS // 10
    assert facts.num_bytes <= facts.max_bytes


class Fake:
    """As much of a decision as `plain_logits` reads."""

    def __init__(self, encoded: Any) -> None:
        self.encoded = encoded


def test_a_schema_that_is_longer_than_a_pass_after_a_state_is_read_with_it(
    tiny: ClefDecider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(scheduling.MOST_AFTER, "cpu", 1_500)
    many = {f"q{n}": {"type": "noul", "instructions": f"Is it number {n}?"} for n in range(20)}
    found = tiny.decide([record(questions=many)])
    assert tiny.cache_facts.trunks == 0
    assert furthest(tiny, [*found, *tiny.decide([record(questions=many), record(questions=OTHER)])]) <= TOLERANCE


def test_a_video_is_kept_with_the_state_behind_it(tiny: ClefDecider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(engine_module.CHUNK_TOKENS, "cpu", 128)
    frames = tuple(picture(seed) for seed in range(5))
    clip = VideoInput("clip", "video/x-frames", frames=frames, fps=1.0)
    shown = record(videos=(clip,), images=(picture(1),))
    first = tiny.decide([shown])
    before = tiny.cache_facts.hits
    edited = tiny.decide([replace(record(questions=OTHER), videos=shown.videos, images=shown.images)])
    assert tiny.cache_facts.hits == before + 1
    assert furthest(tiny, [*first, *edited]) <= TOLERANCE


def test_a_trunk_has_a_bounded_number_of_states(tiny: ClefDecider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forking, "MAX_STOPS", 3)
    decisions = tiny.decide([record(LONG[: 700 + 64 * place]) for place in range(9)])
    assert furthest(tiny, decisions) <= TOLERANCE
    prompts = [tiny.engine.source(decision.encoded).prompt for decision in decisions]
    found, alone = forking.families(prompts, 64, 10_000)
    assert all(len(family.stops) <= 3 for family in found)
    assert sorted([*alone, *(place for family in found for place in family.members)]) == list(range(9))


def test_a_call_that_is_stopped_leaves_nothing_broken(tiny: ClefDecider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(engine_module.CHUNK_TOKENS, "cpu", 128)

    class Stopped(Exception):
        pass

    for last in range(1, 28, 3):
        tiny.clear_cache()
        calls = iter(range(last))

        def stop(share: float, stage: str, calls: Any = calls) -> None:
            if next(calls, None) is None:
                raise Stopped

        with pytest.raises(Stopped):
            tiny.decide([record(), record(questions=OTHER)], progress=stop)
        assert furthest(tiny, tiny.decide([record(LONG[:700], OTHER)])) <= TOLERANCE
    assert furthest(tiny, tiny.decide([record()])) <= TOLERANCE
