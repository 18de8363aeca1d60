"""The one way an event reaches the model: one at a time across the app, private, and possible to stop."""

from collections.abc import Callable, Sequence
from typing import Any

from gradio.components import Component
from gradio.events import Dependency


def on_model_call(
    trigger: Callable[..., Dependency],
    run: Callable[..., Any],
    inputs: Sequence[Component],
    outputs: Sequence[Component],
    *,
    stop: Callable[..., Dependency],
    failed_js: str,
) -> Dependency:
    """Binds `run`; `stop` takes a waiting call out of the queue, `failed_js` runs when the queue refuses a call.

    The model is shared by all visitors, so calls take turns; the panels draw their own progress.
    """
    call = trigger(
        run,
        inputs=list(inputs),
        outputs=list(outputs),
        concurrency_id="model",
        concurrency_limit=1,
        show_progress="hidden",
        api_visibility="private",
    )
    call.failure(None, js=failed_js, api_visibility="private")
    stop(None, cancels=[call], api_visibility="private")
    return call
