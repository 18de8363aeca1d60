"""Releases of the Hugging Face hub: downloaded at one revision into its cache, each failure with its own sentence."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from huggingface_hub import snapshot_download
from huggingface_hub.errors import (
    DryRunError,
    GatedRepoError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from tqdm import tqdm

from clef_model.decision import Progress
from clef_model.errors import BrokenRelease

GIGABYTE = 1_000_000_000


def download(repository: str, revision: str, files: Sequence[str], progress: Progress | None) -> tuple[Path, str]:
    """The folder with the files of the repository, and the commit it holds; nothing is fetched that is there already.

    Raises: BrokenRelease: no such repository or revision, no access, no network, or no room on the disk.
    """
    call: dict[str, Any] = {"revision": revision, "allow_patterns": [*files]}
    with _sentences(repository, revision):
        missing_bytes = _missing_bytes(repository, call)
        if missing_bytes is None:
            folder = Path(snapshot_download(repository, local_files_only=True, **call))
        else:
            bar = _reporting_bar(progress, repository, missing_bytes) if progress and missing_bytes else _SilentBar
            folder = Path(snapshot_download(repository, tqdm_class=bar, **call))
    return folder, folder.name  # the hub's cache names a snapshot's folder after its commit


def _missing_bytes(repository: str, call: dict[str, Any]) -> int | None:
    """How much is to be fetched; None when the hub cannot be reached, though all may be there already."""
    try:
        listed: Any = snapshot_download(repository, dry_run=True, tqdm_class=_SilentBar, **call)
    except DryRunError as error:
        if isinstance(error.__cause__, HfHubHTTPError):
            raise error.__cause__ from error
        return None
    return sum(int(file.file_size) for file in listed if file.will_download)


class _SilentBar(tqdm):  # type: ignore[misc]
    """A progress bar that writes nothing: who wants to see progress passes a callback."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.pop("name", None)
        super().__init__(*args, **{**kwargs, "disable": True})


def _reporting_bar(progress: Progress, repository: str, total_bytes: int) -> type[_SilentBar]:
    """A bar class that reports the bytes of all files together; several bars may count the same bytes."""
    most = 0

    class ReportingBar(_SilentBar):
        counted = 0.0

        def update(self, n: float | None = 1) -> bool | None:
            nonlocal most
            self.counted += n or 0
            if getattr(self, "unit", "B") == "B" and self.counted > most:
                most = min(int(self.counted), total_bytes)
                done = f"{most / GIGABYTE:.1f} of {total_bytes / GIGABYTE:.1f} GB"
                progress(most / total_bytes, f"downloading {repository}: {done}")
            return None

    return ReportingBar


@contextlib.contextmanager
def _sentences(repository: str, revision: str) -> Iterator[None]:
    start = f"Release {repository}:"
    try:
        yield
    except GatedRepoError as error:
        raise BrokenRelease(
            f"{start} the hub asks for permission first. Accept its terms on the model's page there, then set HF_TOKEN."
        ) from error
    except RevisionNotFoundError as error:
        raise BrokenRelease(
            f"{start} the hub has no revision {revision!r} of it. Leave the revision out, or copy one from the hub."
        ) from error
    except RepositoryNotFoundError as error:
        raise BrokenRelease(
            f"{start} the hub has no such repository, or it is private. Check the id, or set HF_TOKEN."
        ) from error
    except LocalEntryNotFoundError as error:
        raise BrokenRelease(
            f"{start} the hub cannot be reached and revision {revision} has not been downloaded before. "
            "Connect to the network (or unset HF_HUB_OFFLINE), or give a local folder."
        ) from error
    except OSError as error:
        raise BrokenRelease(
            f"{start} the download of revision {revision} failed: {error}. Try again; what was fetched is kept."
        ) from error
