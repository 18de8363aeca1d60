"""The right column in a real browser: answers, prompt, budget, export."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import DESK, PHONE
from driving import answered, draft, notice, planned

from clef_ui.draft_types import Draft, LimitsDraft, draft_view

pytestmark = pytest.mark.browser

Open = Callable[..., Any]
HOSTILE = "<img src=x onerror=window.hit=1>${7*7}{{7*7}}\u202egnp.exe"
QUESTIONS: dict[str, Any] = {
    "team": {
        "type": "choice",
        "instructions": "Which team should handle this?",
        "criteria": {"billing": "Payments", "technical": "Bugs and outages", "other": None},
    },
    "outage": {"type": "noul", "instructions": "Is a service down?"},
    "urgency": {"type": "score", "instructions": "How soon?", "criteria": ["Can wait", "Today", "Right now"]},
}
STATE = {"subject": "Checkout is down", "plan": "business", "seats": 60, "message": "Card payments fail."}
PROMPT_TEXT = "() => [...document.querySelectorAll('.prompt-box .row')].map((row) => row.textContent).join('')"


def load(page: Any, state: Any, questions: dict[str, Any], **limits: str) -> None:
    """Puts a draft into the editor as a preset does, and waits until it is planned."""
    is_text = isinstance(state, str)
    view = draft_view(
        Draft(
            state_mode="text" if is_text else "json",
            state_text=state if is_text else json.dumps(state, ensure_ascii=False),
            questions_mode="json",
            questions_text=json.dumps(questions, ensure_ascii=False),
            limits=LimitsDraft(**limits),
        )
    )
    page.evaluate(
        """(draft) => new Promise((done) => {
            window.clef.on("plan", () => done());
            window.clef.emit("load-draft", { draft, reason: "" });
        })""",
        view,
    )


def run(page: Any) -> None:
    page.keyboard.press("ControlOrMeta+Enter")
    answered(page)


def tab(page: Any, name: str) -> None:
    page.evaluate("(name) => window.clef.emit('open-tab', name)", name.lower())
    page.wait_for_selector(f"#clef-{name.lower()} .clef-root")


def opened(open_page: Open, state: Any = STATE, questions: Any = QUESTIONS, size: Any = DESK, **limits: str) -> Any:
    page = open_page(size)
    answered(page)
    load(page, state, questions, **limits)
    return page


def prompt(page: Any) -> None:
    tab(page, "Prompt")
    page.wait_for_selector(".prompt-box .row .piece")


def test_each_question_gets_a_card_with_its_bars_and_its_exact_numbers(open_page: Open) -> None:
    page = opened(open_page)
    run(page)
    cards = page.locator(".clef-answer")
    assert cards.count() == 3
    assert (cards.nth(0).locator(".headline").text_content() or "").startswith("billing")
    assert cards.nth(1).locator(".middle").text_content() == "0.5 cannot tell"
    assert (
        cards.nth(2)
        .locator(".gauge")
        .get_attribute("aria-label")
        .startswith("Expected level 0.42, most likely level 0")
    )
    cards.nth(0).locator("ul.rows").focus()
    track = cards.nth(0).locator(".row .track").nth(0)
    assert track.evaluate("(e) => getComputedStyle(e, '::after').opacity") == "1"
    assert track.get_attribute("data-exact") == "0.6652409434318542"
    assert "66.5 %, exactly 0.6652409434318542" in cards.nth(0).locator(".row .val").nth(0).evaluate(
        "(e) => e.textContent"
    )
    cards.nth(0).get_by_text("Exact values").click()
    row = cards.nth(0).locator(".exact-table tbody tr").nth(0)
    assert row.inner_text().split()[:1] == ["billing"]
    assert "0.665" in row.inner_text()


def test_an_option_is_reached_and_chosen_by_keyboard(open_page: Open) -> None:
    page = opened(open_page)
    run(page)
    page.locator(".clef-answer ul.rows").nth(0).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector(".prompt-box .piece.lit")
    assert page.locator(".prompt-box .piece.lit").inner_text() == '{"option_id":"other"}'


def test_the_order_of_a_choice_can_be_switched_and_is_kept(open_page: Open) -> None:
    page = opened(open_page, questions={"c": {"type": "choice", "criteria": {"z": None, "a": None, "m": None}}})
    run(page)
    labels = page.locator(".clef-answer .row .lab > bdi")
    assert labels.all_text_contents() == ["a", "m", "z"]
    page.get_by_role("button", name="request's order").click()
    assert labels.all_text_contents() == ["z", "a", "m"]
    run(page)
    assert labels.all_text_contents() == ["z", "a", "m"]


def test_the_definition_of_confidence_is_named_and_can_be_switched(open_page: Open) -> None:
    page = opened(open_page)
    run(page)
    foot = page.locator(".clef-answer .foot").nth(0)
    assert "confidence 0.665 (top probability)" in (foot.text_content() or "")
    page.get_by_label("confidence:").select_option(label="1 − entropy (Ollama)")
    assert "(1 − normalised entropy)" in (foot.text_content() or "")  # inner text waits for the next frame


def test_an_answer_on_a_cut_state_says_so_on_its_card_and_leads_to_the_budget(open_page: Open) -> None:
    page = opened(open_page, max_state_tokens="20")
    run(page)
    card = page.locator(".clef-answer").nth(1)
    assert "Computed on a cut state: 71 of 91 state tokens were not read." in (card.text_content() or "")
    card.get_by_role("button", name="What was lost?").click()
    page.wait_for_selector("#clef-budget .lost-text")


def test_answers_go_stale_at_once_and_one_can_go_back_to_what_they_belong_to(open_page: Open) -> None:
    page = opened(open_page)
    run(page)
    load(page, "something else", QUESTIONS)
    page.get_by_role("button", name="Go back to it").click()
    page.wait_for_function("() => !document.querySelector('.stale-note')")
    assert json.loads(draft(page)["stateText"]) == STATE


def test_no_text_of_the_person_becomes_markup_or_code_in_any_panel(open_page: Open) -> None:
    questions = {HOSTILE: {"type": "choice", "instructions": HOSTILE, "criteria": {HOSTILE: HOSTILE, "b": None}}}
    page = opened(open_page, {HOSTILE: HOSTILE, "z": "y" * 60}, questions, max_state_tokens="60")
    run(page)
    for name in ("Answers", "Prompt", "Budget", "Export"):
        tab(page, name)
        page.wait_for_function(
            "(id) => document.querySelector(`#clef-${id} .clef-root`).textContent.includes('onerror=window.hit=1')",
            arg=name.lower(),
        )
        panel = page.locator(f"#clef-{name.lower()}")
        assert panel.locator("img").count() == 0
        assert "${7*7}{{7*7}}" in panel.evaluate("(e) => e.textContent")
        codes = panel.evaluate(
            "(e) => e.textContent.includes('U+202E') || Boolean(e.querySelector('[data-code=\"U+202E\"]'))"
        )
        assert codes
    assert page.evaluate("() => window.hit") is None


def test_the_prompt_shown_is_the_prompt_to_the_character_and_so_is_a_copy(open_page: Open) -> None:
    state = "  indented\n\n\ttabbed  日本😀 \u202e<|im_end|>\u200b"
    page = opened(open_page, state)
    prompt(page)
    text = page.evaluate(PROMPT_TEXT)
    assert text.startswith("<|im_start|>system\nRead the complete state")
    assert f"STATE:\n{state}\n\nSCHEMA FIELDS:" in text
    assert text.endswith("JOINT SCHEMA DECISIONS:")
    page.get_by_role("button", name="Copy prompt").click()
    page.wait_for_function("() => document.querySelector('.tools').textContent.includes('Copied.')")
    assert page.evaluate("() => navigator.clipboard.readText()") == text
    for toggle in ("Tokens", "Show spaces, tabs and line ends"):
        page.get_by_role("button", name=toggle).click()
        page.wait_for_selector(".prompt-box .row .piece")
        assert page.evaluate(PROMPT_TEXT) == text


def test_copying_a_selection_gives_the_very_characters(open_page: Open) -> None:
    page = opened(open_page, "one\ttwo  three")
    prompt(page)
    page.get_by_role("button", name="Show spaces, tabs and line ends").click()
    page.focus(".prompt-box")
    page.keyboard.press("ControlOrMeta+A")
    page.evaluate(
        """() => { const range = document.createRange();
            range.selectNodeContents(document.querySelector('.prompt-box'));
            getSelection().removeAllRanges();
            getSelection().addRange(range); }"""
    )
    page.keyboard.press("ControlOrMeta+C")
    assert page.evaluate("() => navigator.clipboard.readText()") == page.evaluate(PROMPT_TEXT)


def test_a_token_says_its_index_and_id_on_hover_and_by_keyboard(open_page: Open) -> None:
    page = opened(open_page, "ab")
    prompt(page)
    page.get_by_role("button", name="Tokens").click()
    page.hover(".prompt-box .g-state .tok >> nth=1")
    tip = page.inner_text(".clef-prompt .tip")
    start = page.evaluate("() => Number(document.querySelector('.prompt-box .row[data-label=state]').dataset.index)")
    assert f"token {start + 1} · id" in tip
    assert f"[{start}:{start + 2})" in tip
    page.focus(".prompt-box")
    page.keyboard.press("ArrowLeft")
    assert f"token {start} · id" in page.inner_text(".clef-prompt .tip")


def test_text_and_ids_light_each_other(open_page: Open) -> None:
    page = opened(open_page, "ab")
    prompt(page)
    page.get_by_role("button", name="Tokens").click()
    page.get_by_role("button", name="Show token ids").click()
    page.hover(".prompt-box .g-state .tok >> nth=0")
    lit = page.locator(".ids-box .id.cursor")
    assert lit.count() == 1
    unit = lit.get_attribute("data-unit")
    page.hover(f".ids-box .id[data-unit='{int(unit or 0) + 1}']")
    assert page.locator(".prompt-box .tok.cursor").inner_text() == "b"


def test_tokens_that_only_together_make_a_character_are_one_group(open_page: Open) -> None:
    page = opened(open_page, "é😀")
    prompt(page)
    page.get_by_role("button", name="Tokens").click()
    page.hover(".prompt-box .g-state .tok.joined >> nth=1")
    assert "together one character" in page.inner_text(".clef-prompt .tip")
    assert page.locator(".prompt-box .g-state .tok").all_inner_texts() == ["é", "😀"]


def test_a_typed_control_token_is_flagged_with_what_it_does(open_page: Open) -> None:
    page = opened(open_page, "please ignore <|im_end|> thanks")
    prompt(page)
    assert page.locator(".prompt-box .tok.bad").all_inner_texts() == ["<|im_end|>"]
    page.get_by_role("button", name="<|im_end|> (ends a chat turn)").click()
    assert "typed control token: ends a chat turn" in page.inner_text(".clef-prompt .tip")


def test_an_option_of_an_answer_lights_its_span_and_a_span_names_its_owner(open_page: Open) -> None:
    page = opened(open_page)
    run(page)
    page.locator(".clef-answer").nth(0).locator(".row .lab").nth(1).click()
    page.wait_for_selector(".prompt-box .piece.lit")
    assert page.locator(".prompt-box .piece.lit").inner_text() == '{"option_id":"other"}'
    assert page.inner_text(".clef-prompt .tip .owner").startswith("team · option other")
    page.locator(".prompt-box .piece.g-question").nth(1).click()
    assert page.inner_text(".clef-prompt .tip .owner").startswith("outage · instruction")
    tab(page, "Answers")
    assert page.locator(".clef-answer.lit .qid").text_content() == "outage"


def test_the_cut_part_is_struck_through_after_the_last_kept_token(open_page: Open) -> None:
    page = opened(open_page, "kept text, lost text" + " and more" * 60, max_state_tokens="10")
    prompt(page)
    part = page.locator(".prompt-box .cut-part")
    assert part.locator("del").evaluate("(e) => e.textContent").startswith(" lost text and more")
    assert page.evaluate("() => document.querySelector('.cut-part').previousElementSibling.textContent") == "kept text,"
    assert " lost text" not in page.evaluate(PROMPT_TEXT)
    part.get_by_role("button", name="Show the lost text").click()
    assert part.get_by_role("button", name="Show less").is_visible()


def test_the_prompt_can_be_searched_for_text_indices_and_ids(open_page: Open) -> None:
    page = opened(open_page, "needle " * 40)
    prompt(page)
    page.fill(".find", "needle")
    page.wait_for_function("() => document.querySelector('.search').textContent.includes('1 of 40')")
    page.press(".find", "Enter")
    page.wait_for_function("() => document.querySelector('.search').textContent.includes('2 of 40')")
    page.fill(".find", "@0")
    page.wait_for_function("() => document.querySelector('.search').textContent.includes('1 of 1')")
    page.fill(".find", "nothing like it")
    page.wait_for_function("() => document.querySelector('.search').textContent.includes('none')")


def test_a_prompt_of_the_trained_length_is_whole_and_drawn_in_parts(open_page: Open) -> None:
    page = opened(open_page, "word, " * 4_000)
    prompt(page)
    page.wait_for_function("() => document.querySelector('.clef-prompt').dataset.total === '16384'")
    page.get_by_role("button", name="Tokens").click()
    page.wait_for_selector(".prompt-box .tok")
    assert len(page.evaluate(PROMPT_TEXT)) == 16_384 + page.evaluate(
        # special tokens are longer than one character, and each counts for one token
        "() => ['<|im_start|>', '<|im_end|>', '<think>', '</think>'].reduce((sum, token) => sum + (token.length - 1)"
        " * (document.querySelector('.prompt-box').textContent.split(token).length - 1), 0)"
    )
    assert page.locator(".prompt-box .tok").count() < 8_000


def test_a_line_of_two_hundred_thousand_characters_is_whole_with_its_lost_part_counted(open_page: Open) -> None:
    page = opened(open_page, "lorem " * 33_334)
    prompt(page)
    kept = page.evaluate(PROMPT_TEXT).partition("STATE:\n")[2].partition("\n\nSCHEMA")[0]
    assert ("lorem " * 33_334).startswith(kept)
    assert f"first 20,000 of {200_004 - len(kept):,} characters" in page.inner_text(".cut-part")
    tab(page, "Budget")
    page.get_by_role("button", name="Show all").wait_for()


def test_the_budget_shows_the_row_and_a_ledger_that_can_be_sorted(open_page: Open) -> None:
    page = opened(open_page)
    tab(page, "Budget")
    page.wait_for_selector("#clef-budget .ledger .cell")
    titles = page.locator("#clef-budget .ledger button").evaluate_all("(all) => all.map((each) => each.title)")
    assert [title.partition(":")[0] for title in titles] == [
        "prefix",
        "state",
        "schema header",
        "team",
        "outage",
        "urgency",
        "suffix",
    ]
    table = page.get_by_role("region", name="The ledger by parts")
    table.get_by_role("button", name="tokens").click()
    counts = [int(text.replace(",", "")) for text in table.locator("tbody tr td:nth-child(2)").all_inner_texts()]
    assert counts == sorted(counts, reverse=True)
    page.get_by_role("button", name="Questions and options").click()
    page.get_by_role("region", name="Tokens of each question and option").get_by_role(
        "button", name="technical"
    ).click()
    page.wait_for_selector(".prompt-box .piece.lit")
    assert '"option_id":"technical"' in page.locator(".prompt-box .piece.lit").inner_text()


def test_a_way_out_is_applied_with_one_click_and_undone(open_page: Open) -> None:
    page = opened(open_page, max_state_tokens="40")
    tab(page, "Budget")
    page.get_by_role("button", name="Apply: Rename subject to a_subject, which sorts first").click()
    notice(page, "Rename subject to a_subject")
    assert list(json.loads(draft(page)["stateText"])) == ["a_subject", "plan", "seats", "message"]
    page.wait_for_function("() => document.querySelector('#clef-budget .lost-text').textContent.includes('seats')")
    page.get_by_role("button", name="Undo").click()
    page.wait_for_function("() => window.clef.draft.stateText.includes('\"subject\"')")
    assert json.loads(draft(page)["stateText"]) == STATE


def test_raising_the_limit_from_the_budget_keeps_everything(open_page: Open) -> None:
    page = opened(open_page, max_length="900")
    tab(page, "Budget")
    page.locator("#clef-budget .fix", has_text="Raise max_length").get_by_role("button").click()
    planned(page, "nothing cut")
    page.wait_for_function("() => !document.querySelector('#clef-budget .lost-text')")


def test_a_json_state_is_counted_key_by_key_and_lost_keys_are_marked(open_page: Open) -> None:
    page = opened(open_page, max_state_tokens="45")
    tab(page, "Budget")
    rows = page.get_by_role("region", name="Tokens of each value of the state").locator("tbody tr")
    rows.nth(3).wait_for()
    assert [row.split()[0] for row in rows.all_inner_texts()] == ["message", "plan", "seats", "subject"]
    assert [rows.nth(place).get_attribute("class") for place in range(4)] == ["kept", "cut", "lost", "lost"]


def test_the_whole_lost_text_is_fetched_when_asked_for(open_page: Open) -> None:
    page = opened(open_page, "x" * 20_000)
    tab(page, "Budget")
    page.get_by_role("button", name="Show all").click()
    page.wait_for_function("() => !document.querySelector('#clef-budget .box > .btn')")
    lost = page.evaluate("() => document.querySelector('#clef-budget .lost-text del').textContent")
    assert lost == "x" * len(lost)
    assert f"{len(lost):,} of 20,000 state tokens were cut" in page.inner_text("#clef-budget section.cut .note")


def test_a_schema_over_the_limit_names_the_dearest_questions(open_page: Open) -> None:
    page = opened(open_page, max_length="500")
    tab(page, "Budget")
    note = page.locator("#clef-budget .note.bad").nth(0)
    note.wait_for()
    assert note.inner_text().startswith("The questions alone are too long by")
    assert note.locator("li").nth(0).inner_text().startswith("outage 277 tokens, of these option false 83")
    note.get_by_role("button", name="Raise max_length to").click()
    planned(page, "nothing cut")


def test_many_states_are_counted_from_a_file(open_page: Open, tmp_path: Path) -> None:
    file = tmp_path / "states.csv"
    file.write_text("id,text\n" + "".join(f'{n},"{"y" * n}, ""q"""\n' for n in range(200)), "utf-8")
    page = opened(open_page, max_state_tokens="100")
    tab(page, "Budget")
    page.set_input_files("[aria-label='File of states']", file)
    page.wait_for_selector("#clef-budget .histogram")
    cells = dict(
        row.split("\t")[:2]
        for row in page.locator(".lengths-result table >> nth=0").locator("tbody tr").all_inner_texts()
    )
    assert (cells["number of states"], cells["P50"], cells["longest"]) == ("200", "104", "204")
    assert cells["cut at the limits now"] == "104"


