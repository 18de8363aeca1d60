"""A release's tokenizer and media settings: all that planning a record needs."""

from functools import cached_property
from pathlib import Path

from clef_model.decision import Limits, ModelStatus
from clef_model.encoding import EncodedRecord, encode
from clef_model.media_config import CONFIG_FILE, MediaConfig, read_media_config
from clef_model.nano_rows import measured
from clef_model.release_folder import NANO, PLAN_FILES, ReleaseFolder, find_release, read_config
from clef_model.schema import Record
from clef_model.tokenizer import Tokenizer, read_tokenizer

NANO_NOTE = (
    "A small demonstration model with Clef's prompt and token ids; its answers say nothing about the quality of Clef. "
    "It reads English text only."
)


class ReleasePlanner:
    """Plans records without weights; `status` names no device, since nothing is loaded."""

    def __init__(self, release: ReleaseFolder) -> None:
        self.release = release
        self.tokenizer: Tokenizer = read_tokenizer(release.path)

    @cached_property
    def media_config(self) -> MediaConfig | None:
        """None when the release has no media settings, as a text-only one may."""
        if not (self.release.path / CONFIG_FILE).is_file() and not self.release.accepts_media:
            return None
        return read_media_config(self.release.path)

    @property
    def status(self) -> ModelStatus:
        release = self.release
        return ModelStatus(
            name=release.name,
            revision=release.revision,
            device="",
            dtype="",
            is_demonstration=release.is_demonstration,
            accepts_media=release.accepts_media,
            tokenizer=self.tokenizer.identity,
            # clef-nano's tokenizer was converted from published ranks, which lack some merges of other scripts.
            tokenizer_is_exact=not release.is_demonstration,
            note=f"{NANO_NOTE} {measured(release.path)}".strip() if release.is_demonstration else "",
        )

    def plan(self, record: Record, limits: Limits | None = None) -> EncodedRecord:
        """Raises: InvalidRecord, BudgetExceeded, ContextTooLong; BrokenRelease: its media settings are unreadable."""
        limits = limits or Limits()
        return encode(
            record,
            self.tokenizer,
            max_length=limits.max_length,
            max_state_tokens=limits.max_state_tokens,
            truncate=limits.truncate,
            media_config=self.media_config if record.images or record.videos else None,
        )


def read_planner(release: str | Path = NANO, *, revision: str | None = None) -> ReleasePlanner:
    """The planner of a local folder or hub id; of a hub repository only the small files are fetched.

    Raises: BrokenRelease: the release cannot be found, is of another kind of model, or its tokenizer is unreadable.
    """
    folder = find_release(release, revision=revision, files=PLAN_FILES)
    read_config(folder)
    return ReleasePlanner(folder)
