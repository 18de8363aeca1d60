"""Logits and answers equal those of the release's own code on the same weights: text, images, videos, mixed batches."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from generated_records import record_of, requests
from hypothesis import Phase, given, settings
from media_files import noise
from PIL import Image
from tiny_release import HEAD, NANO, write_tiny_release

from clef_model.encoding import encode
from clef_model.tokenizer import Tokenizer, read_tokenizer

torch = pytest.importorskip("torch")
oracle = pytest.importorskip("clef_finetune._vendor.joint_schema_model")

from clef_model import collate_records, encode_record, load_release_model, systemone  # noqa: E402

torch.set_num_threads(1)  # the shapes are tiny
TOLERANCE = 1e-5  # float32 on a CPU: sums are taken in another order
GOLDEN = json.loads((Path(__file__).parent / "golden_examples.json").read_text("utf-8"))
QUESTIONS: dict[str, Any] = {
    "refund": {"type": "noul", "instructions": "Does the customer want money back?"},
    "team": {"type": "choice", "criteria": {"billing": "Payments", "tech": None, "abuse": {"a": 1}, "other": "Else"}},
    "anger": {"type": "score", "instructions": "How angry?", "criteria": ["calm", "upset", "furious"]},
}
ONE = {"seen": {"type": "noul", "instructions": "Is it red?"}}


@cache
def nano_tokenizer() -> Tokenizer:
    return read_tokenizer(NANO)


class Pair:
    """The release's model and ours, on the same weights."""

    def __init__(self, folder: Path) -> None:
        from safetensors.torch import load_file
        from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5ForConditionalGeneration

        self.ours, self.processor = load_release_model(folder, device="cpu", dtype=torch.float32)
        backbone = Qwen3_5ForConditionalGeneration.from_pretrained(folder, dtype=torch.float32)
        head = oracle.JointSchemaHead(**json.loads((folder / "joint_head_config.json").read_text()))
        head.load_state_dict(load_file(folder / "joint_head.safetensors"), strict=True)
        self.theirs = oracle.ClefModel(backbone, head).eval()

    def encode(self, record: dict[str, Any], **limits: Any) -> Any:
        return encode_record(self.processor.tokenizer, record, processor=self.processor, **limits)

    def largest_difference(self, records: list[Any]) -> float:
        """Over all options of a batch, each side through its own collating, model and head."""
        pad = self.processor.tokenizer.pad_token_id
        with torch.inference_mode():
            ours = self.ours(collate_records(records, pad, "cpu"))
            theirs = self.theirs(oracle.collate_records(records, pad, torch.device("cpu")))
        assert [[len(row) for row in rows] for rows in ours] == [[len(row) for row in rows] for rows in theirs]
        return max(
            (a - b).abs().max().item() for x, y in zip(ours, theirs, strict=True) for a, b in zip(x, y, strict=True)
        )


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return Pair(write_tiny_release(tmp_path_factory.mktemp("tiny")))


def text(state: Any = "I was charged twice.", questions: dict[str, Any] = QUESTIONS) -> dict[str, Any]:
    return {"state": state, "questions": questions}


def picture(width: int, height: int, seed: int = 0) -> Image.Image:
    return Image.fromarray(noise(height, width, seed))


def clip(frames: int, seed: int = 0) -> Any:
    return np.stack([noise(48, 64, seed + place) for place in range(frames)])


def test_one_text_record(pair: Pair) -> None:
    assert pair.largest_difference([pair.encode(text())]) <= TOLERANCE


def test_ragged_text_records_in_one_batch(pair: Pair) -> None:
    records = [text("short"), text({"a": [1, 2.5, None], "b": "x" * 400}, ONE), text("", {**QUESTIONS, **ONE})]
    assert pair.largest_difference([pair.encode(record) for record in records]) <= TOLERANCE


def test_a_cut_state(pair: Pair) -> None:
    assert pair.largest_difference([pair.encode(text("word " * 200), max_state_tokens=77)]) <= TOLERANCE


def test_a_placeholder_in_a_text_record(pair: Pair) -> None:
    assert pair.largest_difference([pair.encode(text("the tag <|image_pad|> is documented here"))]) <= TOLERANCE


def test_images(pair: Pair) -> None:
    record = {**text("Two pictures.", ONE), "images": [picture(64, 64), picture(200, 90, 1)]}
    assert pair.largest_difference([pair.encode(record)]) <= TOLERANCE


