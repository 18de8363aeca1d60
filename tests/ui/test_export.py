"""Export: snippets that say exactly what is asked, and case files that come back and are checked."""

import ast
import json
import math
import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ui.scripted import ScriptedDecider

from clef_model.decision import Limits
from clef_ui.casefile import BrokenCase, read_case
from clef_ui.draft_types import Draft, LimitsDraft, draft_view
from clef_ui.export_calls import export_calls
from clef_ui.pasting import from_request_text
from clef_ui.result_calls import asked
from clef_ui.uploads import MediaStore
from clef_ui.views.answers import answers_view
from clef_ui.views.export import Exported, command, curl, json_literal, release, shortened, snippet

REQUEST = (
    '{"model":"clef-flash","state":{"path":"C:\\\\temp\\\\new","n":12345678901234567890123,"f":1.0},'
    '"questions":{"2":{"type":"noul"},"1":{"type":"score","criteria":[1.0,"1.0",1]},'
    '"9":{"type":"noul","criteria":{"true":null}}}}'
)
DECIDER = ScriptedDecider({"2": [1.0, 0.25]})


def draft_of(request: str, limits: LimitsDraft | None = None) -> Draft:
    filled = from_request_text(request, Draft(limits=limits or LimitsDraft()))
    assert filled is not None
    return filled.draft


def calls(decider: ScriptedDecider = DECIDER) -> dict[str, Any]:
    return {call.__name__: call for call in export_calls(decider, MediaStore())}


def call(name: str, request: Any, decider: ScriptedDecider = DECIDER) -> Any:
    text = request if isinstance(request, str) else json.dumps(request)
    return json.loads(calls(decider)[name](text))


def exported(request: str = REQUEST, limits: Limits | None = None, **more: Any) -> Exported:
    return Exported(request, limits or Limits(), "Cloudflare/clef-flash", "clef-flash", "http://127.0.0.1:7860", **more)


def answers(draft: Draft, decider: ScriptedDecider = DECIDER) -> dict[str, Any]:
    what = asked(json.dumps(draft_view(draft)), MediaStore())
    [decision] = decider.decide([what.record], what.limits)
    return answers_view(decision, draft_view(draft))


def case_of(draft: Draft) -> str:
    text: str = call("case", answers(draft))["text"]
    return text


def test_the_request_keeps_backslashes_big_integers_floats_and_order() -> None:
    view = call("export", {"draft": draft_view(draft_of(REQUEST)), "origin": "http://x"})
    text = view["snippets"][0]["text"]
    assert [piece in text for piece in ("C:\\\\temp\\\\new", "12345678901234567890123", "1.0", '"1.0"')] == [True] * 4
    assert text.index('"2"') < text.index('"1":') < text.index('"9"')


def test_every_python_snippet_is_python() -> None:
    for name in ("library", "release", "hosted"):
        ast.parse(snippet(exported(), name))
        ast.parse(snippet(exported(limits=Limits(900, 40, truncate=False), images=["a'b.png"]), name))


def test_the_release_snippet_uses_encode_record_when_the_state_has_a_limit_of_its_own() -> None:
    assert "systemone(model, processor, request, max_length=900)" in release(exported(limits=Limits(900)))
    text = release(exported(limits=Limits(900, 40)))
    assert "encode_record(tokenizer, request, max_length=900, max_state_tokens=40, processor=processor)" in text


@given(st.text(alphabet="a'\"\\\n{}$`\u202eé\t", max_size=20))
def test_a_python_literal_is_the_text(text: str) -> None:
    assert ast.literal_eval(json_literal(text)) == text


HOSTILE = '{"state": "it\'s $HOME `x` \\\\ CLEF_REQUEST\\nCLEF_REQUEST"}'


def test_the_curl_command_carries_the_request_to_the_byte() -> None:
    words = shlex.split(curl(exported(HOSTILE)).replace("\\\n", ""))
    assert words[2] == "http://127.0.0.1:7860/v1/systemone"
    assert words[-1] == HOSTILE


def test_a_long_request_goes_to_curl_through_standard_input() -> None:
    request = HOSTILE + " " * 100_000
    _, _, rest = curl(exported(request)).partition("<<'CLEF_REQUEST'\n")
    assert rest == request + "\nCLEF_REQUEST\n"


def test_a_here_document_never_ends_inside_the_request() -> None:
    assert "<<'CLEF_REQUEST_0'" in command(exported("{\nCLEF_REQUEST\n}"))


def test_the_curl_command_can_be_pasted_back() -> None:
    filled = from_request_text(curl(exported()), Draft())
    assert filled is not None
    assert '"n": 12345678901234567890123' in filled.draft.state_text


