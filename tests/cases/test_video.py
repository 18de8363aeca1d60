"""The video cases: frames, times and slots, and what is refused."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from media_files import clip, flat, frame_list, image_input

from cases import mentions, read_cases
from clef_model import videos
from clef_model.encoding import encode
from clef_model.errors import InvalidRecord
from clef_model.media import EncodedMedia, MediaConfig, MediaItem, encode_media
from clef_model.parsing import parse_record
from clef_model.python_media import media_from_python
from clef_model.schema import VideoInput
from clef_model.tokenizer import Tokenizer, read_tokenizer

NANO = Path(__file__).parents[2] / "models" / "clef-nano"
Case = dict[str, Any]


@cache
def tokenizer() -> Tokenizer:
    return read_tokenizer(NANO)


def frames(total: int) -> Any:
    return np.zeros((total, 64, 64, 3), np.uint8)


def encoded(case: Case, *given: VideoInput) -> EncodedMedia:
    record = parse_record(case["request"] | {"videos": list(given)})
    media = encode(record, tokenizer(), media_config=MediaConfig()).media_items
    assert media is not None
    return media


def from_python(video: Any, **media_kwargs: Any) -> MediaItem:
    made = media_from_python(None, [video], media_kwargs)
    (item,) = encode_media((), made.videos, MediaConfig(), tokenizer()).items
    return item


def assert_refused(case: Case, attempt: Callable[[], object]) -> None:
    with pytest.raises(InvalidRecord) as caught:
        attempt()
    message = str(caught.value)
    assert [term for term in case["expected"]["message_should_mention"] if not mentions(message, term)] == []


def five_frames(case: Case) -> None:
    expected = case["expected"]
    metadata = [{"fps": 5, "total_num_frames": 5}]
    every = from_python(frames(5), do_sample_frames=False, video_metadata=metadata)
    assert every.grid[0] == expected["no_sampling"]["temporal_groups"]
    assert (every.frame_indices, every.slot_times) == ((0, 1, 2, 3, 4), (0.1, 0.5, 0.8))
    sampled = from_python(frames(5), video_metadata=metadata)
    assert sampled.grid[0] == expected["default_sampling"]["temporal_groups"]
    assert len(sampled.frame_indices) == expected["default_sampling"]["frames_used"]
    assert (sampled.frame_indices, sampled.frame_times) == ((0, 1, 3, 4), (0.0, 0.2, 0.6, 0.8))


def three_and_seven_frames(case: Case) -> None:
    assert from_python(frames(3)).grid[0] == case["expected"]["3"]["temporal_groups"]
    seven = from_python(frames(7), do_sample_frames=False)
    assert seven.grid[0] == case["expected"]["7_no_sampling"]["temporal_groups"]


def one_frame(case: Case) -> None:
    assert_refused(case, lambda: from_python(frames(1)))
    assert_refused(case, lambda: encoded(case, VideoInput("", "video/mp4", clip(1, 25))))


def no_frames(case: Case) -> None:
    assert_refused(case, lambda: from_python(frames(0)))
    assert_refused(case, lambda: from_python([]))
    assert_refused(case, lambda: encoded(case, VideoInput("x.mp4", "video/mp4", b"")))
    assert_refused(case, lambda: parse_record(case["request"] | {"videos": [[]]}))


def a_frame_a_second(case: Case) -> None:
    expected = case["expected"]
    known = {"fps": 1, "total_num_frames": 60, "duration": 60}
    for item in (
        from_python(frames(60), video_metadata=[known]),
        *encoded(case, VideoInput("", "video/mp4", clip(60, 1))).items,
        *encoded(case, frame_list(list(frames(60)), 1.0)).items,
    ):
        assert item.grid[0] == expected["with_fps_1"]["temporal_groups"]
        assert item.slot_times[-1] == expected["with_fps_1"]["last_time_s"]
    with pytest.raises(InvalidRecord, match=r"videos\[0\]\.fps: the frame rate is missing"):
        encoded(case, frame_list(list(frames(60)), None))
    # The release's own Python call assumes 24, so ours does too, and says so.
    made = media_from_python(None, [frames(60)])
    assert "24 frames a second are assumed" in str(made.notices[0])
    (item,) = encode_media((), made.videos, MediaConfig(), tokenizer()).items
    assumed = expected["without_metadata"]
    assert item.grid[0] == assumed["temporal_groups"]
    assert f"{item.slot_times[-1]:.1f}" == str(assumed["last_time_s"])


def broken_files(case: Case) -> None:
    whole = clip(30)
    for data in (b"\x00\x00\x00\x18ftypmp42" + bytes(100), whole[: len(whole) // 2], b"a text file, renamed x.mp4"):
        assert_refused(case, lambda data=data: encoded(case, VideoInput("x.mp4", "video/mp4", data)))


def an_image_with_a_video(case: Case) -> None:
    request = case["request"] | {"videos": [frame_list(list(frames(8)), 24.0)]}
    record = parse_record(request | {"images": [image_input(flat((64, 64), "red"))]})
    plan = encode(record, tokenizer(), media_config=MediaConfig())
    assert plan.media_items is not None
    assert [item.kind for item in plan.media_items.items] == ["image", "video"]
    pieces = [segment.text for segment in plan.ledger if segment.kind in ("media", "media_end")]
    assert "".join(pieces) == case["expected"]["media_piece"]


def a_long_clip(case: Case) -> None:
    """A header that says two hours; the clip is not decoded, so its two frames are as good as all of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(videos, "_decoded", None)
        two_hours = VideoInput("long.mp4", "video/mp4", clip(2, milliseconds=[0, 7_200_000]))
        assert_refused(case, lambda: encoded(case, two_hours))


CHECKS: dict[str, Callable[[Case], None]] = {
    "VID-01": five_frames,
    "VID-02": three_and_seven_frames,
    "VID-03": one_frame,
    "VID-04": no_frames,
    "VID-05": a_frame_a_second,
    "VID-07": broken_files,
    "VID-09": an_image_with_a_video,
    "VID-11": a_long_clip,
}


@pytest.mark.parametrize("case", read_cases("video"), ids=lambda case: case["id"])
def test_video_cases(case: Case) -> None:
    CHECKS[case["id"]](case)
