"""Did the cut matter, the sweep, the icicle and other servers, as a person asks for them."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from conftest import DESK, PHONE
from driving import answered
from test_right import load
from ui.reading import ReadingDecider

pytestmark = pytest.mark.browser

Open = Callable[..., Any]
HOSTILE = "<img src=x onerror=window.hit=1>\u202e"
STATE = {"log": [{"step": place, "note": "nothing found"} for place in range(8)], "refund": "wanted", "zip": "0" * 60}
QUESTIONS = {
    "refund": {"type": "noul", "instructions": "Is a refund wanted?"},
    "log": {"type": "noul", "instructions": "Is there a log?"},
    "team": {"type": "choice", "criteria": {"sales": None, "billing": None}},
}
EFFECT, SWEEP, SERVERS = "#clef-cut-effect", "#clef-sweep", "#clef-servers"
DRAWN = ".chart[data-drawn]"
LINES = """() => document.querySelector('#clef-sweep .chart').data
    .map((line) => [line.name, line.x, line.y.map((y) => y.toFixed(1) + ' %')])"""
CELLS = "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.firstChild.textContent))"
BOXES = """() => {
    const { ids, parents, values } = document.querySelector('.clef-budget .chart').data[0];
    return { ids, parents, values };
}"""


@pytest.fixture(autouse=True)
def reading(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's model answers by what it is shown of the state."""
    monkeypatch.setattr(server.decider, "_decision", ReadingDecider()._decision)


def opened(open_page: Open, tab: str, size: Any = DESK, state: Any = STATE, kept: str = "200", **more: Any) -> Any:
    page = open_page(size, **more)
    answered(page)
    load(page, state, QUESTIONS, max_state_tokens=kept)
    page.evaluate("(name) => window.clef.emit('open-tab', name)", tab)
    page.evaluate("() => document.querySelector('#clef-tabs').scrollIntoView()")
    return page


def planned(page: Any, panel: str, text: str) -> None:
    page.wait_for_function(
        "([panel, text]) => document.querySelector(panel + ' .analysis-cost')?.textContent.includes(text)",
        arg=[panel, text],
    )


def swept(page: Any) -> None:
    planned(page, SWEEP, "readings")
    page.click(f"{SWEEP} .analysis-run")
    page.wait_for_selector(f"{SWEEP} .verdict")


def scripts(page: Any) -> list[str]:
    return page.evaluate("() => performance.getEntriesByType('resource').map((entry) => entry.name)")


def loaded_charts(page: Any) -> bool:
    return any(name.endswith("/clef/plotly.js") for name in scripts(page))


def test_one_click_in_the_budget_tells_whether_the_cut_mattered(open_page: Open) -> None:
    page = opened(open_page, "budget")
    page.get_by_role("button", name="Did it matter?").click()
    page.wait_for_selector(f"{EFFECT} table.effect")
    assert page.inner_text(f"{EFFECT} .verdict b") == "The cut changed 1 of 3 answers."
    assert "The whole state turns refund from false to true." in page.inner_text(f"{EFFECT} .verdict")
    cells = page.locator(f"{EFFECT} tbody").first.locator("tr").nth(1).locator("td").all_inner_texts()
    assert [cell.split() for cell in cells] == [
        ["26.9", "%"],
        ["73.1", "%", "▲", "+46.2"],
        ["73.1", "%", "▲", "+46.2"],
        ["26.9", "%"],
    ]
    assert page.locator(f"{EFFECT} .changed").count() == 4


def test_an_answer_on_a_cut_state_leads_to_the_comparison(open_page: Open) -> None:
    page = opened(open_page, "answers")
    page.keyboard.press("ControlOrMeta+Enter")
    page.locator(".clef-answer .cut").get_by_role("button", name="Did it matter?").first.click()
    page.wait_for_selector(f"{EFFECT} table.effect")
    assert page.get_by_role("tab", name="Cut effect").get_attribute("aria-selected") == "true"


