"""Which model answers, and how far its loading is."""

from typing import Any

from clef_model.decision import Decider, ModelStatus
from clef_model.errors import ClefError
from clef_model.lazy import LazyDecider, Loading

DEVICES = {"cpu": "CPU", "cuda": "GPU", "mps": "Apple GPU"}


def status_view(decider: Decider) -> dict[str, Any]:
    """What the header shows. A decider that is not lazy is loaded."""
    loading = decider.loading if isinstance(decider, LazyDecider) else Loading("loaded", 1.0, done=True)
    progress = {"share": loading.share, "stage": loading.stage, "done": loading.done, "problem": loading.problem}
    if isinstance(decider, LazyDecider) and not decider.can_plan:
        return {"loading": progress, "name": "", "line": "", "detail": "", "acceptsMedia": True, "exact": True}
    try:
        status = decider.status
    except ClefError as error:
        problem = {**progress, "problem": loading.problem or str(error)}
        return {"loading": problem, "name": "", "line": "", "detail": "", "acceptsMedia": True, "exact": True}
    return {
        "loading": progress,
        "name": status.name,
        "line": status_line(status),
        "detail": status_detail(status),
        "acceptsMedia": status.accepts_media,
        "exact": status.tokenizer_is_exact,
    }


def status_line(status: ModelStatus) -> str:
    """For the header's chip: "small demonstration model · CPU · float32"."""
    words = ["small demonstration model"] if status.is_demonstration else []
    words += [DEVICES.get(status.device.partition(":")[0], status.device), status.dtype]
    return " · ".join(word for word in words if word)


def status_detail(status: ModelStatus) -> str:
    """For whoever points at the chip."""
    sentences = [
        f"Revision {status.revision}." if status.revision else "A local folder.",
        f"Tokenizer {status.tokenizer}.",
    ]
    if not status.tokenizer_is_exact:
        sentences.append("Token counts are approximate outside plain English.")
    return " ".join([*sentences, status.note]).strip()
