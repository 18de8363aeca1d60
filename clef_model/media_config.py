"""How the release shows pictures to the model: sizes, patches, normalisation and frame sampling, from its own file."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clef_model.errors import BrokenRelease

CONFIG_FILE = "processor_config.json"
MAX_ASPECT_RATIO = 200  # the release's processors refuse anything longer

Size = tuple[int, int]  # width, height in pixels


@dataclass(frozen=True, slots=True)
class VisionConfig:
    """How one kind of picture becomes patches. Pixel limits count the area shown to the model, of all frames together.

    The defaults are those of clef-flash for images. `mean` and `std` apply to pixels on a scale of 0 to 1.
    """

    min_pixels: int = 65_536
    max_pixels: int = 16_777_216
    patch_size: int = 16
    merge_size: int = 2
    temporal_patch_size: int = 2
    mean: tuple[float, ...] = (0.5, 0.5, 0.5)
    std: tuple[float, ...] = (0.5, 0.5, 0.5)
    rescale_factor: float = 1 / 255

    @property
    def cell(self) -> int:
        """Pixels along one side of what becomes one token."""
        return self.patch_size * self.merge_size


@dataclass(frozen=True, slots=True)
class SamplingConfig:
    """How many frames of a clip are read: `fps` of them a second, within the limits. Defaults of clef-flash."""

    fps: float = 2
    min_frames: int = 4
    max_frames: int = 768
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class MediaConfig:
    """The media settings of a release. The defaults are those of clef and clef-flash at the pinned revisions."""

    image: VisionConfig = VisionConfig()
    video: VisionConfig = VisionConfig(min_pixels=4_096, max_pixels=25_165_824)
    sampling: SamplingConfig = SamplingConfig()


def read_media_config(folder: Path) -> MediaConfig:
    """The settings in a release folder's processor_config.json.

    Keys that decide sizes and pixel values must be there. For the others the classes behind the release have defaults
    of their own, which are the defaults here (bicubic, all steps on, 2 frames a second, 4 to 768 frames).

    Raises: BrokenRelease: no such file, not JSON, keys missing, or a setting that is not implemented; all at once.
    """
    path = folder / CONFIG_FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise BrokenRelease(
            f"Release {folder.name}: {CONFIG_FILE} is missing, so media cannot be read. Download the release again."
        ) from error
    except (OSError, ValueError) as error:
        raise BrokenRelease(
            f"Release {folder.name}: {CONFIG_FILE} cannot be read: {error}. Download it again."
        ) from error
    faults: list[str] = []
    sections = {name: _section(content, name, faults) for name in ("image_processor", "video_processor")}
    image, video = (_vision(name, section, faults) for name, section in sections.items())
    sampling = _sampling(sections["video_processor"], faults)
    if faults:
        raise BrokenRelease(f"Release {folder.name}: {CONFIG_FILE}: {'; '.join(faults)}. Download the release again.")
    return MediaConfig(image, video, sampling)


def size_shown(size: Size, config: VisionConfig, frames: int = 1) -> Size:
    """The width and height, multiples of `config.cell`, at which a picture or each of a clip's frames is shown.

    Sides are rounded half to even; an area above the limit is scaled down with floor, one below it up with ceil.
    Source: contract of the released processors (clef-flash revision 17f0b0a, transformers 5.10.2): for a clip the
    limits count its frames rounded up to whole slots, the scale its frames as they are.
    """
    cell = config.cell
    slots = 1 if frames == 1 else math.ceil(frames / config.temporal_patch_size) * config.temporal_patch_size
    width, height = (round(side / cell) * cell for side in size)
    shown = slots * width * height
    given = frames * size[0] * size[1]
    if shown > config.max_pixels:
        scale = math.sqrt(given / config.max_pixels)
        width, height = (max(cell, math.floor(side / scale / cell) * cell) for side in size)
    elif shown < config.min_pixels:
        scale = math.sqrt(config.min_pixels / given)
        width, height = (math.ceil(side * scale / cell) * cell for side in size)
    return width, height


def _section(content: Any, name: str, faults: list[str]) -> Mapping[str, Any]:
    section = content.get(name) if isinstance(content, Mapping) else None
    if isinstance(section, Mapping):
        return section
    faults.append(f"'{name}' is missing")
    return {}


def _vision(name: str, section: Mapping[str, Any], faults: list[str]) -> VisionConfig:
    if not section:
        return VisionConfig()
    for key, done in (("do_resize", True), ("do_rescale", True), ("do_normalize", True), ("resample", 3)):
        if section.get(key, done) != done:
            faults.append(f"'{name}.{key}' is {section[key]!r}, only {done!r} is implemented")
    if section.get("cap_pixels_per_frame"):
        faults.append(f"'{name}.cap_pixels_per_frame' is on, which is not implemented")
    size = section.get("size")
    numbers = {"min_pixels": ("size.shortest_edge", size), "max_pixels": ("size.longest_edge", size)}
    numbers |= {key: (key, section) for key in ("patch_size", "merge_size", "temporal_patch_size")}
    values = {field: _positive_int(name, key, where, faults) for field, (key, where) in numbers.items()}
    mean, std = (_channels(name, key, section, faults) for key in ("image_mean", "image_std"))
    rescale = section.get("rescale_factor", 1 / 255)
    if not isinstance(rescale, float) or rescale <= 0:
        faults.append(f"'{name}.rescale_factor' is {rescale!r}, not a number above 0")
        rescale = 1 / 255
    return VisionConfig(
        min_pixels=values["min_pixels"],
        max_pixels=values["max_pixels"],
        patch_size=values["patch_size"],
        merge_size=values["merge_size"],
        temporal_patch_size=values["temporal_patch_size"],
        mean=mean,
        std=std,
        rescale_factor=rescale,
    )


def _positive_int(name: str, key: str, section: Any, faults: list[str]) -> int:
    value = section.get(key.split(".")[-1]) if isinstance(section, Mapping) else None
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    faults.append(f"'{name}.{key}' is {'missing' if value is None else f'{value!r}, not a whole number above 0'}")
    return 1


def _channels(name: str, key: str, section: Mapping[str, Any], faults: list[str]) -> tuple[float, ...]:
    value = section.get(key)
    if isinstance(value, list) and len(value) == 3 and all(isinstance(item, (int, float)) for item in value):
        return tuple(float(item) for item in value)
    faults.append(f"'{name}.{key}' is {'missing' if value is None else f'{value!r}, not three numbers'}")
    return (0.5, 0.5, 0.5)


def _sampling(section: Mapping[str, Any], faults: list[str]) -> SamplingConfig:
    default = SamplingConfig()
    fps = section.get("fps", default.fps)
    if not isinstance(fps, (int, float)) or fps <= 0:
        faults.append(f"'video_processor.fps' is {fps!r}, not a number above 0")
        fps = default.fps
    given = {"min_frames": default.min_frames, "max_frames": default.max_frames, **section}
    least, most = (_positive_int("video_processor", key, given, faults) for key in ("min_frames", "max_frames"))
    return SamplingConfig(fps, least, most, enabled=section.get("do_sample_frames", True) is True)
