"""Tensors, ids and type ids of media are those of the release's own processor, bit for bit.

`media_goldens.json` was written by that processor (transformers 5.24.0 with torchvision 0.28.0; see
`tests/make_media_goldens.py`, which writes it again). Where torchvision is given (`tests/release_processor.py`), the
processor itself is run as well, on generated media.
"""

import json
import platform
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from media_files import frame_list, image_input, noise, saved
from media_golden_cases import CASES, GOLDENS, RELEASE, Case, Clip, summary
from PIL import Image
from release_processor import import_torchvision, release_processor, torchvision_is_there

from clef_model.media import EncodedMedia, encode_media, read_media_config
from clef_model.media_config import MediaConfig
from clef_model.pixels import media_tensors
from clef_model.python_media import media_from_python
from clef_model.tokenizer import Tokenizer, from_any, read_tokenizer

if torchvision_is_there():
    import_torchvision()  # before anything else asks transformers what is installed

# Elsewhere torch may take another path through its resize; the values are compared then, not the bits.
BITS = platform.machine() in ("x86_64", "AMD64")


@pytest.fixture(scope="module")
def goldens() -> dict[str, Any]:
    return json.loads(GOLDENS.read_text("utf-8"))


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return read_tokenizer(RELEASE)


def encoded(case: Case, config: MediaConfig, tokenizer: Tokenizer) -> EncodedMedia:
    images, videos = case.inputs
    return encode_media(images, videos, case.config(config), tokenizer)


@pytest.mark.parametrize("name", CASES)
def test_media_are_what_the_release_made_of_them(name: str, goldens: dict[str, Any], tokenizer: Tokenizer) -> None:
    media = encoded(CASES[name], read_media_config(RELEASE), tokenizer)
    found = summary(list(media.input_ids), list(media.mm_token_type_ids), media_tensors(media, token_offset=0))
    golden = goldens[name]
    assert found.keys() == golden.keys()
    for key, expected in golden.items():
        if BITS or "sha256" not in expected:
            assert found[key] == expected
        else:
            assert found[key]["shape"] == expected["shape"]
            # One step of 255, normalised by 127.5.
            assert found[key]["values"] == pytest.approx(expected["values"], abs=1.01 / 127.5)


def test_goldens_cover_every_case_and_none_is_left_over(goldens: dict[str, Any]) -> None:
    assert [*goldens] == ["made_with", *CASES]


def test_python_callers_get_the_same_as_files(goldens: dict[str, Any], tokenizer: Tokenizer) -> None:
    case = CASES["images and clips together"]
    images = [Image.fromarray(case.pictures[0]), case.pictures[1]]
    videos = [np.stack(case.clips[0].pixels), [Image.fromarray(frame) for frame in case.clips[1].pixels]]
    made = media_from_python(images, videos)
    media = encode_media(made.images, made.videos, read_media_config(RELEASE), tokenizer)
    found = summary(list(media.input_ids), list(media.mm_token_type_ids), media_tensors(media, token_offset=0))
    assert {**found, "pixel_values": None, "pixel_values_videos": None} == {
        **goldens["images and clips together"],
        "pixel_values": None,
        "pixel_values_videos": None,
    }
    if BITS:
        assert found == goldens["images and clips together"]


@pytest.mark.parametrize("size", [(100, 60), (300, 200), (640, 480), (257, 255)])
def test_pixels_differ_from_the_processor_on_pillow_by_one_step_at_most(
    size: tuple[int, int], tokenizer: Tokenizer
) -> None:
    """A second, independent implementation, which runs without torchvision."""
    from transformers import Qwen2VLImageProcessorPil

    settings = json.loads((RELEASE / "processor_config.json").read_text("utf-8"))["image_processor"]
    settings.pop("image_processor_type")
    picture = noise(size[1], size[0], 77)
    theirs = Qwen2VLImageProcessorPil(**settings)([Image.fromarray(picture)], return_tensors="pt")
    media = encode_media([image_input(saved(picture))], [], read_media_config(RELEASE), tokenizer)
    ours = media_tensors(media, token_offset=0)
    assert torch.equal(ours["image_grid_thw"], theirs["image_grid_thw"])
    assert (ours["pixel_values"] - theirs["pixel_values"]).abs().max() <= 1.01 / 127.5


