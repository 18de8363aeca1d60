"""Clips become the frames the release samples, with their real times, or are refused with place and advice."""

import struct
from fractions import Fraction

import numpy as np
import pytest
from media_files import clip, clip_frame, flat, header_first, with_display_matrix

from clef_model import videos
from clef_model.errors import InvalidRecord
from clef_model.media_config import SamplingConfig
from clef_model.videos import Clip, decode_frames, read_clip, sample_indices

PLENTY = 2**30


def read(data: bytes, **options: object) -> Clip:
    settings = {"sampling": SamplingConfig(), "max_held_bytes": PLENTY} | options
    return read_clip(data, "videos[0]", **settings)  # type: ignore[arg-type]


def refusal(data: bytes, name: str = "", **options: object) -> str:
    with pytest.raises(InvalidRecord) as caught:
        read(data, name=name, **options)
    return str(caught.value)


def reds(pictures: object) -> list[int]:
    """What `clip_frame` paints a frame's place with, give or take the coding loss."""
    return [int(picture[5:-5, picture.shape[1] // 2 + 5 : -5, 0].mean().round()) for picture in pictures]  # type: ignore[attr-defined]


CONTAINERS = {
    "mp4": "libx264",
    "mov": "libx264",
    "webm": "libvpx-vp9",
    "matroska": "libx264",
    "avi": "mpeg4",
    "mpeg": "mpeg2video",
    "mpegts": "libx264",
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_four_frames_of_a_second_are_sampled_from_the_first_to_the_last(container: str) -> None:
    read_back = read(clip(30, 30, container=container, codec=CONTAINERS[container]))
    assert read_back.frame_indices == (0, 10, 19, 29)
    assert read_back.frame_times == (0.0, 10 / 30, 19 / 30, 29 / 30)
    assert (read_back.num_source_frames, read_back.fps, read_back.size) == (30, 30.0, (64, 64))
    expected = [clip_frame(place, 30)[0, 40, 0] for place in read_back.frame_indices]
    assert np.abs(np.subtract(reds(read_back.held), expected)).max() <= 4
    assert read_back.notices == ()


# Source: the release's rule, computed by hand: min(max(int(total / fps * 2), 4), 768, total) frames, evenly spread.
@pytest.mark.parametrize(
    ("total", "fps", "expected"),
    [
        (3, 24, (0, 1, 2)),
        (5, 5, (0, 1, 3, 4)),
        (8, 24, (0, 2, 5, 7)),
        (48, 24, (0, 16, 31, 47)),
        (90, 30, (0, 18, 36, 53, 71, 89)),
    ],
)
def test_frames_are_sampled_as_the_release_does(total: int, fps: float, expected: tuple[int, ...]) -> None:
    assert sample_indices(total, fps, SamplingConfig()) == expected


def test_at_most_768_frames_are_sampled() -> None:
    indices = sample_indices(36_000, 60, SamplingConfig())
    assert (len(indices), indices[0], indices[-1]) == (768, 0, 35_999)


def test_a_release_may_read_every_frame() -> None:
    assert sample_indices(9, 30, SamplingConfig(enabled=False)) == tuple(range(9))


def test_a_given_number_of_frames_is_sampled() -> None:
    assert read(clip(30), num_frames=3).frame_indices == (0, 14, 29)


@pytest.mark.parametrize("num_frames", [1, 0, -4, 769])
def test_a_number_of_frames_the_model_cannot_be_given_is_refused(num_frames: int) -> None:
    assert refusal(clip(4), num_frames=num_frames) == (
        f"videos[0]: 2 to 768 frames can be sampled, got {num_frames}. Leave num_frames out to sample 2 a second."
    )


def test_frames_of_a_varying_rate_keep_their_own_times() -> None:
    read_back = read(clip(6, milliseconds=[0, 100, 150, 900, 1_000, 2_000]))
    assert read_back.frame_indices == (0, 2, 3, 5)
    assert read_back.frame_times == pytest.approx((0.0, 0.15, 0.9, 2.0), abs=1e-3)
    assert [str(notice) for notice in read_back.notices] == [
        "videos[0]: the frame rate varies: frames are sampled by their number, and each has its own time."
    ]


def test_times_start_at_the_first_frame() -> None:
    read_back = read(clip(4, milliseconds=[500, 600, 700, 800], container="matroska"))
    assert read_back.frame_times == pytest.approx((0.0, 0.1, 0.2, 0.3), abs=1e-3)


@pytest.mark.parametrize("container", ["mp4", "webm"])
def test_a_rate_that_is_no_whole_number_is_kept(container: str) -> None:
    read_back = read(clip(30, Fraction(30_000, 1_001), container=container, codec=CONTAINERS[container]))
    assert read_back.fps == pytest.approx(30_000 / 1_001, rel=1e-4)
    assert read_back.notices == ()


# Where the blue half, left as stored, is after turning. Source: how a, b, c, d map a step right and a step down.
MATRICES = {
    "upright": ((1, 0, 0, 1), "left"),
    "a quarter clockwise": ((0, 1, -1, 0), "top"),
    "half": ((-1, 0, 0, -1), "right"),
    "a quarter counter-clockwise": ((0, -1, 1, 0), "bottom"),
    "mirrored": ((-1, 0, 0, 1), "right"),
}


@pytest.mark.parametrize("turn", MATRICES)
def test_a_clip_is_turned_as_its_display_matrix_asks(turn: str) -> None:
    matrix, blue = MATRICES[turn]
    read_back = read(with_display_matrix(clip(4, size=(96, 64)), matrix))
    assert read_back.size == ((64, 96) if blue in ("top", "bottom") else (96, 64))
    picture = read_back.held[0][..., 2].astype(int)
    edges = {"left": picture[:, 4], "right": picture[:, -5], "top": picture[4], "bottom": picture[-5]}
    assert max(edges, key=lambda edge: edges[edge].mean()) == blue


def test_sound_is_said_to_be_ignored() -> None:
    assert [str(notice) for notice in read(clip(4, sound=True)).notices] == [
        "videos[0]: the model does not hear: the sound track is not read."
    ]


def test_frames_that_take_too_much_memory_are_decoded_again_and_equal() -> None:
    data = clip(30)
    kept = read(data)
    dropped = read(data, max_held_bytes=4 * 64 * 64 * 3 - 1)
    assert dropped.held == ()
    again = tuple(decode_frames(data, dropped.places))
    assert all(np.array_equal(first, second) for first, second in zip(kept.held, again, strict=True))


def test_a_frame_asked_for_twice_comes_twice() -> None:
    data = clip(4)
    assert reds(decode_frames(data, (0, 3, 3))) == reds(read(data, num_frames=4).held[index] for index in (0, 3, 3))


def test_frames_that_a_container_counts_and_never_shows_are_not_sampled() -> None:
    """The first frames lie before the start that the edit list sets, as when a clip was cut without coding it anew."""
    whole = clip(30, codec="mpeg4")
    place = whole.index(b"elst") + 4 + 4 + 4  # version, count; then duration, start
    assert struct.unpack_from(">I", whole, place + 4) == (0,)
    (scale,) = struct.unpack_from(">I", whole, whole.index(b"mdhd") + 4 + 12)
    cut = whole[: place + 4] + struct.pack(">I", scale // 3) + whole[place + 8 :]
    read_back = read(cut)
    assert read_back.num_source_frames == 20
    assert read_back.frame_indices == (0, 6, 13, 19)
    expected = [clip_frame(10 + place, 30)[0, 40, 0] for place in read_back.frame_indices]
    assert np.abs(np.subtract(reds(read_back.held), expected)).max() <= 4


CUT = {
    "mp4 with its index at the end": (clip(30), 0.5),
    "mp4 with its index first": (header_first(clip(30)), 0.5),
    "mp4 that lacks little": (header_first(clip(30)), 0.97),
    "webm": (clip(30, codec="libvpx-vp9", container="webm"), 0.5),
    "webm that lacks little": (clip(30, codec="libvpx-vp9", container="webm"), 0.95),
    "avi": (clip(30, codec="mpeg4", container="avi"), 0.7),
}


@pytest.mark.parametrize("case", CUT)
def test_a_cut_off_file_is_refused_with_what_is_there(case: str) -> None:
    data, share = CUT[case]
    kept = data[: int(len(data) * share)]
    message = refusal(kept, "clip.mp4")
    assert message.startswith("videos[0]: 'clip.mp4' could not be read to its end: the file is cut off, ")
    assert f"{len(kept):,} of " in message


def test_damage_in_the_middle_of_a_clip_is_refused() -> None:
    data = bytearray(clip(30, size=(320, 240)))
    start = data.index(b"mdat") + 1_500
    data[start : start + 400] = bytes(place * 37 % 256 for place in range(400))
    assert refusal(bytes(data)).startswith("videos[0]: the clip could not be read (")


REFUSALS = {
    "nothing": (b"", "the clip is empty (0 bytes). MP4, QuickTime, WebM, Matroska, AVI and MPEG can be read."),
    "fake": (
        b"\x00\x00\x00\x18ftypmp42" + bytes(100),
        "the clip could not be read (Invalid data found when processing input). Export it again.",
    ),
    "text": (
        b"hello, I am a text file",
        "the clip could not be read: it is a file that starts with the bytes 68 65 6c 6c 6f 2c 20 49. "
        "MP4, QuickTime, WebM, Matroska, AVI and MPEG can be read.",
    ),
    "playlist": (
        b"#EXTM3U\n#EXTINF:1,\nhttp://127.0.0.1:9/x.ts\n",
        "the clip could not be read: it is a file that starts with the bytes 23 45 58 54 4d 33 55 0a. "
        "MP4, QuickTime, WebM, Matroska, AVI and MPEG can be read.",
    ),
    "picture": (
        flat((64, 64)),
        "the clip could not be read as a video: it is a PNG picture. Attach it as an image.",
    ),
    "one frame": (
        clip(1, 25),
        "the clip has one frame, a video needs at least 2. Attach a single frame as an image.",
    ),
    "small": (
        clip(4, size=(64, 16)),
        "the clip has frames of 64×16 pixels, each side must have at least 32. Enlarge it.",
    ),
    "an old codec": (
        clip(4, codec="msmpeg4v2", container="avi"),
        "the clip is coded as 'msmpeg4v2', which is not read. Convert it to H.264 in an MP4 file.",
    ),
    "two hours": (
        clip(2, milliseconds=[0, 7_200_000]),
        "the clip has a duration of 7,200.0 seconds, 2 frames; 600 seconds and 36,000 frames are allowed. "
        "Cut out the part that matters.",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_is_no_clip_is_refused_with_finding_and_advice(case: str) -> None:
    data, message = REFUSALS[case]
    assert refusal(data) == f"videos[0]: {message}"


def test_a_sound_file_has_no_video_track() -> None:
    assert refusal(clip(0, sound=True)) == (
        "videos[0]: the clip has no video track. Attach a file with moving pictures."
    )


def test_limits_hold_for_what_a_header_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(videos, "MAX_VIDEO_FRAMES", 20)
    webm = clip(30, codec="libvpx-vp9", container="webm")  # its header has no number of frames
    assert refusal(webm) == (
        "videos[0]: the clip has more than 20 frames; 600 seconds and 20 frames are allowed. "
        "Cut out the part that matters."
    )


def test_large_frames_are_refused_from_the_header(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(videos, "MAX_FRAME_PIXELS", 4_000)
    assert refusal(clip(4), "big.mp4") == (
        "videos[0]: 'big.mp4' has frames of 64×64 pixels (4,096), 4,000 are allowed. Scale it down."
    )


def test_a_file_over_the_byte_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(videos, "MAX_VIDEO_BYTES", 1_024)
    assert refusal(clip(30)).endswith("0 MiB are allowed. Shorten it or make it smaller.")
