"""The schema builder in a real browser: by keyboard, fast, and without ever losing a letter."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from conftest import PHONE
from driving import answered, draft, paste, planned

from clef_ui.drafts import form_view

pytestmark = pytest.mark.browser

Open = Callable[..., Any]
CARD = ".clef-question"
FORM, JSON = ".clef-questions [data-mode=form]", ".clef-questions [data-mode=json]"
NOT_YET = "The form cannot show this yet"
TEAM = {
    "team": {
        "type": "choice",
        "instructions": "Which team?",
        "criteria": {"sales": "Plans", "billing": "Money", "other": None},
    },
    "urgent": {"type": "noul", "instructions": "Is it urgent?"},
    "level": {"type": "score", "instructions": "How bad is it?", "criteria": ["low", "medium", "high"]},
}
COUNTED = """() => [...document.querySelectorAll(".clef-question .count")].every((count) => count.textContent)"""
PLANNED_NOW = """() => new Promise((done) => {
    let view = null;
    window.clef.on("plan", (next) => { view = next; });
    const wait = () => (view ? requestAnimationFrame(() => done()) : setTimeout(wait, 20));
    wait();
})"""


def load(page: Any, questions: dict[str, Any] | str, *, collapsed: bool = False) -> None:
    """Loads questions as the form shows them, all of them open."""
    text = questions if isinstance(questions, str) else json.dumps(questions, ensure_ascii=False)
    cards = json.loads(form_view(text))
    assert cards["problems"] == []
    page.evaluate(
        """([questions, view]) => {
            const draft = { ...window.clef.draft, questionsMode: "form", questionsText: "", questions, view };
            window.clef.emit("load-draft", { draft, reason: "" });
        }""",
        [cards["questions"], {} if collapsed else {"collapsed": []}],
    )
    page.wait_for_function(COUNTED)


def asked(page: Any) -> Any:
    """The questions of the draft as the server reads them."""
    from clef_ui.draft_types import read_questions
    from clef_ui.question_text import text_from_form

    return json.loads(text_from_form(read_questions(json.dumps(draft(page)["questions"]))))


def focused(page: Any) -> str:
    """The accessible name of what has the focus."""
    name: str = page.evaluate(
        "() => document.activeElement.getAttribute('aria-label') || document.activeElement.labels?.[0]?.textContent"
        " || document.activeElement.textContent"
    )
    return name


def card(page: Any, place: int) -> Any:
    return page.locator(CARD).nth(place)


def menu(page: Any, place: int, entry: str) -> None:
    card(page, place).get_by_label("More for this question").click()
    page.get_by_role("menuitem", name=entry).click()


# --- writing ---


def test_a_schema_is_built_and_run_by_keyboard_alone(open_page: Open) -> None:
    page = open_page()
    load(page, {})
    keyboard = page.keyboard
    page.locator("[data-add=choice]").focus()
    keyboard.press("Enter")
    keyboard.type("team")
    keyboard.press("Enter")
    keyboard.type("Which team?")
    keyboard.press("Tab")
    for line in ("sales", "billing"):
        keyboard.type(line)
        keyboard.press("Enter")
        keyboard.type(f"About {line}")
        keyboard.press("Enter")
    keyboard.type("other")
    page.locator("[data-add=noul]").focus()
    keyboard.press("Enter")
    keyboard.type("urgent")
    keyboard.press("Enter")
    keyboard.type("Is it urgent?")
    page.locator("[data-add=score]").focus()
    keyboard.press("Enter")
    keyboard.type("level")
    keyboard.press("Enter")
    keyboard.type("How bad is it?")
    keyboard.press("Tab")
    keyboard.type("low")
    keyboard.press("Enter")
    keyboard.type("high")
    keyboard.press("ControlOrMeta+Enter")
    answered(page)
    assert asked(page) == {
        "team": {
            "type": "choice",
            "instructions": "Which team?",
            "criteria": {"sales": "About sales", "billing": "About billing", "other": None},
        },
        "urgent": {"type": "noul", "instructions": "Is it urgent?"},
        "level": {"type": "score", "instructions": "How bad is it?", "criteria": ["low", "high"]},
    }
    assert page.locator(".clef-answer").count() == 3


@pytest.mark.parametrize("first", [0, 5, 10, 15])
def test_no_letter_is_lost_in_twenty_runs_of_fast_typing(open_page: Open, first: int) -> None:
    page = open_page()
    for run in range(first, first + 5):
        type_fast(page, run)


def type_fast(page: Any, run: int) -> None:
    """Builds two questions with a rhythm of its own for each run, so that plans arrive at other letters."""
    load(page, {})
    page.click("[data-add=choice]")
    page.keyboard.type("urgency", delay=run % 4 * 8)
    page.keyboard.press("Enter")
    page.keyboard.type("How soon must someone act?", delay=run % 5 * 3)
    page.keyboard.press("Tab")
    for line in ("now", "later"):
        page.keyboard.type(line, delay=run % 3 * 6)
        page.keyboard.press("Enter")
        page.keyboard.type(f"It is {line}.", delay=run % 2 * 9)
        page.keyboard.press("Enter")
    page.keyboard.type("never")
    page.click("[data-add=noul]")
    page.keyboard.type("spam")
    menu(page, 0, "Move down")
    page.locator(CARD).nth(1).get_by_label("Option 1, description").click()
    page.keyboard.press("End")
    page.keyboard.type(" At once!")
    assert asked(page) == {
        "spam": {"type": "noul"},
        "urgency": {
            "type": "choice",
            "instructions": "How soon must someone act?",
            "criteria": {"now": "It is now. At once!", "later": "It is later.", "never": None},
        },
    }
    shown = page.locator(CARD).nth(1).locator("textarea").evaluate_all("(fields) => fields.map((field) => field.value)")
    assert shown == [
        "urgency",
        "How soon must someone act?",
        "now",
        "It is now. At once!",
        "later",
        "It is later.",
        "never",
        "",
    ]


def test_a_plan_leaves_the_field_and_the_caret_alone(open_page: Open) -> None:
    page = open_page()
    load(page, TEAM)
    page.get_by_label("Instructions").first.click()
    page.evaluate("() => { window.field = document.activeElement; window.field.setSelectionRange(5, 5); }")
    page.keyboard.type(" one")
    page.evaluate(PLANNED_NOW)
    assert page.evaluate("() => [document.activeElement === window.field, window.field.selectionStart]") == [True, 9]
    page.keyboard.type("!")
    assert asked(page)["team"]["instructions"] == "Which one! team?"


def test_twenty_five_questions_are_edited_like_one(open_page: Open) -> None:
    page = open_page()
    load(page, {f"q{place:02d}": TEAM["team"] for place in range(25)})
    card(page, 12).get_by_label("Instructions").click()
    page.keyboard.press("End")
    page.keyboard.type(" Say it quickly.")
    menu(page, 12, "Duplicate")
    page.keyboard.type("copy")
    menu(page, 0, "Remove")
    assert list(asked(page)) == [
        *(f"q{place:02d}" for place in range(1, 13)),
        "copy",
        *(f"q{place}" for place in range(13, 25)),
    ]
    assert asked(page)["copy"]["instructions"] == "Which team? Say it quickly."
    page.wait_for_function(COUNTED)


# --- order, undo, types ---


def test_a_removed_question_comes_back_where_it_was(open_page: Open) -> None:
    page = open_page()
    load(page, TEAM)
    menu(page, 1, "Remove")
    assert list(asked(page)) == ["team", "level"]
    assert focused(page) == "Undo"
    page.keyboard.press("Enter")
    assert asked(page) == TEAM
    assert focused(page) == "More for this question"


def test_removals_are_undone_one_after_the_other(open_page: Open) -> None:
    page = open_page()
    load(page, TEAM)
    for _ in TEAM:
        menu(page, 0, "Remove")
    assert "and 2 before" in page.inner_text(".undo")
    for _ in TEAM:
        page.click(".undo >> text=Undo")
    assert asked(page) == TEAM
    assert page.locator(".undo").is_hidden()


def test_a_removed_level_comes_back_where_it_was(open_page: Open) -> None:
    page = open_page()
    load(page, TEAM)
    card(page, 2).get_by_label("Remove level").nth(1).click()
    assert asked(page)["level"]["criteria"] == ["low", "high"]
    assert focused(page) == "Remove level"
    page.click(".undo >> text=Undo")
    assert asked(page) == TEAM


def test_questions_and_levels_move_by_keyboard_and_keep_the_focus(open_page: Open) -> None:
    page = open_page()
    load(page, TEAM)
    card(page, 0).get_by_label("Question id").focus()
    page.keyboard.press("Alt+ArrowDown")
    page.keyboard.press("Alt+ArrowDown")
    assert list(asked(page)) == ["urgent", "level", "team"]
    page.keyboard.type("s")
    assert "team" in page.evaluate("() => document.activeElement.value")
    card(page, 1).get_by_label("Level 0 of 2, description").focus()
    page.keyboard.press("Alt+ArrowDown")
    assert asked(page)["level"]["criteria"] == ["medium", "low", "high"]
    assert focused(page) == "Level 1 of 2, description"
    card(page, 1).get_by_label("Move level up").nth(2).click()
    assert asked(page)["level"]["criteria"] == ["medium", "high", "low"]


def test_a_menu_is_worked_by_keyboard(open_page: Open) -> None:
    page = open_page()
    load(page, TEAM)
    card(page, 1).get_by_label("More for this question").focus()
    page.keyboard.press("Enter")
    assert focused(page).startswith("Move up")
    page.keyboard.press("ArrowUp")
    assert focused(page) == "Remove"
    page.keyboard.press("d")
    assert focused(page) == "Duplicate"
    page.keyboard.press("Escape")
    assert focused(page) == "More for this question"
    assert page.locator("[role=menu]").count() == 0


def test_another_type_keeps_the_texts_and_brings_them_back(open_page: Open) -> None:
    page = open_page()
    load(page, TEAM)
    kind = card(page, 0).get_by_label("Type")
    kind.select_option("score")
    assert asked(page)["team"] == {
        "type": "score",
        "instructions": "Which team?",
        "criteria": ["Plans", "Money", "other"],
    }
    assert card(page, 0).get_by_label("Level 2 of 2, description").input_value() == "other"
    kind.select_option("noul")
    assert asked(page)["team"] == {"type": "noul", "instructions": "Which team?"}
    assert card(page, 0).get_by_label("What true means").is_visible()
    kind.select_option("choice")
    assert asked(page) == TEAM
    assert card(page, 0).get_by_label("Option 3, id").input_value() == "other"


def test_collapsing_changes_nothing_that_is_asked(open_page: Open) -> None:
    page = open_page()
    answered(page)
    load(page, TEAM)
    page.keyboard.press("ControlOrMeta+Enter")
    answered(page)
    page.click("text=Collapse all")
    assert page.locator(".clef-question.collapsed").count() == 3
    assert card(page, 0).locator(".line").inner_text().split("\n")[0].startswith("team")
    assert not page.evaluate("() => window.clef.isStale()")
    page.wait_for_function("() => window.clef.draft.view.collapsed.length === 3")
    card(page, 1).locator(".line").click()
    assert page.locator(".clef-question.collapsed").count() == 2
    assert draft(page)["view"]["collapsed"] == [1, 3]
    page.click("text=Collapse all")
    page.click("text=Expand all")
    page.wait_for_function("() => window.clef.draft.view.collapsed.length === 0")
    assert page.locator(".clef-question.collapsed").count() == 0


# --- values ---


def test_null_empty_text_and_json_values_are_told_apart(open_page: Open) -> None:
    page = open_page()
    load(page, TEAM)

    def entry(place: int, label: str) -> None:
        card(page, 0).get_by_label("More for this option").nth(place).click()
        page.get_by_role("menuitem", name=label).click()

    entry(0, "No description (null)")
    entry(2, "Empty text")
    entry(1, "Write as JSON value")
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type('{"n": 1.0}')
    assert asked(page)["team"]["criteria"] == {"sales": None, "billing": {"n": 1.0}, "other": ""}
    assert card(page, 0).locator(".tag:visible").all_inner_texts() == ["JSON", "empty text"]
    entry(1, "Write as text")
    assert asked(page)["team"]["criteria"]["billing"] == '{"n": 1.0}'


def test_the_default_texts_of_a_yes_no_question_are_seen_and_can_be_removed(open_page: Open) -> None:
    page = open_page()
    load(page, TEAM)
    field = card(page, 1).get_by_label("What false means")
    assert field.get_attribute("placeholder") == "The proposition is false or the answer is no."
    card(page, 1).get_by_label("Remove default text of false").click()
    assert asked(page)["urgent"]["criteria"] == {"false": None}
    field.fill("Not urgent")
    assert asked(page)["urgent"]["criteria"] == {"false": "Not urgent"}
    field.fill("")
    assert "criteria" not in asked(page)["urgent"]


def test_a_pasted_list_is_previewed_and_added(open_page: Open) -> None:
    page = open_page()
    load(page, TEAM)
    card(page, 0).get_by_text("Paste list").click()
    page.keyboard.type("legal: Contracts: all of them\nsales: Plans\n\nbilling: New words\nhttp://x\nmaths\tNumbers")
    assert page.inner_text(".pastebox .hint") == "3 new options; new description for billing"
    page.click(".pastebox >> text=Add")
    assert asked(page)["team"]["criteria"] == {
        "sales": "Plans",
        "billing": "New words",
        "other": None,
        "legal": "Contracts: all of them",
        "http://x": None,
        "maths": "Numbers",
    }
    page.click(".undo >> text=Undo")
    assert asked(page) == TEAM


def test_a_list_pasted_into_an_id_opens_the_preview(open_page: Open) -> None:
    page = open_page()
    load(page, {})
    page.click("[data-add=score]")
    page.click("[data-add=choice]")
    card(page, 1).get_by_label("Option 1, id").evaluate("(field) => { field.id = 'target'; }")
    paste(page, "#target", "a: one\nb: two")
    page.click(".pastebox >> text=Add")
    assert asked(page)["q2"]["criteria"] == {"a": "one", "b": "two"}


# --- form and JSON ---


def test_form_and_json_agree_digit_by_digit(open_page: Open) -> None:
    page = open_page()
    text = """{
  "10": {
    "type": "score",
    "criteria": [
      1.0,
      12345678901234567890123,
      "1.0",
      null
    ]
  },
  "9": {
    "type": "noul",
    "instructions": null,
    "criteria": {
      "true": null
    }
  }
}"""
    load(page, text)
    page.click(JSON)
    field = page.get_by_label("Questions as JSON")
    page.wait_for_function("() => window.clef.draft.questionsMode === 'json'")
    assert field.input_value() == text
    field.fill(text.replace("1.0,", "1.50,"))
    page.click(FORM)
    page.wait_for_function("() => window.clef.draft.questionsMode === 'form'")
    assert card(page, 0).get_by_label("Level 0 of 3, description, JSON value").input_value() == "1.50"
    page.click(JSON)
    page.wait_for_function("() => window.clef.draft.questionsMode === 'json'")
    assert field.input_value() == text.replace("1.0,", "1.50,")


def test_another_writing_of_the_same_questions_leaves_the_answers_current(open_page: Open) -> None:
    page = open_page()
    load(page, TEAM)
    page.keyboard.press("ControlOrMeta+Enter")
    answered(page)
    page.click(JSON)
    page.wait_for_function("() => window.clef.draft.questionsMode === 'json'")
    assert not page.evaluate("() => window.clef.isStale()")
    page.get_by_label("Questions as JSON").press("End")
    page.keyboard.type(" ")
    assert page.evaluate("() => window.clef.isStale()")
    page.keyboard.press("Backspace")
    assert not page.evaluate("() => window.clef.isStale()")
    page.click(FORM)
    page.wait_for_function("() => window.clef.draft.questionsMode === 'form'")
    assert not page.evaluate("() => window.clef.isStale()")


def test_broken_json_is_kept_with_its_place_and_runs_once_mended(open_page: Open) -> None:
    page = open_page()
    load(page, TEAM)
    page.click(JSON)
    field = page.get_by_label("Questions as JSON")
    page.wait_for_function("() => window.clef.draft.questionsMode === 'json'")
    field.fill('{"up": {"type": "noul"},\n "up": 1}')
    page.wait_for_selector(".clef-questions > .problems .link")
    assert page.inner_text(".clef-questions > .problems .link").startswith("line 2, column")
    page.click(FORM)
    page.wait_for_function(
        "(text) => document.querySelector('.clef-questions > .problems').textContent.includes(text)", arg=NOT_YET
    )
    assert draft(page)["questionsMode"] == "json"
    page.click(".clef-questions > .problems .link")
    assert page.evaluate("() => document.activeElement.selectionStart") == 26
    field.fill('{"up": {"type": "noul"}}')
    page.keyboard.press("ControlOrMeta+Enter")
    answered(page)
    assert page.locator(".clef-answer").count() == 1


# --- problems, advice, costs ---


def test_a_problem_stands_beside_its_field_and_is_bound_to_it(open_page: Open) -> None:
    page = open_page()
    load(page, TEAM)
    field = card(page, 0).get_by_label("Option 2, id")
    field.fill("sales")
    page.wait_for_selector(f"{CARD} .problem")
    assert field.get_attribute("aria-invalid") == "true"
    named = page.evaluate("(id) => document.getElementById(id).textContent", field.get_attribute("aria-describedby"))
    assert named == "found the id 'sales' twice: option 1 has it too. Rename one."
    page.click("text=Collapse all")
    assert card(page, 0).locator(".alerts").text_content() == "1 problem"
    page.click("[aria-label='Run'] .clef-run")
    page.wait_for_function("() => document.activeElement.matches('.clef-question textarea')")
    assert focused(page) == "Option 2, id"
    page.keyboard.press("End")
    page.keyboard.type("_2")
    page.wait_for_function("() => !document.querySelector('.clef-question .problem')")


def test_a_new_row_is_no_fault_before_it_was_visited(open_page: Open) -> None:
    page = open_page()
    load(page, {})
    page.click("[data-add=choice]")
    page.evaluate(PLANNED_NOW)
    assert page.locator(f"{CARD} .problem").count() == 0
    page.get_by_label("Option 1, id").click()
    page.get_by_label("Option 2, id").click()
    assert page.locator(f"{CARD} .problem").count() == 1


def test_advice_is_given_and_never_blocks(open_page: Open) -> None:
    page = open_page()
    load(page, {"team": {**TEAM["team"], "criteria": {"sales": "Plans", "billing": "Money", "press": "News"}}})
    page.wait_for_selector("[data-code=no_way_out]")
    assert card(page, 0).locator(".order").text_content() == "the model reads: billing, press, sales"
    page.keyboard.press("ControlOrMeta+Enter")
    answered(page)
    page.click("[data-code=no_way_out] >> text=Add it")
    assert list(asked(page)["team"]["criteria"].items())[-1] == ("other", "None of these")
    page.wait_for_function("() => !document.querySelector('[data-code=no_way_out]')")


def test_costs_are_those_of_the_plan(open_page: Open, server: Any) -> None:
    from clef_model.parsing import parse_record

    page = open_page()
    load(page, TEAM)
    encoded = server.decider.plan(parse_record({"state": "x", "questions": TEAM}))
    spans = [span.length for span in encoded.questions[2].option_spans]
    assert card(page, 2).locator(".tokens").all_text_contents() == [str(length) for length in spans]
    total = sum(segment.num_tokens for segment in encoded.ledger if segment.question == 2)
    assert card(page, 2).locator(".count").text_content() == str(total)


# --- safety, access, phone ---


def test_text_never_becomes_markup_and_hides_nothing(open_page: Open) -> None:
    page = open_page()
    sly = "<img src=x onerror=window.hit=1>"
    load(
        page,
        {sly: {"type": "choice", "instructions": "${7*7} {{7*7}}", "criteria": {"safe\u202egnp": sly, "b": "\u200b"}}},
    )
    page.click(JSON)
    page.wait_for_function("() => window.clef.draft.questionsMode === 'json'")
    page.click(FORM)
    page.wait_for_function("() => window.clef.draft.questionsMode === 'form'")
    assert page.locator(".clef-questions img").count() == 0
    assert page.evaluate("() => window.hit") is None
    assert card(page, 0).locator(".hint:visible").all_inner_texts() == [
        "hidden characters: safeU+202Egnp",
        "hidden characters: U+200B",
    ]
    assert card(page, 0).get_by_label("Instructions").input_value() == "${7*7} {{7*7}}"


def test_every_control_has_a_name(open_page: Open) -> None:
    page = open_page()
    load(page, TEAM)
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll(".clef-questions :is(button, textarea, select)")]
            .filter((each) => !each.getAttribute("aria-label")?.trim())
            .filter((each) => !(each.labels?.[0]?.textContent || each.textContent).trim())
            .map((each) => each.outerHTML)"""
    )
    assert unnamed == []


def test_a_phone_shows_cards_without_sideways_scroll(open_page: Open) -> None:
    page = open_page(PHONE)
    load(page, {**TEAM, "a_rather_long_question_id_that_goes_on": TEAM["team"]})
    planned(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= PHONE[0]
    page.click("text=Collapse all")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= PHONE[0]
