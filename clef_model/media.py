"""Images and videos of a record as the model gets them: checked, sized, sampled, and as token ids. No tensors."""

import hashlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from PIL import Image

from clef_model.decoded_cache import DecodedCache
from clef_model.errors import BrokenRelease, InvalidRecord, Notice, Problem
from clef_model.frames import decode_listed, read_frames
from clef_model.images import DecodedImage, Picture, image_header, read_image
from clef_model.ledger import Span
from clef_model.media_config import MediaConfig, Size, VisionConfig, read_media_config, size_shown
from clef_model.schema import ImageInput, VideoInput
from clef_model.videos import Clip, decode_frames, read_clip

if TYPE_CHECKING:
    from clef_model.tokenizer import Tokenizer

__all__ = ["EncodedMedia", "MediaConfig", "MediaItem", "encode_media", "read_media_config"]

MAX_IMAGES = 256  # at 66 tokens or more each, 248 fill the 16,384 tokens the model was trained on
MAX_VIDEOS = 16  # at 38 tokens or more each they would fit; decoding sixteen takes the time that a person waits
MAX_RECORD_PIXELS = 2**28  # of all images as given: 768 MiB of RGB
MAX_HELD_BYTES = 3 * 2**26  # per item: one image of the largest size, or 31 frames of 1080p; the rest is decoded again
MAX_CACHED_BYTES = 2**29  # a few records' media, for all visitors together

VISION_START, VISION_END = "<|vision_start|>", "<|vision_end|>"
IMAGE_PAD, VIDEO_PAD = "<|image_pad|>", "<|video_pad|>"
TEXT_TYPE, IMAGE_TYPE, VIDEO_TYPE = 0, 1, 2  # mm_token_type_ids of transformers