def test_a_video(pair: Pair) -> None:
    assert pair.largest_difference([pair.encode({**text("A clip.", ONE), "videos": [clip(9)]})]) <= TOLERANCE


def test_an_image_and_a_video_in_one_record(pair: Pair) -> None:
    record = {**text("Both.", QUESTIONS), "images": [picture(40, 70)], "videos": [clip(8)]}
    assert pair.largest_difference([pair.encode(record)]) <= TOLERANCE


def test_text_images_and_videos_in_one_batch(pair: Pair) -> None:
    records = [
        text(),
        {**text("One picture.", ONE), "images": [picture(64, 64)]},
        {**text("A clip.", QUESTIONS), "videos": [clip(8)]},
        {**text("", ONE), "images": [picture(512, 64, 3)], "videos": [clip(5, 9)]},
        text({"k": 1}, ONE),
    ]
    assert pair.largest_difference([pair.encode(record) for record in records]) <= TOLERANCE


def test_records_of_the_releases_own_encoder_are_taken(pair: Pair) -> None:
    theirs = [oracle.encode_record(pair.processor.tokenizer, record) for record in (text(), text("x", ONE))]
    ours = [pair.encode(record) for record in (text(), text("x", ONE))]
    assert [record.input_ids for record in ours] == [record.input_ids for record in theirs]
    assert pair.largest_difference(theirs) <= TOLERANCE


@pytest.mark.timeout(600)
def test_500_generated_records_in_batches(pair: Pair) -> None:
    # With clef-nano's tokenizer, a quarter of the tokens; its ids are folded into the tiny model's byte rows.
    encoded = [encode(record_of(request), nano_tokenizer(), max_length=2_000) for request in generated(500)]
    folded = [replace(e, input_ids=tuple(token_id % 256 for token_id in e.input_ids)) for e in encoded]
    folded.sort(key=lambda record: len(record.input_ids))
    for start in range(0, len(folded), 10):
        assert pair.largest_difference(folded[start : start + 10]) <= TOLERANCE


@pytest.mark.parametrize("kind", ["char_level_examples", "real_token_examples"])
def test_golden_records(pair: Pair, kind: str) -> None:
    examples = [example for example in GOLDEN[kind] if "expected_error" not in example]
    records = [pair.encode({key: example[key] for key in ("state", "questions")}) for example in examples]
    assert pair.largest_difference(records) <= TOLERANCE


def generated(number: int) -> list[dict[str, Any]]:
    """Requests made up by hypothesis, collected: one pass over ten of them costs little more than over one."""
    requested: list[dict[str, Any]] = []

    @settings(max_examples=number, database=None, phases=[Phase.generate])
    @given(requests())
    def collect(request: dict[str, Any]) -> None:
        requested.append(request)

    collect()
    assert len(requested) >= number
    return requested[:number]


def test_systemone_gives_the_same_response(pair: Pair) -> None:
    request = {"model": "clef-flash", **text({"subject": "Refund", "amount": 12.5})}
    theirs = oracle.systemone(pair.theirs, pair.processor, request)
    ours = systemone(pair.ours, pair.processor, request)
    assert ours.keys() == theirs.keys()
    assert ours["usage"] == theirs["usage"]
    assert list(ours["answers"]) == list(theirs["answers"])
    for name, answer in theirs["answers"].items():
        assert ours["answers"][name].keys() == answer.keys()
    assert json.loads(json.dumps(ours), parse_float=lambda x: round(float(x), 3)) == json.loads(
        json.dumps(theirs), parse_float=lambda x: round(float(x), 3)
    )


def test_a_release_in_half_precision_is_as_near_to_full_precision_as_the_releases_own(
    pair: Pair, tmp_path: Path
) -> None:
    # bfloat16 keeps 8 bits: the two differ from each other by rounding, and from float32 by about as much.
    from copy import deepcopy

    ours, theirs = deepcopy(pair.ours).bfloat16(), deepcopy(pair.theirs).bfloat16()
    records = [pair.encode(record) for record in (text(), text("x" * 300, ONE), text({"a": 1}))]
    batch = collate_records(records, pair.processor.tokenizer.pad_token_id, "cpu")
    with torch.inference_mode():
        exact, near, reference = (
            torch.cat([row.float() for rows in model(batch) for row in rows]) for model in (pair.ours, ours, theirs)
        )
    assert (near - reference).abs().max() <= 0.06
    assert (near - exact).abs().mean() <= 1.5 * (reference - exact).abs().mean() + 0.002
    assert HEAD["width"] == ours.head.memory_projection.weight.shape[0]
