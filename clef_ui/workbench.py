"""The whole page: header, what is asked on the left, what came back on the right."""

import gradio as gr

from clef_model.decision import Decider
from clef_ui.assets import page_css, page_head
from clef_ui.components.panel import panel
from clef_ui.pages.decide import decide_page


def build_workbench(decider: Decider) -> gr.Blocks:
    with gr.Blocks(title="Clef workbench", fill_width=True, analytics_enabled=False) as page:
        panel("header")
        decide_page(decider)
    return page


def serve(page: gr.Blocks, *, host: str, port: int | None) -> None:
    """Serves the page until it is stopped. ssr_mode stays off: the Node front answers 405 for routes of our own."""
    page.queue(max_size=32).launch(
        server_name=host,
        server_port=port,
        head=page_head(),
        css=page_css(),
        theme=gr.themes.Base(),
        ssr_mode=False,
        show_error=False,
        footer_links=[],
    )
