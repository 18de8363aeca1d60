"""A record's media as tokens: sizes, layout, spans, times, notices, limits and all problems at once."""

import io
import json
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from media_files import clip, clip_frame, flat, frame_list, image_input, noise, saved
from PIL import Image
from small_tokenizers import CharTokenizer, byte_tokenizer

from clef_model import media
from clef_model.decoded_cache import DecodedCache
from clef_model.errors import BrokenRelease, InvalidRecord
from clef_model.images import read_image
from clef_model.ledger import Span
from clef_model.media import MediaConfig, encode_media, read_media_config, slot_times
from clef_model.media_config import VisionConfig, size_shown
from clef_model.schema import ImageInput, VideoInput
from clef_model.tokenizer import from_any

NANO = Path(__file__).parents[2] / "models" / "clef-nano"
CONFIG = MediaConfig()
TOKENIZER = byte_tokenizer()
ID = {token: token_id for token_id, token in TOKENIZER.special_ids.items()}
START, END = ID["<|vision_start|>"], ID["<|vision_end|>"]
IMAGE, VIDEO = ID["<|image_pad|>"], ID["<|video_pad|>"]


def encode(images: Any = (), videos: Any = (), config: MediaConfig = CONFIG) -> media.EncodedMedia:
    return encode_media(images, videos, config, TOKENIZER)


def ids(text: str) -> list[int]:
    return TOKENIZER.encode(text)


def refusal(images: Any = (), videos: Any = ()) -> str:
    with pytest.raises(InvalidRecord) as caught:
        encode(images, videos)
    return str(caught.value)


# Source: contract, "Media block"; computed there with transformers 5.10.2.
SIZES = {
    (2, 2): ((256, 256), (1, 16, 16), 64),
    (32, 32): ((256, 256), (1, 16, 16), 64),
    (256, 256): ((256, 256), (1, 16, 16), 64),
    (300, 200): ((320, 224), (1, 14, 20), 70),
    (512, 512): ((512, 512), (1, 32, 32), 256),
    (640, 480): ((640, 480), (1, 30, 40), 300),
    (1024, 768): ((1024, 768), (1, 48, 64), 768),
    (1920, 1080): ((1920, 1088), (1, 68, 120), 2_040),
    (250, 4000): ((256, 4000), (1, 250, 16), 1_000),
}


@pytest.mark.parametrize("given", SIZES)
def test_an_image_is_shown_in_the_size_of_the_release(given: tuple[int, int]) -> None:
    shown, grid, tokens = SIZES[given]
    (item,) = encode([image_input(flat(given))]).items
    assert (item.size_given, item.size_shown, item.grid, item.tokens_per_slot) == (given, shown, grid, tokens)
    assert item.num_tokens == tokens + 2


def test_an_image_over_the_largest_area_is_scaled_down() -> None:
    assert size_shown((4100, 4100), CONFIG.image) == (4096, 4096)  # 16,384 tokens: alone over the budget


@pytest.mark.parametrize(("side", "shown"), [(304, 320), (272, 256), (336, 320), (368, 384)])
def test_half_a_cell_is_rounded_to_the_even_one(side: int, shown: int) -> None:
    assert size_shown((side, 512), VisionConfig())[0] == shown


@pytest.mark.parametrize(
    ("frames", "size", "shown"),
    [
        (4, (1920, 1080), (1920, 1088)),
        (24, (1920, 1080), (1344, 768)),  # beyond 25,165,824 pixels of all frames: scaled down with floor
        (2, (32, 32), (64, 64)),  # below 4,096: scaled up with ceil
        (3, (32, 32), (32, 32)),  # three frames fill two slots, so four are counted
    ],
)
def test_the_frames_of_a_clip_share_its_pixels(frames: int, size: tuple[int, int], shown: tuple[int, int]) -> None:
    assert size_shown(size, CONFIG.video, frames) == shown


def test_an_image_is_pads_between_markers_and_one_line_end_closes_the_block() -> None:
    encoded = encode([image_input(flat((256, 256)))])
    assert list(encoded.input_ids) == [START, *[IMAGE] * 64, END, *ids("\n")]
    assert list(encoded.mm_token_type_ids) == [0, *[1] * 64, 0, 0]


