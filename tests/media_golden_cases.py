"""The media whose tensors, ids and type ids are frozen in `model/media_goldens.json`, and how they are summed up."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from media_files import Pixels, frame_list, image_input, noise, saved

from clef_model.media_config import MediaConfig
from clef_model.schema import ImageInput, VideoInput

GOLDENS = Path(__file__).parent / "model" / "media_goldens.json"
RELEASE = Path(__file__).parents[1] / "models" / "clef-nano"  # its processor_config.json has the release's values
TENSORS = ("pixel_values", "image_grid_thw", "pixel_values_videos", "video_grid_thw")


@dataclass(frozen=True)
class Clip:
    frames: int
    size: tuple[int, int]  # width, height
    seed: int
    fps: float | None = None  # None leaves it to the processor, which assumes 24
    indices: tuple[int, ...] = ()  # frames that were sampled before, by their places

    @property
    def pixels(self) -> list[Pixels]:
        return [noise(self.size[1], self.size[0], self.seed + place) for place in range(self.frames)]

    @property
    def metadata(self) -> dict[str, Any]:
        return {
            "fps": self.fps,
            "total_num_frames": self.frames,
            "frames_indices": list(self.indices or range(self.frames)),
        }


@dataclass(frozen=True)
class Case:
    images: tuple[tuple[int, int, int], ...] = ()  # width, height, seed
    clips: tuple[Clip, ...] = ()
    limits: tuple[int, int] | None = None  # fewest and most pixels of an image, other than the release's

    @property
    def pictures(self) -> list[Pixels]:
        return [noise(height, width, seed) for width, height, seed in self.images]

    @property
    def is_sampled_before(self) -> bool:
        return any(clip.indices for clip in self.clips)

    @property
    def media_kwargs(self) -> dict[str, Any]:
        """What the release is told: nothing, unless there are limits or a clip has a rate or was sampled before."""
        if self.limits is not None:
            return {"images_kwargs": {"size": {"shortest_edge": self.limits[0], "longest_edge": self.limits[1]}}}
        if not any(clip.fps for clip in self.clips):
            return {}
        told: dict[str, Any] = {"video_metadata": [clip.metadata for clip in self.clips]}
        return told | {"do_sample_frames": False} if self.is_sampled_before else told

    def config(self, config: MediaConfig) -> MediaConfig:
        """The release's settings with the limits of the case."""
        if self.limits is None:
            return config
        least, most = self.limits
        return replace(config, image=replace(config.image, min_pixels=least, max_pixels=most))

    @property
    def inputs(self) -> tuple[list[ImageInput], list[VideoInput]]:
        """The same media as files."""
        images = [image_input(saved(picture)) for picture in self.pictures]
        videos = [frame_list(clip.pixels, clip.fps or 24.0, frame_indices=clip.indices) for clip in self.clips]
        return images, videos


CASES = {
    "an image of the smallest area": Case(images=((256, 256, 1),)),
    "an image enlarged": Case(images=((100, 60, 2),)),
    "an image shrunk by a few pixels": Case(images=((300, 200, 3),)),
    "one pixel": Case(images=((1, 1, 4),)),
    "a tall image": Case(images=((40, 1_000, 5),)),
    "an image of a film's shape": Case(images=((960, 540, 6),)),
    "an image over the limit": Case(images=((960, 540, 6),), limits=(3_136, 65_536)),
    "two images of one size and one of another": Case(images=((300, 200, 7), (300, 200, 8), (64, 64, 9))),
    "eight frames of no rate": Case(clips=(Clip(8, (64, 64), 10),)),
    "five frames, an odd number": Case(clips=(Clip(5, (96, 80), 20, indices=(0, 1, 2, 3, 4), fps=5),)),
    "three frames": Case(clips=(Clip(3, (64, 96), 30),)),
    "one frame a second for a minute": Case(clips=(Clip(60, (64, 64), 40, fps=1),)),
    "a rate that is no whole number": Case(clips=(Clip(90, (70, 50), 110, fps=30_000 / 1_001),)),
    "frames sampled before": Case(clips=(Clip(4, (200, 150), 210, fps=30, indices=(0, 15, 30, 45)),)),
    "images and clips together": Case(
        images=((64, 64, 220), (320, 256, 221)), clips=(Clip(8, (64, 64), 230), Clip(6, (128, 64), 240))
    ),
}


def summary(input_ids: list[int], mm_token_type_ids: list[int], media: dict[str, Any]) -> dict[str, Any]:
    """What is frozen: ids and type ids as runs, the grids, and of each float tensor its shape, hash and some values."""
    found: dict[str, Any] = {"input_ids": _runs(input_ids), "mm_token_type_ids": _runs(mm_token_type_ids)}
    for key in TENSORS:
        if key not in media:
            continue
        tensor = media[key].contiguous()
        if key.endswith("thw"):
            found[key] = tensor.tolist()
            continue
        step = max(1, tensor.numel() // 7)
        found[key] = {
            "shape": list(tensor.shape),
            "dtype": str(tensor.dtype),
            "sha256": hashlib.sha256(tensor.numpy().tobytes()).hexdigest(),
            "step": step,
            "values": tensor.flatten()[::step].tolist(),
        }
    return found


def _runs(values: list[int]) -> list[list[int]]:
    """[value, how often] of each stretch of equal values."""
    runs: list[list[int]] = []
    for value in values:
        if runs and runs[-1][0] == value:
            runs[-1][1] += 1
        else:
            runs.append([value, 1])
    return runs
