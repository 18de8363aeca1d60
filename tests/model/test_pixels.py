"""The tensors of media: shapes, the order of patches, normalisation, and which keys are there."""

import pytest
import torch
from media_files import flat, frame_list, image_input, noise, saved
from small_tokenizers import byte_tokenizer

from clef_model.media import MediaConfig, encode_media
from clef_model.media_config import VisionConfig
from clef_model.pixels import media_tensors, patchify, resized
from clef_model.python_media import media_from_python


def tensors(images=(), videos=()):  # type: ignore[no-untyped-def]
    return media_tensors(encode_media(images, videos, MediaConfig(), byte_tokenizer()), token_offset=36)


def test_an_image_has_the_keys_shapes_and_types_of_the_release() -> None:
    media = tensors([image_input(saved(noise(224, 320)))])
    assert list(media) == ["pixel_values", "image_grid_thw", "mm_token_type_ids", "token_offset"]
    assert (media["pixel_values"].dtype, media["pixel_values"].shape) == (torch.float32, (280, 1536))
    assert (media["image_grid_thw"].dtype, media["image_grid_thw"].tolist()) == (torch.int64, [[1, 14, 20]])
    assert media["mm_token_type_ids"] == [0, *[1] * 70, 0, 0]
    assert media["token_offset"] == 36


def test_a_video_has_keys_of_its_own() -> None:
    media = tensors([], [frame_list([noise(64, 96, place) for place in range(3)], 24.0)])
    assert list(media) == ["pixel_values_videos", "video_grid_thw", "mm_token_type_ids", "token_offset"]
    assert media["pixel_values_videos"].shape == (2 * 4 * 6, 1536)
    assert media["video_grid_thw"].tolist() == [[2, 4, 6]]


def test_patches_are_laid_out_as_the_formula_says() -> None:
    """A slow twin: each value of a patch is looked up in the frames one by one."""
    slot = torch.from_numpy(noise(64, 96)).permute(2, 0, 1)[None].repeat(2, 1, 1, 1)
    slot[1] = torch.from_numpy(noise(64, 96, 1)).permute(2, 0, 1)
    config = VisionConfig(mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0), rescale_factor=1.0)
    patches = patchify(slot, config)
    place = 0
    for token_row in range(2):
        for token_column in range(3):
            for row in range(2):
                for column in range(2):
                    top, left = 32 * token_row + 16 * row, 32 * token_column + 16 * column
                    patch = slot[:, :, top : top + 16, left : left + 16].permute(1, 0, 2, 3)  # channel, frame, y, x
                    assert torch.equal(patches[place], patch.flatten().float())
                    place += 1
    assert place == len(patches)


def test_pixels_are_normalised_to_minus_one_to_one() -> None:
    assert tensors([image_input(flat((256, 256), "white"))])["pixel_values"].unique().tolist() == [1.0]
    assert tensors([image_input(flat((256, 256), "black"))])["pixel_values"].unique().tolist() == [-1.0]


def test_an_image_fills_both_frames_of_its_slot() -> None:
    patches = tensors([image_input(saved(noise(256, 256)))])["pixel_values"].view(-1, 3, 2, 256)
    assert torch.equal(patches[:, :, 0], patches[:, :, 1])


def test_an_odd_last_frame_is_shown_twice() -> None:
    frames = [noise(64, 64, place) for place in range(3)]
    patches = tensors([], [frame_list(frames, 24.0)])["pixel_values_videos"].view(2, -1, 3, 2, 256)
    assert not torch.equal(patches[0, :, :, 0], patches[0, :, :, 1])
    assert torch.equal(patches[1, :, :, 0], patches[1, :, :, 1])


def test_a_picture_of_its_shown_size_is_not_touched() -> None:
    pixels = noise(64, 96)
    (frame,) = resized([pixels], (96, 64))
    assert torch.equal(frame, torch.from_numpy(pixels).permute(2, 0, 1))


def test_media_of_one_kind_follow_each_other() -> None:
    one, two = image_input(saved(noise(256, 256, 1))), image_input(saved(noise(224, 320, 2)))
    both = tensors([one, two])
    assert torch.equal(both["pixel_values"], torch.cat([tensors([it])["pixel_values"] for it in (one, two)]))
    assert both["image_grid_thw"].tolist() == [[1, 16, 16], [1, 14, 20]]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32, torch.float16])
def test_a_tensor_on_the_cpu_is_taken_as_an_image(dtype: torch.dtype) -> None:
    white = torch.full((3, 64, 64), 255 if dtype == torch.uint8 else 1, dtype=dtype)
    made = media_from_python([white], None)
    assert tensors(made.images)["pixel_values"].unique().tolist() == [1.0]
