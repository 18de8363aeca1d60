"""Advice and notices reach the card they belong to, once."""

from typing import Any

from ui.scripted import ScriptedDecider

from clef_ui.draft_types import Draft
from clef_ui.views.plan import plan_view


def advice(questions: str) -> list[list[str]]:
    draft = Draft(state_text="x", questions_mode="json", questions_text=questions)
    views: list[dict[str, Any]] = plan_view(draft, {}, ScriptedDecider())["questions"]
    return [[each["code"] for each in view["advice"]] for view in views]


def test_advice_stands_with_its_question() -> None:
    up = '"up": {"type": "noul", "instructions": "Is it up?"}'
    team = '"team": {"type": "choice", "instructions": "Which team?", "criteria": {"b": "x", "a": "y"}}'
    assert advice("{" + up + "," + team + "}") == [[], ["option_order"]]


def test_what_a_notice_says_too_is_said_once() -> None:
    one = '"one": {"type": "choice", "instructions": "Which?", "criteria": {"only": "x"}}'
    blank = '"blank": {"type": "noul", "instructions": " "}'
    assert advice("{" + one + "," + blank + "}") == [["single_option"], ["empty_span"]]


def test_a_notice_that_no_rule_repeats_is_kept() -> None:
    assert advice('{"a": {"type": "noul", "instructions": "Is it up?", "criteria": {"maybe": "x"}}}') == [
        ["noul_keys_ignored"]
    ]
