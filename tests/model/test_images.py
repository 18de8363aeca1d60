"""Picture files become upright RGB pixels, or are refused with place, finding and advice."""

import io
import struct
import zlib
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from media_files import animated_gif, flat, noise, saved
from PIL import Image

from clef_model import images
from clef_model.errors import InvalidRecord
from clef_model.image_headers import num_frames, stored_size
from clef_model.images import MAX_IMAGE_PIXELS, read_image


def refusal(data: bytes, name: str = "") -> str:
    with pytest.raises(InvalidRecord) as caught:
        read_image(data, "images[0]", name)
    return str(caught.value)


def png_with_size(width: int, height: int) -> bytes:
    """A PNG whose header claims a size, with a single row's worth of pixels behind it."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    body = b"IDAT" + zlib.compress(b"\x00" * 64)
    chunks = (struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in (head, body, b"IEND"))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def webp_with_size(width: int, height: int) -> bytes:
    body = b"VP8X" + struct.pack("<I", 10) + b"\0\0\0\0" + (width - 1).to_bytes(3, "little")
    body += (height - 1).to_bytes(3, "little") + b"VP8 " + struct.pack("<I", 100) + bytes(100)
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


@pytest.mark.parametrize("kind", ["PNG", "WebP"])
def test_lossless_files_come_out_pixel_for_pixel(kind: str) -> None:
    pixels = noise(37, 53)
    assert np.array_equal(read_image(saved(pixels, kind, lossless=True), "images[0]").pixels, pixels)


def test_a_jpeg_comes_out_as_its_decoder_gives_it() -> None:
    data = saved(noise(40, 56), "JPEG", quality=90)
    with Image.open(io.BytesIO(data)) as image:
        assert np.array_equal(read_image(data, "images[0]").pixels, np.array(image))


def test_a_gif_comes_out_in_its_palette_colours() -> None:
    assert np.array_equal(read_image(animated_gif(["red"]), "images[0]").pixels, np.full((64, 64, 3), (255, 0, 0)))


def test_the_name_of_a_file_says_nothing_about_its_format() -> None:
    assert read_image(saved(noise(40, 40), "JPEG"), "images[0]", "x.png").size == (40, 40)


# How the stored pixels follow from the upright ones. Source: the EXIF standard's table of orientations.
STORED = {
    1: lambda upright: upright,
    2: np.fliplr,
    3: lambda upright: np.rot90(upright, 2),
    4: np.flipud,
    5: lambda upright: upright.transpose(1, 0, 2),
    6: lambda upright: np.rot90(upright, 1),
    7: lambda upright: np.rot90(upright, 2).transpose(1, 0, 2),
    8: lambda upright: np.rot90(upright, -1),
}


@pytest.mark.parametrize("orientation", STORED)
@pytest.mark.parametrize("kind", ["PNG", "WebP"])
def test_every_exif_orientation_is_undone(kind: str, orientation: int) -> None:
    upright = noise(24, 40)
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored = np.ascontiguousarray(STORED[orientation](upright))
    decoded = read_image(saved(stored, kind, lossless=True, exif=exif), "images[0]")
    assert np.array_equal(decoded.pixels, upright)
    assert decoded.notices == ()


def test_a_jpeg_is_turned_upright_once() -> None:
    image = Image.new("RGB", (40, 20), "white")
    image.paste((255, 0, 0), (0, 0, 20, 20))
    exif = image.getexif()
    exif[0x0112] = 6
    decoded = read_image(saved(image, "JPEG", exif=exif, quality=95), "images[0]")
    assert decoded.size == (20, 40)
    assert np.abs(decoded.pixels[5, 10].astype(int) - (255, 0, 0)).max() < 12
    assert np.abs(decoded.pixels[35, 10].astype(int) - 255).max() < 12


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")  # Pillow's own, about the same damage
@pytest.mark.parametrize("block", [bytes(60_000), b"MM\x00*\xff\xff\xff\xff", b"II*\x00\x08\x00\x00\x00\xff\xff"])
def test_a_picture_with_unreadable_exif_is_taken_as_it_is_stored_and_said_to_be(block: bytes) -> None:
    plain = saved(noise(20, 40), "JPEG")
    segment = b"\xff\xe1" + struct.pack(">H", len(block) + 8) + b"Exif\x00\x00" + block
    decoded = read_image(plain[:2] + segment + plain[2:], "images[0]")
    assert np.array_equal(decoded.pixels, read_image(plain, "images[0]").pixels)
    assert [str(notice) for notice in decoded.notices] == [
        "images[0]: the EXIF data could not be read, so the picture is taken as it is stored."
    ]


def test_transparency_is_laid_on_white() -> None:
    assert np.array_equal(read_image(flat((8, 8), (255, 0, 0, 0), "RGBA"), "images[0]").pixels, np.full((8, 8, 3), 255))


def test_half_transparency_mixes_with_white() -> None:
    (pixel,) = read_image(flat((1, 1), (255, 0, 0, 128), "RGBA"), "images[0]").pixels[0]
    assert pixel.tolist() == [255, 127, 127]


def test_a_transparent_colour_and_a_transparent_palette_entry_are_white() -> None:
    red = Image.new("RGB", (8, 8), (255, 0, 0))
    for data in (saved(red, transparency=(255, 0, 0)), saved(red.quantize(2), transparency=0)):
        assert read_image(data, "images[0]").pixels.min() == 255


@pytest.mark.parametrize(("value", "grey"), [(0, 0), (30_000, 117), (65_535, 255)])
def test_sixteen_bit_grey_is_scaled_and_not_clipped(value: int, grey: int) -> None:
    data = saved(np.full((8, 8), value, np.uint16))
    assert np.array_equal(read_image(data, "images[0]").pixels, np.full((8, 8, 3), grey))


def test_a_transparent_value_of_sixteen_bit_grey_is_white() -> None:
    data = saved(np.full((8, 8), 30_000, np.uint16))
    transparent = b"tRNS" + struct.pack(">H", 30_000)
    chunk = struct.pack(">I", 2) + transparent + struct.pack(">I", zlib.crc32(transparent))
    place = data.index(b"IDAT") - 4
    assert read_image(data[:place] + chunk + data[place:], "images[0]").pixels.min() == 255


def test_a_cmyk_jpeg_is_not_inverted() -> None:
    data = saved(Image.new("CMYK", (64, 64), (0, 255, 255, 0)), "JPEG")
    assert np.array_equal(read_image(data, "images[0]").pixels, np.full((64, 64, 3), (255, 0, 0)))


@pytest.mark.parametrize(
    ("mode", "colour", "grey"), [("1", 1, 255), ("1", 0, 0), ("L", 128, 128), ("LA", (90, 255), 90)]
)
def test_black_and_white_and_grey_have_three_equal_channels(mode: str, colour: object, grey: int) -> None:
    assert np.array_equal(read_image(flat((8, 8), colour, mode), "images[0]").pixels, np.full((8, 8, 3), grey))


@pytest.mark.parametrize("kind", ["GIF", "WebP", "PNG"])
def test_the_first_frame_of_an_animation_is_read_and_said_to_be(kind: str) -> None:
    frames = [Image.new("RGB", (64, 64), colour) for colour in ("red", "green", "blue")]
    options = {"lossless": True} if kind == "WebP" else {}
    data = saved(frames[0], kind, save_all=True, append_images=frames[1:], duration=100, loop=0, **options)
    decoded = read_image(data, "images[0]")
    assert decoded.pixels[0, 0].tolist() == [255, 0, 0]
    assert [str(notice) for notice in decoded.notices] == [
        "images[0]: only frame 1 of 3 is read. To have all read, attach it as a video."
    ]


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WebP", "GIF"])
@pytest.mark.parametrize("share", [0.3, 0.5, 0.8, 0.98])
def test_a_cut_off_file_is_refused(kind: str, share: float) -> None:
    data = saved(noise(64, 64), kind)
    message = refusal(data[: int(len(data) * share)], "scan")
    assert message.startswith(f"images[0]: 'scan' could not be decoded as {kind}")


REFUSALS = {
    "nothing": (b"", "the picture is empty (0 bytes). PNG, JPEG, WebP and GIF can be read."),
    "signature": (
        b"\x89PNG\r\n\x1a\n",
        "the picture could not be decoded as PNG: the file ends before its size. Export it again.",
    ),
    "HTML": (
        b"<!DOCTYPE html><p>hello",
        "the picture is HTML, which is not read as a picture. PNG, JPEG, WebP and GIF can be read.",
    ),
    "SVG": (
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        "the picture is an SVG, which is not read as a picture. PNG, JPEG, WebP and GIF can be read.",
    ),
    "SVG with a declaration": (
        b"<?xml version='1.0'?>\n<svg/>",
        "the picture is an SVG, which is not read as a picture. PNG, JPEG, WebP and GIF can be read.",
    ),
    "PDF": (
        b"%PDF-1.7 ...",
        "the picture is a PDF, which is not read as a picture. PNG, JPEG, WebP and GIF can be read.",
    ),
    "TIFF": (
        saved(noise(8, 8), "TIFF"),
        "the picture is a TIFF, which is not read as a picture. PNG, JPEG, WebP and GIF can be read.",
    ),
    "BMP": (
        saved(noise(8, 8), "BMP"),
        "the picture is a BMP, which is not read as a picture. PNG, JPEG, WebP and GIF can be read.",
    ),
    "video": (
        b"\x00\x00\x00\x18ftypmp42" + bytes(20),
        "the picture is an MP4 or QuickTime video, which is not read as a picture. "
        "PNG, JPEG, WebP and GIF can be read.",
    ),
    "unknown": (
        b"hello world",
        "the picture is a file that starts with the bytes 68 65 6c 6c 6f 20 77 6f, which is not read as a picture. "
        "PNG, JPEG, WebP and GIF can be read.",
    ),
    "no width": (
        png_with_size(0, 64),
        "the picture is 0×64 pixels, so there is nothing to see. Export it again.",
    ),
    "too long": (
        flat((1, 201)),
        "the picture is 1×201 pixels, one side may be at most 200 times the other. Crop it or cut it into several.",
    ),
    "bomb": (
        png_with_size(30_000, 30_000),
        "the picture has 900,000,000 pixels (30000×30000), 67,108,864 are allowed. Make it smaller.",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_is_no_picture_is_refused_with_finding_and_advice(case: str) -> None:
    data, message = REFUSALS[case]
    assert refusal(data) == f"images[0]: {message}"


def test_a_picture_two_hundred_times_as_long_as_wide_is_the_longest() -> None:
    assert read_image(flat((1, 200)), "images[0]").size == (1, 200)


def test_a_file_over_the_byte_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MAX_IMAGE_BYTES", 2**20)
    assert refusal(b"\x89PNG\r\n\x1a\n" + bytes(2**21), "big.png") == (
        "images[0]: 'big.png' is a file of 2.0 MiB, 1 MiB are allowed. Make it smaller."
    )


def jpeg_with_size(width: int, height: int) -> bytes:
    data = bytearray(saved(noise(8, 8), "JPEG"))
    place = data.index(b"\xff\xc0")
    data[place + 5 : place + 9] = struct.pack(">HH", height, width)
    return bytes(data)


def gif_with_size(width: int, height: int) -> bytes:
    data = animated_gif(["red"])
    return data[:6] + struct.pack("<HH", width, height) + data[10:]


@pytest.mark.parametrize("make", [png_with_size, jpeg_with_size, webp_with_size, gif_with_size])
def test_a_bomb_is_refused_from_its_header_before_any_decoder_sees_it(
    make: Callable[[int, int], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "_DECODERS", {})
    assert "256,000,000 pixels (16000×16000)" in refusal(make(16_000, 16_000))


def test_a_gif_frame_larger_than_the_header_says_is_refused_too() -> None:
    data = bytearray(animated_gif(["red"]))
    place = data.index(b"\x2c", 13)
    data[place + 5 : place + 9] = struct.pack("<HH", 60_000, 60_000)
    assert "could not be decoded" in refusal(bytes(data)) or "pixels" in refusal(bytes(data))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WebP", "GIF"])
@pytest.mark.parametrize("lossless", [True, False])
def test_the_size_in_the_header_is_that_of_the_pixels(kind: str, lossless: bool) -> None:
    data = saved(noise(37, 53), kind, lossless=lossless)
    assert stored_size(kind, data) == (53, 37)  # type: ignore[arg-type]


def test_an_animation_made_to_keep_a_reader_busy_is_counted_in_bounded_steps() -> None:
    header = b"GIF89a" + struct.pack("<HH", 1, 1) + b"\x00\x00\x00"
    frame = b"\x2c" + bytes(9) + b"\x02\x00"
    assert num_frames("GIF", header + frame * 400_000) == 250_000


@settings(max_examples=60)
@given(
    kind=st.sampled_from(["PNG", "JPEG", "WebP", "GIF"]),
    changes=st.lists(st.tuples(st.floats(0, 0.999), st.integers(0, 255)), min_size=1, max_size=8),
)
def test_damaged_files_are_read_or_refused_and_nothing_else(kind: str, changes: list[tuple[float, int]]) -> None:
    data = bytearray(saved(noise(24, 24), kind))
    for place, value in changes:
        data[int(place * len(data))] = value
    try:
        size = read_image(bytes(data), "images[0]").size
    except InvalidRecord as error:
        size = (len(error.problems), 1)
    assert 1 <= size[0] * size[1] <= MAX_IMAGE_PIXELS
