"""Clips as frames with their real times: decoded with PyAV from bytes, limits decided from the header."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clef_model.errors import InvalidRecord, Notice, Problem
from clef_model.image_headers import foreign_kind, image_kind
from clef_model.media_config import MAX_ASPECT_RATIO, SamplingConfig, Size
from clef_model.video_headers import CONTAINERS, Container, container_kind, missing_bytes

Picture = NDArray[np.uint8]  # [height, width, 3], RGB

MAX_VIDEO_BYTES = 256 * 2**20  # ten minutes at 3.5 Mbit/s
# The 768 frames shown at most cover 384 seconds at 2 a second; longer clips are seen ever more sparsely.
MAX_VIDEO_SECONDS = 600
MAX_VIDEO_FRAMES = 36_000  # ten minutes at 60 frames a second; every frame must be decoded to reach the last
MAX_FRAME_PIXELS = 4096 * 2304  # 4K; the release shows 25,165,824 for all frames together
TIME_TOLERANCE = 0.05  # seconds; the model is told tenths. Containers round times, and some write them loosely
MIN_FRAME_SIDE = 32  # the release's video processor refuses smaller frames

# Decoders that run at all; FFmpeg has hundreds, most of them old and rarely tested on hostile files.
CODECS = frozenset({"h264", "hevc", "vp8", "vp9", "av1", "mpeg4", "mpeg1video", "mpeg2video", "mjpeg", "prores"})


@dataclass(frozen=True, slots=True, eq=False)
class Clip:
    """The frames of a clip that the model sees, and their times in seconds.

    `places` are theirs among the frames that were given, `frame_indices` theirs in the original clip; the two differ
    only when frames were taken out before. `held` are the upright frames; it is empty when they would take too much
    memory, and they are decoded again when needed.
    """

    size: Size
    num_source_frames: int
    fps: float
    places: tuple[int, ...]
    frame_indices: tuple[int, ...]
    frame_times: tuple[float, ...]
    held: tuple[Picture, ...]
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class _Timeline:
    """When each frame of a clip is shown, in seconds from the first one."""

    times: tuple[float, ...]
    fps: float
    is_constant: bool

    def time(self, index: int) -> float:
        # The release divides; for a constant rate its timestamps must come out to the digit.
        return index / self.fps if self.is_constant else self.times[index]


def read_clip(
    data: bytes,
    where: str,
    name: str = "",
    *,
    sampling: SamplingConfig,
    num_frames: int | None = None,
    max_held_bytes: int,
) -> Clip:
    """A clip file's sampled frames. All of it is decoded, so a damaged file never passes; only these frames are kept.

    Raises: InvalidRecord: not a clip that can be read, cut off, damaged, too long or too large by its header, fewer
    than two frames, or an unusable `num_frames`.
    """
    container = _checked_container(data, where, name)
    try:
        planned, has_sound = _packet_times(data, container, where, name)
        indices: tuple[int, ...] = ()
        for _ in range(2):  # the second time only when a container counts frames that are never shown
            wanted = _sampled(planned, sampling, num_frames, where, name)
            if wanted == indices:
                break
            indices = wanted
            held, size, planned = _decoded(data, container, indices, planned.fps, max_held_bytes)
    except InvalidRecord:
        raise
    except Exception as error:  # FFmpeg's errors, and whatever a hostile header provokes, mean the same to a person
        raise _refusal(where, name, f"could not be read ({_reason(error)}). Export it again.") from error
    return Clip(
        size=size,
        num_source_frames=len(planned.times),
        fps=planned.fps,
        places=indices,
        frame_indices=indices,
        frame_times=tuple(planned.time(index) for index in indices),
        held=held,
        notices=_notices(planned, has_sound, where),
    )


def decode_frames(data: bytes, indices: Sequence[int]) -> Iterator[Picture]:
    """The frames at these places (ascending, may repeat), upright, one after the other: the clip was read before."""
    container = container_kind(data)
    assert container is not None
    wanted = iter(indices)
    next_index = next(wanted, None)
    for index, frame in enumerate(_frames(data, container)):
        if index == next_index:
            picture = _upright(frame)
            while index == next_index:
                yield picture
                next_index = next(wanted, None)
        if next_index is None:
            return


def sample_indices(total: int, fps: float, sampling: SamplingConfig, num_frames: int | None = None) -> tuple[int, ...]:
    """The places of the frames that the release reads of a clip: spread evenly from the first to the last.

    Source: the video processor of clef-flash, revision 17f0b0a (transformers 5.10.2).
    """
    if num_frames is None and not sampling.enabled:
        num_frames = total
    if num_frames is None:
        num_frames = min(max(int(total / fps * sampling.fps), sampling.min_frames), sampling.max_frames, total)
    return tuple(int(index) for index in np.linspace(0, total - 1, num_frames).round())


def check_num_frames(num_frames: int | None, sampling: SamplingConfig, where: str) -> None:
    """Raises: InvalidRecord: a number of frames to sample that the model cannot be given."""
    if num_frames is not None and not 2 <= num_frames <= sampling.max_frames:
        allowed = f"2 to {sampling.max_frames} frames can be sampled, got {num_frames}. Leave num_frames out to"
        raise InvalidRecord([Problem(where, f"{allowed} sample {sampling.fps:g} a second.")])


def check_frame_count(count: int, where: str, name: str = "") -> None:
    """Raises: InvalidRecord: fewer than the two frames that one slot of a video holds."""
    if count < 2:
        found = "has no frames" if count == 0 else "has one frame"
        raise _refusal(where, name, f"{found}, a video needs at least 2. Attach a single frame as an image.")


def check_frame_size(size: Size, where: str, name: str = "") -> None:
    """Raises: InvalidRecord: frames too large, too small, or more than 200 times as long as wide."""
    width, height = size
    found = f"has frames of {width}×{height} pixels"
    if width * height > MAX_FRAME_PIXELS:
        raise _refusal(where, name, f"{found} ({width * height:,}), {MAX_FRAME_PIXELS:,} are allowed. Scale it down.")
    if min(size) < MIN_FRAME_SIDE:
        raise _refusal(where, name, f"{found}, each side must have at least {MIN_FRAME_SIDE}. Enlarge it.")
    if max(size) / min(size) > MAX_ASPECT_RATIO:
        raise _refusal(where, name, f"{found}, one side may be at most {MAX_ASPECT_RATIO} times the other. Crop it.")


def _checked_container(data: bytes, where: str, name: str) -> Container:
    if not data:
        raise _refusal(where, name, f"is empty (0 bytes). {CONTAINERS} can be read.")
    if len(data) > MAX_VIDEO_BYTES:
        limit = f"{MAX_VIDEO_BYTES // 2**20} MiB are allowed. Shorten it or make it smaller."
        raise _refusal(where, name, f"is a file of {len(data) / 2**20:,.1f} MiB, {limit}")
    container = container_kind(data)
    if container is None:
        kind = image_kind(data)
        if kind is not None:
            raise _refusal(where, name, f"could not be read as a video: it is a {kind} picture. Attach it as an image.")
        raise _refusal(where, name, f"could not be read: it is {foreign_kind(data)}. {CONTAINERS} can be read.")
    lost = missing_bytes(container, data)
    if lost:
        whole = f"{len(data):,} of {len(data) + lost:,} bytes are there"
        raise _refusal(where, name, f"could not be read to its end: the file is cut off, {whole}. Upload it again.")
    return container


@contextmanager
def _opened(data: bytes, container: Container) -> Iterator[tuple[Any, Any]]:
    """The opened clip and its video track (None without one)."""
    import av  # 0.15 s that records without videos need not pay

    # No protocols: a container may name other files and addresses, and only these bytes are ours to read.
    options = {"protocol_whitelist": "none"}
    with av.open(io.BytesIO(data), format=container.ffmpeg, options=options, metadata_errors="replace") as opened:
        tracks = [track for track in opened.streams.video if not track.disposition & av.stream.Disposition.attached_pic]
        yield opened, tracks[0] if tracks else None


def _packet_times(data: bytes, container: Container, where: str, name: str) -> tuple[_Timeline, bool]:
    """When the frames are shown, from the packets alone, and whether there is sound."""
    with _opened(data, container) as (opened, track):
        if track is None:
            raise _refusal(where, name, "has no video track. Attach a file with moving pictures.")
        _check_track(opened, track, where, name)
        times: list[float] = []
        for packet in opened.demux(track):
            stamp = packet.dts if packet.pts is None else packet.pts
            if packet.size and not packet.is_discard and stamp is not None:
                times.append(float(stamp * packet.time_base))
            if len(times) > MAX_VIDEO_FRAMES:
                raise _refusal(where, name, _too_long(None, len(times)))
        check_frame_count(len(times), where, name)
        if max(times) - min(times) > MAX_VIDEO_SECONDS:
            raise _refusal(where, name, _too_long(max(times) - min(times), len(times)))
        return _timeline(sorted(times), float(track.average_rate or 0)), bool(opened.streams.audio)


def _check_track(opened: Any, track: Any, where: str, name: str) -> None:
    codec = track.codec_context.codec.canonical_name
    if codec not in CODECS:
        raise _refusal(where, name, f"is coded as {codec!r}, which is not read. Convert it to H.264 in an MP4 file.")
    check_frame_size((track.width, track.height), where, name)
    seconds = None
    if track.duration is not None:
        seconds = float(track.duration * track.time_base)
    elif opened.duration is not None:
        seconds = opened.duration / 1_000_000
    if (seconds or 0) > MAX_VIDEO_SECONDS or track.frames > MAX_VIDEO_FRAMES:
        raise _refusal(where, name, _too_long(seconds, track.frames))


def _too_long(seconds: float | None, frames: int) -> str:
    duration = "" if seconds is None else f"has a duration of {seconds:,.1f} seconds, "
    limits = f"{MAX_VIDEO_SECONDS} seconds and {MAX_VIDEO_FRAMES:,} frames are allowed"
    found = f"{duration}{frames:,} frames" if duration else f"has more than {MAX_VIDEO_FRAMES:,} frames"
    return f"{found}; {limits}. Cut out the part that matters."


def _timeline(stamps: Sequence[float], average_rate: float) -> _Timeline:
    times = tuple(stamp - stamps[0] for stamp in stamps)
    measured = (len(times) - 1) / times[-1] if times[-1] > 0 else 0.0
    for fps in (average_rate, measured):
        if fps > 0 and all(abs(time - index / fps) <= TIME_TOLERANCE for index, time in enumerate(times)):
            return _Timeline(times, fps, is_constant=True)
    if measured <= 0:
        raise ValueError("its frames have no times")
    return _Timeline(times, measured, is_constant=False)


def _sampled(
    timeline: _Timeline, sampling: SamplingConfig, num_frames: int | None, where: str, name: str
) -> tuple[int, ...]:
    check_num_frames(num_frames, sampling, where)
    check_frame_count(len(timeline.times), where, name)
    return sample_indices(len(timeline.times), timeline.fps, sampling, num_frames)


def _frames(data: bytes, container: Container) -> Iterator[Any]:
    with _opened(data, container) as (opened, track):
        track.thread_type = "AUTO"
        track.codec_context.options = {"max_pixels": str(MAX_FRAME_PIXELS)}
        for count, frame in enumerate(opened.decode(track)):
            if frame.is_corrupt:
                raise ValueError(f"frame {count + 1} is damaged")
            if count >= MAX_VIDEO_FRAMES:
                raise ValueError(f"it has more than {MAX_VIDEO_FRAMES:,} frames")
            yield frame


def _decoded(
    data: bytes, container: Container, indices: Sequence[int], fps: float, max_held_bytes: int
) -> tuple[tuple[Picture, ...], Size, _Timeline]:
    """The frames at `indices` (none of them when they take too much memory), their size, and the times of all."""
    wanted = set(indices)
    kept: dict[int, Picture] = {}
    stamps: list[float] = []
    size: Size | None = None
    for index, frame in enumerate(_frames(data, container)):
        stamps.append(float(frame.pts * frame.time_base) if frame.pts is not None else index / fps)
        if index not in wanted:
            continue
        picture = _upright(frame)
        found = (picture.shape[1], picture.shape[0])
        size = size or found
        if found != size:
            raise ValueError(f"its frames change from {size[0]}×{size[1]} to {found[0]}×{found[1]} pixels")
        if picture.nbytes * len(wanted) <= max_held_bytes:
            kept[index] = picture
    if size is None:
        raise ValueError("no frame could be decoded")
    held = tuple(kept[index] for index in indices) if wanted <= kept.keys() else ()
    return held, size, _timeline(stamps, fps)


def _upright(frame: Any) -> Picture:
    """A frame's pixels as RGB, turned as its display matrix asks: telephones record sideways and say so."""
    picture: Picture = frame.to_ndarray(format="rgb24")
    matrix = frame.side_data.get("DISPLAYMATRIX")
    if matrix is None:
        return picture
    values = np.frombuffer(bytes(matrix)[:36], np.int32).reshape(3, 3)
    (right_x, right_y), (down_x, down_y) = values[:2, :2]  # where a step to the right and one down end up
    if abs(right_y) > abs(right_x):
        picture = picture.transpose(1, 0, 2)
        flip_x, flip_y = down_x < 0, right_y < 0
    else:
        flip_x, flip_y = right_x < 0, down_y < 0
    return np.ascontiguousarray(picture[:: -1 if flip_y else 1, :: -1 if flip_x else 1])


def _notices(timeline: _Timeline, has_sound: bool, where: str) -> tuple[Notice, ...]:
    notices = []
    if not timeline.is_constant:
        message = "the frame rate varies: frames are sampled by their number, and each has its own time."
        notices.append(Notice("video.variable_rate", where, message))
    if has_sound:
        notices.append(Notice("video.sound_ignored", where, "the model does not hear: the sound track is not read."))
    return tuple(notices)


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error).rstrip(".") or type(error).__name__


def _refusal(where: str, name: str, message: str) -> InvalidRecord:
    return InvalidRecord([Problem(where, f"{repr(name) if name not in ('', where) else 'the clip'} {message}")])
