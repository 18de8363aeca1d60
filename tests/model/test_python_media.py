"""What Python callers hand over becomes media of a record, or is refused with place and advice."""

import io
from typing import Any

import numpy as np
import pytest
from media_files import animated_gif, clip, clip_frame, noise, saved
from PIL import Image

from clef_model.errors import InvalidRecord
from clef_model.images import read_image
from clef_model.media_config import SamplingConfig
from clef_model.python_media import image_from_python, media_from_python, video_from_python
from clef_model.schema import ImageInput, VideoInput

FRAMES = np.stack([noise(64, 64, place) for place in range(8)])


def pixels(image: Any) -> Any:
    return read_image(image_from_python(image).data, "images[0]").pixels


def refusal(images: Any = None, videos: Any = None, media_kwargs: Any = None) -> list[str]:
    with pytest.raises(InvalidRecord) as caught:
        media_from_python(images, videos, media_kwargs)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    "form",
    [
        lambda array: Image.fromarray(array),
        lambda array: array,
        lambda array: array.transpose(2, 0, 1),
        lambda array: saved(array),
        lambda array: bytearray(saved(array)),
        lambda array: array.astype(np.float32) / 255,
        lambda array: array / 255.0,
    ],
)
def test_every_form_of_an_image_has_the_same_pixels(form: Any) -> None:
    array = noise(40, 60)
    assert np.array_equal(pixels(form(array)), array)


def test_grey_arrays_have_three_equal_channels() -> None:
    grey = noise(20, 30, channels=1)
    for array in (grey, grey[..., 0], grey.transpose(2, 0, 1)):
        assert np.array_equal(pixels(array), np.repeat(grey, 3, axis=-1))


def test_floats_of_zero_to_one_are_scaled_and_not_shown_nearly_black() -> None:
    assert pixels(np.ones((64, 64, 3), np.float32)).min() == 255


def test_a_transparent_array_is_laid_on_white() -> None:
    array = np.zeros((20, 30, 4), np.uint8)
    array[:, 15:, 3] = 255
    assert pixels(array)[0, ::29].tolist() == [[255, 255, 255], [0, 0, 0]]


def test_a_pil_image_is_turned_upright_once() -> None:
    image = Image.new("RGB", (40, 20), "white")
    exif = image.getexif()
    exif[0x0112] = 6
    data = saved(image, "JPEG", exif=exif)
    assert pixels(Image.open(io.BytesIO(data))).shape == (40, 20, 3)
    assert pixels(data).shape == (40, 20, 3)


def test_an_image_input_is_passed_on() -> None:
    given = ImageInput("a.png", "image/png", b"data")
    assert image_from_python(given) is given
    video = VideoInput("a.mp4", "video/mp4", b"data")
    assert video_from_python(video) is video


def test_an_animated_pil_image_says_which_frame_is_read() -> None:
    image = Image.open(io.BytesIO(animated_gif()))
    image.seek(1)
    made = media_from_python([image], None)
    assert [str(notice) for notice in made.notices] == [
        "images[0]: only frame 2 of 3 is read. To have all read, pass them as a video."
    ]
    assert read_image(made.images[0].data, "images[0]").pixels[0, 0].tolist() == [0, 128, 0]


def test_frames_without_a_rate_count_as_24_a_second_and_it_is_said() -> None:
    made = media_from_python(None, [FRAMES])
    assert (made.videos[0].fps, made.videos[0].num_frames, made.videos[0].frame_indices) == (24.0, None, ())
    assert [str(notice) for notice in made.notices] == [
        "videos[0]: no frame rate was given, so 24 frames a second are assumed, as the release does. Times and the "
        "frames that are read follow from it: pass video_metadata with fps, or do_sample_frames=False to have all read."
    ]


@pytest.mark.parametrize(
    "frames",
    [
        FRAMES,
        FRAMES.transpose(0, 3, 1, 2),
        list(FRAMES),
        [Image.fromarray(frame) for frame in FRAMES],
        tuple(frame / 255 for frame in FRAMES),
    ],
)
def test_every_form_of_frames_has_the_same_pixels(frames: Any) -> None:
    made = video_from_python(frames)
    seen = [read_image(frame.data, "").pixels for frame in made.frames]
    assert np.array_equal(np.stack(seen), FRAMES)


def test_without_sampling_every_frame_is_used() -> None:
    made = media_from_python(None, [FRAMES], {"do_sample_frames": False}).videos[0]
    assert made.frame_indices == tuple(range(8))


def test_frames_sampled_before_keep_their_places() -> None:
    metadata = {"fps": 30, "total_num_frames": 240, "frames_indices": np.arange(0, 240, 30)}
    made = media_from_python(None, [FRAMES], {"do_sample_frames": False, "video_metadata": [metadata]})
    assert (made.videos[0].fps, made.videos[0].frame_indices) == (30.0, tuple(range(0, 240, 30)))
    assert made.notices == ()


def test_options_may_stand_in_videos_kwargs_and_metadata_alone() -> None:
    kwargs = {"videos_kwargs": {"video_metadata": {"fps": 8, "total_num_frames": 8}, "fps": 4}}
    made = media_from_python(None, [FRAMES], kwargs).videos[0]
    assert (made.fps, made.num_frames) == (8.0, 4)