def test_the_request_can_be_exported_in_every_spelling(open_page: Open) -> None:
    page = opened(open_page, {"n": 1})
    page.fill("#clef-editor .clef-state", '{"n": 12345678901234567890123, "f": 1.0}')
    tab(page, "Export")
    for name in ("curl", "Command line", "Python, this library", "Python, Workers AI", "Request (JSON)"):
        page.get_by_role("button", name=name, exact=True).click()
        page.wait_for_function(
            "() => document.querySelector('#clef-export pre').textContent.includes('12345678901234567890123')"
        )
    page.get_by_role("button", name="Copy", exact=True).click()
    page.wait_for_function("() => document.querySelector('#clef-export .snippet').textContent.includes('Copied.')")
    assert json.loads(page.evaluate("() => navigator.clipboard.readText()"))["state"] == {
        "n": 12345678901234567890123,
        "f": 1.0,
    }


def test_a_case_goes_out_and_comes_back_in_another_profile_and_is_checked(open_page: Open, tmp_path: Path) -> None:
    page = opened(open_page, max_state_tokens="60")
    run(page)
    tab(page, "Export")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save case").click()
    case = tmp_path / "case.json"
    download.value.save_as(case)
    other = open_page()
    answered(other)
    tab(other, "Export")
    other.set_input_files("[aria-label='Open a case file']", case)
    other.wait_for_function("() => document.querySelector('.case-result').textContent.includes('token by token')")
    assert draft(other)["limits"]["maxStateTokens"] == "60"
    run(other)
    other.wait_for_function(
        "() => document.querySelector('.case-result').textContent.includes('the same to the last digit')"
    )


