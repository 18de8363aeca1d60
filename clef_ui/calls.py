"""What the left column's scripts ask Python while one types: one text in, JSON text out, errors as sentences."""

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any

from clef_model.decision import Limits
from clef_model.errors import ClefError
from clef_ui.draft_types import Draft, LimitsDraft, MediaDraft, draft_view, read_draft
from clef_ui.drafts import Media, form_view, questions_json_view
from clef_ui.pasting import Filled, from_request_text
from clef_ui.presets import Preset
from clef_ui.runs import Runs
from clef_ui.uploads import LostUpload, MediaStore
from clef_ui.views.media import lost_view, media_item_view
from clef_ui.views.plan import plan_view
from clef_ui.views.planned import Planner

PICTURES_PER_SECOND = 2.0  # of a clip made from pictures: the rate the release samples at, so that each is shown
INTERNAL_ERROR = "Internal error, see the log."

Call = Callable[[str], str]  # what a panel's script can call

log = logging.getLogger(__name__)


def answering(call: Callable[[str], Any]) -> Call:
    """The call with its result as JSON text, and with what went wrong as {"error": sentence}."""

    @wraps(call)
    def answer(text: str) -> str:
        try:
            result = call(text)
        except ClefError as error:
            result = {"error": str(error)}
        except Exception:
            log.exception("the page's call %s failed", call.__name__)
            result = {"error": INTERNAL_ERROR}
        return json.dumps(result, ensure_ascii=False)

    return answer


def media_of(draft: Draft, store: MediaStore) -> Media:
    """The draft's pictures and clips that the store still has, by their ids."""
    found: dict[str, Any] = {}
    for item in draft.media:
        try:
            found[item.id] = (
                store.image(item.id, item.name) if item.kind == "image" else store.video(item.id, item.name)
            )
        except ClefError:  # told as a problem of the draft, beside the item
            continue
    return found


def editor_calls(
    planner: Planner, store: MediaStore, presets: Sequence[Preset], runs: Runs, limits: Limits
) -> list[Call]:
    """The functions of the left column, by the names its scripts use. `limits` are those a preset is shown with."""
    by_slug = {preset.slug: preset for preset in presets}

    def plan(text: str) -> Any:
        draft = read_draft(text)
        return plan_view(draft, media_of(draft, store), planner)

    def paste(text: str) -> Any:
        asked = json.loads(text)
        found = from_request_text(asked["text"], read_draft(json.dumps(asked["draft"])))
        return {"draft": draft_view(stored_draft(found, store)), "filled": found.sentence} if found else {"draft": None}

    def preset(slug: str) -> Any:
        if slug not in by_slug:
            raise ClefError(f"There is no preset {slug!r}. Reload the page.")
        return {"draft": draft_view(preset_draft(by_slug[slug], store, limits)), "title": by_slug[slug].title}

    def add_media(text: str) -> Any:
        asked = json.loads(text)
        upload = store.add_data_url(asked["name"], asked["url"])
        return _added(MediaDraft(upload.id, upload.kind, upload.name))

    def add_frames(text: str) -> Any:
        asked = json.loads(text)
        upload = store.add_frames(asked["name"], asked["ids"])
        return _added(MediaDraft(upload.id, upload.kind, upload.name, fps=PICTURES_PER_SECOND))

    def media_views(text: str) -> Any:
        return {"items": [_view(MediaDraft(**item)) for item in json.loads(text)]}

    def progress(run_id: str) -> Any:
        share, stage = runs.progress(run_id)
        return {"share": share, "stage": stage}

    def cancel(run_id: str) -> Any:
        runs.stop(run_id)
        return {}

    def _added(item: MediaDraft) -> Any:
        return {"item": {**draft_view(Draft(media=(item,)))["media"][0]}, "view": _view(item)}

    def _view(item: MediaDraft) -> Any:
        try:
            if item.kind == "image":
                return media_item_view(item, store.image(item.id, item.name), planner)
            video = store.video(item.id, item.name, num_frames=item.frames, fps=item.fps)
            return media_item_view(item, video, planner)
        except LostUpload as error:
            return lost_view(item, str(error))

    def form(text: str) -> str:
        return form_view(text)

    def questions_json(text: str) -> str:
        return questions_json_view(text)

    calls = (plan, paste, preset, add_media, add_frames, media_views, progress, cancel)
    return [*map(answering, calls), form, questions_json]


def typed_limits(limits: Limits) -> LimitsDraft:
    """Limits as they stand in the page's fields."""
    state_tokens = "" if limits.max_state_tokens is None else str(limits.max_state_tokens)
    return LimitsDraft(str(limits.max_length), state_tokens, limits.truncate)


def preset_draft(preset: Preset, store: MediaStore, limits: Limits) -> Draft:
    """The preset as a draft; its pictures and clips go to the store."""
    found = from_request_text(preset.request, Draft())
    assert found is not None, "a preset was parsed as a request when it was read"
    record = preset.record
    draft = stored_draft(replace(found, images=record.images, videos=record.videos), store)
    return replace(draft, limits=typed_limits(limits), view={"preset": preset.slug})


def stored_draft(filled: Filled, store: MediaStore) -> Draft:
    """The draft with its pictures and clips, which go to the store."""
    if not filled.images and not filled.videos:
        return filled.draft
    media = [MediaDraft(upload.id, upload.kind, upload.name) for upload in map(store.add_image, filled.images)]
    for video in filled.videos:
        upload = store.add_video(video)
        media.append(MediaDraft(upload.id, upload.kind, upload.name, video.num_frames, video.fps))
    return replace(filled.draft, media=tuple(media))