def test_a_whole_state_leaves_nothing_to_compare(open_page: Open) -> None:
    page = opened(open_page, "cut-effect", kept="")
    planned(page, EFFECT, "Nothing of the state is cut")
    assert page.is_disabled(f"{EFFECT} .analysis-run")


def test_a_larger_limit_of_ones_own_is_read_and_a_wrong_one_told_before_the_run(open_page: Open) -> None:
    page = opened(open_page, "cut-effect")
    planned(page, EFFECT, "4 readings")
    page.fill(f"{EFFECT} input", "12")
    planned(page, EFFECT, "larger limit: found 12; a number from")
    assert page.is_disabled(f"{EFFECT} .analysis-run")
    least = re.search(r"from ([0-9,]+), one", page.inner_text(f"{EFFECT} .analysis-cost"))
    assert least is not None
    total = int(least[1].replace(",", ""))
    page.fill(f"{EFFECT} input", str(total + 19))
    planned(page, EFFECT, "4 readings")
    page.press(f"{EFFECT} input", "Enter")
    page.wait_for_selector(f"{EFFECT} table.effect")
    assert "the first 220 of" in page.inner_text(f"{EFFECT} thead")


def test_a_result_ages_when_the_draft_changes_and_is_asked_again(open_page: Open) -> None:
    page = opened(open_page, "cut-effect")
    planned(page, EFFECT, "4 readings")
    page.click(f"{EFFECT} .analysis-run")
    page.wait_for_selector(f"{EFFECT} table.effect")
    assert page.is_hidden(f"{EFFECT} .analysis-old")
    load(page, {**STATE, "refund": "wanted!"}, QUESTIONS, max_state_tokens="200")
    page.wait_for_selector(f"{EFFECT} .analysis-old", state="visible")
    page.click(f"{EFFECT} .analysis-old button")
    page.wait_for_selector(f"{EFFECT} .analysis-old", state="hidden")


def test_the_sweep_says_how_much_is_enough_with_lines_and_the_same_numbers_in_rows(open_page: Open) -> None:
    page = opened(open_page, "cut-effect")
    planned(page, SWEEP, "16 readings from 0 to")
    assert not loaded_charts(page)
    swept(page)
    page.wait_for_selector(f"{SWEEP} {DRAWN}")
    assert loaded_charts(page)
    assert page.inner_text(f"{SWEEP} .verdict b").startswith("From ")
    chart = page.evaluate(LINES)
    rows = page.locator(f"{SWEEP} tbody tr").evaluate_all(CELLS)
    assert len(rows) == 16
    for index, (name, x, y) in enumerate(chart):
        assert name == ["true", "false"][index]
        assert [row[0] for row in rows] == [f"{kept:,}" for kept in x]
        assert [row[2 + index] for row in rows] == y
    assert page.locator(f"{SWEEP} tr.enough").count() == 1


def test_a_closer_look_narrows_the_place_of_the_change(open_page: Open) -> None:
    page = opened(open_page, "cut-effect")
    swept(page)
    before = page.inner_text(f"{SWEEP} .verdict b")
    place = re.compile(r"From ([0-9]+) of")
    page.get_by_role("button", name="Look closer").click()
    page.wait_for_function(
        "(before) => document.querySelector('#clef-sweep .verdict b').textContent !== before", arg=before
    )
    needed = len(json.dumps(STATE, separators=(",", ":")).partition('"refund')[0]) + len('"refund')
    first, second = place.search(before), place.search(page.inner_text(f"{SWEEP} .verdict b"))
    assert first is not None
    assert second is not None
    assert needed <= int(second[1]) < int(first[1])


def test_another_question_is_looked_at_without_another_run(open_page: Open, server: Any) -> None:
    page = opened(open_page, "cut-effect")
    swept(page)
    number = len(server.decider.decided)
    page.select_option(f"{SWEEP} select", "2")
    assert page.locator(f"{SWEEP} thead th").all_inner_texts() == ["kept tokens", "answer", "sales", "billing"]
    assert len(server.decider.decided) == number


