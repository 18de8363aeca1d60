"""The image cases, each through the request as a client sends it: parsed, read, laid out, and seen by the model."""

import base64
import builtins
import io
import os
import socket
import struct
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from media_files import animated_gif, flat, noise, saved
from PIL import Image

from cases import mentions, read_cases
from clef_model import images
from clef_model.encoding import EncodedRecord, encode
from clef_model.errors import InvalidRecord
from clef_model.media import MediaConfig, MediaItem, encode_media, read_media_config
from clef_model.parsing import parse_record
from clef_model.pixels import media_tensors
from clef_model.python_media import media_from_python
from clef_model.tokenizer import Tokenizer, read_tokenizer

NANO = Path(__file__).parents[2] / "models" / "clef-nano"  # its processor and token ids are the release's
Case = dict[str, Any]


@cache
def tokenizer() -> Tokenizer:
    return read_tokenizer(NANO)


def data_url(data: bytes, mime: str = "image/png") -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def planned(case: Case, *files: bytes, config: MediaConfig | None = None) -> EncodedRecord:
    request = case["request"] | ({"images": [data_url(file) for file in files]} if files else {})
    limit = 65_536  # a larger budget than the release's, so that a case about pixels is not one about length
    return encode(parse_record(request), tokenizer(), media_config=config or read_media_config(NANO), max_length=limit)


def item(case: Case, file: bytes, config: MediaConfig | None = None) -> MediaItem:
    encoded = planned(case, file, config=config)
    assert encoded.media_items is not None
    (only,) = encoded.media_items.items
    return only


def notices(encoded: EncodedRecord) -> list[str]:
    return [str(notice) for notice in encoded.notices]


def preview(seen: MediaItem) -> Any:
    return np.array(Image.open(io.BytesIO(seen.preview())))


def assert_refused(case: Case, *files: bytes) -> None:
    with pytest.raises(InvalidRecord) as caught:
        planned(case, *files)
    message = str(caught.value)
    assert [term for term in case["expected"]["message_should_mention"] if not mentions(message, term)] == []


def turned(orientation: int) -> bytes:
    image = Image.new("RGB", (40, 20), "white")
    image.paste((255, 0, 0), (0, 0, 20, 20))
    exif = image.getexif()
    exif[0x0112] = orientation
    return saved(image, "JPEG", exif=exif, quality=95)


def orientation_6(case: Case) -> None:
    file = turned(6)
    seen = item(case, file)
    assert list(seen.size_given) == case["expected"]["model_input_size"]
    upright = next(seen.pictures())
    assert upright[2, 10].tolist() == pytest.approx([255, 0, 0], abs=12)
    assert upright[37, 10].tolist() == pytest.approx([255, 255, 255], abs=12)
    assert preview(seen)[2, 10].tolist() == pytest.approx([255, 0, 0], abs=12)
    # The same on the path of Python callers, whether they hand over the picture or the file.
    for given in (Image.open(io.BytesIO(file)), file):
        (made,) = media_from_python([given], None).images
        assert np.array_equal(images.read_image(made.data, "images[0]").pixels, upright)


def other_orientations(case: Case) -> None:
    sizes = case["expected"]["sizes"]
    assert {str(o): list(item(case, turned(o)).size_given) for o in (2, 5, 7, 8)} == sizes
    plain = saved(Image.new("RGB", (40, 20), "white"), "JPEG")
    segment = b"\xff\xe1" + struct.pack(">H", 60_008) + b"Exif\x00\x00" + bytes(60_000)
    assert item(case, plain[:2] + segment + plain[2:]).size_given == (40, 20)


def transparent_red(case: Case) -> None:
    seen = item(case, flat((64, 64), (255, 0, 0, 0), "RGBA"))
    encoded = encode_media([seen.source], [], MediaConfig(), tokenizer())  # type: ignore[list-item]
    assert media_tensors(encoded, token_offset=0)["pixel_values"].mean() == 1.0
    assert preview(seen).min() == 255


def sixteen_bit_grey(case: Case) -> None:
    seen = next(item(case, saved(np.full((64, 64), 30_000, np.uint16))).pictures())
    assert abs(int(seen[0, 0, 0]) - 117) <= 2
    assert seen.min() == seen.max()


def other_modes(case: Case) -> None:
    cmyk = next(item(case, saved(Image.new("CMYK", (64, 64), (0, 255, 255, 0)), "JPEG")).pictures())
    assert cmyk[0, 0].tolist() == case["expected"]["cmyk_pixel_rgb"]
    for mode, colour, grey in (("1", 1, 255), ("L", 128, 128)):
        assert next(item(case, flat((64, 64), colour, mode)).pictures())[0, 0].tolist() == [grey] * 3


