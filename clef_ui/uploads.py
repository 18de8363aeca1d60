"""Pictures and clips people gave to the page: kept in memory for a while, bounded, known by their content."""

import base64
import binascii
import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from clef_model.errors import ClefError
from clef_model.schema import ImageInput, VideoInput

MAX_ITEM_BYTES = 64 * 2**20  # one clip; a minute of a phone's video
MAX_STORE_BYTES = 512 * 2**20  # all visitors together; a free Space has 16 GB
MAX_STORE_ITEMS = 512
MAX_NAME = 120  # characters of a name that are kept, for display only

# data:image/png;base64,AAAA with optional parameters such as ;codecs=vp8
_DATA_URL = re.compile(r"data:(?P<mime>[\w.+-]+/[\w.+-]+)(?:;[\w.+-]+=[^;,]*)*;base64,(?P<data>[A-Za-z0-9+/=\s]*)\Z")


class LostUpload(ClefError):
    """The store no longer has an item that a draft names."""


@dataclass(frozen=True, slots=True)
class Upload:
    """One stored item. `id` is the SHA-256 of its content; `frames` are ids of pictures used as a clip's frames."""

    id: str
    kind: Literal["image", "video"]
    name: str
    mime: str
    data: bytes
    frames: tuple[str, ...] = ()


class MediaStore:
    """Items by the hash of their content, least recently used out first. Nothing is read from or written to disk."""

    def __init__(self, *, max_bytes: int = MAX_STORE_BYTES, max_items: int = MAX_STORE_ITEMS) -> None:
        self._max_bytes = max_bytes
        self._max_items = max_items
        self._items: OrderedDict[str, Upload] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def add(self, name: str, mime: str, data: bytes) -> Upload:
        """Raises: ClefError, when the item is empty, too large, or neither an image nor a video by its type."""
        name = shown_name(name)
        kind = mime.partition("/")[0]
        if kind not in ("image", "video"):
            raise ClefError(f"{name!r}: the type is {mime!r}, and only images and videos are taken.")
        if not data:
            raise ClefError(f"{name!r}: the file is empty.")
        if len(data) > MAX_ITEM_BYTES:
            raise ClefError(too_large(name, len(data)))
        upload = Upload(hashlib.sha256(data).hexdigest(), kind, name, mime, data)  # type: ignore[arg-type]
        return self._keep(upload)

    def add_data_url(self, name: str, url: str) -> Upload:
        """Raises: ClefError, as `add`, and when the text is no base64 data URL."""
        if len(url) > 4 * MAX_ITEM_BYTES / 3 + 1024:
            raise ClefError(too_large(shown_name(name), 3 * len(url) // 4))
        match = _DATA_URL.match(url)
        if match is None:
            raise ClefError(f"{shown_name(name)!r}: expected a base64 data URL of an image or a video.")
        try:
            data = base64.b64decode(match["data"], validate=False)
        except binascii.Error as error:
            raise ClefError(
                f"{shown_name(name)!r}: the base64 text is damaged ({error}). Add the file again."
            ) from error
        return self.add(name, match["mime"].lower(), data)

    def add_frames(self, name: str, ids: Sequence[str]) -> Upload:
        """A clip made of stored pictures, in this order.

        Raises: ClefError, for fewer than two pictures; LostUpload, when one of them is gone.
        """
        if len(ids) < 2:
            raise ClefError(
                f"{shown_name(name)!r}: a clip needs at least 2 pictures, got {len(ids)}. Add pictures first."
            )
        for identity in ids:
            if self.get(identity, name).kind != "image":
                raise ClefError(f"{shown_name(name)!r}: only pictures can be frames of a clip.")
        identity = hashlib.sha256(b"frames\n" + "\n".join(ids).encode()).hexdigest()
        return self._keep(Upload(identity, "video", shown_name(name), "video/x-frames", b"", tuple(ids)))

    def add_image(self, image: ImageInput) -> Upload:
        """Raises: ClefError, as `add`."""
        return self.add(image.name, image.mime, image.data)

    def add_video(self, video: VideoInput) -> Upload:
        """A clip as a file, or as the list of its frames. Raises: ClefError, as `add`."""
        if not video.frames:
            return self.add(video.name, video.mime, video.data)
        return self.add_frames(video.name, [self.add_image(frame).id for frame in video.frames])

    def get(self, identity: str, name: str = "") -> Upload:
        """Raises: LostUpload, when the item was never here or had to make room."""
        with self._lock:
            upload = self._items.get(identity)
            if upload is None:
                raise LostUpload(
                    f"{shown_name(name) or 'A picture or clip'!r} is no longer on the server, which keeps the most "
                    "recent ones only. Add the file again."
                )
            self._items.move_to_end(identity)
            return upload

    def __contains__(self, identity: str) -> bool:
        return identity in self._items

    def __len__(self) -> int:
        return len(self._items)

    @property
    def num_bytes(self) -> int:
        return self._bytes

    def image(self, identity: str, name: str = "") -> ImageInput:
        """Raises: LostUpload; ClefError, when the item is a clip."""
        upload = self.get(identity, name)
        if upload.kind != "image":
            raise ClefError(f"{shown_name(name)!r} is a clip, not a picture.")
        return ImageInput(shown_name(name) or upload.name, upload.mime, upload.data)

    def video(
        self, identity: str, name: str = "", *, num_frames: int | None = None, fps: float | None = None
    ) -> VideoInput:
        """Raises: LostUpload, also for one of the frames; ClefError, when the item is a picture."""
        upload = self.get(identity, name)
        if upload.kind != "video":
            raise ClefError(f"{shown_name(name)!r} is a picture, not a clip.")
        frames = tuple(self.image(frame, name) for frame in upload.frames)
        return VideoInput(shown_name(name) or upload.name, upload.mime, upload.data, frames, fps, num_frames)

    def _keep(self, upload: Upload) -> Upload:
        with self._lock:
            old = self._items.pop(upload.id, None)
            self._bytes -= len(old.data) if old else 0
            self._items[upload.id] = upload
            self._bytes += len(upload.data)
            while len(self._items) > 1 and (len(self._items) > self._max_items or self._bytes > self._max_bytes):
                _, gone = self._items.popitem(last=False)
                self._bytes -= len(gone.data)
        return upload


def shown_name(name: str) -> str:
    """A file's name without its folders, shortened; it is shown and never used as a path."""
    last = re.split(r"[\\/]", name)[-1]
    return last if len(last) <= MAX_NAME else last[: MAX_NAME - 1] + "…"


def too_large(name: str, num_bytes: int) -> str:
    return (
        f"{name!r}: {num_bytes / 2**20:,.1f} MiB, and {MAX_ITEM_BYTES // 2**20} MiB are allowed. "
        "Shorten the clip or make the picture smaller."
    )
