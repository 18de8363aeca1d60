"""The chooser of places, as a person uses it: hidden without servers, one run elsewhere, a window measured."""

import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from browser.conftest import DESK, PHONE, PRESETS
from browser.driving import answered
from remote.hosting import hosted_fake

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    from ui.scripted import ScriptedDecider

    from clef_model.remote_settings import read_remotes
    from clef_ui.presets import read_presets
    from clef_ui.workbench import build_workbench, serve

    with hosted_fake("sglang", context=3000) as (_, address):
        box = {"name": "gpu box", "profile": "sglang", "url": address, "model": "clef-flash", "context_tokens": 3000}
        servers = read_remotes({"CLEF_REMOTES": json.dumps([box])})
        page = build_workbench(ScriptedDecider(), read_presets(PRESETS), servers=servers)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        serve(page, host="127.0.0.1", port=port, block=False)
        yield f"http://127.0.0.1:{port}/"
        page.close(verbose=False)


def opened(profile: Callable[..., Any], url: str, size: tuple[int, int]) -> Any:
    page = profile(size).new_page()
    page.goto(url)
    page.wait_for_selector("#clef-editor .clef-run")
    page.wait_for_selector(".place select option:nth-child(2)", state="attached")
    answered(page)
    return page


def test_a_run_is_sent_to_the_server_that_was_chosen(profile: Callable[..., Any], url: str) -> None:
    page = opened(profile, url, DESK)
    assert page.locator(".place select option").all_text_contents() == ["this machine", "gpu box (SGLang · clef-flash)"]
    page.get_by_label("Decide on").select_option("gpu box")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function(
        "() => document.querySelector('#clef-answers .meta')?.textContent.includes('gpu box (SGLang)')"
    )
    assert "served-name" in page.locator("#clef-answers .meta").text_content()
    assert "Its prompt cannot be seen" in page.locator("#clef-answers").text_content()


def test_how_much_a_server_reads_is_measured_after_its_cost_is_told(profile: Callable[..., Any], url: str) -> None:
    page = opened(profile, url, PHONE)
    assert page.get_by_role("button", name="Measure what it reads").is_hidden()
    page.get_by_label("Decide on").select_option("gpu box")
    page.get_by_role("button", name="Measure what it reads").click()
    page.wait_for_function("() => document.querySelector('dialog')?.textContent.includes('At most ')")
    page.get_by_label("Look as far as").select_option("4096")
    page.get_by_role("button", name="Measure", exact=True).click()
    page.wait_for_function("() => document.querySelector('dialog').textContent.includes('is cut without a word')")
    assert page.locator("table.clef-window tbody tr").count() > 4
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_without_servers_there_is_nothing_to_choose(open_page: Callable[..., Any]) -> None:
    page = open_page()
    assert page.locator(".place").is_hidden()
