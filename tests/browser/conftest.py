"""The page on a free port over a scripted Decider, and browser pages that fail on anything in the console."""

import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

CHROMIUMS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
]
PRESETS = Path(__file__).parent.parent.parent / "presets"
DESK, PHONE = (1440, 900), (390, 844)


@dataclass
class Server:
    """A running page. `gate` closed makes a question called "slow" wait until it opens or the run is stopped."""

    url: str
    decider: Any
    gate: threading.Event
    decided: list[Any] = field(default_factory=list)


@pytest.fixture(scope="session")
def chromium() -> str:
    found = os.environ.get("CLEF_CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if found is None:
        pytest.skip("there is no Chromium")
    return found


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    from ui.scripted import ScriptedDecider

    from clef_ui.presets import read_presets
    from clef_ui.workbench import build_workbench, serve

    gate = threading.Event()
    gate.set()

    class GatedDecider(ScriptedDecider):
        def decide(self, records: Any, limits: Any = None, progress: Any = None) -> Any:
            while any(question.id == "slow" for question in records[0].questions) and not gate.wait(0.02):
                progress(0.25, "waiting at the gate")
            return super().decide(records, limits, progress)

    decider = GatedDecider()
    page = build_workbench(decider, read_presets(PRESETS))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve(page, host="127.0.0.1", port=port, block=False)
    yield Server(f"http://127.0.0.1:{port}/", decider, gate)
    gate.set()
    page.close(verbose=False)


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        driver = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield driver
        driver.close()


@pytest.fixture
def profile(browser: Any) -> Iterator[Callable[..., Any]]:
    """Makes a browser profile of its own; its pages fail the test on console errors and on requests elsewhere."""
    contexts: list[Any] = []
    faults: list[str] = []

    def make(size: tuple[int, int] = DESK, **options: Any) -> Any:
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            permissions=["clipboard-read", "clipboard-write", "camera"],
            **options,
        )
        context.set_default_timeout(20_000)
        contexts.append(context)

        def watch(page: Any) -> None:
            page.on("pageerror", lambda error: faults.append(f"uncaught: {error}"))
            page.on("console", lambda line: faults.append(f"console: {line.text}") if line.type == "error" else None)
            page.on(
                "request", lambda sent: faults.append(f"elsewhere: {sent.url}") if _is_elsewhere(sent.url) else None
            )

        context.on("page", watch)
        return context

    yield make
    for context in contexts:
        context.close()
    assert faults == []


@pytest.fixture
def open_page(profile: Callable[..., Any], server: Server) -> Callable[..., Any]:
    """Opens the page, in a new profile unless one is given, and waits until it has planned."""

    def opened(size: tuple[int, int] = DESK, *, context: Any = None, query: str = "", fragment: str = "") -> Any:
        page = (context or profile(size)).new_page()
        page.goto(server.url + query + fragment)
        page.wait_for_selector("#clef-editor .clef-run")
        page.wait_for_function(
            "() => window.clef.draft && document.querySelector('.clef-cost').textContent.includes('tokens')"
        )
        return page

    return opened


def _is_elsewhere(url: str) -> bool:
    return not url.startswith(("http://127.0.0.1:", "data:", "blob:", "about:"))
