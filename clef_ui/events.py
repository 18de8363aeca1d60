"""The one way an event reaches the model: one at a time across the app, and private."""

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
    failed_js: str,
) -> Dependency:
    """Binds `run`; `failed_js` runs when the queue refuses a call.

    The model is shared by all visitors, so calls take turns; the panels draw their own progress. A run is stopped by
    its id (see `runs`), never by Gradio's `cancels`: those name the event, and one that comes late ends the next run.
    Hence also "multiple": a new run may start while a stopped one still waits to be told so.
    """
    call = trigger(
        run,
        inputs=list(inputs),
        outputs=list(outputs),
        concurrency_id="model",
        concurrency_limit=1,
        show_progress="hidden",
        trigger_mode="multiple",
        api_visibility="private",
    )
    call.failure(None, js=failed_js, api_visibility="private")
    return call