def assert_same(case: Case, folder: Path, config: MediaConfig, tokenizer: Tokenizer) -> None:
    from make_media_goldens import release_media

    input_ids, theirs = release_media(release_processor(folder), case)
    media = encoded(case, config, tokenizer)
    ours = media_tensors(media, token_offset=0)
    assert list(media.input_ids) == input_ids
    assert ours.pop("mm_token_type_ids") == theirs.pop("mm_token_type_ids")
    del ours["token_offset"]
    assert ours.keys() == theirs.keys()
    for key, tensor in theirs.items():
        assert ours[key].dtype == tensor.dtype
        assert torch.equal(ours[key], tensor)


sides = st.integers(1, 200)
pictures = st.tuples(sides, sides, st.integers(0, 999)).filter(lambda it: max(it[:2]) <= 200 * min(it[:2]))


@st.composite
def clips(draw: st.DrawFn) -> Clip:
    # Sides of 64 and more: below, transformers 5.24 rounds three frames to two and differs from 5.10.2.
    size = (draw(st.integers(64, 150)), draw(st.integers(64, 150)))
    frames = draw(st.integers(2, 30))
    return Clip(frames, size, draw(st.integers(0, 999)), fps=draw(st.sampled_from([1, 7, 24, 25, 30_000 / 1_001])))


@pytest.fixture(scope="module")
def tiny_release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release that `clef-finetune` builds: other sizes, means and deviations than Clef's."""
    release_processor(RELEASE)
    from clef_finetune.tiny import build_tiny_release

    return build_tiny_release(tmp_path_factory.mktemp("tiny"))


@pytest.mark.skipif(not torchvision_is_there(), reason="needs torchvision, see tests/release_processor.py")
@settings(max_examples=40)
@given(images=st.lists(pictures, max_size=3), videos=st.lists(clips(), max_size=2))
def test_generated_media_are_those_of_the_release(
    tiny_release: Path, tokenizer: Tokenizer, images: list[tuple[int, int, int]], videos: list[Clip]
) -> None:
    case = Case(tuple(images), tuple(videos))
    if not images and not videos:
        return
    assert_same(case, RELEASE, read_media_config(RELEASE), tokenizer)
    theirs = release_processor(tiny_release)
    assert_same(case, tiny_release, read_media_config(tiny_release), from_any(theirs.tokenizer))


@pytest.mark.skipif(not torchvision_is_there(), reason="needs torchvision, see tests/release_processor.py")
@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("first", [True, False])
def test_arrays_become_the_pixels_the_release_makes_of_them(channels: int, first: bool, tokenizer: Tokenizer) -> None:
    array = noise(70, 50, 5, channels)
    array = np.ascontiguousarray(array.transpose(2, 0, 1)) if first else array
    made = media_from_python([array], [])
    media = encode_media(made.images, [], read_media_config(RELEASE), tokenizer)
    theirs = release_processor(RELEASE).image_processor([array], return_tensors="pt")
    assert torch.equal(media_tensors(media, token_offset=0)["pixel_values"], theirs["pixel_values"])


def test_a_list_of_frames_is_what_the_array_of_them_is(tokenizer: Tokenizer) -> None:
    frames = [noise(64, 64, place) for place in range(6)]
    config = read_media_config(RELEASE)
    listed = encode_media([], [frame_list(frames, 24.0)], config, tokenizer)
    made = media_from_python([], [np.stack(frames)]).videos
    ours = media_tensors(encode_media([], made, config, tokenizer), token_offset=0)
    assert torch.equal(media_tensors(listed, token_offset=0)["pixel_values_videos"], ours["pixel_values_videos"])
