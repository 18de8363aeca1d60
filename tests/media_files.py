"""Pictures and clips for tests, made from formulas: the same numbers on every machine and every run."""

import io
import struct
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from clef_model.schema import ImageInput, VideoInput

Pixels = NDArray[np.uint8]


def noise(height: int, width: int, seed: int = 0, channels: int = 3) -> Pixels:
    """[height, width, channels] that looks random; arithmetic alone, since a library's generator may change."""
    y, x, c = np.meshgrid(*(np.arange(n, dtype=np.uint64) for n in (height, width, channels)), indexing="ij")
    mixed = (y * 73_856_093 ^ x * 19_349_663 ^ c * 83_492_791 ^ np.uint64(seed * 2_654_435_761 + 1)) * 2_246_822_519
    return (mixed >> np.uint64(13) & np.uint64(255)).astype(np.uint8)


def saved(image: Any, kind: str = "PNG", **options: Any) -> bytes:
    """The file of a PIL image or an array."""
    if isinstance(image, np.ndarray):
        image = Image.fromarray(image)
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def flat(size: tuple[int, int], colour: Any = "grey", mode: str = "RGB") -> bytes:
    """A PNG of one colour; size is width, height."""
    return saved(Image.new(mode, size, colour))


def image_input(data: bytes, name: str = "") -> ImageInput:
    return ImageInput(name, "", data)


def frame_list(frames: Sequence[Pixels], fps: float | None, **options: Any) -> VideoInput:
    listed = tuple(image_input(saved(frame)) for frame in frames)
    return VideoInput("", "video/x-frames", frames=listed, fps=fps, **options)


def animated_gif(colours: Sequence[str] = ("red", "green", "blue")) -> bytes:
    frames = [Image.new("RGB", (64, 64), colour) for colour in colours]
    return saved(frames[0], "GIF", save_all=True, append_images=frames[1:], duration=100, loop=0)


def clip_frame(place: int, total: int, width: int = 64, height: int = 64) -> Pixels:
    """A frame whose red tells its place and whose left half is blue, so that order and direction can be seen."""
    frame = np.zeros((height, width, 3), np.uint8)
    frame[..., 0] = place * 255 // max(total - 1, 1)
    frame[:, : width // 2, 2] = 255
    return frame


def clip(
    total: int = 30,
    fps: int | Fraction = 30,
    size: tuple[int, int] = (64, 64),
    *,
    codec: str = "libx264",
    container: str = "mp4",
    milliseconds: Sequence[int] | None = None,
    sound: bool = False,
    pixels: str = "yuv420p",
) -> bytes:
    """A clip of `clip_frame`s; with `milliseconds` each frame has its own time."""
    buffer = io.BytesIO()
    width, height = size
    with av.open(buffer, "w", format=container) as out:
        track = out.add_stream(codec, rate=fps)
        track.width, track.height, track.pix_fmt = width, height, pixels
        track.bit_rate = 4_000_000  # enough that a frame's red tells its place
        if milliseconds is not None:
            track.codec_context.time_base = Fraction(1, 1000)
        voice = out.add_stream("aac", rate=48_000) if sound else None
        for place in range(total):
            frame = av.VideoFrame.from_ndarray(clip_frame(place, total, width, height), format="rgb24")
            if milliseconds is not None:
                frame.pts, frame.time_base = milliseconds[place], Fraction(1, 1000)
            out.mux(track.encode(frame))
        out.mux(track.encode(None))
        if voice is not None:
            silence = av.AudioFrame.from_ndarray(np.zeros((1, 4_800), np.float32), format="fltp", layout="mono")
            silence.sample_rate = 48_000
            out.mux(voice.encode(silence))
            out.mux(voice.encode(None))
    return buffer.getvalue()


def header_first(mp4: bytes) -> bytes:
    """The MP4 with its index before its frames, as files for the web have it; the offsets of frames are moved along."""
    boxes: list[tuple[bytes, bytes]] = []
    place = 0
    while place < len(mp4):
        length, name = struct.unpack_from(">I4s", mp4, place)
        boxes.append((name, mp4[place : place + length]))
        place += length
    index = next(data for name, data in boxes if name == b"moov")
    table = index.index(b"stco")
    (count,) = struct.unpack_from(">I", index, table + 8)
    offsets = struct.unpack_from(f">{count}I", index, table + 12)
    moved = struct.pack(f">{count}I", *(offset + len(index) for offset in offsets))
    index = index[: table + 12] + moved + index[table + 12 + 4 * count :]
    return boxes[0][1] + index + b"".join(data for name, data in boxes[1:] if name != b"moov")


def with_display_matrix(mp4: bytes, matrix: Sequence[int]) -> bytes:
    """The MP4 with the first four numbers of its track's display matrix (a, b, c, d) set, in whole units."""
    a, b, c, d = (value << 16 for value in matrix)
    place = mp4.index(b"tkhd") + 4 + 4 + 20 + 16
    return mp4[:place] + struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30) + mp4[place + 36 :]