def test_another_answer_than_the_cases_is_named(open_page: Open, tmp_path: Path) -> None:
    page = opened(open_page)
    run(page)
    tab(page, "Export")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save case").click()
    filed = json.loads(Path(download.value.path()).read_text("utf-8"))
    filed["probabilities"]["outage"] = {"true": 0.1, "false": 0.9}
    case = tmp_path / "case.json"
    case.write_text(json.dumps(filed), "utf-8")
    page.set_input_files("[aria-label='Open a case file']", case)
    page.wait_for_function("() => document.querySelector('.case-result').textContent.includes('Opened.')")
    run(page)
    page.wait_for_selector(".case-result table")
    assert "question 'outage', top option" in page.inner_text(".case-result")


def test_a_file_that_is_no_case_says_so(open_page: Open, tmp_path: Path) -> None:
    page = opened(open_page)
    tab(page, "Export")
    file = tmp_path / "notes.json"
    file.write_text("[]", "utf-8")
    page.set_input_files("[aria-label='Open a case file']", file)
    page.wait_for_function(
        "() => document.querySelector('.case-result').textContent.includes('The file is no case file')"
    )


def test_panels_of_a_broken_draft_say_what_to_mend_and_recover(open_page: Open) -> None:
    page = opened(open_page)
    for name in ("Prompt", "Budget", "Export"):
        tab(page, name)
        page.fill("#clef-editor .clef-state", "{")
        page.wait_for_selector(f"#clef-{name.lower()} .note.bad li.problem")
        page.fill("#clef-editor .clef-state", "{}")
        page.wait_for_selector(f"#clef-{name.lower()} .note.bad", state="detached")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_axe_finds_no_serious_fault_in_any_tab(open_page: Open, size: tuple[int, int], theme: str) -> None:
    from axe_core_python.sync_playwright import Axe

    page = open_page(size, query=f"?__theme={theme}")
    answered(page)
    load(page, {**STATE, "typed": "<|im_end|>"}, QUESTIONS, max_state_tokens="60")
    run(page)
    for name in ("Answers", "Prompt", "Budget", "Export"):
        tab(page, name)
        page.wait_for_selector(
            {"Prompt": ".prompt-box .piece", "Budget": "#clef-budget .fix", "Export": "#clef-export pre"}.get(
                name, ".clef-answer"
            )
        )
        found = Axe().run(page, context={"include": [["#clef-tabs"]]})["violations"]
        serious = [
            (fault["id"], [(node["html"][:160], node["failureSummary"][:400]) for node in fault["nodes"][:3]])
            for fault in found
            if fault["impact"] in ("serious", "critical")
        ]
        assert serious == [], name
        wide = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, name
