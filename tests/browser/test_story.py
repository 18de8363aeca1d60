"""The whole way from an empty schema to a shared one, with the keyboard alone."""

from collections.abc import Callable
from typing import Any

import pytest
from driving import answered, draft, notice

pytestmark = pytest.mark.browser

MAX_STEPS = 120  # presses of Tab before a control counts as out of reach


def tab_to(page: Any, found: str, *, back: bool = False) -> None:
    """Presses Tab until the element with the focus fits a condition on `e`, with the focus visible."""
    for _ in range(MAX_STEPS):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        if page.evaluate(f"() => {{ const e = document.activeElement; return Boolean({found}); }}"):
            ring = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
            assert ring != "none", found
            return
    raise AssertionError(f"no way by keyboard to {found}")


def test_a_schema_is_built_run_edited_undone_kept_and_shared_by_keyboard(
    open_page: Callable[..., Any], profile: Callable[..., Any]
) -> None:
    page = open_page()
    answered(page)

    tab_to(page, "e.classList.contains('clef-state')")
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type('{"message": "The lift is stuck between two floors."}')
    page.wait_for_selector(".stale-note")

    tab_to(page, "e.dataset.add === 'noul'")
    page.keyboard.press("Enter")
    page.keyboard.type("danger")
    page.keyboard.press("Tab")  # past the type
    tab_to(page, "/[Ii]nstruction/.test(e.getAttribute('aria-label') || e.labels?.[0]?.textContent || '')")
    page.keyboard.type("Is somebody in danger?")
    page.keyboard.press("Control+Enter")
    answered(page)
    ids = [answer["id"] for answer in page.evaluate("() => window.clef.answersView.answers")]
    assert ids == ["team", "outage", "urgency", "danger"]

    page.keyboard.press("Alt+P")
    page.keyboard.type("phishing")
    page.keyboard.press("Enter")
    notice(page, "Loaded the preset")
    answered(page)
    page.keyboard.press("Alt+Z")
    notice(page, "Undone")
    assert draft(page)["questions"][3]["instructions"]["text"] == "Is somebody in danger?"

    page.reload()
    page.wait_for_function("() => window.clef?.draft?.questions.length === 4")

    page.keyboard.press("Alt+L")
    notice(page, "The link is copied")
    link = page.evaluate("() => navigator.clipboard.readText()")
    other = open_page(context=profile(), fragment=link[link.index("#") :])
    other.wait_for_function("() => window.clef.draft.questions.length === 4")
    other.keyboard.press("Control+Enter")
    answered(other)
    assert draft(other)["questions"] == draft(page)["questions"]
