"""The store of pictures and clips: bounded, by content, never a path."""

import base64

import pytest

from clef_model.errors import ClefError
from clef_ui.uploads import MAX_ITEM_BYTES, LostUpload, MediaStore


def data_url(data: bytes, mime: str = "image/png") -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def test_an_item_is_known_by_its_content() -> None:
    store = MediaStore()
    first = store.add("a.png", "image/png", b"same")
    second = store.add_data_url("b.png", data_url(b"same"))
    assert first.id == second.id
    assert len(store) == 1
    assert store.num_bytes == 4


def test_the_least_recently_used_item_makes_room_by_count() -> None:
    store = MediaStore(max_items=2)
    first, second = (store.add(name, "image/png", name.encode()) for name in ("one", "two"))
    store.get(first.id)
    third = store.add("three", "image/png", b"three")
    assert first.id in store
    assert third.id in store
    assert second.id not in store


def test_the_least_recently_used_item_makes_room_by_bytes() -> None:
    store = MediaStore(max_bytes=10)
    first = store.add("one", "image/png", b"12345678")
    second = store.add("two", "image/png", b"87654321")
    assert first.id not in store
    assert store.get(second.id).data == b"87654321"
    assert store.num_bytes == 8


def test_a_lost_item_is_said_to_be_lost_with_what_to_do() -> None:
    with pytest.raises(LostUpload) as raised:
        MediaStore().image("0" * 64, "scan.png")
    assert str(raised.value) == (
        "'scan.png' is no longer on the server, which keeps the most recent ones only. Add the file again."
    )


def test_an_item_that_is_too_large_is_refused_before_it_is_decoded() -> None:
    with pytest.raises(ClefError) as raised:
        MediaStore().add_data_url("big.mp4", "data:video/mp4;base64," + "A" * (4 * MAX_ITEM_BYTES // 3 + 4096))
    assert str(raised.value).startswith("'big.mp4': 64.0 MiB, and 64 MiB are allowed.")


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/x.png",
        "/etc/passwd",
        "file:///etc/passwd",
        "data:image/png,plain",
        "data:image/png;base64,%",
    ],
)
def test_only_a_base64_data_url_is_taken(url: str) -> None:
    with pytest.raises(ClefError, match="expected a base64 data URL"):
        MediaStore().add_data_url("x.png", url)


def test_damaged_base64_is_said_to_be_damaged() -> None:
    with pytest.raises(ClefError, match="the base64 text is damaged"):
        MediaStore().add_data_url("x.png", "data:image/png;base64,AAA")


def test_a_type_that_is_neither_picture_nor_clip_is_refused() -> None:
    with pytest.raises(ClefError) as raised:
        MediaStore().add("x.pdf", "application/pdf", b"%PDF")
    assert str(raised.value) == "'x.pdf': the type is 'application/pdf', and only images and videos are taken."


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../x.png", "x.png"),
        ("C:\\temp\\x.png", "x.png"),
        ("<b>.png", "<b>.png"),
        ("n" * 500, "n" * 119 + "…"),
    ],
)
def test_a_name_is_kept_for_display_without_its_folders(given: str, kept: str) -> None:
    assert MediaStore().add(given, "image/png", b"x").name == kept


def test_a_recorded_clip_may_name_its_codecs() -> None:
    upload = MediaStore().add_data_url("clip.webm", "data:video/webm;codecs=vp8;base64,AAAA")
    assert (upload.kind, upload.mime) == ("video", "video/webm")


def test_pictures_become_the_frames_of_a_clip_in_their_order() -> None:
    store = MediaStore()
    ids = [store.add(name, "image/png", name.encode()).id for name in ("b", "a")]
    clip = store.add_frames("two", ids)
    video = store.video(clip.id, "two", fps=2.0)
    assert [frame.data for frame in video.frames] == [b"b", b"a"]
    assert video.fps == 2.0
    assert clip.id != store.add_frames("two", ids[::-1]).id


def test_a_clip_of_one_picture_is_refused() -> None:
    store = MediaStore()
    with pytest.raises(ClefError, match="at least 2 pictures, got 1"):
        store.add_frames("one", [store.add("a", "image/png", b"a").id])


def test_a_clip_whose_frame_is_gone_says_so() -> None:
    store = MediaStore(max_items=3)
    ids = [store.add(name, "image/png", name.encode()).id for name in ("a", "b")]
    clip = store.add_frames("two", ids)
    store.add("c", "image/png", b"c")
    with pytest.raises(LostUpload):
        store.video(clip.id, "two")


def test_a_picture_is_no_clip_and_a_clip_no_picture() -> None:
    store = MediaStore()
    picture, clip = store.add("a", "image/png", b"a"), store.add("b", "video/mp4", b"b")
    with pytest.raises(ClefError, match="is a picture, not a clip"):
        store.video(picture.id, "a")
    with pytest.raises(ClefError, match="is a clip, not a picture"):
        store.image(clip.id, "b")
