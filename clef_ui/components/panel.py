"""A panel: a Gradio HTML component with an empty static template, drawn by its script from JSON text."""

from collections.abc import Callable, Sequence
from typing import Any

import gradio as gr

# The template never changes and no value is put into it: gr.HTML templates insert markup and evaluate template
# literals. Values travel as JSON text, since the queue's own encoder refuses integers above 64 bits.
TEMPLATE = '<div class="clef-root"></div>'


def panel(name: str, value: str | None = None, functions: Sequence[Callable[..., Any]] = (), **props: Any) -> gr.HTML:
    """The panel drawn by `window.clef.panels[name]`; `functions` can be called from its script."""
    return gr.HTML(
        value=value,
        html_template=TEMPLATE,
        js_on_load=f"window.clef.mount({name!r}, element, props, trigger, watch, server)",
        apply_default_css=False,
        elem_id=f"clef-{name}",
        elem_classes=["clef-panel"],
        server_functions=list(functions) or None,
        **props,
    )