def test_an_embedded_picture_is_shortened_for_reading_alone() -> None:
    text = '{"images":["data:image/png;base64,' + "A" * 5000 + '"]}'
    assert len(shortened(text)) < 120
    assert "5,007 characters" in shortened(text)
    assert snippet(exported(text), "request") == text


def test_the_hosted_service_is_told_to_refuse_what_it_refuses() -> None:
    view = call("export", {"draft": draft_view(draft_of(REQUEST)), "origin": "http://x"})
    assert (view["hosted"]["id"], view["hosted"]["status"]) == ("workers-ai", "refused")
    assert view["hosted"]["findings"]


def test_a_draft_with_problems_says_what_to_mend() -> None:
    view = call("export", {"draft": draft_view(Draft(state_mode="json", state_text="{")), "origin": "http://x"})
    assert view["problems"]


def test_a_case_comes_back_as_the_same_draft() -> None:
    draft = draft_of(REQUEST, LimitsDraft("900", "40", True))
    opened = call("open_case", case_of(draft))
    before, after = (asked(json.dumps(view), MediaStore()) for view in (draft_view(draft), opened["draft"]))
    assert DECIDER.plan(after.record, after.limits).input_ids == DECIDER.plan(before.record, before.limits).input_ids
    assert (after.limits, opened["differences"], opened["missing"]) == (before.limits, [], [])


def test_a_case_holds_every_digit_and_no_state_twice() -> None:
    draft = draft_of(REQUEST)
    case = json.loads(case_of(draft))
    [first] = [answer for answer in answers(draft)["answers"] if answer["id"] == "2"]
    assert case["probabilities"]["2"] == {option["id"]: option["p"] for option in first["options"]}
    assert case["prompt"]["tokens"] == sum(segment["end"] - segment["start"] for segment in case["ledger"])
    assert "12345678901234567890123" in case["request"]


def test_the_same_answers_agree_to_the_last_digit() -> None:
    draft = draft_of(REQUEST)
    checked = call("check_case", {"case": case_of(draft), **answers(draft)})
    assert checked == {"differences": [], "largest": 0.0}


def test_another_answer_is_named_with_both_numbers() -> None:
    draft = draft_of(REQUEST)
    other = DECIDER.with_logits({"2": [0.0, 3.0]})
    checked = call("check_case", {"case": case_of(draft), **answers(draft, other)}, other)
    assert [difference["what"] for difference in checked["differences"]] == [
        "question '2', option 'true'",
        "question '2', top option",
    ]
    assert checked["differences"][1] == {"what": "question '2', top option", "filed": "true", "here": "false"}
    assert checked["largest"] > 0.5


def test_another_prompt_is_named() -> None:
    draft = draft_of(REQUEST)
    changed = draft_of(REQUEST.replace("temp", "tmp"))
    checked = call("check_case", {"case": case_of(draft), **answers(changed)})
    assert [difference["what"] for difference in checked["differences"]] == [
        "tokens of the prompt",
        "state tokens kept",
        "token ids of the prompt (SHA-256)",
    ]


def test_another_model_is_named() -> None:
    from dataclasses import replace

    other = ScriptedDecider(DECIDER.logits, status=replace(DECIDER.status, name="other", dtype="bfloat16"))
    opened = call("open_case", case_of(draft_of(REQUEST)), other)
    assert [(d["what"], d["filed"], d["here"]) for d in opened["differences"]] == [
        ("model", "scripted", "other"),
        ("dtype", "float32", "bfloat16"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "The file is no JSON from line 1, column 2 on. Choose a file that Export has saved as a case."),
        ("[" * 100_000, "The file cannot be read as JSON. Choose a file that Export has saved as a case."),
        ("[]", "The file is no case file: it has no 'clef_case'. Choose one that Export has saved."),
        ('{"clef_case": 9}', "The case file has version 9, and 1 is read here. Save it again with its tool."),
        ('{"clef_case": 1}', "The case file lacks request, limits, media, model, prompt, probabilities"),
    ],
)
def test_a_file_that_is_no_case_says_why(text: str, message: str) -> None:
    with pytest.raises(BrokenCase) as error:
        read_case(text)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("probabilities", {"q": {"true": math.nan}}, "nan at probabilities of 'q', option 'true'"),
        ("probabilities", {"q": {"true": "0.5"}}, "0.5 at probabilities of 'q', option 'true'"),
        ("probabilities", {"q": []}, "[] at probabilities of 'q'"),
        ("media", [5], "5 at media[0]"),
        ("media", [{"where": "images[0]"}], "{'where': 'images[0]'} at media[0]"),
    ],
)
def test_a_case_whose_values_cannot_be_compared_is_refused(part: str, value: Any, message: str) -> None:
    case = json.loads(case_of(draft_of(REQUEST))) | {part: value}
    with pytest.raises(BrokenCase) as error:
        read_case(json.dumps(case))
    assert str(error.value) == f"The case file has {message}. Save the case again."
