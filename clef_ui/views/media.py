"""What the model gets of a picture or a clip, before anything is run: sizes, tokens, frames and small previews."""

import base64
import io
from collections.abc import Iterator
from itertools import islice
from typing import Any

from PIL import Image

from clef_model.attachments import MAX_FRAMES
from clef_model.decision import Limits
from clef_model.encoding import MAX_POSITIONS
from clef_model.errors import ClefError, InvalidRecord
from clef_model.media import MediaItem
from clef_model.schema import ImageInput, Record, VideoInput, noul
from clef_ui.draft_types import MediaDraft
from clef_ui.views.planned import Planner

PREVIEW_SIDE = 200  # pixels of the longer side; twice what the page shows, for sharp screens
MAX_PREVIEWS = 48  # frames of one clip that are drawn; a clip of 768 would be megabytes


def media_item_view(draft: MediaDraft, source: ImageInput | VideoInput, planner: Planner) -> dict[str, Any]:
    """One item as the page shows it, or the sentence why it cannot be shown."""
    images = (source,) if isinstance(source, ImageInput) else ()
    videos = (source,) if isinstance(source, VideoInput) else ()
    try:
        encoded = planner.plan(Record("", (noul("q"),), images, videos), Limits(MAX_POSITIONS))
    except InvalidRecord as error:
        return lost_view(draft, " ".join(problem.message for problem in error.problems))
    except ClefError as error:
        return lost_view(draft, str(error))
    if encoded.media_items is None:
        return lost_view(draft, "The loaded release says nothing about pictures, so they cannot be counted.")
    return _item_view(draft, encoded.media_items.items[0])


def lost_view(draft: MediaDraft, problem: str) -> dict[str, Any]:
    return {"id": draft.id, "kind": draft.kind, "name": draft.name, "problem": problem, "previews": [], "frames": []}


def _item_view(draft: MediaDraft, item: MediaItem) -> dict[str, Any]:
    num_frames = len(item.frame_times)
    slots = item.grid[0]
    return {
        "id": draft.id,
        "kind": item.kind,
        "name": draft.name,
        "problem": "",
        "given": list(item.size_given),
        "shown": list(item.size_shown),
        "grid": list(item.grid),
        "tokens": item.num_tokens,
        "notices": [notice.message for notice in item.notices],
        "frames": [{"seconds": round(seconds, 3)} for seconds in islice(item.frame_times, MAX_PREVIEWS)],
        "numFrames": num_frames,
        "totalFrames": item.clip.num_source_frames if item.clip else 1,
        "fps": draft.fps,  # only of a clip made from pictures
        "maxFrames": MAX_FRAMES,
        "tokensPerFrame": round(item.tokens_per_slot * slots / num_frames) if num_frames else item.tokens_per_slot,
        "previews": list(islice(_previews(item), MAX_PREVIEWS)),
    }


def _previews(item: MediaItem) -> Iterator[str]:
    """Small JPEGs as data URLs, in the proportions that the model sees."""
    width, height = item.size_shown
    scale = min(1.0, PREVIEW_SIDE / max(width, height))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    for picture in item.pictures():
        buffer = io.BytesIO()
        Image.fromarray(picture).resize(size, Image.Resampling.BICUBIC).save(buffer, "JPEG", quality=80)
        yield "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
