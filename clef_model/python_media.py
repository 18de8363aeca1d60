"""Pictures and clips as Python callers hand them over (PIL, arrays, frame lists), made media of a record."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from PIL import Image

from clef_model.arrays import array_pixels, as_array
from clef_model.errors import InvalidRecord, Notice, Problem
from clef_model.images import DecodedImage, check_size, upright_rgb
from clef_model.media_config import MediaConfig, SamplingConfig
from clef_model.schema import ImageInput, VideoInput

ASSUMED_FPS = 24.0  # what the release assumes of frames that come without a frame rate
_SETTINGS: dict[str, Any] = {"do_sample_frames": bool, "num_frames": int, "fps": (int, float)}
_SUPPORTED = (*_SETTINGS, "video_metadata")


@dataclass(frozen=True, slots=True)
class PythonMedia:
    """Media of a record, with what was assumed on the way."""

    images: tuple[ImageInput, ...]
    videos: tuple[VideoInput, ...]
    notices: tuple[Notice, ...]


@dataclass(frozen=True, slots=True)
class _VideoOptions:
    """What `media_kwargs` says of one video, in the release's words; None is the release's own default."""

    do_sample_frames: bool | None = None
    num_frames: int | None = None
    fps: float | None = None  # frames to sample a second
    metadata: Mapping[str, Any] | None = None


def media_from_python(
    images: Sequence[Any] | None,
    videos: Sequence[Any] | None,
    media_kwargs: Mapping[str, Any] | None = None,
    config: MediaConfig | None = None,
) -> PythonMedia:
    """A record's images and videos in the forms that the release's Python function takes.

    An image is a PIL image, an array ([H, W], [H, W, C] or [C, H, W]; uint8, or floats of 0 to 1) or a file's bytes; a
    video an array of frames, a list of images, or a file's bytes. `media_kwargs` may set `do_sample_frames`,
    `num_frames`, `fps` and `video_metadata` (one entry a video). No path or address is opened.

    Raises: InvalidRecord: all that cannot be used, at once.
    """
    images, videos = list(images or ()), list(videos or ())
    config = config or MediaConfig()
    problems: list[Problem] = []
    notices: list[Notice] = []
    made_images: list[ImageInput] = []
    made_videos: list[VideoInput] = []
    for place, image in enumerate(images):
        where = f"images[{place}]"
        try:
            made_image, said = _image(image, where)
            made_images.append(made_image)
            notices.extend(said)
        except InvalidRecord as error:
            problems.extend(error.problems)
    options = _options(media_kwargs or {}, len(videos), problems)
    for place, video in enumerate(videos):
        where = f"videos[{place}]"
        try:
            made_video, said = _video(video, where, options[place], config.sampling)
            made_videos.append(made_video)
            notices.extend(said)
        except InvalidRecord as error:
            problems.extend(error.problems)
    if problems:
        raise InvalidRecord(problems)
    return PythonMedia(tuple(made_images), tuple(made_videos), tuple(notices))


def image_from_python(image: Any, where: str = "images[0]") -> ImageInput:
    """An image of any of the forms of `media_from_python`, losslessly as PNG bytes unless it is a file already.

    Raises: InvalidRecord: another form, a path or address, values outside of their range.
    """
    return _image(image, where)[0]


def video_from_python(
    video: Any,
    where: str = "videos[0]",
    *,
    do_sample_frames: bool | None = None,
    num_frames: int | None = None,
    fps: float | None = None,
    metadata: Mapping[str, Any] | None = None,
    sampling: SamplingConfig | None = None,
) -> VideoInput:
    """A video of any of the forms of `media_from_python`. Frames without a rate in `metadata` count as 24 a second.

    `fps` is how many frames a second are sampled, as in the release; the clip's own rate is `metadata["fps"]`.

    Raises: InvalidRecord: another form, frames that cannot be used, options that contradict each other.
    """
    options = _VideoOptions(do_sample_frames, num_frames, fps, metadata)
    return _video(video, where, options, sampling or SamplingConfig())[0]


def _image(image: Any, where: str) -> tuple[ImageInput, tuple[Notice, ...]]:
    if isinstance(image, ImageInput):
        return image, ()
    if isinstance(image, (bytes, bytearray, memoryview)):
        return ImageInput("", "", bytes(image)), ()
    if isinstance(image, Image.Image):
        decoded = _pil_pixels(image, where)
    else:
        array = as_array(image, where, "a PIL image, an array, or the bytes of a file is taken")
        decoded = DecodedImage(array_pixels(array, where))
    buffer = io.BytesIO()
    Image.fromarray(decoded.pixels).save(buffer, "PNG", compress_level=1)  # lossless; smaller would only take longer
    return ImageInput("", "image/png", buffer.getvalue()), decoded.notices


def _video(
    video: Any, where: str, options: _VideoOptions, sampling: SamplingConfig
) -> tuple[VideoInput, tuple[Notice, ...]]:
    if isinstance(video, VideoInput):
        return video, ()
    if options.num_frames is not None and options.fps is not None:
        message = "num_frames and fps both say how many frames to sample. Give one of them."
        raise InvalidRecord([Problem(where, message)])
    if isinstance(video, (bytes, bytearray, memoryview)):
        if options.metadata is not None or options.fps is not None or options.do_sample_frames is False:
            message = "a video file has its own frames and times. Of the media_kwargs it takes num_frames only."
            raise InvalidRecord([Problem(where, message)])
        return VideoInput("", "", data=bytes(video), num_frames=options.num_frames), ()
    frames, notices = _frames(video, where)
    metadata = options.metadata or {}
    clip_fps = metadata.get("fps")
    if clip_fps is None:
        clip_fps = ASSUMED_FPS
        notices = (*notices, _assumed_fps(where))
    num_frames = options.num_frames
    indices: tuple[int, ...] = ()
    if sampling.enabled if options.do_sample_frames is None else options.do_sample_frames:
        total = metadata.get("total_num_frames", len(frames))
        if total != len(frames):
            found = f"video_metadata says {total} frames and {len(frames)} came"
            advice = "Pass do_sample_frames=False for frames that were sampled already, with their frames_indices."
            raise InvalidRecord([Problem(where, f"{found}. {advice}")])
        if options.fps is not None:
            wanted = int(len(frames) / clip_fps * options.fps)
            num_frames = min(max(wanted, sampling.min_frames), sampling.max_frames, len(frames))
    else:
        given = metadata.get("frames_indices")
        indices = tuple(range(len(frames)) if given is None else (int(index) for index in given))
        num_frames = None
    made = VideoInput(
        "", "video/x-frames", frames=frames, fps=float(clip_fps), num_frames=num_frames, frame_indices=indices
    )
    return made, notices


def _frames(video: Any, where: str) -> tuple[tuple[ImageInput, ...], tuple[Notice, ...]]:
    if not isinstance(video, (list, tuple)):
        array = as_array(video, where, "an array of frames, a list of images, or the bytes of a file is taken")
        if array.ndim != 4:
            found = f"found an array of shape {array.shape}"
            message = f"{found}; frames have four dimensions: [frames, height, width, channels]. Reshape it."
            raise InvalidRecord([Problem(where, message)])
        video = list(array)
    problems: list[Problem] = []
    frames: list[ImageInput] = []
    notices: list[Notice] = []
    for place, part in enumerate(video):
        try:
            frame, said = _image(part, f"{where}.frames[{place}]")
            frames.append(frame)
            notices.extend(said)
        except InvalidRecord as error:
            problems.extend(error.problems)
    if problems:
        raise InvalidRecord(problems)
    return tuple(frames), tuple(notices)


def _pil_pixels(image: Image.Image, where: str) -> DecodedImage:
    check_size(image.size, where)
    try:
        image.load()
    except Exception as error:  # an image that Pillow has opened but not read yet: its decoder raises anything
        message = f"the picture could not be decoded ({error}). Open it again."
        raise InvalidRecord([Problem(where, message)]) from error
    decoded = upright_rgb(image, where)
    frames = getattr(image, "n_frames", 1)
    if frames < 2:
        return decoded
    message = f"only frame {image.tell() + 1} of {frames} is read. To have all read, pass them as a video."
    return replace(decoded, notices=(*decoded.notices, Notice("image.first_frame_only", where, message)))


def _assumed_fps(where: str) -> Notice:
    message = (
        f"no frame rate was given, so {ASSUMED_FPS:g} frames a second are assumed, as the release does. Times and the "
        "frames that are read follow from it: pass video_metadata with fps, or do_sample_frames=False to have all read."
    )
    return Notice("video.fps_assumed", where, message)


def _options(media_kwargs: Mapping[str, Any], num_videos: int, problems: list[Problem]) -> list[_VideoOptions]:
    """The options of each video; what this library does not do is refused by name."""
    given = dict(media_kwargs)
    given.update(given.pop("videos_kwargs", None) or {})
    # Not capping is what the release's transformers does; later versions want to be told.
    if not given.get("cap_pixels_per_frame", False):
        given.pop("cap_pixels_per_frame", None)
    found = len(problems)
    for key in sorted(given.keys() - set(_SUPPORTED)):
        message = f"is not supported; {', '.join(_SUPPORTED)} are. Leave it out."
        problems.append(Problem(f"media_kwargs.{key}", message))
    for key, kinds in _SETTINGS.items():
        value = given.get(key)
        if value is not None and (not isinstance(value, kinds) or isinstance(value, bool) != (kinds is bool)):
            expected = "true or false" if kinds is bool else "a number"
            problems.append(Problem(f"media_kwargs.{key}", f"found {value!r}; {expected} is expected."))
    entries = _metadata_entries(given.get("video_metadata"), num_videos, problems)
    if len(problems) > found:
        return [_VideoOptions()] * num_videos
    settings = _VideoOptions(**{key: given.get(key) for key in _SETTINGS})
    return [replace(settings, metadata=entry) for entry in entries]


def _metadata_entries(metadata: Any, num_videos: int, problems: list[Problem]) -> list[Any]:
    """One entry a video; a lone mapping is that of the only video."""
    if metadata is None:
        return [None] * num_videos
    entries = list(metadata) if isinstance(metadata, (list, tuple)) else [metadata]
    if len(entries) != num_videos or not all(isinstance(entry, Mapping) for entry in entries):
        message = f"one mapping for each of the {num_videos} videos is expected, with fps and total_num_frames."
        problems.append(Problem("media_kwargs.video_metadata", message))
    for place, entry in enumerate(entries):
        fps = entry.get("fps") if isinstance(entry, Mapping) else None
        if fps is not None and not (isinstance(fps, (int, float, Fraction)) and fps > 0):
            message = f"found {fps!r}; frames per second are a number above 0."
            problems.append(Problem(f"media_kwargs.video_metadata[{place}].fps", message))
    return entries
