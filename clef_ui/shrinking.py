"""Pictures and clips made smaller for the model: half the tokens of a picture, half the frames of a clip."""

import io
from dataclasses import replace
from pathlib import PurePath

from PIL import Image

from clef_model.errors import ClefError
from clef_model.media import MediaItem
from clef_ui.draft_types import Draft, MediaDraft
from clef_ui.uploads import MediaStore
from clef_ui.views.budget import halved_frames, halved_size

JPEG_QUALITY = 92  # the change of size alters more than this does


def shrunk(draft: Draft, item: MediaItem, place: int, store: MediaStore) -> Draft:
    """The draft with the media item at `place`, counted in images and then videos, at half its tokens.

    Raises: ClefError: it cannot be made smaller.
    """
    of_kind = [media for media in draft.media if media.kind == item.kind]
    num_images = sum(media.kind == "image" for media in draft.media)
    old = of_kind[place if item.kind == "image" else place - num_images]
    new = _smaller_image(old, item, store) if item.kind == "image" else _fewer_frames(old, item)
    return replace(draft, media=tuple(new if media is old else media for media in draft.media))


def _smaller_image(old: MediaDraft, item: MediaItem, store: MediaStore) -> MediaDraft:
    half = halved_size(item)
    if half is None:
        raise ClefError(f"{old.name!r} is as small as the model's smallest picture.")
    size = half["width"], half["height"]
    picture = Image.fromarray(next(iter(item.pictures()))).resize(size, Image.Resampling.LANCZOS)
    is_photo = store.get(old.id, old.name).mime == "image/jpeg"
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG" if is_photo else "PNG", **({"quality": JPEG_QUALITY} if is_photo else {}))
    name = f"{PurePath(old.name).stem} {size[0]}x{size[1]}{'.jpg' if is_photo else '.png'}"
    upload = store.add(name, "image/jpeg" if is_photo else "image/png", buffer.getvalue())
    return replace(old, id=upload.id, name=upload.name)


def _fewer_frames(old: MediaDraft, item: MediaItem) -> MediaDraft:
    frames = halved_frames(item)
    if frames is None:
        raise ClefError(f"{old.name!r} has {len(item.frame_times)} frames; a clip needs 2.")
    return replace(old, frames=frames)
