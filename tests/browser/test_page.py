"""The page as a person works on it all day, in a real browser."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from conftest import DESK, PHONE, PRESETS
from driving import answered, draft, drop, notice, paste, planned, settled

pytestmark = pytest.mark.browser

Open = Callable[..., Any]
STATE = "#clef-editor .clef-state"
REQUEST = json.dumps(
    {"model": "clef-flash", "state": "The lift is stuck.", "questions": {"stuck": {"type": "noul"}}}, indent=1
)


def test_a_first_visit_shows_a_worked_example_with_its_answers(open_page: Open) -> None:
    page = open_page()
    answered(page)
    assert page.locator(".clef-answer").count() == 3
    assert "Support triage" in page.inner_text(".clef-presetnote")


def test_typing_marks_the_answers_as_out_of_date_and_counts_at_once(open_page: Open) -> None:
    page = open_page()
    answered(page)
    before = page.inner_text(".clef-cost")
    page.click(STATE)
    page.keyboard.press("ControlOrMeta+End")
    page.keyboard.type("\n")
    page.wait_for_selector(".stale-note")
    page.keyboard.type("x")
    page.wait_for_function("() => document.querySelector('#clef-editor .sec .problem')")
    page.keyboard.press("Backspace")
    planned(page, before)


def test_a_json_problem_stands_beside_the_field_with_its_place_and_the_caret_goes_there(open_page: Open) -> None:
    page = open_page()
    page.fill(STATE, '{"a": 1,\n "a": 2}')
    page.click("#clef-editor .clef-problems .clef-place")
    assert page.inner_text("#clef-editor .clef-problems .clef-place").startswith("line 2, column")
    caret = page.evaluate("() => [document.activeElement.className, document.activeElement.selectionStart]")
    assert caret == ["clef-state", 10]


def test_a_count_without_the_broken_part_does_not_say_that_nothing_is_cut(open_page: Open) -> None:
    page = open_page()
    page.fill(STATE, '{"broken": ')
    planned(page, "without what is wrong")


def test_hidden_characters_of_the_state_are_told_by_their_codes(open_page: Open) -> None:
    page = open_page()
    answered(page)
    page.fill(STATE, "pay \u202e001\u200b to\u200b Eva")
    page.wait_for_selector("#clef-editor .advice >> text=U+202E, U+200B × 2")
    page.fill(STATE, "pay 001 to Eva")
    page.wait_for_selector("#clef-editor .advice >> text=U+202E", state="hidden")


def test_text_mode_keeps_json_text_as_text(open_page: Open) -> None:
    page = open_page()
    page.fill(STATE, '{"b": 1, "a": 2}')
    settled(page)
    page.click("#clef-editor [data-mode=read]")
    page.wait_for_function("""() => document.querySelector('.clef-reading').textContent === '{"a":2,"b":1}'""")
    page.click("#clef-editor [data-mode=text]")
    settled(page)
    page.click("#clef-editor [data-mode=read]")
    page.wait_for_function("""() => document.querySelector('.clef-reading').textContent === '{"b": 1, "a": 2}'""")
    assert draft(page)["stateText"] == '{"b": 1, "a": 2}'


def test_a_cut_is_said_in_words_before_anything_is_run(open_page: Open) -> None:
    page = open_page()
    page.fill(STATE, json.dumps({"a_first": "kept " * 30, "z_last": "lost " * 30}))
    page.locator("#clef-editor .clef-limits summary").click()
    page.get_by_label("Tokens of the state alone").fill("200")
    page.wait_for_selector(".clef-cut:not([hidden])")
    assert "z_last" in page.inner_text(".clef-cut")
    assert "cut from the state" in page.inner_text(".clef-cost")
    assert "only 200 fit" in page.inner_text("#clef-editor .under")


def test_a_schema_over_the_limit_says_how_much_must_go(open_page: Open) -> None:
    page = open_page()
    page.locator("#clef-editor .clef-limits summary").click()
    page.get_by_label("Tokens of the whole record").fill("600")
    planned(page, "over the limit of 600")
    assert "must go" in page.inner_text(".clef-limits .problem")


def test_a_limit_that_is_no_number_is_a_problem_beside_it_and_reset_brings_the_default(open_page: Open) -> None:
    page = open_page()
    page.locator("#clef-editor .clef-limits summary").click()
    page.get_by_label("Tokens of the whole record").fill("many")
    page.wait_for_selector(".clef-limits .problem")
    page.get_by_role("button", name="Back to the release's defaults").click()
    page.wait_for_function("() => !document.querySelector('.clef-limits .problem')")
    assert draft(page)["limits"] == {"maxLength": "16384", "maxStateTokens": "", "truncate": True}


@pytest.mark.parametrize("key", ["Control+Enter", "Meta+Enter"])
def test_the_keyboard_runs(open_page: Open, key: str) -> None:
    page = open_page()
    answered(page)
    page.fill(STATE, '"anew"')
    page.keyboard.press(key)
    answered(page)
    assert page.evaluate("() => window.clef.answersView.sent.stateText") == '"anew"'


def test_escape_stops_a_run_and_the_next_one_works(open_page: Open, server: Any) -> None:
    page = open_page()
    answered(page)
    server.gate.clear()
    try:
        paste(page, STATE, REQUEST.replace("stuck", "slow"))
        notice(page, "Filled in")
        page.keyboard.press("Control+Enter")
        page.wait_for_function("() => document.querySelector('.clef-cost').textContent.includes('waiting at the gate')")
        assert page.inner_text(".clef-run") == "Stop"
        page.keyboard.press("Escape")
        notice(page, "Stopped")
        assert page.inner_text(".clef-run") == "Run"
    finally:
        server.gate.set()
    page.keyboard.press("Control+Enter")
    answered(page)


def test_a_failed_run_keeps_what_was_typed_and_goes_to_the_first_problem(open_page: Open) -> None:
    page = open_page()
    answered(page)
    page.fill(STATE, "{broken")
    page.keyboard.press("Control+Enter")
    notice(page, "Not run")
    assert page.input_value(STATE) == "{broken"
    assert page.evaluate("() => document.activeElement.className") == "clef-state"
    assert page.locator(".clef-answer").count() == 3


def test_an_unknown_error_is_said_to_be_ours_and_nothing_is_lost(
    open_page: Open, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page()
    answered(page)

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("<b>secret</b>")

    monkeypatch.setattr(type(server.decider), "decide", broken)
    page.fill(STATE, '"kept"')
    page.keyboard.press("Control+Enter")
    notice(page, "Internal error, see the log.")
    assert "secret" not in page.inner_text("body")
    assert page.input_value(STATE) == '"kept"'


def test_a_draft_survives_a_reload(open_page: Open) -> None:
    page = open_page()
    page.fill(STATE, '{"mine": 12345678901234567890123}')
    page.reload()
    page.wait_for_selector("#clef-editor .clef-run")
    assert page.input_value(STATE) == '{"mine": 12345678901234567890123}'


def test_a_pasted_request_fills_everything_and_undo_brings_the_draft_back(open_page: Open) -> None:
    page = open_page()
    before = draft(page)
    paste(page, STATE, REQUEST)
    notice(page, "Filled in from a request: the state as text, 1 question.")
    assert page.input_value(STATE) == "The lift is stuck."
    assert [question["id"] for question in draft(page)["questions"]] == ["stuck"]
    page.click(".clef-notice .btn:has-text('Undo')")
    assert draft(page)["questions"] == before["questions"]
    assert draft(page)["stateText"] == before["stateText"]


def test_a_pasted_curl_command_fills_everything(open_page: Open) -> None:
    page = open_page()
    paste(page, STATE, f"curl https://example.com/v1/systemone -H 'Authorization: Bearer x' -d '{REQUEST}'")
    notice(page, "Filled in from the curl command")
    assert page.input_value(STATE) == "The lift is stuck."


def test_ordinary_text_is_pasted_as_text(open_page: Open) -> None:
    page = open_page()
    page.click("#clef-editor [data-mode=text]")
    page.fill(STATE, "")
    paste(page, STATE, 'He said "questions": none.')
    assert page.input_value(STATE) == 'He said "questions": none.'


def test_a_dropped_json_file_becomes_the_state_and_a_request_file_everything(open_page: Open) -> None:
    page = open_page()
    drop(page, "ticket.json", "application/json", b'{"n": 1.0}')
    notice(page, "ticket.json")
    assert draft(page)["stateText"] == '{"n": 1.0}'
    drop(page, "lines.jsonl", "", b'{"line": 1}\n{"line": 2}\n')
    notice(page, "1 more lines were left out")
    assert draft(page)["stateText"] == '{"line": 1}'
    drop(page, "request.json", "application/json", REQUEST.encode())
    notice(page, "Filled in from a request")


def test_a_file_that_is_too_large_or_no_text_is_refused_before_it_is_read(open_page: Open) -> None:
    page = open_page()
    drop(page, "<b>.bin", "", b"\xff\xfe\x00")
    notice(page, "“<b>.bin” is not text in UTF-8")
    page.evaluate(
        """() => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([new Uint8Array(3 * 1024 * 1024)], "big.txt"));
            document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true }));
        }"""
    )
    notice(page, "“big.txt” has 3,145,728 bytes and 2,097,152 are allowed")


def test_presets_are_found_by_words_and_loaded_by_keyboard_with_an_undo(open_page: Open) -> None:
    page = open_page()
    answered(page)
    page.fill(STATE, '"mine"')
    page.keyboard.press("Alt+P")
    page.keyboard.type("phishing")
    page.wait_for_function("() => document.querySelectorAll('.clef-gallery li').length === 1")
    page.keyboard.press("Enter")
    notice(page, "Loaded the preset “Phishing mail”.")
    answered(page)
    assert draft(page)["stateMode"] == "text"
    page.keyboard.press("Alt+Z")
    notice(page, "Undone")
    assert page.input_value(STATE) == '"mine"'


def test_enter_chooses_a_preset_once_in_a_gallery_that_was_opened_by_its_button(open_page: Open) -> None:
    page = open_page()
    answered(page)
    page.get_by_role("button", name="Presets").click()
    page.keyboard.type("phishing")
    page.wait_for_function("() => document.querySelectorAll('.clef-gallery li').length === 1")
    page.keyboard.press("Enter")
    notice(page, "Loaded the preset “Phishing mail”.")
    assert page.locator("dialog[open]").count() == 0


def test_every_preset_loads_plans_and_runs(open_page: Open) -> None:
    page = open_page()
    answered(page)
    for slug in sorted(path.stem for path in PRESETS.glob("*.json")):
        title = json.loads((PRESETS / f"{slug}.json").read_text("utf-8"))["title"]
        page.keyboard.press("Alt+P")
        page.keyboard.type(slug)
        page.keyboard.press("Enter")
        notice(page, title)
        if draft(page)["media"]:  # the scripted model reads none, so that the preset is not run by itself
            planned(page)
            assert page.inner_text(".clef-run") == "Run"
            page.keyboard.press("Control+Enter")
        answered(page)
        assert page.evaluate("() => document.querySelectorAll('#clef-editor .problem').length") == 0, slug


def test_a_link_carries_the_whole_set_up_to_another_profile(open_page: Open, profile: Open) -> None:
    page = open_page()
    page.fill(STATE, '{"é": 1.0}')
    page.get_by_role("button", name="Copy link").click()
    notice(page, "The link is copied")
    link = page.evaluate("() => navigator.clipboard.readText()")
    other = open_page(context=profile(), fragment=link[link.index("#") :])
    other.wait_for_function("""() => window.clef.draft.stateText === '{"é": 1.0}'""")
    assert "#" not in other.url
    assert draft(other)["questions"] == draft(page)["questions"]


def test_a_link_that_cannot_be_copied_is_shown(open_page: Open) -> None:
    page = open_page()
    page.evaluate("() => { navigator.clipboard.writeText = async () => { throw new Error('forbidden'); }; }")
    page.keyboard.press("Alt+L")
    page.wait_for_selector("dialog[open] textarea")
    assert "#c1=" in page.input_value("dialog[open] textarea")


def test_a_link_asks_before_it_replaces_a_draft(open_page: Open) -> None:
    page = open_page()
    page.fill(STATE, '"first"')
    link = page.evaluate("() => window.clef.storage.link(window.clef.draft)")
    page.fill(STATE, '"second"')
    for answer, kept in (("Keep my draft", '"second"'), ("Open the link", '"first"')):
        page.evaluate("(hash) => { location.hash = hash; }", link[link.index("#") :])
        page.get_by_role("button", name=answer).click()
        page.wait_for_function("(text) => window.clef.draft.stateText === text", arg=kept)


def test_a_link_that_would_be_too_long_is_refused_with_both_numbers(open_page: Open) -> None:
    page = open_page()
    noise = "".join(chr(0x4E00 + (place * 7919) % 20000) for place in range(30_000))
    page.fill(STATE, json.dumps(noise))
    page.keyboard.press("Alt+L")
    page.wait_for_function(
        "() => /would have [0-9,]+ characters and 32,000/.test(document.querySelector('.clef-notice').textContent)"
    )


@pytest.mark.parametrize("fragment", ["#c1=AAAA", "#c9=AAAA", "#c1=" + "%00" * 3])
def test_a_damaged_link_says_so_and_leaves_the_draft(open_page: Open, fragment: str) -> None:
    page = open_page(fragment=fragment)
    page.wait_for_function("() => /damaged|another version/.test(document.querySelector('.clef-notice').textContent)")
    assert page.evaluate("() => window.clef.draft.questions.length") == 3


def test_a_picture_shows_what_the_model_gets_before_the_run(open_page: Open) -> None:
    page = open_page()
    page.set_input_files("#clef-editor input[type=file]", PRESETS / "market-stall.png")
    page.wait_for_selector(".thumb img")
    assert "640 × 480" in page.inner_text(".thumb")
    assert "302 tokens grid 1·30·40" in page.inner_text(".thumb").replace("\n", " ")
    page.focus(".thumb")
    page.keyboard.press("Delete")
    page.wait_for_function("() => !document.querySelector('.thumb')")
    page.keyboard.press("Alt+Z")
    page.wait_for_selector(".thumb img")


def test_pictures_are_moved_by_keyboard_and_become_the_frames_of_a_clip(open_page: Open, tmp_path: Any) -> None:
    from PIL import Image

    page = open_page()
    paths = []
    for name, colour in (("a.png", "red"), ("b.png", "blue")):
        Image.new("RGB", (64, 64), colour).save(tmp_path / name)
        paths.append(tmp_path / name)
    page.set_input_files("#clef-editor input[type=file]", paths)
    page.wait_for_function("() => document.querySelectorAll('.thumb img').length === 2")
    page.locator(".thumb").nth(1).focus()
    page.keyboard.press("Alt+ArrowLeft")
    assert [item["name"] for item in draft(page)["media"]] == ["b.png", "a.png"]
    page.get_by_role("button", name="Use pictures as frames").click()
    page.wait_for_selector(".clef-frames img")
    assert [item["kind"] for item in draft(page)["media"]] == ["video"]


def test_a_clip_shows_its_frames_with_times_and_takes_fewer(open_page: Open) -> None:
    page = open_page()
    page.set_input_files("#clef-editor input[type=file]", PRESETS / "scene-cut.mp4")
    page.wait_for_selector(".clef-frames img")
    assert page.locator(".clef-frames img").count() == 8
    assert "3.9 s" in page.inner_text(".clef-frames")
    page.locator(".clef-slider input").fill("4")
    page.wait_for_function("() => document.querySelectorAll('.clef-frames img').length === 4")
    assert draft(page)["media"][0]["frames"] == 4


def test_a_name_with_markup_or_folders_is_shown_as_it_is_and_never_as_a_path(open_page: Open) -> None:
    page = open_page()
    data = (PRESETS / "market-stall.png").read_bytes()
    drop(page, "<img src=x onerror=alert(1)>.png", "image/png", data)
    page.wait_for_selector(".thumb img")
    assert page.inner_text(".thumb .name") == "<img src=x onerror=alert(1)>.png"
    assert page.locator("img[src=x]").count() == 0


def test_a_ninth_picture_is_refused_with_a_sentence(open_page: Open, tmp_path: Any) -> None:
    from PIL import Image

    page = open_page()
    for place in range(9):
        Image.new("RGB", (40, 40), (place * 20, 0, 0)).save(tmp_path / f"{place}.png")
    page.set_input_files("#clef-editor input[type=file]", sorted(tmp_path.glob("*.png")))
    notice(page, "“8.png” was not added: a record takes 8 images here.")
    assert len(draft(page)["media"]) == 8


def test_a_photo_comes_from_the_camera(open_page: Open) -> None:
    page = open_page()
    page.get_by_role("button", name="Camera").click()
    page.wait_for_function("() => document.querySelector('.clef-camera')?.videoWidth > 0")
    page.get_by_role("button", name="Take a photo").click()
    page.wait_for_selector(".thumb img")
    assert draft(page)["media"][0]["name"] == "photo.png"


def test_a_camera_that_is_not_there_is_said_in_the_dialog(open_page: Open) -> None:
    page = open_page()
    page.evaluate(
        "() => { navigator.mediaDevices.getUserMedia = async () => { throw new DOMException('', 'NotFoundError'); }; }"
    )
    page.get_by_role("button", name="Camera").click()
    page.wait_for_function("() => document.querySelector('dialog').textContent.includes('No camera was found')")
    page.keyboard.press("Escape")
    page.wait_for_function("() => !document.querySelector('dialog')")


def test_the_theme_is_chosen_and_kept(open_page: Open) -> None:
    page = open_page()
    page.click("[data-theme=dark]")
    assert page.evaluate("() => document.body.classList.contains('dark')")
    page.reload()
    page.wait_for_selector("[data-theme=dark][aria-pressed=true]")
    assert page.evaluate("() => document.body.classList.contains('dark')")


def test_the_shortcuts_are_listed_and_tabs_open_by_key(open_page: Open) -> None:
    page = open_page()
    page.locator("#clef-header h1").click()
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open] .clef-keys")
    page.keyboard.press("Escape")
    page.keyboard.press("Alt+2")
    assert page.get_by_role("tab", name="Prompt").get_attribute("aria-selected") == "true"


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_nothing_scrolls_sideways(open_page: Open, size: tuple[int, int]) -> None:
    page = open_page(size)
    answered(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= size[0]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE])
def test_axe_finds_no_serious_fault(open_page: Open, size: tuple[int, int], theme: str) -> None:
    from axe_core_python.sync_playwright import Axe

    page = open_page(size, query=f"?__theme={theme}")
    page.set_input_files("#clef-editor input[type=file]", PRESETS / "scene-cut.mp4")
    page.wait_for_selector(".clef-frames img")
    page.locator("#clef-editor .clef-limits summary").click()
    page.fill(STATE, "{broken")
    page.wait_for_selector("#clef-editor .problem")
    found = Axe().run(page)["violations"]
    serious = [
        f"{fault['id']}: {node['html'][:160]}"
        for fault in found
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]
    assert serious == []


def test_no_template_or_markup_from_a_text_is_ever_run(open_page: Open) -> None:
    page = open_page()
    evil = '<img src=x onerror="window.hit=1">${7*7}{{7*7}}\u202e\u200b'
    question = {"type": "choice", "instructions": evil, "criteria": {evil: evil, "b": None}}
    paste(page, STATE, json.dumps({"model": evil, "state": {evil: evil}, "questions": {evil: question}}))
    notice(page, "Filled in")
    page.keyboard.press("Control+Enter")
    answered(page)
    for name in ("answers", "prompt", "budget", "export"):
        page.evaluate("(name) => window.clef.emit('open-tab', name)", name)
        page.wait_for_timeout(200)
    assert page.evaluate("() => window.hit") is None
    assert page.locator("img[src=x]").count() == 0
    assert not re.search(r"(?<![0-9,.])49(?![0-9,.%])", page.inner_text(".clef-answer"))
    assert "U+202E" in page.inner_text(".clef-answer")


def test_a_short_clip_comes_from_the_camera(open_page: Open) -> None:
    page = open_page()
    page.get_by_role("button", name="Camera").click()
    page.wait_for_function("() => document.querySelector('.clef-camera')?.currentTime > 0")
    page.get_by_role("button", name="Record a clip").click()
    start = page.evaluate("() => document.querySelector('.clef-camera').currentTime")
    page.wait_for_function("(start) => document.querySelector('.clef-camera').currentTime > start + 1.5", arg=start)
    page.get_by_role("button", name="Stop recording").click()
    page.wait_for_selector(".clef-frames img")
    assert draft(page)["media"][0]["kind"] == "video"


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_every_tab_opens_by_its_name(open_page: Open, size: tuple[int, int]) -> None:
    page = open_page(size)
    for name in ("export", "budget", "prompt", "answers"):
        page.evaluate("(name) => window.clef.emit('open-tab', name)", name)
        page.wait_for_selector(f"#clef-{name} .clef-root > *")


def test_a_picture_that_is_no_longer_there_after_a_reload_is_said_to_be_gone(open_page: Open) -> None:
    page = open_page()
    page.set_input_files("#clef-editor input[type=file]", PRESETS / "market-stall.png")
    page.wait_for_selector(".thumb img")
    page.evaluate(
        """() => {
            const kept = structuredClone(window.clef.draft);
            kept.media[0].id = "0".repeat(64);
            window.clef.emit("load-draft", { draft: kept, reason: "" });
        }"""
    )
    page.reload()
    page.wait_for_selector(".thumb .problem")
    assert "no longer on the server" in page.inner_text(".thumb")
    assert "Add the file again" in page.inner_text(".thumb")


def test_pictures_come_back_after_a_reload_while_the_server_has_them(open_page: Open) -> None:
    page = open_page()
    page.set_input_files("#clef-editor input[type=file]", PRESETS / "market-stall.png")
    page.wait_for_selector(".thumb img")
    page.reload()
    page.wait_for_selector(".thumb img")