def test_a_video_has_a_time_before_each_slot_and_keeps_its_outer_markers() -> None:
    encoded = encode([], [frame_list([noise(32, 64, place) for place in range(4)], 2.0)])
    slot = [START, VIDEO, VIDEO, END]
    expected = [START, *ids("<0.2 seconds>"), *slot, *ids("<1.2 seconds>"), *slot, END, *ids("\n")]
    assert list(encoded.input_ids) == expected
    assert list(encoded.mm_token_type_ids) == [2 if token_id == VIDEO else 0 for token_id in expected]


def test_images_come_before_videos_and_spans_tile_the_block() -> None:
    images = [image_input(flat((256, 256)), "a.png"), image_input(flat((300, 200)), "b.png")]
    encoded = encode(images, [VideoInput("c.mp4", "video/mp4", clip(30))])
    assert [(item.kind, item.where, item.name) for item in encoded.items] == [
        ("image", "images[0]", "a.png"),
        ("image", "images[1]", "b.png"),
        ("video", "videos[0]", "c.mp4"),
    ]
    spans = [item.span for item in encoded.items]
    assert spans[:2] == [Span(0, 66), Span(66, 138)]
    assert spans[2] == Span(138, len(encoded.input_ids) - 1)
    assert "".join(item.placeholder for item in encoded.items) == (
        "<|vision_start|><|image_pad|><|vision_end|>" * 2 + "<|vision_start|><|video_pad|><|vision_end|>"
    )


def test_without_media_there_is_no_block() -> None:
    encoded = encode()
    assert (encoded.items, encoded.input_ids, encoded.mm_token_type_ids) == ((), (), ())


def test_a_video_tells_its_frames_and_times() -> None:
    (item,) = encode([], [VideoInput("", "video/mp4", clip(30))]).items
    assert item.frame_indices == (0, 10, 19, 29)
    assert item.frame_times == (0.0, 10 / 30, 19 / 30, 29 / 30)
    assert item.slot_times == (5 / 30, (19 / 30 + 29 / 30) / 2)
    assert item.grid == (2, 4, 4)


def test_an_odd_last_frame_stands_alone_in_its_slot() -> None:
    assert slot_times((0.0, 1.0, 4.0), 2) == (0.5, 4.0)


def test_frames_taken_out_of_a_clip_are_all_used_and_keep_their_times() -> None:
    frames = [noise(64, 64, place) for place in range(6)]
    (item,) = encode([], [frame_list(frames, 30.0, frame_indices=(0, 15, 30, 45, 60, 75))]).items
    assert item.frame_indices == (0, 15, 30, 45, 60, 75)
    assert item.frame_times == (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
    assert [np.array_equal(one, two) for one, two in zip(item.pictures(), frames, strict=True)] == [True] * 6


def test_more_frames_than_there_are_repeat_some_and_it_is_said() -> None:
    encoded = encode([], [VideoInput("", "video/mp4", clip(4), num_frames=6)])
    (item,) = encoded.items
    assert (item.frame_indices, len(list(item.pictures())), item.grid[0]) == ((0, 1, 1, 2, 2, 3), 6, 3)
    assert [str(notice) for notice in encoded.notices] == [
        "videos[0]: 6 frames are sampled of 4, so some are shown more than once."
    ]


def test_listed_frames_that_take_too_much_memory_are_decoded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media, "MAX_HELD_BYTES", 1_000)
    frames = [noise(64, 64, place + 50) for place in range(8)]
    (item,) = encode([], [frame_list(frames, 24.0)]).items
    assert item.held == ()
    assert item.frame_indices == (0, 2, 5, 7)
    assert all(np.array_equal(seen, frames[place]) for seen, place in zip(item.pictures(), (0, 2, 5, 7), strict=True))


def test_the_preview_of_an_image_is_what_the_model_sees() -> None:
    pixels = noise(256, 256)
    (item,) = encode([image_input(saved(pixels))]).items
    assert np.array_equal(np.array(Image.open(io.BytesIO(item.preview()))), pixels)


def test_the_preview_of_a_transparent_image_is_white() -> None:
    (item,) = encode([image_input(flat((64, 64), (255, 0, 0, 0), "RGBA"))]).items
    assert np.array(Image.open(io.BytesIO(item.preview()))).min() == 255


def test_the_preview_has_the_size_shown_or_a_smaller_one() -> None:
    (item,) = encode([image_input(flat((300, 200)))]).items
    assert Image.open(io.BytesIO(item.preview())).size == (320, 224)
    assert Image.open(io.BytesIO(item.preview(max_side=64))).size == (64, 45)


