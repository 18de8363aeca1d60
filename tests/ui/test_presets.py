"""The presets that ship, and what a broken one says."""

import json
from pathlib import Path

import pytest

from clef_model.decision import Limits
from clef_ui.calls import preset_draft
from clef_ui.draft_types import Draft
from clef_ui.drafts import to_record
from clef_ui.presets import FIRST, InvalidPreset, Preset, read_preset, read_presets
from clef_ui.uploads import MediaStore

FOLDER = Path(__file__).parent.parent.parent / "presets"
PRESETS = read_presets(FOLDER)
RECORD = {"state": "x", "questions": {"q": {"type": "noul"}}}


@pytest.fixture(params=PRESETS, ids=lambda preset: preset.slug)
def preset(request: pytest.FixtureRequest) -> Preset:
    found: Preset = request.param
    return found


def written(folder: Path, content: object, name: str = "x.json") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def fault(path: Path) -> str:
    with pytest.raises(InvalidPreset) as raised:
        read_preset(path)
    return str(raised.value).replace(path.parent.name, "presets")


def test_there_are_at_least_twelve_and_the_first_is_for_new_visitors() -> None:
    assert len(PRESETS) >= 12
    assert PRESETS[0].slug == FIRST


def test_a_preset_is_accepted_without_a_warning(preset: Preset) -> None:
    assert [str(notice) for notice in preset.record.notices] == []


def test_a_preset_says_what_to_notice_in_a_few_words(preset: Preset) -> None:
    assert 40 < len(preset.note) < 400
    assert len(preset.title) < 40


def test_the_draft_of_a_preset_asks_exactly_its_record(preset: Preset) -> None:
    store = MediaStore()
    draft = preset_draft(preset, store, Limits())
    media = {
        item.id: store.image(item.id, item.name) if item.kind == "image" else store.video(item.id, item.name)
        for item in draft.media
    }
    record = to_record(draft, media)
    assert (record.state, record.questions) == (preset.record.state, preset.record.questions)
    assert (record.images, record.videos) == (preset.record.images, preset.record.videos)


def test_each_use_of_the_page_has_a_preset_with_a_picture_or_a_clip() -> None:
    assert any(preset.record.images for preset in PRESETS)
    assert any(preset.record.videos for preset in PRESETS)
    assert {kind for preset in PRESETS for kind in preset.kinds} == {"noul", "choice", "score"}


def test_a_preset_with_media_is_loaded_from_its_own_files() -> None:
    draft = preset_draft(next(preset for preset in PRESETS if preset.record.images), MediaStore(), Limits())
    assert isinstance(draft, Draft)
    assert [item.name for item in draft.media] == ["market-stall.png"]


def test_a_broken_record_is_named_with_its_path(tmp_path: Path) -> None:
    questions = {"is_spam": {"type": "noul", "criteria": ["a", "b"]}}
    path = written(tmp_path, {"title": "t", "note": "n", "record": {"state": "", "questions": questions}}, "spam.json")
    assert fault(path) == (
        "presets/spam.json, record.questions.is_spam.criteria: expected an object with 'true' and 'false', "
        'got a list of 2. Write {"true": …, "false": …} or leave it out.'
    )


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, {"title": "", "record": [], "extra": 1})
    assert fault(path) == "\n".join(
        [
            "presets/x.json: unknown key 'extra'; title, note and record are allowed. Remove it.",
            "presets/x.json, title: a text is expected. Write one.",
            "presets/x.json, note: a text is expected. Write one.",
            "presets/x.json, record: the request as the API takes it is expected. Write one.",
        ]
    )


def test_broken_json_is_told_with_its_line(tmp_path: Path) -> None:
    assert fault(written(tmp_path, '{\n "title": }')) == (
        "presets/x.json, title (line 2, column 11): found '}' where a value is expected. "
        "Write the value before it, or remove it."
    )


@pytest.mark.parametrize("name", ["../secret.png", "/etc/passwd", "sub/x.png"])
def test_media_outside_of_the_folder_are_never_opened(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, {"title": "t", "note": "n", "record": {**RECORD, "images": [name]}})
    assert fault(path) == (
        f"presets/x.json: {name!r} is not a file beside the preset. Put it there and give its name alone."
    )


def test_media_that_are_missing_are_named(tmp_path: Path) -> None:
    path = written(tmp_path, {"title": "t", "note": "n", "record": {**RECORD, "images": ["gone.png"]}})
    assert fault(path).startswith("presets/x.json: 'gone.png' is missing or of no known type.")


def test_large_media_are_refused_with_both_numbers(tmp_path: Path) -> None:
    (tmp_path / "big.png").write_bytes(b"x" * 600_000)
    path = written(tmp_path, {"title": "t", "note": "n", "record": {**RECORD, "images": ["big.png"]}})
    assert fault(path) == "presets/x.json: 'big.png' has 600,000 bytes, 524,288 are allowed. Shrink it."


def test_a_file_name_is_a_slug(tmp_path: Path) -> None:
    path = written(tmp_path, {"title": "t", "note": "n", "record": RECORD}, "My Preset.json")
    assert fault(path) == (
        "presets/My Preset.json: a file name of small letters, digits and single hyphens is expected. Rename it."
    )


def test_an_empty_folder_is_said_to_be_empty(tmp_path: Path) -> None:
    with pytest.raises(InvalidPreset, match="no preset was found"):
        read_presets(tmp_path)