def half_a_jpeg(case: Case) -> None:
    file = saved(noise(256, 256), "JPEG")
    assert_refused(case, file[: len(file) // 2])


def no_images(case: Case) -> None:
    no_width = bytearray(flat((64, 64)))
    no_width[16:20] = bytes(4)
    files = {
        "empty file": b"",
        "PNG signature only": b"\x89PNG\r\n\x1a\n",
        "HTML renamed x.png": b"<!doctype html><title>x</title>",
        "SVG": b'<svg xmlns="http://www.w3.org/2000/svg"/>',
        "PDF": b"%PDF-1.7\n",
        "PNG with width 0": bytes(no_width),
    }
    assert list(files) == case["expected"]["each"]
    for file in files.values():
        assert_refused(case, flat((64, 64)), file)


def bomb(case: Case) -> None:
    file = saved(Image.new("1", (30_000, 30_000)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(images, "_DECODERS", {})  # decided from the header: no decoder is even chosen
        assert_refused(case, file)


def one_pixel(case: Case) -> None:
    encoded = planned(case, flat((1, 1), "red"))
    assert encoded.media_items is not None
    (seen,) = encoded.media_items.items
    assert list(seen.size_shown) == case["expected"]["resized_to"]
    assert seen.tokens_per_slot == case["expected"]["image_tokens"]
    assert any(case["expected"]["warning"] in notice for notice in notices(encoded))


def token_counts(case: Case) -> None:
    """The counts of a host that caps an image at 1,048,576 pixels.

    The open release allows 16,777,216 (contract, "Media block"; `tests/model/test_media.py` holds its table), so these
    sizes are counted with a processor of the host's limit.
    """
    capped = MediaConfig(image=replace(MediaConfig().image, max_pixels=1_048_576))
    for size, tokens in case["expected"]["image_tokens"].items():
        width, height = map(int, size.split("x"))
        assert item(case, flat((width, height)), capped).tokens_per_slot == tokens


def three_frame_gif(case: Case) -> None:
    encoded = planned(case, animated_gif())
    assert "images[0]: only frame 1 of 3 is read. To have all read, attach it as a video." in notices(encoded)
    assert encoded.media_items is not None
    assert next(encoded.media_items.items[0].pictures())[0, 0].tolist() == [255, 0, 0]


def float_array(case: Case) -> None:
    made = media_from_python([np.ones((64, 64, 3), np.float32)], None)
    encoded = encode_media(made.images, (), MediaConfig(), tokenizer())
    assert media_tensors(encoded, token_offset=0)["pixel_values"].min() == 1.0


def paths_and_addresses(case: Case) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("something was opened")

    tokenizer()
    config = read_media_config(NANO)
    values = [
        *case["request"]["images"],
        "http://127.0.0.1:9/x.png",
        "http://169.254.169.254/",
        "file:///etc/hostname",
        "../app.py",
        "\\\\host\\share",
    ]
    for value in values:
        with pytest.MonkeyPatch.context() as patch:
            for module, name in ((builtins, "open"), (io, "open"), (os, "open"), (socket.socket, "connect")):
                patch.setattr(module, name, never)
            with pytest.raises(InvalidRecord) as caught:
                encode(parse_record(case["request"] | {"images": [value]}), tokenizer(), media_config=config)
        message = str(caught.value)
        assert [term for term in case["expected"]["message_should_mention"] if not mentions(message, term)] == []


def data_url_in_the_state(case: Case) -> None:
    encoded = planned(case)
    state = next(segment for segment in encoded.ledger if segment.kind == "state")
    assert case["request"]["state"]["photo"] in state.text
    assert any("looks like an embedded image" in notice and "Attach it" in notice for notice in notices(encoded))


def chat_parts(case: Case) -> None:
    encoded = planned(case)
    assert any("image_url" in notice and "Attach the file" in notice for notice in notices(encoded))
    spelled = {"content_type": "image/png", "base64": base64.b64encode(flat((64, 64))).decode()}
    record = parse_record(case["request"] | {"state": "x", "images": [spelled]})
    assert [image.data for image in record.images] == [flat((64, 64))]


def five_images(case: Case) -> None:
    encoded = planned(case, *[flat((64, 64))] * 5)
    assert encoded.media_items is not None
    assert len(encoded.media_items.items) == 5
    assert encoded.budget.media == 5 * 66 + 1


CHECKS: dict[str, Callable[[Case], None]] = {
    "IMG-01": orientation_6,
    "IMG-02": other_orientations,
    "IMG-03": transparent_red,
    "IMG-05": sixteen_bit_grey,
    "IMG-07": other_modes,
    "IMG-09": half_a_jpeg,
    "IMG-10": no_images,
    "IMG-11": bomb,
    "IMG-13": one_pixel,
    "IMG-15": token_counts,
    "IMG-16": token_counts,
    "IMG-17": three_frame_gif,
    "IMG-19": float_array,
    "IMG-21": paths_and_addresses,
    "IMG-23": data_url_in_the_state,
    "IMG-24": chat_parts,
    "IMG-25": five_images,
}


@pytest.mark.parametrize("case", read_cases("image"), ids=lambda case: case["id"])
def test_image_cases(case: Case) -> None:
    CHECKS[case["id"]](case)
