"""The numerics cases: batches, padding, mixed media, repeated and isolated runs."""

from pathlib import Path
from typing import Any

import pytest
from media_files import flat, frame_list, noise
from tiny_release import write_tiny_release

from cases import case_request, read_cases
from clef_model.schema import ImageInput, VideoInput

torch = pytest.importorskip("torch")

from clef_model.batch import collate  # noqa: E402
from clef_model.inference import ClefDecider  # noqa: E402
from clef_model.loading import load_release  # noqa: E402
from clef_model.parsing import parse_record  # noqa: E402
from clef_model.schema import Record  # noqa: E402

torch.set_num_threads(1)  # the shapes are tiny

CASES = {case["id"]: case for case in read_cases("numerics")}
TOKENS = {case["id"]: case for case in read_cases("tokens")}
QUESTIONS = {"ok": {"type": "noul", "instructions": "Is this fine?"}}


@pytest.fixture(scope="module")
def decider(tmp_path_factory: pytest.TempPathFactory) -> ClefDecider:
    folder = write_tiny_release(tmp_path_factory.mktemp("tiny"))
    return load_release(folder, device="cpu", dtype="float32")


def record(state: Any, images: tuple[ImageInput, ...] = (), videos: tuple[VideoInput, ...] = ()) -> Record:
    return parse_record({"state": state, "questions": QUESTIONS, "images": list(images), "videos": list(videos)})


def image(width: int, height: int) -> ImageInput:
    return ImageInput("", "image/png", flat((width, height), "red"))


def probabilities(decider: ClefDecider, records: list[Record]) -> list[tuple[float, ...]]:
    return [decision.answers[0].probabilities for decision in decider.decide(records)]


def test_num_01_a_record_alone_and_in_a_batch(decider: ClefDecider) -> None:
    case = CASES["NUM-01"]
    short = parse_record(case_request(case))
    long = record("filler " * 2_000)
    first, _, third = probabilities(decider, [short, long, short])
    (alone,) = probabilities(decider, [short])
    tolerance = case["expected"]["tolerance"]["float32"]
    assert first == pytest.approx(alone, abs=tolerance)
    assert first == third


def test_num_02_padding_is_on_the_right_in_every_batch(decider: ClefDecider) -> None:
    lengths = [1, 650]
    encoded = [decider.plan(record("x" * length)) for length in lengths]
    batch = collate(encoded, decider.tokenizer.pad_token_id, torch.device("cpu"))
    rows = batch.attention_mask.tolist()
    assert [sorted(row, reverse=True) for row in rows] == rows
    assert [sum(row) for row in rows] == [len(one.input_ids) for one in encoded]


def test_num_03_text_image_and_video_records_in_one_batch(decider: ClefDecider) -> None:
    clip = frame_list([noise(64, 64, place) for place in range(8)], 24.0)
    records = [
        record("text"),
        record("image", images=(image(64, 64),)),
        record("video", videos=(clip,)),
        record("wide image", images=(image(512, 64),)),
    ]
    together = probabilities(decider, records)
    alone = [probabilities(decider, [one])[0] for one in records]
    for ours, theirs in zip(together, alone, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-5)  # float32, padded against unpadded
    assert len(set(together)) == len(together)


def test_tok_07_a_placeholder_in_a_text_record_next_to_an_image_record(decider: ClefDecider) -> None:
    text = parse_record(case_request(TOKENS["TOK-07"]))
    picture = record("image", images=(image(64, 64),))
    together = probabilities(decider, [picture, text, picture])
    assert together == [pytest.approx(probabilities(decider, [one])[0], abs=1e-5) for one in (picture, text, picture)]


def test_num_05_a_b_a_gives_the_first_answer_again_to_the_last_digit(decider: ClefDecider) -> None:
    first = record("same " * 400 + "one " * 200)
    second = record("same " * 400 + "two " * 100)
    runs = [probabilities(decider, [one])[0] for one in (first, second, first)]
    assert runs[0] == runs[2]
    assert runs[0] != runs[1]


def test_num_05_holds_after_an_image_record_too(decider: ClefDecider) -> None:
    # transformers keeps the last media record's position offsets on the model.
    text, picture = record("text"), record("image", images=(image(512, 64),))
    runs = [probabilities(decider, [one])[0] for one in (text, picture, text)]
    assert runs[0] == runs[2]


def test_num_07_loading_another_release_does_not_alter_the_first(decider: ClefDecider, tmp_path: Path) -> None:
    import transformers
    from transformers.models.qwen3_5 import modeling_qwen3_5

    classes = dict(vars(modeling_qwen3_5))
    before = probabilities(decider, [record("text")])
    names = set(vars(transformers))
    other = load_release(write_tiny_release(tmp_path / "other", seed=7), device="cpu", dtype="float32")
    assert probabilities(other, [record("text")]) != before
    assert probabilities(decider, [record("text")]) == before
    assert {name for name, value in vars(modeling_qwen3_5).items() if classes.get(name) is not value} == set()
    assert names <= set(vars(transformers))
    assert torch.get_default_dtype() == torch.float32


def test_every_numerics_case_has_its_test() -> None:
    tested = {name.split("_")[2] for name in globals() if name.startswith("test_num_")}
    assert {case_id.removeprefix("NUM-") for case_id in CASES} == tested
