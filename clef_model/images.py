"""Picture files as checked, upright RGB pixels: PNG, JPEG, WebP and GIF, told apart by their first bytes."""

import io
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import GifImagePlugin, Image, ImageFile, JpegImagePlugin, PngImagePlugin, WebPImagePlugin

from clef_model.errors import InvalidRecord, Notice, Problem
from clef_model.image_headers import ImageKind, exif_orientation, foreign_kind, image_kind, num_frames, stored_size
from clef_model.media_config import MAX_ASPECT_RATIO, Size

Picture = NDArray[np.uint8]  # [height, width, 3], RGB

# Four times what the release shows to the model at most; it shrinks whatever is larger than 16,777,216.
MAX_IMAGE_PIXELS = 2**26
MAX_IMAGE_BYTES = 3 * MAX_IMAGE_PIXELS + 2**20  # so many pixels without any compression, and room for a header

# Only these decoders ever run; Image.open would try every format that Pillow knows.
_DECODERS: dict[ImageKind, type[ImageFile.ImageFile]] = {
    "PNG": PngImagePlugin.PngImageFile,
    "JPEG": JpegImagePlugin.JpegImageFile,
    "WebP": WebPImagePlugin.WebPImageFile,
    "GIF": GifImagePlugin.GifImageFile,
}
_ALLOWED = "PNG, JPEG, WebP and GIF can be read"

# By EXIF orientation.
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


@dataclass(frozen=True, slots=True, eq=False)
class DecodedImage:
    """A picture's upright pixels, with what a person should know about the reading."""

    pixels: Picture
    notices: tuple[Notice, ...] = ()

    @property
    def size(self) -> Size:
        return self.pixels.shape[1], self.pixels.shape[0]


def read_image(data: bytes, where: str, name: str = "") -> DecodedImage:
    """The first frame of a picture file, turned upright by its EXIF orientation, transparency on white.

    Raises: InvalidRecord: not one of the four formats, damaged, too large (decided from the header), without pixels,
    or more than 200 times as long as wide.
    """
    kind, _ = image_header(data, where, name)
    try:
        with _DECODERS[kind](io.BytesIO(data)) as image:
            check_size(image.size, where, name)  # a GIF's frame may be larger than its header says
            image.load()
            decoded = upright_rgb(image, where)
    except InvalidRecord:
        raise
    except Exception as error:  # decoders raise almost anything on hostile bytes, and all of it means the same
        raise _refusal(where, name, f"could not be decoded as {kind} ({_reason(error)}). Export it again.") from error
    frames = num_frames(kind, data)
    animation = (first_frame_only(where, frames),) if frames > 1 else ()
    return DecodedImage(decoded.pixels, (*decoded.notices, *animation))


def image_header(data: bytes, where: str, name: str = "") -> tuple[ImageKind, Size]:
    """The format ("PNG", "JPEG", "WebP", "GIF") and the size as stored, without decoding anything.

    Raises: InvalidRecord, as read_image, for what the header tells.
    """
    if not data:
        raise _refusal(where, name, f"is empty (0 bytes). {_ALLOWED}.")
    if len(data) > MAX_IMAGE_BYTES:
        limit = f"{MAX_IMAGE_BYTES // 2**20} MiB are allowed"
        raise _refusal(where, name, f"is a file of {len(data) / 2**20:,.1f} MiB, {limit}. Make it smaller.")
    kind = image_kind(data)
    if kind is None:
        raise _refusal(where, name, f"is {foreign_kind(data)}, which is not read as a picture. {_ALLOWED}.")
    size = stored_size(kind, data)
    if size is None:
        raise _refusal(where, name, f"could not be decoded as {kind}: the file ends before its size. Export it again.")
    check_size(size, where, name)
    return kind, size


def check_size(size: Size, where: str, name: str = "") -> None:
    """Raises: InvalidRecord: no pixels, too many, or more than 200 times as long as wide."""
    width, height = size
    if width < 1 or height < 1:
        raise _refusal(where, name, f"is {width}×{height} pixels, so there is nothing to see. Export it again.")
    if width * height > MAX_IMAGE_PIXELS:
        found = f"has {width * height:,} pixels ({width}×{height})"
        raise _refusal(where, name, f"{found}, {MAX_IMAGE_PIXELS:,} are allowed. Make it smaller.")
    if max(size) / min(size) > MAX_ASPECT_RATIO:
        allowed = f"one side may be at most {MAX_ASPECT_RATIO} times the other"
        raise _refusal(where, name, f"is {width}×{height} pixels, {allowed}. Crop it or cut it into several.")


def upright_rgb(image: Image.Image, where: str) -> DecodedImage:
    """A loaded picture's pixels as RGB, turned by its EXIF orientation.

    Raises: InvalidRecord: a mode whose numbers have no agreed range (32-bit integers, floats).
    """
    if image.mode in ("I", "F"):
        raise InvalidRecord(
            [Problem(where, f"the picture's mode is {image.mode!r}, whose range is unknown. Convert it to 8-bit RGB.")]
        )
    notices: tuple[Notice, ...] = ()
    try:
        transpose = _UPRIGHT.get(_orientation(image))
    except Exception:  # damaged EXIF says nothing about the pixels; Pillow raises several kinds
        transpose = None
        message = "the EXIF data could not be read, so the picture is taken as it is stored."
        notices = (Notice("image.orientation_unreadable", where, message),)
    picture = _on_white(_eight_bit(image))
    return DecodedImage(np.array(picture if transpose is None else picture.transpose(transpose)), notices)


def _orientation(image: Image.Image) -> int:
    block = image.info.get("exif")
    # Pillow forgets that a block was damaged once it has met it, so the block is read here.
    found = exif_orientation(block) if isinstance(block, bytes) else None
    return int(image.getexif().get(0x0112, 1)) if found is None else found  # which also looks into XMP


def _on_white(image: Image.Image) -> Image.Image:
    """RGB as the release's processor makes it: whatever can be transparent is laid on white."""
    if "A" in image.getbands() or image.info.get("transparency") is not None:
        image = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, (255, 255, 255, 255)), image).convert("RGB")
    return image.convert("RGB")


def _eight_bit(image: Image.Image) -> Image.Image:
    """16-bit grey scaled to 8 bits. A plain conversion, which the release does, would clip it to white."""
    if not image.mode.startswith("I;16"):
        return image
    values = np.asarray(image).astype(np.uint32)
    grey = Image.fromarray(((values * 255 + 32_767) // 65_535).astype(np.uint8))
    clear = image.info.get("transparency")
    if clear is None:
        return grey
    alpha = Image.fromarray(np.where(values == clear, 0, 255).astype(np.uint8))
    return Image.merge("LA", (grey, alpha))


def first_frame_only(where: str, frames: int) -> Notice:
    message = f"only frame 1 of {frames} is read. To have all read, attach it as a video."
    return Notice("image.first_frame_only", where, message)


def _reason(error: BaseException) -> str:
    return str(error).rstrip(".") or type(error).__name__


def _refusal(where: str, name: str, message: str) -> InvalidRecord:
    return InvalidRecord([Problem(where, f"{repr(name) if name not in ('', where) else 'the picture'} {message}")])
