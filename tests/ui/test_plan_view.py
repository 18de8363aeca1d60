"""What the left column shows as one types, valid or not."""

import json
from dataclasses import replace
from typing import Any

from ui.scripted import STATUS, ScriptedDecider

from clef_model.schema import ImageInput
from clef_ui.draft_types import Draft, LimitsDraft, MediaDraft
from clef_ui.drafts import Media
from clef_ui.pasting import from_request_text
from clef_ui.views.plan import SHOWN_CHARACTERS, plan_view

CHOICE = {"type": "choice", "instructions": "Who?", "criteria": {"tech": "Bugs", "billing": None}}
REQUEST = {"state": {"b": 1.0, "a": "é"}, "questions": {"team": CHOICE, "sure": {"type": "noul"}}}


def drafted(request: Any = REQUEST, **changes: Any) -> Draft:
    filled = from_request_text(json.dumps(request), Draft())
    assert filled is not None
    return replace(filled.draft, **changes)


def plan(draft: Draft, media: Media | None = None, decider: ScriptedDecider | None = None) -> Any:
    view = plan_view(draft, media or {}, decider or ScriptedDecider())
    json.dumps(view)
    return view


def placed(view: Any) -> list[tuple[str, str | None]]:
    return [(problem["area"], problem["field"]) for problem in view["problems"]]


def test_the_parts_add_up_to_the_total() -> None:
    view = plan(drafted())
    parts = view["parts"]
    assert view["ok"]
    assert view["total"] == sum(parts[name] for name in ("prefix", "media", "state", "schema", "suffix"))
    assert view["stateTokens"] == parts["state"] == len('{"a":"é","b":1.0}'.encode())
    assert (view["limit"], view["cut"]) == (16_384, None)


def test_the_questions_share_the_schema_without_its_header() -> None:
    view = plan(drafted())
    header = len("\n\nSCHEMA FIELDS:\n")
    assert sum(question["tokens"] for question in view["questions"]) == view["parts"]["schema"] - header


def test_option_tokens_stand_as_the_rows_do_and_the_models_order_is_told() -> None:
    team = plan(drafted())["questions"][0]
    assert team["modelOrder"] == ["billing", "tech"]
    assert team["options"] == [len('{"description":"Bugs","option_id":"tech"}'), len('{"option_id":"billing"}')]


def test_the_state_is_shown_as_the_model_reads_it() -> None:
    view = plan(drafted())
    assert view["stateAsRead"] == '{"a":"é","b":1.0}'
    assert view["stateNote"] == "valid JSON, 2 keys"


def test_a_long_state_is_shown_in_part_with_its_full_length() -> None:
    view = plan(drafted({**REQUEST, "state": "lorem " * 33_334}))
    assert len(view["stateAsRead"]) == SHOWN_CHARACTERS
    assert view["stateAsReadLength"] == 200_004


def test_a_broken_state_is_a_problem_with_its_place_and_the_questions_are_still_counted() -> None:
    view = plan(drafted(state_text='{"a": 1,\n "a": 2}'))
    (problem,) = view["problems"]
    assert (problem["area"], problem["where"], problem["line"], problem["column"]) == ("state", "state.a", 2, 2)
    assert [question["id"] for question in view["questions"]] == ["team", "sure"]
    assert view["stateNote"] == ""


def test_a_broken_question_leaves_the_state_and_the_others_counted() -> None:
    draft = drafted()
    team, sure = draft.questions
    view = plan(replace(draft, questions=(replace(team, id=""), sure)))
    assert placed(view) == [("questions", "id")]
    assert [question["uid"] for question in view["questions"]] == [sure.uid]
    assert view["stateTokens"] == 18


def test_without_a_question_the_state_is_counted_and_nothing_else_is_invented() -> None:
    view = plan(drafted(questions=()))
    assert view["stateTokens"] == 18
    assert (view["questions"], view["parts"]["schema"]) == ([], 0)
    assert [problem["message"] for problem in view["problems"]] == ["there is no question yet. Add one."]


def test_the_cut_is_told_with_the_paths_that_are_lost() -> None:
    view = plan(drafted(limits=LimitsDraft(max_state_tokens="10")))
    cut = view["cut"]
    assert (cut["keptTokens"], cut["lostTokens"], cut["cause"]) == (10, 8, "max_state_tokens")
    assert cut["lostPaths"] == ["state.b"]
    assert view["parts"]["stateCut"] == 8
    assert view["ok"]


def test_a_limit_that_the_schema_alone_exceeds_is_a_problem_of_the_limits_with_both_numbers() -> None:
    view = plan(drafted(limits=LimitsDraft(max_length="300")))
    assert placed(view) == [("limits", "maxLength")]
    assert view["total"] > view["limit"] == 300
    expected = f"Schema requires {view['total']} tokens before state; maximum is 300"  # nobody named the page's record
    assert view["problems"][0]["message"].startswith(expected)


def test_a_state_that_may_not_be_cut_is_a_problem_and_its_cut_is_not_announced() -> None:
    view = plan(drafted(limits=LimitsDraft(max_length="700", truncate=False), state_text='"' + "x" * 900 + '"'))
    assert placed(view) == [("limits", "maxLength")]
    assert view["cut"] is None


def test_limits_that_are_no_numbers_do_not_stop_the_counting() -> None:
    view = plan(drafted(limits=LimitsDraft(max_length="many", max_state_tokens="-1")))
    assert placed(view) == [("limits", "maxLength"), ("limits", "maxStateTokens")]
    assert view["stateTokens"] == 18


def test_a_limit_beyond_the_model_is_a_problem_of_the_limits() -> None:
    view = plan(drafted(limits=LimitsDraft(max_length="999999999")))
    assert [problem["area"] for problem in view["problems"]] == ["limits"]
    assert view["stateTokens"] == 18


def test_a_picture_that_cannot_be_read_is_a_problem_of_its_own_and_the_rest_is_counted() -> None:
    item = MediaDraft("id-1", "image", "x.png")
    view = plan(drafted(media=(item,)), {"id-1": ImageInput("x.png", "image/png", b"no picture")})
    assert placed(view) == [("media", "id-1")]
    assert view["stateTokens"] == 18


def test_a_picture_that_is_gone_is_a_problem_of_its_own() -> None:
    view = plan(drafted(media=(MediaDraft("id-1", "image", "x.png"),)))
    assert placed(view) == [("media", "id-1")]


def test_what_is_probably_not_meant_is_advice_beside_its_question() -> None:
    request = {"state": "", "questions": {"q": {"type": "noul", "instructions": "  "}}}
    view = plan(drafted(request))
    assert view["ok"]
    assert [advice["code"] for advice in view["questions"][0]["advice"]] != []


def test_counts_of_a_rebuilt_tokenizer_are_approximate_outside_plain_english() -> None:
    rebuilt = ScriptedDecider(status=replace(STATUS, tokenizer_is_exact=False))
    assert plan(drafted({**REQUEST, "state": "plain"}), decider=rebuilt)["exact"]
    assert not plan(drafted({**REQUEST, "state": "größer"}), decider=rebuilt)["exact"]
    assert plan(drafted({**REQUEST, "state": "größer"}))["exact"]


def test_an_integer_beyond_64_bits_and_a_float_stay_digit_by_digit() -> None:
    view = plan(drafted(state_text='{"n": 12345678901234567890123, "f": 1.0}'))
    assert view["stateAsRead"] == '{"f":1.0,"n":12345678901234567890123}'
