"""Loads a release, local or from the hub, as a Decider; reads its planner without weights."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clef_model.decision import Progress
from clef_model.planner import ReleasePlanner
from clef_model.planner import read_planner as read_planner
from clef_model.release_folder import NANO, code_note, find_release, read_config, read_head_config, weight_files

if TYPE_CHECKING:
    from clef_model.inference import ClefDecider
    from clef_model.model import ClefModel

# Shares of the whole that downloading and importing take; the weights take the rest.
DOWNLOADED, IMPORTED = 0.6, 0.7


def load_release(
    release: str | Path = NANO,
    *,
    device: Any = "auto",
    dtype: Any = "auto",
    head_dtype: Any = "auto",
    revision: str | None = None,
    cache_bytes: int | None = None,
    fast: bool = False,
    progress: Progress | None = None,
) -> "ClefDecider":
    """A release as a Decider: clef-nano unless another folder or hub id is given.

    `device` and `dtype` are words ("auto", "cuda", "mps", "cpu"; "auto", "bfloat16", "float32") or torch's own objects;
    the status names what was chosen and why. The head runs in the backbone's dtype, as in the release, unless
    `head_dtype` says otherwise. `cache_bytes` bounds what is kept of states between calls (0 keeps nothing, None is the
    device's usual); `fast`, on CUDA, compiles operations and captures short passes. Nothing in the folder is executed.

    Raises: BrokenRelease: with a sentence for each way to fail; what `progress` raises stops the loading.
    """
    model, planner, reason = load_model(
        release, device=device, dtype=dtype, head_dtype=head_dtype, revision=revision, progress=progress
    )
    from clef_model.devices import kernels_note
    from clef_model.inference import ClefDecider

    weights = model.head.memory_projection.weight
    backbone_dtype = next(model.language_model.parameters()).dtype
    status = replace(
        planner.status,
        device=str(model.device),
        dtype=str(backbone_dtype).removeprefix("torch."),
        note=" ".join(
            sentence
            for sentence in (
                planner.status.note,
                reason,
                f"The head runs in {str(weights.dtype).removeprefix('torch.')}."
                if weights.dtype != backbone_dtype
                else "",
                kernels_note(model.device, fast=fast),
                code_note(planner.release),
            )
            if sentence
        ),
    )
    return ClefDecider(model, planner, status, cache_bytes=cache_bytes, fast=fast)


def load_model(
    release: str | Path,
    *,
    device: Any = "auto",
    dtype: Any = "auto",
    head_dtype: Any = "auto",
    revision: str | None = None,
    progress: Progress | None = None,
) -> tuple["ClefModel", ReleasePlanner, str]:
    """The model, its planner, and the sentence that says what "auto" chose. Arguments as `load_release`."""
    report = progress or _silent
    report(0.0, "looking for the release")
    folder = find_release(release, revision=revision, progress=_scaled(report, 0.0, DOWNLOADED))
    # What can be wrong with the folder is said before seconds of imports.
    read_config(folder)
    read_head_config(folder)
    weight_files(folder)
    planner = ReleasePlanner(folder)
    report(DOWNLOADED, "importing torch and transformers")
    from clef_model.assembly import build_model
    from clef_model.devices import parse_dtype, place

    placement = place(device, dtype)
    model = build_model(
        folder,
        placement,
        head_dtype=None if head_dtype == "auto" else parse_dtype(head_dtype),
        progress=_scaled(report, IMPORTED, 1.0),
    )
    report(1.0, "loaded")
    return model, planner, placement.reason


def _scaled(report: Progress, start: float, end: float) -> Progress:
    return lambda share, stage: report(start + (end - start) * share, stage)


def _silent(share: float, stage: str) -> None:
    pass