def test_the_preview_of_a_video_is_one_of_its_sampled_frames() -> None:
    (item,) = encode([], [VideoInput("", "video/mp4", clip(30))]).items
    reds = [int(np.array(Image.open(io.BytesIO(item.preview(frame))))[10, 50, 0]) for frame in range(4)]
    assert reds == pytest.approx([int(clip_frame(place, 30)[0, 50, 0]) for place in (0, 10, 19, 29)], abs=4)


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ((1, 1), "images[0]: enlarged from 1x1 to 256x256 pixels: there is hardly anything to see."),
        ((8, 400), "images[0]: enlarged from 8x400 to 64x1824 pixels: there is hardly anything to see."),
    ],
)
def test_a_tiny_image_is_said_to_be_enlarged(size: tuple[int, int], message: str) -> None:
    assert [str(notice) for notice in encode([image_input(flat(size))]).notices] == [message]


@pytest.mark.parametrize("size", [(16, 16), (31, 31), (64, 64)])
def test_a_small_image_is_no_cause_for_a_notice(size: tuple[int, int]) -> None:
    assert encode([image_input(flat(size))]).notices == ()


def test_all_problems_are_told_at_once_with_their_places() -> None:
    message = refusal(
        [image_input(flat((64, 64))), image_input(b""), image_input(b"hello", "x.png")],
        [VideoInput("v.mp4", "video/mp4", b"text"), frame_list([noise(64, 64)], 2.0)],
    )
    assert message.splitlines() == [
        "images[1]: the picture is empty (0 bytes). PNG, JPEG, WebP and GIF can be read.",
        "images[2]: 'x.png' is a file that starts with the bytes 68 65 6c 6c 6f, which is not read as a picture. "
        "PNG, JPEG, WebP and GIF can be read.",
        "videos[0]: 'v.mp4' could not be read: it is a file that starts with the bytes 74 65 78 74. "
        "MP4, QuickTime, WebM, Matroska, AVI and MPEG can be read.",
        "videos[1]: the clip has one frame, a video needs at least 2. Attach a single frame as an image.",
    ]


FRAMES = [noise(64, 64, place) for place in range(4)]


@pytest.mark.parametrize(
    ("video", "message"),
    [
        (
            frame_list([], 2.0),
            "videos[0]: the clip has no frames, a video needs at least 2. Attach a single frame as an image.",
        ),
        (
            frame_list(FRAMES, None),
            "videos[0].fps: the frame rate is missing, and times cannot be told without it. "
            "Give the frames per second as fps.",
        ),
        (frame_list(FRAMES, 0.0), "videos[0].fps: found 0.0; frames per second are a number above 0."),
        (frame_list(FRAMES, float("nan")), "videos[0].fps: found nan; frames per second are a number above 0."),
        (
            frame_list(FRAMES, 2.0, num_frames=1),
            "videos[0].num_frames: 2 to 768 frames can be sampled, got 1. Leave num_frames out to sample 2 a second.",
        ),
        (
            frame_list(FRAMES, 2.0, frame_indices=(0, 1)),
            "videos[0].frame_indices: found 2 places for 4 frames; there must be one for each, from 0 up and in order. "
            "Leave them out to count the frames 0, 1, 2 …",
        ),
        (
            frame_list([*FRAMES[:3], noise(64, 32)], 2.0),
            "videos[0].frames[3]: is 32×64 pixels, not 64×64 as frames[0]. Give all frames one size.",
        ),
        (
            frame_list([noise(20, 64)] * 2, 2.0),
            "videos[0]: the clip has frames of 64×20 pixels, each side must have at least 32. Enlarge it.",
        ),
        (
            replace(frame_list(FRAMES, 2.0), frames=(image_input(saved(FRAMES[0])), image_input(b"no"))),
            "videos[0].frames[1]: the picture is a file that starts with the bytes 6e 6f, which is not read as a "
            "picture. PNG, JPEG, WebP and GIF can be read.",
        ),
        (
            VideoInput("", "video/mp4", clip(4), fps=5.0),
            "videos[0]: a video file has its own frames and times. "
            "Leave out frames, frame_indices and fps, or the file.",
        ),
    ],
)
def test_a_list_of_frames_is_refused_with_place_and_advice(video: VideoInput, message: str) -> None:
    assert refusal([], [video]) == message


def test_too_many_images_are_refused_unread() -> None:
    assert refusal([image_input(b"")] * 257) == "images: found 257 images, 256 are allowed. Leave some out."


