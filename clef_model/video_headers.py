"""What a clip's container says before anything is decoded: its kind, and whether the file was cut off."""

import struct
from dataclasses import dataclass

# Boxes that stand at the top of an MP4 or QuickTime file; anything else after them is padding of the writer.
_BOXES = frozenset(b"ftyp moov mdat moof mfra free skip wide uuid sidx styp meta udta pnot prft emsg ssix".split())
_MAX_BOXES = 100_000  # ten minutes in fragments of ten milliseconds need 60,000
_EBML, _SEGMENT = b"\x1aE\xdf\xa3", b"\x18S\x80g"


@dataclass(frozen=True, slots=True)
class Container:
    """A kind of clip file, with the name under which FFmpeg reads it."""

    name: str
    ffmpeg: str


_MOV = Container("MP4 or QuickTime", "mov")
_MATROSKA = Container("WebM or Matroska", "matroska")
_AVI = Container("AVI", "avi")
_MPEG = Container("MPEG", "mpeg")
_MPEG_TS = Container("MPEG transport stream", "mpegts")
CONTAINERS = "MP4, QuickTime, WebM, Matroska, AVI and MPEG"


def container_kind(data: bytes) -> Container | None:
    """The container by the first bytes. FFmpeg is not left to guess: it knows playlists that name other files."""
    if data[4:8] in _BOXES:
        return _MOV
    if data.startswith(_EBML):
        return _MATROSKA
    if data.startswith(b"RIFF") and data[8:12] == b"AVI ":
        return _AVI
    if data.startswith(b"\x00\x00\x01\xba"):
        return _MPEG
    if data[:1] == data[188:189] == data[376:377] == b"G":  # packets of 188 bytes, each with this first byte
        return _MPEG_TS
    return None


def missing_bytes(container: Container, data: bytes) -> int:
    """How many bytes a cut file lacks by its own headers; 0 when it is whole or does not say (a recorded stream)."""
    try:
        if container is _AVI:
            return max(0, 8 + int(struct.unpack_from("<I", data, 4)[0]) - len(data))
        if container is _MATROSKA:
            return _missing_in_segment(data)
        return _missing_in_boxes(data) if container is _MOV else 0
    except (struct.error, IndexError):
        return 0


def _missing_in_boxes(data: bytes) -> int:
    place = 0
    for _ in range(_MAX_BOXES):
        if place + 8 > len(data):
            break
        length, name = struct.unpack_from(">I4s", data, place)
        if length == 1:
            (length,) = struct.unpack_from(">Q", data, place + 8)
        if name not in _BOXES or length < 8:  # a length of 0 reaches to the end
            break
        place += length
    return max(0, place - len(data))


def _missing_in_segment(data: bytes) -> int:
    length, place = _ebml_length(data, 4)
    place += length
    if data[place : place + 4] != _SEGMENT:
        return 0
    length, place = _ebml_length(data, place + 4)
    return max(0, place + length - len(data))


def _ebml_length(data: bytes, place: int) -> tuple[int, int]:
    """A variable-length size and the place after it; a size left open counts as 0."""
    width = 9 - data[place].bit_length()
    value = int.from_bytes(data[place : place + width], "big") & (1 << 7 * width) - 1
    return 0 if value == (1 << 7 * width) - 1 else value, place + width
