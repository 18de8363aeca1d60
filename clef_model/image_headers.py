"""What a picture file says about itself before anything is decoded: format, size, number of frames."""

import struct
from typing import Literal

from clef_model.media_config import Size

ImageKind = Literal["PNG", "JPEG", "WebP", "GIF"]

# Steps through a file's blocks: enough for 120 MiB of GIF; a file that needs more was made to keep a reader busy.
MAX_STEPS = 500_000

_STARTS: dict[bytes, str] = {
    b"%pdf": "a PDF",
    b"<!doctype html": "HTML",
    b"<html": "HTML",
    b"<svg": "an SVG",
    b"bm": "a BMP",
    b"ii*\x00": "a TIFF",
    b"mm\x00*": "a TIFF",
    b"\x1ae\xdf\xa3": "a WebM or Matroska video",
}
_STILL_BRANDS = {b"avif": "an AVIF", b"heic": "a HEIC", b"heix": "a HEIC", b"mif1": "a HEIC"}


def image_kind(data: bytes) -> ImageKind | None:
    """The format by the first bytes; names and declared types are not asked."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG"
    if data.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "GIF"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "WebP"
    return None


def foreign_kind(data: bytes) -> str:
    """What a file that is no such picture looks like, for the person who sent it."""
    if data[4:8] == b"ftyp":
        return _STILL_BRANDS.get(data[8:12], "an MP4 or QuickTime video")
    start = data[:512].lstrip().lower()
    if start.startswith(b"<?xml"):
        return "an SVG" if b"<svg" in start else "XML"
    for sign, name in _STARTS.items():
        if start.startswith(sign):
            return name
    return f"a file that starts with the bytes {data[:8].hex(' ')}"


def stored_size(kind: ImageKind, data: bytes) -> Size | None:
    """Width and height in the header, before any EXIF rotation; None when the file ends before it states them."""
    try:
        if kind == "PNG":
            return _pair(">II", data, 16)
        if kind == "GIF":
            return _pair("<HH", data, 6)
        return _jpeg_size(data) if kind == "JPEG" else _webp_size(data)
    except (struct.error, IndexError):
        return None


def num_frames(kind: ImageKind, data: bytes) -> int:
    """Pictures in an animation as far as the file goes, 1 for a still one. Nothing is decoded."""
    try:
        if kind == "GIF":
            return _gif_frames(data)
        if kind == "WebP":
            return _webp_frames(data)
        return _png_frames(data) if kind == "PNG" else 1
    except (struct.error, IndexError):
        return 1


def exif_orientation(block: bytes) -> int | None:
    """The orientation (1 to 8) in an EXIF block, None when it names none.

    Raises: ValueError: the block is damaged before its orientation is found.
    Source: TIFF 6.0, which EXIF blocks are: byte order, place of the directory, entries of twelve bytes.
    """
    tiff = block.removeprefix(b"Exif\x00\x00")
    order = {b"II*\x00": "<", b"MM\x00*": ">"}.get(tiff[:4])
    if order is None:
        raise ValueError("the EXIF block does not start as one")
    try:
        (place,) = struct.unpack_from(f"{order}I", tiff, 4)
        (entries,) = struct.unpack_from(f"{order}H", tiff, place)
        for entry in range(entries):
            tag, kind, _, value = struct.unpack_from(f"{order}HHIH", tiff, place + 2 + 12 * entry)
            if tag == 0x0112 and kind == 3:
                return int(value)
    except struct.error as error:
        raise ValueError("the EXIF block ends too early") from error
    return None


def _pair(layout: str, data: bytes, place: int) -> Size:
    first, second = struct.unpack_from(layout, data, place)
    return first, second


def _jpeg_size(data: bytes) -> Size | None:
    place = 2
    for _ in range(MAX_STEPS):
        place = data.find(b"\xff", place)
        if place < 0:
            return None
        while data[place] == 0xFF:
            place += 1
        marker = data[place]
        place += 1
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # a frame starts; these three are tables
            height, width = _pair(">HH", data, place + 3)
            return width, height
        if marker in (0xD9, 0xDA):  # the end, or pixels without a frame
            return None
        if marker > 0x01 and not 0xD0 <= marker <= 0xD8:  # these have no length
            place += int.from_bytes(data[place : place + 2], "big")
    return None


def _webp_size(data: bytes) -> Size | None:
    chunk = data[12:16]
    if chunk == b"VP8 ":
        width, height = _pair("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    if chunk == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if chunk == b"VP8X" and len(data) >= 30:
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    return None


def _png_frames(data: bytes) -> int:
    place = 8
    for _ in range(MAX_STEPS):
        length, name = struct.unpack_from(">I4s", data, place)
        if name == b"acTL":
            return int(struct.unpack_from(">I", data, place + 8)[0])
        if name == b"IDAT":  # an animation is announced before the pixels
            return 1
        place += 12 + length
    return 1


def _webp_frames(data: bytes) -> int:
    place, frames = 12, 0
    for _ in range(MAX_STEPS):
        if place + 8 > len(data):
            break
        name, length = struct.unpack_from("<4sI", data, place)
        frames += name == b"ANMF"
        place += 8 + length + length % 2
    return max(frames, 1)


def _gif_frames(data: bytes) -> int:
    place, frames, inside = 13 + _gif_table(data[10]), 0, False
    for _ in range(MAX_STEPS):
        if place >= len(data):
            break
        block = data[place]
        if inside:  # sub-blocks, each with its length; an empty one is the last
            inside = block != 0
            place += block + 1
        elif block == 0x21:  # an extension and its label
            inside, place = True, place + 2
        elif block == 0x2C:  # a picture: place and size, colours, code size
            frames += 1
            inside, place = True, place + 11 + _gif_table(data[place + 9])
        else:  # 0x3B is the end; anything else is damage, which decoding tells
            break
    return max(frames, 1)


def _gif_table(flags: int) -> int:
    """Bytes of a colour table, 0 when there is none."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0
