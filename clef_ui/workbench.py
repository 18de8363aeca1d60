"""The whole page: header, what is asked on the left, what came back on the right."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import gradio as gr

from clef_model.decision import Limits
from clef_ui.assets import page_css, page_head
from clef_ui.beside import Beside
from clef_ui.calls import answering
from clef_ui.components.panel import panel
from clef_ui.deciding import Desk, PageDecider
from clef_ui.endpoints import add_endpoints
from clef_ui.pages.decide import decide_page
from clef_ui.place_calls import place_calls
from clef_ui.places import Places
from clef_ui.presets import Preset
from clef_ui.routes import page_routes
from clef_ui.runs import Runs
from clef_ui.uploads import MediaStore
from clef_ui.views.status import status_view

if TYPE_CHECKING:
    from clef_model.remote_settings import RemoteSetting

MAX_WAITING = 32  # runs in the queue, of all visitors; more are refused with a sentence


def build_workbench(
    decider: PageDecider,
    presets: Sequence[Preset],
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    servers: "Sequence[RemoteSetting]" = (),
) -> gr.Blocks:
    """`limits` are those a new draft starts with, `servers` those that may decide instead of this machine."""

    def status(_: str) -> Any:
        return status_view(decider)

    places = Places(decider, servers)
    desk = Desk(decider, MediaStore(), Runs(), places)
    page: gr.Blocks
    with gr.Blocks(title="Clef workbench", fill_width=True, analytics_enabled=False) as page:
        panel("header", functions=[answering(status), *place_calls(places)])
        decide_page(desk, presets, limits)
        add_endpoints(desk)
    return page


def serve(
    page: gr.Blocks,
    *,
    host: str,
    port: int | None,
    beside: Beside = Beside(),  # noqa: B008 (frozen)
    then: Callable[[], Any] = lambda: None,
    block: bool = True,
    with_mcp: bool = False,
) -> None:
    """Serves the page until it is stopped, or in the background; `then` is called once the port is open.

    `with_mcp` offers the named endpoints to agents as tools, at /gradio_api/mcp.

    ssr_mode stays off: the Node front answers 405 for routes of our own.
    """
    page.queue(max_size=MAX_WAITING).launch(
        server_name=host,
        server_port=port,
        prevent_thread_lock=True,
        quiet=not block,
        head=page_head(),
        css=page_css(),
        theme=gr.themes.Base(),
        ssr_mode=False,
        show_error=False,
        footer_links=[],
        app_kwargs={"routes": [*page_routes(), *beside.routes], "middleware": list(beside.middleware)},
        run_history=False,  # it would keep what people typed in a second place
        mcp_server=with_mcp,
    )
    then()
    if block:
        page.block_thread()
