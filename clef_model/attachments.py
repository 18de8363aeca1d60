"""Images and videos of a request, from base64 to bytes; no path or address is ever opened."""

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from typing import Any

from clef_model.json_paths import Json, Path, counted, describe, path_text, shown
from clef_model.schema import ImageInput, VideoInput, unknown_key

MAX_IMAGES = 8  # what other servers of Clef take; four photographs fill the token limit already
MAX_VIDEOS = 2  # one clip of 768 frames fills the token limit already
MAX_FRAMES = 768  # the release's processor shows no more of a clip
MAX_FRAMES_PER_SECOND = 1_000.0  # beyond any camera whose clips are judged frame by frame
MAX_MEDIA_BYTES = 256 * 2**20  # of all files of a request together: the largest clip that is read

IMAGE_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")
VIDEO_TYPES = ("video/mp4", "video/webm", "video/quicktime", "video/x-matroska", "video/x-msvideo", "video/mpeg")
FILE_KEYS = ("content_type", "base64")
VIDEO_FILE_KEYS = (*FILE_KEYS, "num_frames")
FRAMES_KEYS = ("frames", "fps", "num_frames")

_SAME_TYPES = {"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "video/avi": "video/x-msvideo"}
_DATA_URL = re.compile(r"data:([^,;]*)((?:;[^,;]*)*),", re.IGNORECASE)
_MAX_HEADER = 200  # characters of a data URL before its comma
_ADDRESS = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]{1,20}:|[./~\\]|.{0,255}\.(?:png|jpe?g|webp|gif|mp4|webm|mov|mkv|avi)$", re.IGNORECASE
)

Report = Callable[[Path, str], None]


def parse_images(value: Json, report: Report) -> tuple[ImageInput, ...]:
    """The images of a request; what is wrong goes to `report`, with its path."""
    items = _items(value, ("images",), "images", MAX_IMAGES, report)
    attachments = _Attachments(report)
    images = [attachments.image(item, ("images", position)) for position, item in enumerate(items)]
    return tuple(image for image in images if image is not None)


def parse_videos(value: Json, report: Report) -> tuple[VideoInput, ...]:
    """The videos of a request: files, or lists of images used as frames; what is wrong goes to `report`."""
    items = _items(value, ("videos",), "videos", MAX_VIDEOS, report)
    attachments = _Attachments(report)
    videos = [attachments.video(item, ("videos", position)) for position, item in enumerate(items)]
    return tuple(video for video in videos if video is not None)


def _items(value: Json, path: Path, noun: str, limit: int, report: Report) -> Sequence[Json]:
    if value is None:
        return ()
    if not isinstance(value, list):
        report(path, f"expected a list of data URLs, got {describe(value)}. Put it in a list.")
        return ()
    if len(value) > limit:
        report(path, f"found {len(value):,} {noun}; at most {limit} are read. Send fewer.")
    return value[:limit]


