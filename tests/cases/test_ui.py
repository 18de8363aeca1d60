"""The cases of the class ui that need no browser; `tests/browser/test_ui_cases.py` has those that do."""

import json
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from ui.scripted import ScriptedDecider

from cases import case_request, read_cases
from clef_model.decision import Limits
from clef_model.encoding import MAX_LENGTH
from clef_model.errors import ClefError
from clef_model.json_text import parse_json
from clef_model.parsing import parse_record
from clef_model.rendering import pieces
from clef_ui.calls import editor_calls
from clef_ui.deciding import Desk
from clef_ui.draft_types import Draft, read_draft, write_draft
from clef_ui.drafts import request_text, to_record
from clef_ui.gpu import MAX_SECONDS
from clef_ui.pasting import from_request_text
from clef_ui.runs import Runs
from clef_ui.uploads import MAX_ITEM_BYTES, MediaStore
from clef_ui.views.plan import SHOWN_CHARACTERS, plan_view
from clef_ui.views.planned import Asked, planned
from clef_ui.views.prompt import prompt_view

CASES = {case["id"]: case for case in read_cases("ui")}


def drafted(case_id: str) -> Draft:
    """The draft after the case's request was pasted."""
    request = case_request(CASES[case_id])
    text = request if isinstance(request, str) else json.dumps(request, ensure_ascii=False)
    filled = from_request_text(text, Draft())
    assert filled is not None
    return filled.draft


def shown_prompt(case_id: str) -> tuple[dict[str, Any], str]:
    """The Prompt panel's view of the case's request, and the prompt itself."""
    record = parse_record(case_request(CASES[case_id]))
    decider = ScriptedDecider()
    view = prompt_view(planned(decider, Asked(record, Limits())), decider.tokenizer, exact=True)
    return view, "".join(piece.text for piece in pieces(record))


def test_UI_01_the_prompt_shown_is_the_prompt_with_its_white_space() -> None:
    view, prompt = shown_prompt("UI-01")
    assert view["text"] == prompt
    assert "STATE:\n  indented\n\n\ttabbed  \n\nSCHEMA FIELDS:" in view["text"]
    assert sum(segment[1] for segment in view["segments"]) == len(prompt)


def test_UI_02_an_empty_state_leaves_no_segment_and_no_separator() -> None:
    view, prompt = shown_prompt("UI-02")
    assert view["text"] == prompt
    assert "state" not in [view["kinds"][segment[0]] for segment in view["segments"] if segment[1]]


def feedback(desk: Desk, draft: Draft) -> Any:
    return json.loads(desk.run(write_draft(draft)).feedback)


def test_UI_05_the_exact_request_stays_available_as_text() -> None:
    given = CASES["UI-05"]["request_raw"]
    draft = drafted("UI-05")
    written = request_text(draft, "clef-flash")
    assert list(parse_json(written).value["questions"]) == ["2", "1"]
    for literal in ('"C:\\\\temp\\\\new"', "12345678901234567890123", "1.0"):
        assert literal in given
        assert literal in written
        assert literal in draft.state_text
    assert read_draft(write_draft(draft)) == draft


def test_UI_05_no_number_of_a_request_crosses_to_the_page_as_a_number() -> None:
    decider = ScriptedDecider()
    plan = next(call for call in editor_calls(decider, MediaStore(), (), Runs(), Limits()) if call.__name__ == "plan")
    answer = plan(write_draft(drafted("UI-05")))
    assert isinstance(answer, str)
    assert json.loads(answer)["stateAsRead"] == '{"f":1.0,"n":12345678901234567890123,"path":"C:\\\\temp\\\\new"}'


def test_UI_09_a_line_of_200_000_characters_is_planned_and_shown_in_part_with_a_count() -> None:
    request = {**CASES["UI-09"]["request"], "state": "lorem " * 33_334}
    filled = from_request_text(json.dumps(request), Draft())
    assert filled is not None
    view = plan_view(filled.draft, {}, ScriptedDecider())
    assert len(view["stateAsRead"]) == SHOWN_CHARACTERS
    assert view["stateAsReadLength"] == len(request["state"])
    assert view["total"] == MAX_LENGTH
    assert view["cut"]["keptTokens"] + view["cut"]["lostTokens"] == len(request["state"])
    assert "lorem " * 33_334 in request_text(filled.draft, "clef-flash")


def test_UI_11_what_is_exported_and_imported_again_asks_the_same() -> None:
    case = CASES["UI-11"]
    draft = drafted("UI-11")
    again = from_request_text(request_text(draft, "clef-flash"), Draft())
    assert again is not None
    before, after = to_record(draft, {}), to_record(again.draft, {})
    assert pieces(before) == pieces(after) == pieces(parse_record(case["request_raw"]))
    assert [question.id for question in after.questions] == ["10", "9"]
    assert [type(option.description) for option in after.questions[0].options] == [float, str, int]
    assert after.questions[1].options[0].description is None
    assert (again.draft.state_mode, again.draft.state_text) == ("text", '{"a": 1}')


QUOTA = 'You have exceeded your quota (60s requested vs. 3s left). <a href="https://x/join">Create an account</a>.'
ILLEGAL = "The requested GPU duration (60s) is larger than the maximum allowed"


@pytest.mark.parametrize(
    ("title", "message", "shown"),
    [
        ("ZeroGPU quota exceeded", QUOTA, QUOTA.replace('<a href="https://x/join">', "").replace("</a>", "")),
        ("ZeroGPU illegal duration", ILLEGAL, ILLEGAL),
    ],
)
def test_UI_13_a_refusal_of_the_gpu_is_shown_as_plain_text(
    monkeypatch: pytest.MonkeyPatch, title: str, message: str, shown: str
) -> None:
    class Refused(Exception):  # as gr.Error: a message and a title
        def __init__(self) -> None:
            super().__init__(message)
            self.message, self.title = message, title

    durations: list[int] = []

    def gpu(duration: Any) -> Any:
        def refuse(*args: Any) -> Any:
            durations.append(duration(*args))
            raise Refused

        return lambda task: refuse

    monkeypatch.setitem(sys.modules, "spaces", SimpleNamespace(GPU=gpu))
    monkeypatch.setattr("clef_ui.gpu.find_spec", lambda name: object())
    desk = Desk(ScriptedDecider(), MediaStore(), Runs())
    for words in (1, 3_000, 1_000_000):
        draft = replace(drafted("UI-09"), state_text="word " * words)
        assert feedback(desk, draft)["message"] == f"{title}: {shown}"
    assert durations == sorted(durations)
    assert 0 < durations[0] < durations[-1] <= MAX_SECONDS


def test_UI_14_a_file_over_the_limit_is_refused_with_the_limit_before_it_is_processed() -> None:
    with pytest.raises(ClefError) as raised:
        MediaStore().add("long.mp4", "video/mp4", bytes(MAX_ITEM_BYTES + 1))
    assert str(raised.value) == (
        "'long.mp4': 64.0 MiB, and 64 MiB are allowed. Shorten the clip or make the picture smaller."
    )


@pytest.mark.parametrize(("name", "kept"), [("../../x.png", "x.png"), ("<b>.png", "<b>.png")])
def test_UI_14_a_name_is_kept_for_display_and_never_becomes_a_path(name: str, kept: str) -> None:
    assert MediaStore().add(name, "image/png", b"x").name == kept