def test_escape_stops_an_analysis_and_it_can_be_started_again(open_page: Open, server: Any) -> None:
    page = opened(open_page, "cut-effect")
    load(page, "x" * 300, {"slow": {"type": "noul"}}, max_state_tokens="200")
    planned(page, SWEEP, "16 readings")
    server.gate.clear()
    try:
        page.click(f"{SWEEP} .analysis-run")
        page.wait_for_function(
            "() => document.querySelector('#clef-sweep .analysis-cost').textContent.includes('gate')"
        )
        assert page.inner_text(f"{SWEEP} .analysis-run") == "Stop"
        page.keyboard.press("Escape")
        page.wait_for_function("() => document.querySelector('#clef-sweep .analysis-run').textContent === 'Sweep'")
    finally:
        server.gate.set()
    swept(page)


def test_the_icicle_is_loaded_when_opened_and_takes_no_markup_from_keys(open_page: Open) -> None:
    page = opened(open_page, "budget", state={**STATE, HOSTILE: {"a": 1, "<b>b</b>": 2}})
    page.wait_for_selector(".clef-budget .icicle")
    assert not loaded_charts(page)
    page.click(".clef-budget .icicle summary")
    page.wait_for_selector(f".clef-budget {DRAWN}")
    names = page.locator(".clef-budget .chart .slicetext").all_text_contents()
    assert any("log" in name for name in names)
    data = page.evaluate(BOXES)
    whole = dict(zip(data["ids"], data["values"], strict=True))
    inside: dict[str, int] = {}
    for parent, value in zip(data["parents"], data["values"], strict=True):
        inside[parent] = inside.get(parent, 0) + value
    assert all(tokens <= whole[parent] for parent, tokens in inside.items() if parent)
    assert page.evaluate("() => window.hit") is None
    assert page.locator(".clef-budget img").count() == 0


def test_without_the_charts_script_the_table_stands_alone(open_page: Open, profile: Any) -> None:
    context = profile()
    context.route("**/clef/plotly.js", lambda route: route.fulfill(status=200, body="", content_type="text/javascript"))
    page = opened(open_page, "cut-effect", context=context)
    swept(page)
    page.wait_for_selector(f"{SWEEP} .chart p")
    assert page.inner_text(f"{SWEEP} .chart") == (
        "No chart: the chart's script could not be loaded. The table has the same numbers."
    )
    assert page.locator(f"{SWEEP} tbody tr").count() == 16


def test_other_servers_are_told_apart_with_their_own_words(open_page: Open) -> None:
    page = opened(open_page, "budget")
    page.click(f"{SERVERS} summary")
    page.wait_for_selector(f"{SERVERS} li")
    assert re.match(r"Would other servers take this\?Of \d+ servers,", page.inner_text(f"{SERVERS} summary"))
    workers = page.locator(f"{SERVERS} li.refused", has_text="Workers AI").first
    assert "questions.team.instructions" in workers.inner_text()
    assert "422, code 5012" in workers.inner_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE])
def test_axe_finds_no_serious_fault_in_results_and_charts(open_page: Open, size: Any, theme: str) -> None:
    from axe_core_python.sync_playwright import Axe

    page = opened(open_page, "budget", size, query=f"?__theme={theme}")
    page.click(".clef-budget .icicle summary")
    page.wait_for_selector(f".clef-budget {DRAWN}")
    page.click(f"{SERVERS} summary")
    page.wait_for_selector(f"{SERVERS} li.refused")
    faults = _serious(Axe().run(page))
    page.get_by_role("button", name="Did it matter?").click()
    page.wait_for_selector(f"{EFFECT} table.effect")
    page.evaluate("() => document.querySelector('#clef-sweep').scrollIntoView()")
    swept(page)
    page.wait_for_selector(f"{SWEEP} {DRAWN}")
    assert faults + _serious(Axe().run(page)) == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= size[0]


def _serious(found: Any) -> list[str]:
    return [
        f"{fault['id']}: {node['html'][:160]}"
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]