def test_a_number_of_frames_may_be_asked_for() -> None:
    assert video_from_python(FRAMES, num_frames=3).num_frames == 3
    assert video_from_python(clip(4), num_frames=3).num_frames == 3


def test_a_release_that_does_not_sample_has_all_frames_used() -> None:
    made = video_from_python(FRAMES, sampling=SamplingConfig(enabled=False))
    assert made.frame_indices == tuple(range(8))


IMAGES = {
    "path": (
        "/etc/hostname",
        "images[0]: found str: no path or address is opened; a PIL image, an array, or the bytes of a file is taken. "
        "Read the file and pass its content.",
    ),
    "object": (object(), "images[0]: found object; a PIL image, an array, or the bytes of a file is taken."),
    "integers": (
        np.zeros((8, 8, 3), np.int64),
        "images[0]: found an array of int64; uint8 of 0 to 255 and floats of 0 to 1 are taken. Convert it.",
    ),
    "floats of 0 to 255": (
        np.full((8, 8, 3), 255.0),
        "images[0]: found floats from 255 to 255; floats of 0 to 1 are taken. "
        "Scale them, or convert to uint8 of 0 to 255.",
    ),
    "no number": (
        np.full((8, 8, 3), np.nan),
        "images[0]: found floats from nan to nan; floats of 0 to 1 are taken. "
        "Scale them, or convert to uint8 of 0 to 255.",
    ),
    "two channels": (
        np.zeros((8, 8, 2), np.uint8),
        "images[0]: found an array of shape (8, 8, 2): an image is [height, width], [height, width, channels] or "
        "[channels, height, width] with 1, 3 or 4 channels. Reshape it.",
    ),
    "either way": (
        np.zeros((3, 8, 3), np.uint8),
        "images[0]: found an array of shape (3, 8, 3): its channels may be first or last, pass a PIL image.",
    ),
    "no pixels": (
        np.zeros((0, 8, 3), np.uint8),
        "images[0]: the picture is 8×0 pixels, so there is nothing to see. Export it again.",
    ),
    "32-bit grey": (
        Image.new("I", (8, 8)),
        "images[0]: the picture's mode is 'I', whose range is unknown. Convert it to 8-bit RGB.",
    ),
}


@pytest.mark.parametrize("case", IMAGES)
def test_an_image_that_cannot_be_used_is_refused_with_place_and_advice(case: str) -> None:
    image, message = IMAGES[case]
    assert refusal([image]) == [message]


VIDEOS = {
    "one image": (
        FRAMES[0],
        {},
        "videos[0]: found an array of shape (64, 64, 3); frames have four dimensions: [frames, height, width, "
        "channels]. Reshape it.",
    ),
    "path": (
        "clip.mp4",
        {},
        "videos[0]: found str: no path or address is opened; an array of frames, a list of images, or the bytes of a "
        "file is taken. Read the file and pass its content.",
    ),
    "two rules of sampling": (
        FRAMES,
        {"num_frames": 4, "fps": 2},
        "videos[0]: num_frames and fps both say how many frames to sample. Give one of them.",
    ),
    "metadata of another clip": (
        FRAMES,
        {"video_metadata": [{"fps": 30, "total_num_frames": 240}]},
        "videos[0]: video_metadata says 240 frames and 8 came. Pass do_sample_frames=False for frames that were "
        "sampled already, with their frames_indices.",
    ),
    "metadata of a file": (
        clip(4),
        {"video_metadata": [{"fps": 30}]},
        "videos[0]: a video file has its own frames and times. Of the media_kwargs it takes num_frames only.",
    ),
    "a metadata too many": (
        FRAMES,
        {"video_metadata": [{"fps": 30}, {"fps": 30}]},
        "media_kwargs.video_metadata: one mapping for each of the 1 videos is expected, with fps and total_num_frames.",
    ),
    "no rate": (
        FRAMES,
        {"video_metadata": {"fps": 0}},
        "media_kwargs.video_metadata[0].fps: found 0; frames per second are a number above 0.",
    ),
    "unknown option": (
        FRAMES,
        {"size": {"shortest_edge": 1}},
        "media_kwargs.size: is not supported; do_sample_frames, num_frames, fps, video_metadata are. Leave it out.",
    ),
    "wrong kind": (
        FRAMES,
        {"do_sample_frames": 1},
        "media_kwargs.do_sample_frames: found 1; true or false is expected.",
    ),
}


@pytest.mark.parametrize("case", VIDEOS)
def test_a_video_that_cannot_be_used_is_refused_with_place_and_advice(case: str) -> None:
    video, media_kwargs, message = VIDEOS[case]
    assert refusal(None, [video], media_kwargs) == [message]


def test_all_problems_are_told_at_once() -> None:
    frames = [clip_frame(0, 2), "x", np.zeros((4, 4))]
    found = refusal(["x.png", noise(8, 8), 3], [frames], {"other": 1})
    assert [line.split(":")[0] for line in found] == [
        "images[0]",
        "images[2]",
        "media_kwargs.other",
        "videos[0].frames[1]",
    ]
