"""The Budget panel's view: parts, ledger, costs of the state, the cut, ways out and their edits."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ui.scripted import ScriptedDecider

from clef_model.decision import Limits
from clef_model.diagnostics.remedies import (
    Action,
    DropKey,
    DropText,
    MoveItems,
    MoveText,
    RaiseMaxLength,
    RaiseStateLimit,
    RenameKey,
    applied,
    first_key,
    paragraphs,
    ways_out,
)
from clef_model.errors import ClefError
from clef_model.parsing import parse_record
from clef_model.rendering import render
from clef_ui.draft_edits import edited, edited_json
from clef_ui.draft_types import Draft
from clef_ui.views.budget import budget_view
from clef_ui.views.paths import path_ranges
from clef_ui.views.planned import Asked, Planned, planned
from clef_ui.views.ways import read_action, ways_view

NOUL = {"ok": {"type": "noul", "instructions": "Is this fine?"}}
DECIDER = ScriptedDecider()
STATE = {"subject": "Checkout is down", "plan": "business", "seats": 60}


def result(state: Any, limits: Limits | None = None, questions: dict[str, Any] = NOUL) -> Planned:
    return planned(DECIDER, Asked(parse_record({"state": state, "questions": questions}), limits or Limits()))


def view(state: Any, limits: Limits | None = None, questions: dict[str, Any] = NOUL) -> dict[str, Any]:
    return budget_view(result(state, limits, questions), DECIDER.tokenizer, exact=True)


def ways(state: Any, limits: Limits) -> list[dict[str, Any]]:
    encoded = result(state, limits).encoded
    return ways_view(ways_out(encoded, limits, DECIDER.plan), encoded)


def test_the_parts_add_up_to_the_row() -> None:
    shown = view(STATE)
    assert [part["label"] for part in shown["parts"]] == ["prefix", "state", "schema header", "ok", "suffix"]
    assert sum(part["tokens"] for part in shown["parts"]) == shown["total"]


def test_the_ledger_tiles_the_row() -> None:
    shown = view(STATE)
    ends = [row[3] for row in shown["rows"]]
    assert [row[2] for row in shown["rows"]] == [0, *ends[:-1]]
    assert ends[-1] == shown["total"]


def test_a_questions_tokens_are_its_instruction_its_options_and_the_scaffold() -> None:
    [question] = view("x", questions={"c": {"type": "choice", "criteria": {"a": "one", "b": None}}})["questions"]
    assert question["instruction"] == 1
    assert question["options"] == [{"id": "a", "tokens": 37}, {"id": "b", "tokens": 17}]
    assert question["tokens"] == 1 + 37 + 17 + question["scaffold"]


def test_a_json_state_is_counted_key_by_key_in_the_order_of_the_prompt() -> None:
    rows = view(STATE)["state"]["rows"]
    assert [(row["path"], row["tokens"]) for row in rows] == [("plan", 18), ("seats", 11), ("subject", 28)]


def test_keys_at_any_depth_are_counted_within_their_parents() -> None:
    rows = view({"a": {"b": [1, 22]}, "c": 3})["state"]["rows"]
    assert [(row["path"], row["depth"], row["tokens"]) for row in rows] == [
        ("a", 1, 17),
        ("a.b", 2, 10),
        ("a.b[0]", 3, 2),
        ("a.b[1]", 3, 2),
        ("c", 1, 5),
    ]


def test_lost_keys_are_marked_and_so_is_the_one_cut_in_two() -> None:
    rows = view(STATE, Limits(max_state_tokens=24))["state"]["rows"]
    assert [(row["path"], row["status"]) for row in rows] == [("plan", "kept"), ("seats", "lost"), ("subject", "lost")]
    rows = view(STATE, Limits(max_state_tokens=45))["state"]["rows"]
    assert [(row["path"], row["status"]) for row in rows] == [("plan", "kept"), ("seats", "kept"), ("subject", "cut")]


def test_a_text_state_is_counted_paragraph_by_paragraph() -> None:
    rows = view("one\n\ntwo three\n\nfour", Limits(max_state_tokens=9))["state"]["rows"]
    assert [(row["text"], row["tokens"], row["status"]) for row in rows] == [
        ("one\n\n", 5, "kept"),
        ("two three\n\n", 11, "cut"),
        ("four", 4, "lost"),
    ]


def test_a_value_is_placed_as_the_page_counts_characters() -> None:
    rows = view({"a": "😀", "b": 1})["state"]["rows"]
    assert [row["at"] for row in rows] == [1, 10]


@given(st.text(alphabet="ab \n"))
def test_paragraphs_tile_the_text(text: str) -> None:
    assert "".join(text[start:end] for start, end in paragraphs(text)) == text


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='aé"\\,{}[]:', max_size=6),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text("bc.", max_size=3), children, max_size=3),
    max_leaves=8,
)


@given(json_values.filter(lambda value: not isinstance(value, str)))
def test_the_tokens_of_a_container_are_at_least_those_of_its_values(state: Any) -> None:
    rows = view(state)["state"]["rows"]
    top = sum(row["tokens"] for row in rows if row["depth"] == 1)
    assert top <= len(DECIDER.tokenizer.encode(render(state)))


def test_the_three_ways_of_counting_stand_side_by_side() -> None:
    shown = view("😀" * 10)
    assert shown["counts"]["pieces"] == shown["total"]
    assert shown["counts"]["quarter"] == round(shown["counts"]["characters"] / 4)


def test_a_cut_names_what_was_kept_and_what_was_lost() -> None:
    cut = view(STATE, Limits(max_state_tokens=24))["cut"]
    assert (cut["kept"], cut["lost"], cut["state"]) == (24, 35, 59)
    assert cut["lastKept"] == '{"plan":"business","seat'
    assert cut["lostText"] == 's":60,"subject":"Checkout is down"}'
    assert cut["lostPaths"] == ["seats", "subject"]


def test_lost_neighbours_of_a_list_are_named_as_a_range() -> None:
    paths = ["state.a[3].b", "state.a[4]", "state.a[5]", "state.a[6]", "state.z"]
    assert path_ranges(paths, 3) == ["a[3].b", "a[4] to [6]", "z"]
    assert path_ranges(paths, 2) == ["a[3].b", "a[4] to [6]", "1 more"]


def test_a_schema_that_alone_is_too_long_names_its_dearest_questions_and_how_much_must_go() -> None:
    questions = {
        "small": {"type": "noul", "instructions": "y"},
        "large": {"type": "choice", "criteria": {"a": "word " * 40, "b": None}},
    }
    shown = view("x", Limits(max_length=400), questions)
    over = shown["over"]
    assert over["schemaAlone"] is True
    assert over["mustGo"] == over["needed"] - 400
    assert [question["id"] for question in over["dearest"]] == ["large", "small"]
    assert over["dearest"][0]["options"][0]["id"] == "a"
    assert [question["instruction"] for question in over["dearest"]] == [
        sum(row[1] for row in shown["rows"] if row[0] == "instruction" and row[4] == place) for place in (1, 0)
    ]


def test_nothing_cut_needs_no_way_out() -> None:
    assert ways(STATE, Limits()) == []


def test_each_way_out_brings_what_it_says() -> None:
    limits = Limits(max_state_tokens=24)
    encoded = result(STATE, limits).encoded
    for remedy in ways_out(encoded, limits, DECIDER.plan):
        after_limits = limits if not isinstance(remedy.action, RaiseStateLimit) else Limits(max_state_tokens=59)
        after = result(applied(STATE, remedy.action), after_limits).encoded
        truncation = after.budget.truncation
        assert remedy.lost_tokens == (truncation.lost_tokens if truncation else 0)


def test_the_ways_out_of_a_cut_object_are_named_with_their_effects() -> None:
    shown = ways(STATE, Limits(max_state_tokens=30))
    sentences = ["".join(text for _, text in way["label"]) + ": " + way["effect"] for way in shown]
    assert sentences == [
        "Raise max_state_tokens to 59: nothing is cut, 538 tokens in all",
        "Rename subject to a_subject, which sorts first: keeps subject, 31 tokens lost instead: plan, seats",
        "Drop plan: keeps 18 more tokens, 11 tokens still lost",
        "Drop seats: keeps 11 more tokens, 18 tokens still lost",
    ]


def test_the_ways_out_of_a_cut_text_are_named_with_their_effects() -> None:
    shown = ways("First one.\n\nSecond one, longer than the first.\n\nThird.", Limits(max_state_tokens=50))
    sentences = ["".join(text for _, text in way["label"]) + ": " + way["effect"] for way in shown]
    assert sentences == [
        "Raise max_state_tokens to 54: nothing is cut, 533 tokens in all",
        "Drop the paragraph Second one, longer than the first.: nothing is cut, 497 tokens in all",
        "Keep the end instead: drop everything before Second one, longer than the first.  Third.: "
        "nothing is cut, 522 tokens in all",
        "Move the lost end to the front, from Third.: keeps what is lost now, 4 tokens lost instead",
    ]


def test_raising_the_limit_says_when_it_leaves_the_trained_length() -> None:
    [way] = [way for way in ways("word " * 5_000, Limits()) if way["action"]["kind"] == "RaiseMaxLength"]
    assert "beyond the trained length" in "".join(text for _, text in way["label"])


def test_a_key_that_must_come_first_gets_a_prefix_that_sorts_before_all_others() -> None:
    assert first_key("subject", ["message", "plan"]) == "a_subject"
    assert first_key("subject", ["Message", "plan"]) == "A_subject"
    assert first_key("subject", ["2024"]) == "0_subject"
    assert first_key("subject", [""]) is None


TYPED = '{\n  "b": 1.0,\n  "big": 12345678901234567890123,\n  "a": [1e5, "x"]\n}'


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (DropKey(("b",)), '{\n  "big": 12345678901234567890123,\n  "a": [1e5, "x"]\n}'),
        (DropKey(("a",)), '{\n  "b": 1.0,\n  "big": 12345678901234567890123\n}'),
        (RenameKey(("big",), "a_big"), '{\n  "b": 1.0,\n  "a_big": 12345678901234567890123,\n  "a": [1e5, "x"]\n}'),
        (MoveItems(("a",), 1), '{\n  "b": 1.0,\n  "big": 12345678901234567890123,\n  "a": ["x", 1e5]\n}'),
    ],
)
def test_an_edit_of_a_json_text_leaves_all_else_as_it_was_typed(action: Action, text: str) -> None:
    assert edited_json(TYPED, action) == text
    assert json.loads(text) == applied(json.loads(TYPED), action)


def test_an_edit_of_a_text_state_moves_its_end_to_the_front() -> None:
    draft = edited(Draft(state_text="first part. last part."), MoveText(12))
    assert draft.state_text == "last part.\n\nfirst part."


def test_raising_a_limit_changes_the_limits_alone() -> None:
    draft = edited(Draft(state_text="x"), RaiseMaxLength(500))
    assert (draft.limits.max_length, draft.state_text) == ("500", "x")


def test_an_edit_of_a_state_that_changed_meanwhile_says_so() -> None:
    with pytest.raises(ClefError, match="The state was changed in the meantime"):
        edited(Draft(state_mode="json", state_text='{"other": 1}'), DropKey(("gone",)))


@pytest.mark.parametrize(
    "action", [DropKey(("a", 0)), RenameKey(("é",), "a_é"), MoveItems((), 2), DropText(0, 4), RaiseMaxLength(9)]
)
def test_an_action_comes_back_from_the_page_as_it_went(action: Action) -> None:
    fields = {name: getattr(action, name) for name in action.__dataclass_fields__}
    sent = json.loads(json.dumps({"kind": type(action).__name__, **fields}))
    assert read_action(sent) == action