_images: DecodedCache[DecodedImage] = DecodedCache(MAX_CACHED_BYTES // 2)
_clips: DecodedCache[Clip] = DecodedCache(MAX_CACHED_BYTES // 2)


@dataclass(frozen=True, slots=True, eq=False)
class MediaItem:
    """One image or video as the model sees it.

    Sizes are width and height in pixels, `size_given` upright. `grid` counts slots in time, then patches down and
    across; `span` is the item's tokens within the media block, markers included. A video's `frame_indices` (places in
    the clip) and `frame_times` (seconds) name the frames that are shown; each two make a slot, whose time is the mean
    of theirs, and an odd last frame is shown twice.
    """

    kind: Literal["image", "video"]
    where: str
    name: str
    size_given: Size
    size_shown: Size
    grid: tuple[int, int, int]
    span: Span
    notices: tuple[Notice, ...]
    source: ImageInput | VideoInput = field(repr=False)
    config: VisionConfig = field(repr=False)
    clip: Clip | None = field(default=None, repr=False)
    held: tuple[Picture, ...] = field(default=(), repr=False)

    @property
    def num_tokens(self) -> int:
        return self.span.length

    @property
    def tokens_per_slot(self) -> int:
        """Pad tokens of the image or of one slot of the video, without markers and timestamp."""
        return self.grid[1] * self.grid[2] // self.config.merge_size**2

    @property
    def frame_indices(self) -> tuple[int, ...]:
        return self.clip.frame_indices if self.clip else ()

    @property
    def frame_times(self) -> tuple[float, ...]:
        return self.clip.frame_times if self.clip else ()

    @property
    def slot_times(self) -> tuple[float, ...]:
        """Seconds of each slot of a video: the middle of its first and last frame."""
        return slot_times(self.frame_times, self.config.temporal_patch_size)

    @property
    def placeholder(self) -> str:
        """What the release's prompt says before the processor expands it."""
        return VISION_START + (IMAGE_PAD if self.kind == "image" else VIDEO_PAD) + VISION_END

    def pictures(self) -> Iterator[Picture]:
        """The upright frames in their given size, one for an image, decoded again when they are not held."""
        if self.held or self.clip is None:
            yield from self.held
        elif isinstance(self.source, VideoInput) and self.source.frames:
            yield from decode_listed(self.source, self.clip.places)
        else:
            yield from decode_frames(self.source.data, self.clip.places)

    def preview(self, frame: int = 0, max_side: int | None = None) -> bytes:
        """A PNG of what the model sees of the image or of one sampled frame, smaller when `max_side` asks for it.

        Resized with Pillow, whose values differ from the model's by one of 255 at most.
        """
        picture = next(picture for place, picture in enumerate(self.pictures()) if place == frame)
        image = Image.fromarray(picture)
        if image.size != self.size_shown:
            image = image.resize(self.size_shown, Image.Resampling.BICUBIC)
        if max_side is not None:
            image.thumbnail((max_side, max_side))
        buffer = io.BytesIO()
        image.save(buffer, "PNG", compress_level=1)
        return buffer.getvalue()


@dataclass(frozen=True, slots=True, eq=False)
class EncodedMedia:
    """The media block of a prompt: images, then videos, then one newline. Empty without media.

    `mm_token_type_ids` has one entry a token: 0 text and markers, 1 image, 2 video.
    """

    items: tuple[MediaItem, ...]
    input_ids: tuple[int, ...]
    mm_token_type_ids: tuple[int, ...]
    notices: tuple[Notice, ...]

    @property
    def digest(self) -> bytes:
        """Equal for equal files shown in the same way, and for nothing else; empty without media."""
        if not self.items:
            return b""
        found = hashlib.blake2b(digest_size=32)
        for item in self.items:
            source = item.source
            files = [source.data, *(frame.data for frame in getattr(source, "frames", ()))]
            how = (
                item.kind,
                item.size_shown,
                item.grid,
                item.frame_indices,
                item.config,
                [len(data) for data in files],
            )
            found.update(repr(how).encode())
            for data in files:
                found.update(data)
        return found.digest()


def encode_media(
    images: Sequence[ImageInput], videos: Sequence[VideoInput], config: MediaConfig, tokenizer: "Tokenizer"
) -> EncodedMedia:
    """The media of a record, read and checked, with the token ids of their block.

    Raises: InvalidRecord: whatever of the media cannot be read or is over a limit, all at once. BrokenRelease: the
    tokenizer lacks a marker.
    Source: contract of the release's processor (clef-flash revision 17f0b0a, layout of transformers 5.10 and later).
    """
    if not images and not videos:
        return EncodedMedia((), (), (), ())
    problems = _limit_problems(images, videos)
    if problems:
        raise InvalidRecord(problems)
    items: list[MediaItem] = []
    for place, image in enumerate(images):
        try:
            items.append(_image_item(image, f"images[{place}]", config))
        except InvalidRecord as error:
            problems.extend(error.problems)
    for place, video in enumerate(videos):
        try:
            items.append(_video_item(video, f"videos[{place}]", config))
        except InvalidRecord as error:
            problems.extend(error.problems)
    if problems:
        raise InvalidRecord(problems)
    return _laid_out(items, _markers(tokenizer), tokenizer)


def slot_times(frame_times: Sequence[float], temporal_patch_size: int) -> tuple[float, ...]:
    """Seconds of each slot: the mean of its first and last frame; the last frame stands in for missing ones."""
    missing = -len(frame_times) % temporal_patch_size
    times = [*frame_times, *[frame_times[-1]] * missing] if frame_times else []
    return tuple(
        (times[first] + times[first + temporal_patch_size - 1]) / 2
        for first in range(0, len(times), temporal_patch_size)
    )


def _limit_problems(images: Sequence[ImageInput], videos: Sequence[VideoInput]) -> list[Problem]:
    """Limits of the whole record; the headers alone are read."""
    problems = []
    if len(images) > MAX_IMAGES:
        problems.append(Problem("images", f"found {len(images):,} images, {MAX_IMAGES} are allowed. Leave some out."))
    if len(videos) > MAX_VIDEOS:
        problems.append(Problem("videos", f"found {len(videos):,} videos, {MAX_VIDEOS} are allowed. Leave some out."))
    if problems:
        return problems
    pixels = 0
    for place, image in enumerate(images):
        try:
            _, (width, height) = image_header(image.data, f"images[{place}]", image.name)
            pixels += width * height
        except InvalidRecord:  # told when the item is read, with everything else about it
            continue
    if pixels > MAX_RECORD_PIXELS:
        found = f"found {pixels:,} pixels in {len(images)} images, {MAX_RECORD_PIXELS:,} are allowed"
        problems.append(Problem("images", f"{found}. Make them smaller or leave some out."))
    return problems


def _image_item(image: ImageInput, where: str, config: MediaConfig) -> MediaItem:
    decoded = _images.get(
        (image, where),
        lambda: read_image(image.data, where, image.name),
        # The key keeps the file, and a file can hold far more than its pixels.
        lambda value: value.pixels.nbytes + len(image.data),
    )
    shown = size_shown(decoded.size, config.image)
    notices = decoded.notices
    if min(decoded.size) < config.image.patch_size:
        width, height = decoded.size
        message = f"enlarged from {width}x{height} to {shown[0]}x{shown[1]} pixels: there is hardly anything to see."
        notices = (*notices, Notice("image.enlarged", where, message))
    return MediaItem(
        kind="image",
        where=where,
        name=image.name,
        size_given=decoded.size,
        size_shown=shown,
        grid=_grid(shown, 1, config.image),
        span=Span(0, 0),
        notices=notices,
        source=image,
        config=config.image,
        held=(decoded.pixels,),
    )


def _file_bytes(video: VideoInput) -> int:
    return len(video.data) + sum(len(frame.data) for frame in video.frames)


def _video_item(video: VideoInput, where: str, config: MediaConfig) -> MediaItem:
    clip = _clips.get(
        (video, where, config.sampling),
        lambda: _read_video(video, where, config),
        lambda value: sum(picture.nbytes for picture in value.held) + _file_bytes(video),
    )
    num_frames = len(clip.frame_indices)
    shown = size_shown(clip.size, config.video, num_frames)
    notices = clip.notices
    if len(set(clip.places)) < num_frames:
        message = f"{num_frames} frames are sampled of {clip.num_source_frames}, so some are shown more than once."
        notices = (*notices, Notice("video.frames_repeated", where, message))
    return MediaItem(
        kind="video",
        where=where,
        name=video.name,
        size_given=clip.size,
        size_shown=shown,
        grid=_grid(shown, -(-num_frames // config.video.temporal_patch_size), config.video),
        span=Span(0, 0),
        notices=notices,
        source=video,
        config=config.video,
        clip=clip,
        held=clip.held,
    )


def _read_video(video: VideoInput, where: str, config: MediaConfig) -> Clip:
    if not video.data:
        if video.frames or video.mime.endswith("frames"):
            return read_frames(video, where, sampling=config.sampling, max_held_bytes=MAX_HELD_BYTES)
    elif video.frames or video.frame_indices or video.fps is not None:
        message = "a video file has its own frames and times. Leave out frames, frame_indices and fps, or the file."
        raise InvalidRecord([Problem(where, message)])
    return read_clip(
        video.data,
        where,
        video.name,
        sampling=config.sampling,
        num_frames=video.num_frames,
        max_held_bytes=MAX_HELD_BYTES,
    )


def _grid(shown: Size, slots: int, config: VisionConfig) -> tuple[int, int, int]:
    return slots, shown[1] // config.patch_size, shown[0] // config.patch_size


@dataclass(frozen=True, slots=True)
class _Markers:
    """Ids of the tokens that frame the media, each a single one."""

    start: int
    end: int
    image: int
    video: int


def _markers(tokenizer: "Tokenizer") -> _Markers:
    texts = (VISION_START, VISION_END, IMAGE_PAD, VIDEO_PAD)
    pieces = [piece.ids for piece in tokenizer.encode_pieces(texts)]
    broken = [text for text, ids in zip(texts, pieces, strict=True) if len(ids) != 1]
    if broken:
        raise BrokenRelease(
            f"The tokenizer lacks {', '.join(broken)}, so media cannot be encoded. Use the release's tokenizer.json."
        )
    return _Markers(*(ids[0] for ids in pieces))


def _laid_out(items: Sequence[MediaItem], markers: _Markers, tokenizer: "Tokenizer") -> EncodedMedia:
    """The block's tokens. Markers are special tokens, so the text between two of them is tokenized as if alone."""
    input_ids: list[int] = []
    placed: list[MediaItem] = []
    for item in items:
        start = len(input_ids)
        if item.kind == "image":
            input_ids += [markers.start, *[markers.image] * item.tokens_per_slot, markers.end]
        else:
            stamps = tokenizer.encode_pieces([f"<{seconds:.1f} seconds>" for seconds in item.slot_times])
            slot = [markers.start, *[markers.video] * item.tokens_per_slot, markers.end]
            # transformers from 5.10 on replaces the pad token only, so the outer markers stay around the slots.
            input_ids += [markers.start, *(i for stamp in stamps for i in (*stamp.ids, *slot)), markers.end]
        placed.append(replace(item, span=Span(start, len(input_ids))))
    input_ids += tokenizer.encode_pieces(["\n"])[0].ids
    types = {markers.image: IMAGE_TYPE, markers.video: VIDEO_TYPE}
    return EncodedMedia(
        items=tuple(placed),
        input_ids=tuple(input_ids),
        mm_token_type_ids=tuple(types.get(token_id, TEXT_TYPE) for token_id in input_ids),
        notices=tuple(notice for item in items for notice in item.notices),
    )
