"""Worked examples of the page: one JSON file each, with its pictures and clips beside it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clef_model.errors import ClefError, InvalidRecord
from clef_model.json_text import parse_json
from clef_model.parsing import parse_record
from clef_model.schema import ImageInput, Record, VideoInput

FIRST = "support-triage"  # what a new visitor sees
MAX_MEDIA_BYTES = 512 * 1024  # of one file: they travel with the repository
KEYS = ("title", "note", "record")

_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MIMES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
    ".mp4": "video/mp4",
    ".webm": "video/webm",
}


class InvalidPreset(ClefError):
    """A file of the presets folder breaks the rules; the page does not start with it."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A worked example. `request` is the System One request as JSON text, without its media, which are in `record`."""

    slug: str
    title: str
    note: str  # what to notice
    request: str
    record: Record

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its questions, each once."""
        return tuple(dict.fromkeys(question.kind for question in self.record.questions))


def read_presets(folder: Path) -> tuple[Preset, ...]:
    """All presets of a folder, the one for new visitors first, the others by title.

    Raises: InvalidPreset, with all that is wrong in all files.
    """
    presets, faults = [], []
    for path in sorted(folder.glob("*.json")):
        try:
            presets.append(read_preset(path))
        except InvalidPreset as error:
            faults.append(str(error))
    if not presets and not faults:
        faults.append(f"{folder.name}: no preset was found. Put one JSON file a preset there.")
    if faults:
        raise InvalidPreset("\n".join(faults))
    return tuple(sorted(presets, key=lambda preset: (preset.slug != FIRST, preset.title)))


def read_preset(path: Path) -> Preset:
    """Raises: InvalidPreset, with all that is wrong in the file."""
    name = f"{path.parent.name}/{path.name}"
    if not _SLUG.fullmatch(path.stem):
        raise InvalidPreset(f"{name}: a file name of small letters, digits and single hyphens is expected. Rename it.")
    try:
        content = parse_json(path.read_bytes()).value
    except InvalidRecord as error:
        raise InvalidPreset("\n".join(f"{name}, {problem}" for problem in error.problems)) from error
    faults = list(_content_faults(content))
    if faults:
        raise InvalidPreset("\n".join(f"{name}{fault}" for fault in faults))
    request = dict(content["record"])
    media: dict[str, Any] = {key: request.pop(key) for key in ("images", "videos") if key in request}
    try:
        files = {key: [_media(path.parent, file, name) for file in files] for key, files in media.items()}
        record = parse_record({**request, **files})
    except InvalidRecord as error:
        raise InvalidPreset("\n".join(f"{name}, record.{problem}" for problem in error.problems)) from error
    text = json.dumps(request, ensure_ascii=False, indent=2)
    return Preset(path.stem, content["title"], content["note"], text, record)


def _content_faults(content: Any) -> list[str]:
    if not isinstance(content, Mapping):
        return [": an object with title, note and record is expected. Write one."]
    faults = [
        f": unknown key {key!r}; title, note and record are allowed. Remove it." for key in content if key not in KEYS
    ]
    for key in ("title", "note"):
        if not isinstance(content.get(key), str) or not content[key].strip():
            faults.append(f", {key}: a text is expected. Write one.")
    record = content.get("record")
    if not isinstance(record, Mapping):
        return [*faults, ", record: the request as the API takes it is expected. Write one."]
    for key in ("images", "videos"):
        files = record.get(key, [])
        if not isinstance(files, list) or not all(isinstance(file, str) for file in files):
            faults.append(f", record.{key}: a list of file names in the same folder is expected.")
    return faults


def _media(folder: Path, file: str, preset: str) -> ImageInput | VideoInput:
    path = folder / file
    if path.name != file:
        raise InvalidPreset(
            f"{preset}: {file!r} is not a file beside the preset. Put it there and give its name alone."
        )
    mime = _MIMES.get(path.suffix.lower())
    if mime is None or not path.is_file():
        raise InvalidPreset(f"{preset}: {file!r} is missing or of no known type. Use {', '.join(_MIMES)}.")
    data = path.read_bytes()
    if len(data) > MAX_MEDIA_BYTES:
        raise InvalidPreset(f"{preset}: {file!r} has {len(data):,} bytes, {MAX_MEDIA_BYTES:,} are allowed. Shrink it.")
    if mime.startswith("image/"):
        return ImageInput(path.name, mime, data)
    return VideoInput(path.name, mime, data)
