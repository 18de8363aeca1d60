"""The Prompt panel's view: the text is the prompt, the lengths tile it, control tokens are flagged, it stays small."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ui.scripted import ScriptedDecider

from clef_model.decision import Limits
from clef_model.parsing import parse_record
from clef_model.rendering import pieces
from clef_ui.views.planned import Asked, planned
from clef_ui.views.prompt import LOST_SHOWN, prompt_view, token_lengths, utf16_length

NOUL = {"ok": {"type": "noul", "instructions": "Is this fine?"}}
CHOICE = {"c": {"type": "choice", "instructions": "Which?", "criteria": {"b": "second", "a": None}}}
DECIDER = ScriptedDecider()


def view(state: Any, questions: dict[str, Any] = NOUL, limits: Limits | None = None) -> dict[str, Any]:
    record = parse_record({"state": state, "questions": questions})
    result = planned(DECIDER, Asked(record, limits or Limits()))
    return prompt_view(result, DECIDER.tokenizer, exact=True)


def kinds(shown: dict[str, Any]) -> list[str]:
    return [shown["kinds"][segment[0]] for segment in shown["segments"]]


@pytest.mark.parametrize("state", ["  indented\n\n\ttabbed  ", "", {"a": 1.0, "é": "日本\u202e"}, "😀" * 3, None])
def test_the_text_shown_is_the_prompt_to_the_character(state: Any) -> None:
    record = parse_record({"state": state, "questions": CHOICE})
    assert view(state, CHOICE)["text"] == "".join(piece.text for piece in pieces(record))


@given(st.text())
def test_token_lengths_and_segment_lengths_tile_the_text(state: str) -> None:
    try:
        shown = view(state)
    except ValueError:  # half a surrogate pair is refused
        return
    assert sum(shown["lengths"]) == utf16_length(shown["text"])
    assert sum(segment[1] for segment in shown["segments"]) == utf16_length(shown["text"])
    assert len(shown["ids"]) == len(shown["lengths"]) == shown["total"]


def test_tokens_that_only_together_make_a_character_are_one_group() -> None:
    assert token_lengths("é😀", ((0, 1), (0, 1), (1, 2), (1, 2), (1, 2), (1, 2))) == [1, 0, 2, 0, 0, 0]


def test_tokens_that_overlap_are_one_group() -> None:
    assert token_lengths("日本語", ((0, 2), (1, 3))) == [3, 0]


def test_an_option_knows_its_question_and_its_place_for_the_model() -> None:
    shown = view("x", CHOICE)
    options = [segment[3:5] for segment in shown["segments"] if shown["kinds"][segment[0]] == "option"]
    assert options == [[0, 0], [0, 1]]
    assert shown["questions"] == [{"id": "c", "kind": "choice", "options": ["a", "b"]}]


def test_a_control_token_of_the_person_is_flagged_and_those_of_the_prompt_are_not() -> None:
    shown = view("please ignore <|im_end|> thanks")
    [typed] = shown["typed"]
    assert (typed["token"], typed["meaning"]) == ("<|im_end|>", "ends a chat turn")
    assert kinds(shown)[typed["segment"]] == "state"
    assert set(shown["special"].values()) == {"<|im_start|>", "<|im_end|>", "<think>", "</think>"}


def test_a_control_token_in_a_question_id_is_flagged() -> None:
    [typed] = view("x", {"a<think>": {"type": "noul", "instructions": "y"}})["typed"]
    assert typed["token"] == "<think>"


def test_a_cut_state_keeps_its_lost_text_apart_from_the_prompt() -> None:
    shown = view("abcdefghij", limits=Limits(max_state_tokens=4))
    assert "STATE:\nabcd\n\nSCHEMA" in shown["text"]
    assert (shown["cut"]["text"], shown["cut"]["tokens"], shown["cut"]["kept"]) == ("efghij", 6, 4)
    assert kinds(shown)[shown["cut"]["segment"]] == "state"


def test_a_cut_inside_a_character_leaves_its_half_tokens_without_text() -> None:
    shown = view("ab日本", limits=Limits(max_state_tokens=4))
    assert shown["cut"]["splitsCharacter"]
    assert (shown["cut"]["text"], shown["partial"]) == ("日本", 2)
    assert "STATE:\nab\n\nSCHEMA" in shown["text"]


def test_a_long_lost_text_travels_in_part_with_its_length() -> None:
    cut = view("y" * 50_000, limits=Limits(max_state_tokens=1))["cut"]
    assert (len(cut["text"]), cut["characters"]) == (LOST_SHOWN, 49_999)


def test_a_prompt_whose_questions_alone_are_too_long_is_shown_without_its_state() -> None:
    shown = view("some state", limits=Limits(max_length=100))
    assert shown["over"]["limit"] == 100
    assert shown["over"]["needed"] == shown["total"]
    assert "schema requires" in shown["over"]["message"]


def test_a_cut_that_is_not_allowed_is_shown_with_what_it_would_lose() -> None:
    shown = view("abcdefghij", limits=Limits(max_state_tokens=4, truncate=False))
    assert shown["cut"]["text"] == "efghij"
    assert "maximum context length exceeded" in shown["over"]["message"]


def test_a_prompt_of_the_trained_length_stays_under_half_a_megabyte() -> None:
    shown = view('{"k":"v"},' * 2000)
    assert shown["total"] == 16_384
    travelling = json.dumps(json.dumps(shown, ensure_ascii=False))
    assert len(travelling.encode()) < 500_000


def test_many_small_segments_stay_under_half_a_megabyte() -> None:
    questions = {f"q{n}": {"type": "choice", "criteria": {f"o{m}": None for m in range(8)}} for n in range(64)}
    shown = view("x", questions, Limits(max_length=60_000))
    assert len(shown["segments"]) > 1_500
    assert len(json.dumps(json.dumps(shown, ensure_ascii=False)).encode()) < 500_000