def test_too_many_pixels_in_all_are_refused_from_the_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media, "MAX_RECORD_PIXELS", 10_000)
    assert refusal([image_input(flat((64, 64)))] * 3) == (
        "images: found 12,288 pixels in 3 images, 10,000 are allowed. Make them smaller or leave some out."
    )


def test_a_tokenizer_without_the_markers_is_a_broken_release() -> None:
    with pytest.raises(BrokenRelease) as caught:
        encode_media([image_input(flat((64, 64)))], [], CONFIG, from_any(CharTokenizer()))
    assert str(caught.value) == (
        "The tokenizer lacks <|vision_start|>, <|vision_end|>, <|image_pad|>, <|video_pad|>, so media cannot be "
        "encoded. Use the release's tokenizer.json."
    )


def test_the_defaults_are_what_the_release_file_says() -> None:
    assert read_media_config(NANO) == MediaConfig()


def config_file(folder: Path, change: Any) -> Path:
    content = json.loads((NANO / "processor_config.json").read_text("utf-8"))
    change(content)
    (folder / "processor_config.json").write_text(json.dumps(content), "utf-8")
    return folder


def test_a_release_without_its_processor_file_is_broken(tmp_path: Path) -> None:
    with pytest.raises(BrokenRelease) as caught:
        read_media_config(tmp_path)
    assert str(caught.value) == (
        f"Release {tmp_path.name}: processor_config.json is missing, so media cannot be read. "
        "Download the release again."
    )


def test_all_faults_of_a_processor_file_are_told_at_once(tmp_path: Path) -> None:
    def change(content: Any) -> None:
        del content["image_processor"]["size"]["longest_edge"]
        content["image_processor"]["resample"] = 2
        content["video_processor"]["patch_size"] = "16"
        content["video_processor"]["image_mean"] = [0.5]
        content["video_processor"]["fps"] = 0

    with pytest.raises(BrokenRelease) as caught:
        read_media_config(config_file(tmp_path, change))
    assert str(caught.value) == (
        f"Release {tmp_path.name}: processor_config.json: 'image_processor.resample' is 2, only 3 is implemented; "
        "'image_processor.size.longest_edge' is missing; "
        "'video_processor.patch_size' is '16', not a whole number above 0; "
        "'video_processor.image_mean' is [0.5], not three numbers; "
        "'video_processor.fps' is 0, not a number above 0. Download the release again."
    )


def test_other_settings_of_a_processor_file_are_used(tmp_path: Path) -> None:
    def change(content: Any) -> None:
        content["image_processor"]["size"]["longest_edge"] = 1_048_576
        content["video_processor"]["max_frames"] = 32

    config = read_media_config(config_file(tmp_path, change))
    assert (config.image.max_pixels, config.sampling.max_frames) == (1_048_576, 32)


def test_the_same_image_is_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[Any] = []

    def counting(*given: Any) -> Any:
        reads.append(given)
        return read_image(*given)

    monkeypatch.setattr(media, "read_image", counting)
    monkeypatch.setattr(media, "_images", DecodedCache(2**20))
    for _ in range(3):
        encode([ImageInput("a", "", flat((64, 64)))])
    assert len(reads) == 1


def test_the_cache_counts_the_files_it_keeps_too() -> None:
    png = flat((64, 64))
    chunk = b"tEXt" + b"x" * 2**20
    padded = png[:33] + struct.pack(">I", 2**20) + chunk + struct.pack(">I", zlib.crc32(chunk)) + png[33:]
    clip_file = clip(4) + b"\0\0\0\x08free" * 2**17
    before = media._images.num_bytes, media._clips.num_bytes
    encode([image_input(padded)], [VideoInput("", "video/mp4", clip_file)])
    assert media._images.num_bytes - before[0] == len(padded) + 64 * 64 * 3
    assert media._clips.num_bytes - before[1] > len(clip_file)


def test_the_cache_of_decoded_media_is_bounded_by_bytes() -> None:
    cache: DecodedCache[bytes] = DecodedCache(100)
    for key in "abc":
        cache.get(key, lambda: bytes(40), len)
    assert cache.num_bytes == 80
    made: list[str] = []
    for key in "cba":
        cache.get(key, lambda key=key: made.append(key) or bytes(40), len)
    assert made == ["a"]
    cache.get("large", lambda: bytes(101), len)
    assert cache.num_bytes == 80
    cache.clear()
    assert cache.num_bytes == 0
