"""Where and in which number format a release runs: the choice, its reasons, and the memory that is free there."""

from dataclasses import dataclass
from pathlib import Path

import psutil
import torch

from clef_model.delta_rule import cuda_kernel
from clef_model.errors import BrokenRelease

DEVICES = ("auto", "cuda", "mps", "cpu")
DTYPES = {"bfloat16": torch.bfloat16, "float32": torch.float32}
GIGABYTE, MEGABYTE = 1_000_000_000, 1_000_000
_CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Placement:
    """A device and a dtype; `reason` says in a sentence what was chosen automatically, and why."""

    device: torch.device
    dtype: torch.dtype
    reason: str

    @property
    def dtype_name(self) -> str:
        return str(self.dtype).removeprefix("torch.")


def place(device: str | torch.device, dtype: str | torch.dtype) -> Placement:
    """The placement that the words or torch's own objects name; "auto" chooses.

    Raises: BrokenRelease: an unknown word, or a device that this machine does not have.
    """
    reasons = []
    if str(device) == "auto":
        chosen, why = _automatic_device()
        reasons.append(f"{chosen} since {why}")
    else:
        chosen = _device(device)
    if dtype == "auto":
        # Half precision is slow and coarse on a CPU; elsewhere it is what the release runs in.
        number_format = torch.float32 if chosen.type == "cpu" else torch.bfloat16
        why = "the device is a CPU" if chosen.type == "cpu" else "the release runs in it"
        reasons.append(f"{str(number_format).removeprefix('torch.')} since {why}")
    else:
        number_format = parse_dtype(dtype)
    return Placement(chosen, number_format, f"Chosen automatically: {', '.join(reasons)}." if reasons else "")


def kernels_note(device: torch.device, *, fast: bool) -> str:
    """What the linear layers run on and whether passes are compiled, in sentences; empty when all that helps is on."""
    if device.type != "cuda":
        return "The linear layers run in PyTorch's own code, as they do without CUDA."
    sentences = []
    if cuda_kernel() is None:
        # Measured on one H200 at clef-flash's size, transformers' pass: 270 against 154 ms at 4,096 tokens, 1,150
        # against 625 at 16,384.
        sentences.append(
            "The linear layers run in PyTorch's own code, which can double the time of long records: "
            "flash-linear-attention is not installed (requirements-cuda.txt)."
        )
    if not fast:
        # Measured on one H200 at clef-flash's size (benchmarks/results_gpu.json).
        sentences.append("Short records take about a quarter of the time with --fast.")
    return " ".join(sentences)


def parse_dtype(dtype: str | torch.dtype) -> torch.dtype:
    """Raises: BrokenRelease."""
    found = DTYPES.get(dtype) if isinstance(dtype, str) else dtype
    if found not in DTYPES.values():
        raise BrokenRelease(
            f"dtype: {str(dtype).removeprefix('torch.')!r} is not known; auto, {', '.join(DTYPES)} are."
        )
    return found  # type: ignore[return-value]


def check_memory(release: str, needed_bytes: int, placement: Placement) -> None:
    """Raises: BrokenRelease: the weights need more than is free on the device."""
    free = free_bytes(placement.device)
    if free is None or needed_bytes <= free:
        return
    advice = "Free memory there, choose another device" + (
        ", or load it in bfloat16." if placement.dtype == torch.float32 else ", or a smaller release."
    )
    raise BrokenRelease(
        f"Release {release}: its weights need {_gigabytes(needed_bytes)} in {placement.dtype_name} and "
        f"{_gigabytes(free)} are free on {placement.device}. {advice}"
    )


def free_bytes(device: torch.device) -> int | None:
    """Memory that can still be used on the device; None where it cannot be told."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    if device.type == "mps":
        return int(torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory())
    if device.type == "cpu":
        free = int(psutil.virtual_memory().available)
        limit = _container_free()
        return free if limit is None else min(free, limit)
    return None


def _gigabytes(size: int) -> str:
    return f"{size / GIGABYTE:.1f} GB" if size >= GIGABYTE else f"{size / MEGABYTE:.1f} MB"


def _container_free() -> int | None:
    """What a container's own limit leaves, which the machine's free memory does not show."""
    try:
        limit = (_CGROUP / "memory.max").read_text().strip()
        used = int((_CGROUP / "memory.current").read_text())
        cache = dict(line.split() for line in (_CGROUP / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return None
    if not limit.isdigit():
        return None
    return max(0, int(limit) - used + int(cache.get("inactive_file", 0)))


def _automatic_device() -> tuple[torch.device, str]:
    if torch.cuda.is_available():
        return torch.device("cuda"), "there is a GPU"
    if torch.backends.mps.is_available():
        return torch.device("mps"), "there is an Apple GPU"
    return torch.device("cpu"), "no GPU was found"


def _device(device: str | torch.device) -> torch.device:
    try:
        found = torch.device(device)
    except RuntimeError:
        found = None
    if found is None or found.type not in DEVICES:
        raise BrokenRelease(f"device: {str(device)!r} is not known; {', '.join(DEVICES)} are, and cuda:1 and so on.")
    if found.type == "cuda" and (found.index or 0) >= torch.cuda.device_count():
        have = torch.cuda.device_count()
        raise BrokenRelease(
            f"device: {str(device)!r} was asked for, and torch {torch.__version__} sees {have} CUDA GPUs. "
            "Use auto or cpu, or install torch for CUDA."
        )
    if found.type == "mps" and not torch.backends.mps.is_available():
        raise BrokenRelease("device: 'mps' was asked for, and torch sees no Apple GPU. Use auto or cpu.")
    return found
