"""The cases of the class ui that show on the page."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from cases import read_cases
from driving import answered, draft, drop, notice, paste, planned

pytestmark = pytest.mark.browser

Open = Callable[..., Any]
CASES = {case["id"]: case for case in read_cases("ui")}
STATE = "#clef-editor .clef-state"
TABS = ("prompt", "budget", "export", "answers")
PAGE_SECONDS = 2  # of the case


def asked(page: Any, case_id: str) -> Any:
    """Pastes the case's request and runs it."""
    request = CASES[case_id]["request"]
    answered(page)
    paste(page, STATE, json.dumps(request, ensure_ascii=False))
    notice(page, "Filled in")
    page.keyboard.press("Control+Enter")
    answered(page)
    return request


def test_UI_03_markup_is_shown_literally_everywhere(open_page: Open) -> None:
    page = open_page()
    asked(page, "UI-03")
    for name in TABS:
        page.evaluate("(name) => window.clef.emit('open-tab', name)", name)
        page.wait_for_function(
            "(name) => document.querySelector(`#clef-${name} .clef-root`).childElementCount", arg=name
        )
        assert page.evaluate("() => window.hit") is None
        assert page.locator("[onerror], img[src=x], .clef-root script").count() == 0
    assert "<i>q</i>" in page.inner_text(".clef-answer")
    assert "<img src=x onerror=window.hit=1>" in page.inner_text(".clef-answer")
    page.fill(STATE, "<b>not json</b>")
    page.click("#clef-editor [data-mode=json]")
    page.wait_for_selector("#clef-editor .problem")
    assert page.locator("#clef-editor .problem b").count() == 0


def test_UI_07_a_direction_mark_is_shown_by_its_code_and_kept_in_what_is_sent(open_page: Open) -> None:
    page = open_page()
    request = asked(page, "UI-07")
    shown = page.inner_text(".clef-answer")
    assert "U+202E" in shown
    assert "\u202e" not in shown
    typed = [option["key"] for option in draft(page)["questions"][0]["options"]]
    assert typed == list(request["questions"]["c"]["criteria"])
    left = page.evaluate(
        "() => [...document.querySelectorAll('.clef-answer .val')].map((e) => getComputedStyle(e).direction)"
    )
    assert set(left) <= {"ltr"}


def test_UI_09_a_line_of_200_000_characters_leaves_the_page_quick(open_page: Open) -> None:
    page = open_page()
    answered(page)
    page.click("#clef-editor [data-mode=text]")
    page.evaluate(
        "(text) => { const field = document.querySelector('.clef-state'); field.value = text; }", "lorem " * 33_334
    )
    page.evaluate("() => document.querySelector('.clef-state').dispatchEvent(new Event('input', { bubbles: true }))")
    planned(page, "cut from the state")
    page.keyboard.press("Control+Enter")
    answered(page)
    milliseconds = page.evaluate(
        """() => new Promise((done) => {
            const start = performance.now();
            document.querySelector("#clef-editor [data-mode=read]").click();
            requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
        })"""
    )
    assert milliseconds < 1000 * PAGE_SECONDS
    assert "20,000 of 200,004 characters" in page.inner_text(".clef-reading")
    page.evaluate("() => window.clef.emit('open-tab', 'prompt')")
    page.wait_for_function("() => document.querySelector('#clef-prompt .clef-root').textContent.includes('lorem')")


def test_UI_14_a_name_with_markup_is_shown_literally(open_page: Open) -> None:
    page = open_page()
    drop(page, "../../<b>.png", "image/png", b"not a picture")
    page.wait_for_selector(".thumb .problem")
    assert page.inner_text(".thumb .name") == "<b>.png"
    assert page.locator(".thumb b").count() == 0
