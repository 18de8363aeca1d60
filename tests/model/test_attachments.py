import base64
from typing import Any

import pytest

from clef_model.attachments import MAX_FRAMES, MAX_IMAGES
from clef_model.errors import InvalidRecord
from clef_model.parsing import parse_record
from clef_model.schema import ImageInput, VideoInput, data_url

PNG = ImageInput("images[0]", "image/png", b"\x89PNG\r\n\x1a\n")
MP4 = VideoInput("videos[0]", "video/mp4", b"ftyp")
NOUL = {"q": {"type": "noul"}}


def problems(request: Any) -> list[str]:
    with pytest.raises(InvalidRecord) as raised:
        parse_record(request)
    return [str(problem) for problem in raised.value.problems]


def with_images(*images: Any) -> dict[str, Any]:
    return {"state": "look", "questions": NOUL, "images": list(images)}


def with_videos(*videos: Any) -> dict[str, Any]:
    return {"state": "watch", "questions": NOUL, "videos": list(videos)}


@pytest.mark.parametrize(
    "image",
    [
        data_url(PNG),
        f"DATA:image/PNG;charset=utf-8;Base64,{base64.b64encode(PNG.data).decode()}",
        {"content_type": "image/png", "base64": "iVBORw0K\n Ggo="},
        PNG,
    ],
)
def test_an_image_is_a_data_url_or_an_object_with_its_type(image: Any) -> None:
    assert parse_record(with_images(image)).images == (PNG,)


def test_image_jpg_is_image_jpeg() -> None:
    assert parse_record(with_images("data:image/jpg;base64,AAAA")).images[0].mime == "image/jpeg"


@pytest.mark.parametrize(
    "address",
    [
        "/etc/hostname",
        "../app.py",
        "file:///etc/hostname",
        "http://127.0.0.1:9/x.png",
        "http://169.254.169.254/",
        "\\\\host\\share",
        "C:\\x.png",
        "photo.JPG",
    ],
)
def test_a_path_or_address_is_refused_and_never_opened(address: str) -> None:
    assert problems(with_images(PNG, address)) == [
        f"images[1]: found the path or address {address!r}, which is never opened. "
        "Use a data URL or upload the picture."
    ]


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (
            "data:image/svg+xml;base64,AAAA",
            "images[0]: found a picture of type 'image/svg+xml'. Use PNG, JPEG, WebP or GIF.",
        ),
        ("data:image/png;base64,", "images[0]: found a picture without any bytes. Send the whole file."),
        (
            "data:image/png;base64,iVBORw0KGgo",
            "images[0]: the base64 of the picture cannot be decoded: its end is missing. Encode the whole file again.",
        ),
        (
            "data:image/png;base64,iVBO@w0K",
            "images[0]: the base64 of the picture cannot be decoded: it holds characters that are not base64. "
            "Encode the whole file again.",
        ),
        (
            "data:image/png;base64,é",
            "images[0]: the base64 of the picture holds characters that are not ASCII. Encode the file again.",
        ),
        ("data:image/png,abc", "images[0]: found a data URL that is not base64. Write data:<type>;base64,<data>."),
        (
            "iVBORw0KGgo=",
            "images[0]: expected a data URL, got the string 'iVBORw0KGgo='. "
            "Write data:<type>;base64,<data>, or use the data URL or upload of the picture.",
        ),
        (
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            "images[0]: expected a data URL or {'content_type', 'base64'}, got an object with 'type', 'image_url' as "
            "in a chat message. Write the data URL itself.",
        ),
        (
            {"content_type": "image/png", "base64": "AAAA", "name": "x"},
            "images[0].name: found the unknown key 'name'; known are content_type, base64. Remove it.",
        ),
        (
            {"base64": "AAAA"},
            "images[0]: expected two strings, got content_type null and base64 the string 'AAAA'.",
        ),
        (None, "images[0]: expected a data URL or an upload, got null."),
    ],
)
def test_what_is_no_image_is_refused_with_its_place(image: Any, message: str) -> None:
    assert problems(with_images(image)) == [message]


def test_too_many_images_are_refused_as_a_whole() -> None:
    assert problems(with_images(*[PNG] * (MAX_IMAGES + 1))) == [
        "images: found 9 images; at most 8 are read. Send fewer."
    ]


def test_the_bytes_of_all_files_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clef_model.attachments.MAX_MEDIA_BYTES", 2**20)
    big = data_url(ImageInput("", "image/png", bytes(600_000)))
    assert problems(with_images(big, big)) == ["images[1]: the files of a request may hold 1 MiB together. Send less."]


FRAME = ImageInput("videos[0][0]", "image/png", PNG.data)


def test_a_video_is_a_file_or_a_list_of_images() -> None:
    url = data_url(PNG)
    frames = (FRAME, ImageInput("videos[0][1]", "image/png", PNG.data))
    assert parse_record(with_videos(data_url(MP4))).videos == (MP4,)
    assert parse_record(with_videos([url, url])).videos == (VideoInput("videos[0]", "image/png", frames=frames),)
    (video,) = parse_record(with_videos({"frames": [url, url], "fps": 2, "num_frames": 4})).videos
    assert (len(video.frames), video.fps, video.num_frames) == (2, 2.0, 4)
    (clip,) = parse_record(with_videos({"content_type": "video/webm", "base64": "AAAA", "num_frames": 8})).videos
    assert (clip.mime, clip.data, clip.num_frames) == ("video/webm", bytes(3), 8)


@pytest.mark.parametrize(
    ("video", "message"),
    [
        (
            "clip.mp4",
            "videos[0]: found the path or address 'clip.mp4', which is never opened. "
            "Use a data URL or upload the clip.",
        ),
        ([], "videos[0]: found 0 frames; a video takes 2 to 768. Send a single picture as an image."),
        ([data_url(PNG)], "videos[0]: found 1 frame; a video takes 2 to 768. Send a single picture as an image."),
        ([data_url(PNG)] * (MAX_FRAMES + 1), "videos[0]: found 769 frames; a video takes 2 to 768. Leave some out."),
        (
            [data_url(PNG), "/x"],
            "videos[0][1]: found the path or address '/x', which is never opened. "
            "Use a data URL or upload the picture.",
        ),
        ({"frames": "x"}, "videos[0].frames: expected a list of images, got the string 'x'."),
        (
            {"frames": [data_url(PNG)] * 2, "fps": 0},
            "videos[0].fps: expected a number of frames a second above 0, up to 1,000, got the number 0.",
        ),
        (
            {"frames": [data_url(PNG)] * 2, "num_frames": 1},
            "videos[0].num_frames: expected a whole number from 2 to 768, got the number 1.",
        ),
        (
            "data:image/gif;base64,AAAA",
            "videos[0]: found a clip of type 'image/gif'. Use MP4, WebM, MOV, MKV, AVI or MPEG.",
        ),
        (
            {"url": "x"},
            "videos[0]: expected a data URL, {'content_type', 'base64'}, a list of images or {'frames', 'fps'}, "
            "got an object with 'url'. Use a data URL or upload.",
        ),
    ],
)
def test_what_is_no_video_is_refused_with_its_place(video: Any, message: str) -> None:
    assert problems(with_videos(video)) == [message]
