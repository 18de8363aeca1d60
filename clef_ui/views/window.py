"""How much of a state a server reads, in a sentence and a table."""

from typing import Any

from clef_model.diagnostics.canary import Estimate, Window
from clef_model.json_paths import counted


def estimate_view(estimate: Estimate) -> dict[str, Any]:
    """What measuring takes at most, as a sentence."""
    cost = "" if estimate.dollars is None else f", about ${estimate.dollars:.4f} by the price that is known"
    asked = f"{counted(estimate.num_requests, 'request')} with {estimate.input_tokens:,} tokens together"
    return {"sentence": f"At most {asked}{cost}. Most measurements take less than half."}


def window_view(window: Window) -> dict[str, Any]:
    """The finding as a sentence, and every sample in the order it was taken."""
    return {
        "sentence": _sentence(window),
        "rows": [
            {
                "tokens": sample.state_tokens,
                "counted": sample.counted_tokens,
                "finding": "refused" if sample.refusal else "end read" if sample.reads_end else "end not read",
                "detail": sample.refusal or f"{100 * sample.change:.2f} points",
            }
            for sample in window.samples
        ],
    }


def _sentence(window: Window) -> str:
    if not window.is_conclusive:
        return "Nothing can be said: not even the end of a short text changes an answer of this model."
    if window.unread_tokens is None:
        return f"Everything was read, up to {window.read_tokens:,} tokens of state, which is as far as was looked."
    what = "they are refused" if window.is_refused else "their end is cut without a word"
    return f"States of {window.read_tokens:,} tokens are read whole; from {window.unread_tokens:,} on {what}."
