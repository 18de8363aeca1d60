"""Weights from safetensors into a model: names and shapes checked before a byte is copied, memory before that."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from clef_model.errors import BrokenRelease

NAMED = 3  # tensors that a message names


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor of a safetensors file as its header says."""

    file: Path
    shape: tuple[int, ...]


Report = Callable[[int], None]  # called with the bytes copied so far


def read_headers(release: str, files: Sequence[Path]) -> dict[str, StoredTensor]:
    """All tensors of the files by name, without their values.

    Raises: BrokenRelease: a file is no safetensors file or is cut short.
    """
    stored: dict[str, StoredTensor] = {}
    for path in files:
        try:
            with safe_open(path, framework="pt") as file:
                for name in file.keys():  # noqa: SIM118 (a safetensors file is no mapping)
                    stored[name] = StoredTensor(path, tuple(file.get_slice(name).get_shape()))
        except (OSError, SafetensorError) as error:
            raise BrokenRelease(
                f"Release {release}: {path.name} is no safetensors file or is cut short ({error}). Download it again."
            ) from error
    return stored


def check_tensors(
    release: str, what: str, stored: Mapping[str, StoredTensor], expected: Mapping[str, tuple[int, ...]]
) -> None:
    """Raises: BrokenRelease: names are missing or too many, or shapes differ; all in one sentence."""
    faults = []
    if missing := [name for name in expected if name not in stored]:
        faults.append(f"lacks {_some(missing)}")
    if surplus := [name for name in stored if name not in expected]:
        faults.append(f"has {_some(surplus)} too many")
    wrong = [name for name in expected if name in stored and stored[name].shape != expected[name]]
    if wrong:
        shapes = [
            f"{name!r} is {list(stored[name].shape)} and should be {list(expected[name])}" for name in wrong[:NAMED]
        ]
        faults.append(f"{', '.join(shapes)}{_more(wrong)}")
    if faults:
        raise BrokenRelease(f"Release {release}: {what} {' and '.join(faults)}. Download the release again.")


def copy_tensors(
    release: str, stored: Mapping[str, StoredTensor], targets: Mapping[str, Tensor], report: Report | None = None
) -> None:
    """Fills the targets, each in its own dtype and on its own device; one tensor at a time is held beside them.

    Raises: BrokenRelease: a file cannot be read.
    """
    copied = 0
    for path in sorted({tensor.file for tensor in stored.values()}):
        try:
            with safe_open(path, framework="pt") as file, torch.no_grad():
                for name in file.keys():  # noqa: SIM118 (a safetensors file is no mapping)
                    if name in targets:
                        targets[name].copy_(file.get_tensor(name))
                        copied += targets[name].nbytes
                        if report is not None:
                            report(copied)
        except (OSError, SafetensorError) as error:
            raise BrokenRelease(
                f"Release {release}: {path.name} cannot be read ({error}). Download the release again."
            ) from error


def shapes_of(tensors: Iterable[tuple[str, Tensor]]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in tensors}


def _some(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:NAMED]) + _more(names)


def _more(names: Sequence[str]) -> str:
    return f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
