"""The release's usual snippet runs with another import, takes what its function takes, and says what it says."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from media_files import noise
from PIL import Image
from tiny_release import write_tiny_release

torch = pytest.importorskip("torch")

from clef_model import collate_records, encode_record, load_release_model, systemone, systemone_answer  # noqa: E402
from clef_model.decision import answer, requested  # noqa: E402
from clef_model.errors import BudgetExceeded, InvalidRecord  # noqa: E402

torch.set_num_threads(1)  # the shapes are tiny

QUESTIONS: dict[str, Any] = {"urgent": {"type": "noul"}, "team": {"type": "choice", "criteria": {"z": "x", "a": None}}}
RECORD = {"state": "Help!", "questions": QUESTIONS}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return load_release_model(write_tiny_release(tmp_path_factory.mktemp("tiny")), device="cpu", dtype=torch.float32)


def test_the_usual_snippet_runs(loaded: Any) -> None:
    model, processor = loaded
    record = encode_record(processor.tokenizer, RECORD, max_length=16384, max_state_tokens=100, processor=processor)
    batch = collate_records([record], processor.tokenizer.pad_token_id, next(model.parameters()).device)
    with torch.inference_mode():
        logits = model(batch)[0]
    for question, question_logits in zip(record.questions, logits, strict=True):
        probabilities = dict(zip(question.option_ids, question_logits.float().softmax(-1).tolist(), strict=True))
        shown = systemone_answer(QUESTIONS[question.question_id], probabilities)
        assert shown["type"] == QUESTIONS[question.question_id]["type"]
    assert batch.keys() == {"input_ids", "attention_mask", "records", "media"}
    assert not model.training


def test_the_processors_tokenizer_has_the_releases_spelling(loaded: Any) -> None:
    tokenizer = loaded[1].tokenizer
    assert tokenizer("ab", add_special_tokens=False)["input_ids"] == tokenizer.encode("ab", add_special_tokens=False)
    assert tokenizer("ab", add_special_tokens=False).input_ids == [64, 65]
    assert tokenizer.pad_token_id == tokenizer.convert_tokens_to_ids("<|endoftext|>") == 256


def test_batches_are_padded_on_the_right(loaded: Any) -> None:
    _, processor = loaded
    records = [encode_record(processor.tokenizer, {**RECORD, "state": state}) for state in ("short", "long " * 50)]
    batch = collate_records(records, processor.tokenizer.pad_token_id, "cpu")
    lengths = [len(record.input_ids) for record in records]
    assert batch["attention_mask"].sum(1).tolist() == lengths
    assert batch["attention_mask"][0, : lengths[0]].all()
    assert (batch["input_ids"][0, lengths[0] :] == 256).all()
    assert batch["media"] == {}


def test_an_empty_batch_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^a batch needs at least one record$"):
        collate_records([], 0, "cpu")


@pytest.mark.parametrize(
    "media",
    [
        {"images": [Image.fromarray(noise(64, 64))]},
        {"images": [noise(64, 48), noise(64, 64).transpose(2, 0, 1)]},
        {"images": (noise(64, 64).astype(np.float32) / 255,), "videos": None},
        {"videos": [np.stack([noise(64, 64, place) for place in range(6)])]},
        {"videos": [[Image.fromarray(noise(64, 64, place)) for place in range(4)]], "images": []},
        {"videos": [[noise(64, 64)] * 3], "media_kwargs": {"do_sample_frames": False}},
    ],
    ids=["pil", "arrays", "floats", "frames", "frame list", "unsampled frames"],
)
def test_pictures_and_frames_are_taken_as_python_has_them(loaded: Any, media: dict[str, Any]) -> None:
    model, processor = loaded
    record = encode_record(processor.tokenizer, {**RECORD, **media}, processor=processor)
    assert record.media is not None
    assert record.media["token_offset"] == record.budget.prefix
    with torch.inference_mode():
        logits = model(collate_records([record], processor.tokenizer.pad_token_id, "cpu"))
    assert [len(row) for row in logits[0]] == [2, 2]


def test_text_and_media_share_a_batch_and_a_placeholder_in_the_text_is_only_text(loaded: Any) -> None:
    model, processor = loaded
    pad = processor.tokenizer.pad_token_id
    requests = [
        {**RECORD, "state": "the tag <|image_pad|> is documented here"},
        {**RECORD, "images": [Image.fromarray(noise(64, 64))]},
        RECORD,
        {**RECORD, "videos": [np.stack([noise(64, 64, place) for place in range(6)])]},
    ]
    records = [encode_record(processor.tokenizer, request, processor=processor) for request in requests]
    with torch.inference_mode():
        together = model(collate_records(records, pad, "cpu"))
        for record, rows in zip(records, together, strict=True):
            (alone,) = model(collate_records([record], pad, "cpu"))
            torch.testing.assert_close(rows, alone, atol=1e-5, rtol=0)  # float32, padded against unpadded


def test_systemone_answers_in_the_requests_order(loaded: Any) -> None:
    model, processor = loaded
    response = systemone(model, processor, {"model": "clef-flash", **RECORD})
    assert response["model"] == "clef-flash"
    assert list(response["answers"]) == ["urgent", "team"]
    assert list(response["answers"]["team"]["probabilities"]) == ["z", "a"]
    tokens = len(encode_record(processor.tokenizer, RECORD).input_ids)
    assert response["usage"] == {"input_tokens": tokens, "output_tokens": 0}


def test_systemone_answers_equal_the_models_own_probabilities(loaded: Any) -> None:
    model, processor = loaded
    record = encode_record(processor.tokenizer, RECORD)
    with torch.inference_mode():
        rows = model(collate_records([record], 256, "cpu"))[0]
    for question, row in zip(record.record.questions, rows, strict=True):
        expected = systemone_answer(
            question.source, requested(answer(question, row.tolist(), row.softmax(-1).tolist()))
        )
        assert systemone(model, processor, {"model": "m", **RECORD})["answers"][question.id] == expected


# What the release raises


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"model": None}, "model and state are required"),
        ({"questions": {}}, "at least one question is required"),
        ({"questions": {"q": {"type": "text"}}}, "q: type must be noul, choice, or score"),
        ({"questions": {"q": {"type": "choice"}}}, "q: criteria must not be empty"),
    ],
)
def test_systemone_refuses_in_the_releases_words(loaded: Any, change: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=f"^{text}$"):
        systemone(*loaded, {"model": "m", **RECORD, **change})


def test_too_little_room_is_refused_in_the_releases_words(loaded: Any) -> None:
    tokenizer = loaded[1].tokenizer
    needed = encode_record(tokenizer, {**RECORD, "state": ""}).budget.fixed
    with pytest.raises(ValueError, match=rf"^schema requires {needed} tokens before state; maximum is 99$") as caught:
        encode_record(tokenizer, RECORD, max_length=99)
    assert isinstance(caught.value, BudgetExceeded)


def test_media_without_a_processor_are_refused_in_the_releases_words(loaded: Any) -> None:
    with pytest.raises(ValueError, match=r"^records with images or videos require a processor$"):
        encode_record(loaded[1].tokenizer, {**RECORD, "images": [noise(64, 64)]})


def test_no_questions_are_refused_in_the_releases_words(loaded: Any) -> None:
    with pytest.raises(ValueError, match=r"^record produced no model input or questions$"):
        encode_record(loaded[1].tokenizer, {"state": "x", "questions": {}})


def test_what_only_we_refuse_is_a_value_error_with_all_problems(loaded: Any) -> None:
    with pytest.raises(ValueError, match=r"found the unknown key 'criterion'") as caught:
        encode_record(
            loaded[1].tokenizer, {"state": "x", "sate": 1, "questions": {"q": {"type": "noul", "criterion": 1}}}
        )
    assert isinstance(caught.value, InvalidRecord)
    assert len(caught.value.problems) == 2


def test_a_path_is_not_opened(loaded: Any, tmp_path: Path) -> None:
    _, processor = loaded
    with pytest.raises(InvalidRecord, match=r"^images\[0\]: "):
        encode_record(processor.tokenizer, {**RECORD, "images": [str(tmp_path / "x.png")]}, processor=processor)


def test_settings_of_the_processor_without_frames_are_refused(loaded: Any) -> None:
    with pytest.raises(
        InvalidRecord, match=r"^media_kwargs: settings of the processor are taken beside videos given as"
    ):
        encode_record(loaded[1].tokenizer, {**RECORD, "media_kwargs": {"do_resize": False}})


def test_another_processor_is_refused_by_name(loaded: Any) -> None:
    with pytest.raises(TypeError, match=r"^processor: found a object; the one that load_release_model returns"):
        encode_record(loaded[1].tokenizer, RECORD, processor=object())  # type: ignore[arg-type]


def test_numbers_as_record_ids_are_taken(loaded: Any) -> None:
    assert encode_record(loaded[1].tokenizer, {**RECORD, "id": 17}).record_id == "17"