class _Attachments:
    """Decodes files one after the other and keeps count of their bytes."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.bytes_left = MAX_MEDIA_BYTES

    def image(self, item: Any, path: Path) -> ImageInput | None:
        if isinstance(item, ImageInput):
            return item
        if isinstance(item, dict) and FILE_KEYS[1] not in item:
            self.report(path, f"expected a data URL or {{'content_type', 'base64'}}, got {_object(item)}.")
            return None
        file = self._file(item, path, IMAGE_TYPES, FILE_KEYS, "picture", "PNG, JPEG, WebP or GIF")
        return None if file is None else ImageInput(path_text(path), *file)

    def video(self, item: Any, path: Path) -> VideoInput | None:
        if isinstance(item, VideoInput):
            return item
        name = path_text(path)
        if isinstance(item, list):
            frames = self._frames(item, path)
            return None if frames is None else VideoInput(name, frames[0].mime, frames=frames)
        if isinstance(item, dict) and "frames" in item:
            self._refuse_unknown(item, path, FRAMES_KEYS)
            fps = self._fps(item.get("fps"), (*path, "fps"))
            num_frames = self._num_frames(item.get("num_frames"), (*path, "num_frames"))
            frames = self._frames(item["frames"], (*path, "frames"))
            return None if frames is None else VideoInput(name, frames[0].mime, b"", frames, fps, num_frames)
        if isinstance(item, dict) and FILE_KEYS[1] not in item:
            forms = "a data URL, {'content_type', 'base64'}, a list of images or {'frames', 'fps'}"
            self.report(path, f"expected {forms}, got {_object(item)}.")
            return None
        num_frames = None
        if isinstance(item, dict):
            num_frames = self._num_frames(item.get("num_frames"), (*path, "num_frames"))
        file = self._file(item, path, VIDEO_TYPES, VIDEO_FILE_KEYS, "clip", "MP4, WebM, MOV, MKV, AVI or MPEG")
        return None if file is None else VideoInput(name, *file, num_frames=num_frames)

    def _frames(self, items: Any, path: Path) -> tuple[ImageInput, ...] | None:
        if not isinstance(items, list):
            self.report(path, f"expected a list of images, got {describe(items)}.")
            return None
        if not 2 <= len(items) <= MAX_FRAMES:
            advice = "Send a single picture as an image." if len(items) < 2 else "Leave some out."
            found = f"found {counted(len(items), 'frame')}; a video takes 2 to {MAX_FRAMES}"
            self.report(path, f"{found}. {advice}")
            return None
        frames = [self.image(item, (*path, position)) for position, item in enumerate(items)]
        complete = [frame for frame in frames if frame is not None]
        return tuple(complete) if len(complete) == len(frames) else None

    def _fps(self, value: Any, path: Path) -> float | None:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is None or (is_number and 0 < value <= MAX_FRAMES_PER_SECOND):
            return None if value is None else float(value)
        allowed = f"a number of frames a second above 0, up to {MAX_FRAMES_PER_SECOND:,.0f}"
        self.report(path, f"expected {allowed}, got {describe(value)}.")
        return None

    def _num_frames(self, value: Any, path: Path) -> int | None:
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        if value is None or (is_integer and 2 <= value <= MAX_FRAMES):
            return value if is_integer else None
        self.report(path, f"expected a whole number from 2 to {MAX_FRAMES}, got {describe(value)}.")
        return None

    def _file(
        self, item: Any, path: Path, types: Sequence[str], keys: Sequence[str], noun: str, formats: str
    ) -> tuple[str, bytes] | None:
        """The type and the bytes of a data URL or of an object that holds a file."""
        if isinstance(item, dict):
            self._refuse_unknown(item, path, keys)
            mime, text = item.get("content_type"), item["base64"]
            where: Path = (*path, "base64")
            if not isinstance(mime, str) or not isinstance(text, str):
                got = f"content_type {describe(mime)} and base64 {describe(text)[:40]}"
                self.report(path, f"expected two strings, got {got}.")
                return None
        elif isinstance(item, str):
            split = self._split_data_url(item, path, noun)
            if split is None:
                return None
            mime, text = split
            where = path
        else:
            self.report(path, f"expected a data URL or an upload, got {describe(item)}.")
            return None
        mime = mime.strip().casefold()
        mime = _SAME_TYPES.get(mime, mime)
        if mime not in types:
            self.report(path, f"found a {noun} of type {shown(mime)}. Use {formats}.")
            return None
        data = self._decode(text, where, noun)
        return None if data is None else (mime, data)

    def _split_data_url(self, text: str, path: Path, noun: str) -> tuple[str, str] | None:
        """The type and the base64 text; paths and addresses are refused without a look at what they name."""
        head = _DATA_URL.match(text[:_MAX_HEADER])
        if head is not None and "base64" in head[2].casefold().split(";"):
            return head[1], text[head.end() :]
        if text[:5].casefold() == "data:":
            self.report(path, "found a data URL that is not base64. Write data:<type>;base64,<data>.")
        elif _ADDRESS.match(text):
            found = f"found the path or address {shown(text)}, which is never opened"
            self.report(path, f"{found}. Use a data URL or upload the {noun}.")
        else:
            found = f"expected a data URL, got {describe(text)}"
            self.report(path, f"{found}. Write data:<type>;base64,<data>, or use the data URL or upload of the {noun}.")
        return None

    def _decode(self, text: str, path: Path, noun: str) -> bytes | None:
        if len(text) * 3 // 4 > self.bytes_left:
            self.report(path, f"the files of a request may hold {MAX_MEDIA_BYTES // 2**20} MiB together. Send less.")
            return None
        try:
            packed = text.encode("ascii").translate(None, b" \t\r\n")
            data = base64.b64decode(packed, validate=True)
        except UnicodeEncodeError:
            self.report(path, f"the base64 of the {noun} holds characters that are not ASCII. Encode the file again.")
            return None
        except binascii.Error:
            reason = "its end is missing" if len(packed) % 4 else "it holds characters that are not base64"
            self.report(path, f"the base64 of the {noun} cannot be decoded: {reason}. Encode the whole file again.")
            return None
        if not data:
            self.report(path, f"found a {noun} without any bytes. Send the whole file.")
            return None
        self.bytes_left -= len(data)
        return data

    def _refuse_unknown(self, item: dict[str, Json], path: Path, allowed: Sequence[str]) -> None:
        for key in item:
            if key not in allowed:
                self.report((*path, key), unknown_key(key, allowed))


def _object(item: dict[str, Json]) -> str:
    """An object of unknown shape, by its keys, with what to do."""
    keys = ", ".join(shown(key) for key in list(item)[:4])
    found = f"an object with {keys}" if keys else "an empty object"
    if "image_url" in item or "video_url" in item:
        return f"{found} as in a chat message. Write the data URL itself"
    return f"{found}. Use a data URL or upload"
