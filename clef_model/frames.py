"""Pictures used as the frames of a clip: checked, sampled as the release samples, decoded only where needed."""

import math
from collections.abc import Iterator, Sequence

from clef_model.errors import InvalidRecord, Notice, Problem
from clef_model.images import Picture, image_header, read_image
from clef_model.media_config import SamplingConfig, Size
from clef_model.schema import VideoInput
from clef_model.videos import (
    MAX_VIDEO_FRAMES,
    Clip,
    check_frame_count,
    check_frame_size,
    check_num_frames,
    sample_indices,
)


def read_frames(video: VideoInput, where: str, *, sampling: SamplingConfig, max_held_bytes: int) -> Clip:
    """The sampled frames of a list of pictures with a frame rate; with `frame_indices` all are used as they are.

    Raises: InvalidRecord: fewer than two frames, no frame rate, places that do not fit, frames that cannot be read or
    differ in size; all of them at once.
    """
    count = len(video.frames)
    check_frame_count(count, where, video.name)
    problems = _setting_problems(video, where, sampling)
    for place, frame in enumerate(video.frames):
        try:
            image_header(frame.data, _frame_path(where, place), frame.name)
        except InvalidRecord as error:
            problems.extend(error.problems)
    if problems:
        raise InvalidRecord(problems)
    fps = float(video.fps or 0)  # checked above
    if video.frame_indices and video.num_frames is None:
        places: tuple[int, ...] = tuple(range(count))
    else:
        places = sample_indices(count, fps, sampling, video.num_frames)
    indices = tuple(video.frame_indices[place] for place in places) if video.frame_indices else places
    held, size, notices = _decoded(video, places, where, max_held_bytes)
    return Clip(
        size=size,
        num_source_frames=count,
        fps=fps,
        places=places,
        frame_indices=indices,
        frame_times=tuple(index / fps for index in indices),
        held=held,
        notices=notices,
    )


def decode_listed(video: VideoInput, places: Sequence[int]) -> Iterator[Picture]:
    """The frames at these places of the list, upright, one after the other."""
    for place in places:
        yield read_image(video.frames[place].data, "", video.frames[place].name).pixels


def _setting_problems(video: VideoInput, where: str, sampling: SamplingConfig) -> list[Problem]:
    problems = []
    fps = video.fps
    if fps is None:
        message = "the frame rate is missing, and times cannot be told without it. Give the frames per second as fps."
        problems.append(Problem(f"{where}.fps", message))
    elif not (math.isfinite(fps) and fps > 0):
        problems.append(Problem(f"{where}.fps", f"found {fps!r}; frames per second are a number above 0."))
    if len(video.frames) > MAX_VIDEO_FRAMES:
        message = f"found {len(video.frames):,} frames, {MAX_VIDEO_FRAMES:,} are allowed. Leave some out."
        problems.append(Problem(f"{where}.frames", message))
    indices = video.frame_indices
    if indices and (len(indices) != len(video.frames) or sorted(indices) != list(indices) or indices[0] < 0):
        message = (
            f"found {len(indices)} places for {len(video.frames)} frames; there must be one for each, from 0 up and in "
            "order. Leave them out to count the frames 0, 1, 2 …"
        )
        problems.append(Problem(f"{where}.frame_indices", message))
    try:
        check_num_frames(video.num_frames, sampling, f"{where}.num_frames")
    except InvalidRecord as error:
        problems.extend(error.problems)
    return problems


def _decoded(
    video: VideoInput, places: Sequence[int], where: str, max_held_bytes: int
) -> tuple[tuple[Picture, ...], Size, tuple[Notice, ...]]:
    """The frames at `places` (none of them when they take too much memory), their common size, and what to say."""
    problems: list[Problem] = []
    notices: list[Notice] = []
    pictures: dict[int, Picture] = {}
    sizes: dict[int, Size] = {}
    for place in dict.fromkeys(places):
        frame = video.frames[place]
        try:
            decoded = read_image(frame.data, _frame_path(where, place), frame.name)
        except InvalidRecord as error:
            problems.extend(error.problems)
            continue
        sizes[place] = decoded.size
        notices.extend(decoded.notices)
        if decoded.pixels.nbytes * len(set(places)) <= max_held_bytes:
            pictures[place] = decoded.pixels
    first, size = next(iter(sizes.items()), (0, (0, 0)))
    for place, found in sizes.items():
        if found != size:
            expected = f"{size[0]}×{size[1]} as frames[{first}]. Give all frames one size"
            problems.append(Problem(_frame_path(where, place), f"is {found[0]}×{found[1]} pixels, not {expected}."))
    if problems:
        raise InvalidRecord(problems)
    check_frame_size(size, where, video.name)
    held = tuple(pictures[place] for place in places) if pictures.keys() == set(places) else ()
    return held, size, tuple(notices)


def _frame_path(where: str, place: int) -> str:
    return f"{where}.frames[{place}]"
