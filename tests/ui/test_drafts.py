"""Drafts: cards and JSON are the same questions, and every problem stands beside its field."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clef_model.errors import ClefError, InvalidRecord
from clef_model.parsing import parse_questions, parse_record
from clef_model.schema import ImageInput, VideoInput, to_request
from clef_ui.draft_types import (
    DEFAULT,
    Draft,
    Extra,
    LimitsDraft,
    MediaDraft,
    OptionDraft,
    QuestionDraft,
    Text,
    read_draft,
    read_questions,
    write_draft,
)
from clef_ui.drafts import (
    DraftProblem,
    form_from_text,
    form_view,
    questions_json_view,
    read_parts,
    request_text,
    text_from_form,
    to_limits,
    to_record,
)
from clef_ui.json_source import lay_out

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
numbers = st.integers() | st.integers(2**63, 2**80) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def with_optional(draw: Any, question: dict[str, Any]) -> dict[str, Any]:
    if draw(st.booleans()):
        question["instructions"] = draw(values)
    return {key: question[key] for key in draw(st.permutations(list(question)))}


@st.composite
def questions(draw: Any) -> dict[str, Any]:
    kind = draw(st.sampled_from(["noul", "choice", "score"]))
    question: dict[str, Any] = {"type": kind}
    if kind == "choice":
        question["criteria"] = draw(st.dictionaries(ids, values, min_size=1, max_size=4))
    elif kind == "score":
        question["criteria"] = draw(st.lists(values, min_size=1, max_size=4))
    elif draw(st.booleans()):
        keys = st.sampled_from(["true", "false"]) | ids
        question["criteria"] = draw(st.dictionaries(keys, values, max_size=4) | st.sampled_from([None, [], ""]))
    return with_optional(draw, question)


question_maps = st.dictionaries(ids, questions(), min_size=1, max_size=4)


def exactly(value: Any) -> Any:
    """A value in which 1, 1.0 and true differ, -0.0 is not 0.0, and the order of keys counts."""
    if isinstance(value, dict):
        return [(key, exactly(each)) for key, each in value.items()]
    if isinstance(value, list):
        return [exactly(each) for each in value]
    sign = math.copysign(1, value) if isinstance(value, float) else None
    return type(value).__name__, value, sign


@given(question_maps, st.sampled_from([None, 1]), st.booleans())
def test_any_valid_questions_come_back_from_the_form_exactly(
    source: dict[str, Any], indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(source, indent=indent, ensure_ascii=ascii_only)
    again = text_from_form(form_from_text(text))
    assert exactly(json.loads(again)) == exactly(source)


@given(question_maps)
def test_the_form_writes_the_same_text_each_time(source: dict[str, Any]) -> None:
    text = text_from_form(form_from_text(json.dumps(source)))
    assert text_from_form(form_from_text(text)) == text


@given(question_maps)
def test_the_page_text_of_a_draft_is_the_draft(source: dict[str, Any]) -> None:
    draft = Draft(questions=form_from_text(json.dumps(source)), view={"collapsed": [1]})
    assert read_draft(write_draft(draft)) == draft


@given(question_maps, values)
def test_form_json_and_request_give_one_record(source: dict[str, Any], state: Any) -> None:
    text = json.dumps(source)
    typed = Draft(state_mode="json", state_text=json.dumps(state), questions_mode="json", questions_text=text)
    formed = Draft(state_mode="json", state_text=json.dumps(state), questions=form_from_text(text))
    record = to_record(typed, {}, "clef")
    assert to_record(formed, {}, "clef") == record
    assert parse_record(request_text(formed, "clef")) == record
    assert parse_record(request_text(typed, "clef")) == record


@given(values)
def test_laying_out_changes_no_literal(value: Any) -> None:
    assert exactly(json.loads(lay_out(json.dumps(value)))) == exactly(value)


def test_literals_are_kept_digit_by_digit() -> None:
    text = '{"q": {"type": "score", "criteria": [1.0, 1, 1e5, -0.0, 12345678901234567890123, "1.0", null, {"a":1.10}]}}'
    levels = [option.description for option in form_from_text(text)[0].options]
    assert levels == [
        *(Text(literal, raw=True) for literal in ("1.0", "1", "1e5", "-0.0", "12345678901234567890123")),
        Text("1.0"),
        None,
        Text('{"a":1.10}', raw=True),
    ]
    assert '"criteria": [\n      1.0,\n      1,\n      1e5,\n      -0.0,' in text_from_form(form_from_text(text))


def test_absent_null_and_empty_instructions_differ() -> None:
    absent, null, empty = "", ', "instructions": null', ', "instructions": ""'
    text = ", ".join(
        f'"{name}": {{"type": "noul"{rest}}}' for name, rest in zip("abc", (absent, null, empty), strict=True)
    )
    assert [each.instructions for each in form_from_text("{" + text + "}")] == [None, Text("null", raw=True), Text("")]


def test_absent_and_null_noul_descriptions_differ() -> None:
    text = '{"a": {"type": "noul", "criteria": {"false": null, "maybe": "x"}}}'
    (question,) = form_from_text(text)
    assert question.options == (OptionDraft("true", DEFAULT), OptionDraft("false", None))
    assert question.extra == Extra(others=(OptionDraft("maybe", Text("x")),))


def test_a_text_with_a_carriage_return_stays_a_literal_since_fields_drop_it() -> None:
    (question,) = form_from_text(r'{"a": {"type": "noul", "instructions": "x\r\ny"}}')
    assert question.instructions == Text(r'"x\r\ny"', raw=True)


def test_the_form_holds_what_is_not_valid_yet() -> None:
    text = '{"": {"type": "choice", "criteria": {"a": null, "a": "x", "": null}}, "": {"type": "score"}}'
    cards = form_from_text(text)
    assert [(card.id, len(card.options)) for card in cards] == [("", 3), ("", 0)]


@pytest.mark.parametrize("text", ["", "  \n", "\ufeff", "{}"])
def test_no_questions_are_an_empty_form(text: str) -> None:
    assert form_from_text(text) == ()


def refused(text: str) -> list[tuple[str, str, int | None, int | None]]:
    with pytest.raises(InvalidRecord) as caught:
        form_from_text(text)
    return [(each.where, each.message, each.line, each.column) for each in caught.value.problems]


def test_broken_json_keeps_the_place_of_its_fault() -> None:
    ((where, _, line, column),) = refused('{"a": {"type": "noul",\n  "instructions": oops}}')
    assert (where, line, column) == ("questions.a.instructions", 2, 19)


def test_json_that_the_form_has_no_field_for_is_named_by_the_parser() -> None:
    assert refused('{"a": {"type": "choice", "criteria": ["x"], "weight": 2}}') == [
        (
            "questions.a.criteria",
            'expected an object of options with their descriptions, got a list of 1. Write {"x": null}.',
            1,
            38,
        ),
        (
            "questions.a.weight",
            "found the unknown key 'weight'; known are type, instructions, criteria. Remove it.",
            1,
            55,
        ),
    ]


def test_the_views_for_the_page_are_json_texts() -> None:
    cards = json.loads(form_view('{"a": {"type": "noul", "instructions": "Up?"}}'))
    assert cards["problems"] == []
    assert json.loads(questions_json_view(json.dumps(cards["questions"]))) == {
        "text": '{\n  "a": {\n    "type": "noul",\n    "instructions": "Up?"\n  }\n}'
    }
    assert [each["line"] for each in json.loads(form_view("{"))["problems"]] == [1]
    assert json.loads(questions_json_view("[{}]")) == {
        "error": "draft.questions[0].uid: expected a number, found null. Reload the page, or load a preset."
    }


def card(uid: int, kind: Any, name: str, *options: OptionDraft, instructions: Text | None = None) -> QuestionDraft:
    return QuestionDraft(uid, kind, name, instructions, options)


def noul(uid: int, name: str, instructions: Text | None = None) -> QuestionDraft:
    return card(
        uid, "noul", name, OptionDraft("true", DEFAULT), OptionDraft("false", DEFAULT), instructions=instructions
    )


def placed(draft: Draft) -> list[tuple[str, int | None, str | None, str, str]]:
    problems = read_parts(draft, {}).problems
    return [(each.area, each.uid, each.field, each.where, each.message) for each in problems]


def test_all_problems_of_the_form_stand_beside_their_fields() -> None:
    draft = Draft(
        state_mode="json",
        state_text='{"a": }',
        questions=(
            card(7, "choice", "team", OptionDraft("x"), OptionDraft(""), OptionDraft("x"), OptionDraft("")),
            noul(8, "team", Text("{", raw=True)),
            card(
                9, "score", "", OptionDraft("", Text("NaN", raw=True)), OptionDraft("", Text('{"k":1,"k":2}', raw=True))
            ),
            card(10, "choice", "none"),
            noul(11, "fine"),
        ),
        media=(MediaDraft("0" * 64, "image", "x.png"),),
        limits=LimitsDraft("many", "-1"),
    )
    found = placed(draft)
    empty_option = "found an empty option id; the answer is given by it. Name the option."
    empty_id = "found an empty question id; the model reads it as the question's name. Name the question."
    nan = "found NaN, which is non-finite; JSON has no NaN or Infinity. Write null, a number or a string."
    whole_number = "expected a whole number of tokens, {} or more, found {}. Write digits only, 15 at most."
    taken = "found the id {} twice: {} 1 has it too. Rename one."
    team, unnamed = "questions.team", 'questions[""].criteria'
    assert found == [
        ("state", None, None, "state.a", found[0][4]),
        ("questions", 7, "options[1].key", f"{team}.criteria", empty_option),
        ("questions", 7, "options[2].key", f"{team}.criteria.x", taken.format("'x'", "option")),
        ("questions", 7, "options[3].key", f"{team}.criteria", empty_option),
        ("questions", 8, "id", team, taken.format("'team'", "question")),
        ("questions", 8, "instructions", f"{team}.instructions", found[5][4]),
        ("questions", 9, "id", "questions", empty_id),
        ("questions", 9, "options[0].description", f"{unnamed}[0]", nan),
        ("questions", 9, "options[1].description", f"{unnamed}[1]", found[8][4]),
        ("questions", 10, "options", "questions.none.criteria", "found no option. Add one."),
        ("media", None, "0" * 64, "images[0]", "'x.png' is no longer on the server. Add it again, or remove it."),
        ("limits", None, "maxLength", "max_length", whole_number.format(1, "'many'")),
        ("limits", None, "maxStateTokens", "max_state_tokens", whole_number.format(0, "'-1'")),
    ]
    assert found[5][4].startswith("line 1, column 2 of this JSON value: ")
    assert "duplicate key 'k'" in found[8][4]


@pytest.mark.parametrize("typed", ["0", "4000000000"])
def test_a_limit_out_of_range_is_told_the_range(typed: str) -> None:
    [(*place, message)] = placed(Draft(questions=(noul(1, "fine"),), limits=LimitsDraft(typed)))
    assert place == ["limits", None, "maxLength", "max_length"]
    assert "a whole number of tokens from 1 to 262,144" in message


def test_a_raw_value_cannot_smuggle_in_another_key() -> None:
    draft = Draft(questions=(noul(1, "a", Text('null, "criteria": {"true": "x"}', raw=True)),))
    assert [(each[1], each[2]) for each in placed(draft)] == [(1, "instructions")]


def test_what_is_valid_is_read_beside_what_is_not() -> None:
    broken = card(1, "choice", "broken", OptionDraft(""))
    reading = read_parts(Draft(state_text="s", questions=(broken, noul(2, "b"), noul(3, "c"))), {})
    assert reading.record is not None
    assert ([each.id for each in reading.record.questions], reading.uids) == (["b", "c"], (2, 3))
    assert (reading.record.state, reading.state_ok) == ("s", True)


def test_a_broken_state_leaves_the_questions_readable() -> None:
    reading = read_parts(Draft(state_mode="json", state_text="{", questions=(noul(2, "b"),)), {})
    assert reading.record is not None
    assert (reading.record.state, reading.state_ok, reading.uids) == ("", False, (2,))


def test_problems_of_the_json_editor_have_their_line_and_question() -> None:
    text = '{\n"a": {"type": "noul"},\n"b": {"type": "bool"},\n"c": {"type": "noul"}}'
    reading = read_parts(Draft(questions_mode="json", questions_text=text), {})
    assert [(each.uid, each.line, each.column, each.where) for each in reading.problems] == [
        (2, 3, 15, "questions.b.type")
    ]
    assert reading.uids == (1, 3)


def test_json_that_cannot_be_read_has_no_questions() -> None:
    reading = read_parts(Draft(questions_mode="json", questions_text='{"a": '), {})
    assert (reading.record, reading.uids, len(reading.problems)) == (None, (), 1)


def test_an_empty_form_is_one_problem() -> None:
    assert placed(Draft()) == [("questions", None, None, "questions", "there is no question yet. Add one.")]
    with pytest.raises(InvalidRecord):
        to_record(Draft(), {})


def test_media_are_taken_from_the_store_in_their_order() -> None:
    image = ImageInput("a.png", "image/png", b"png")
    clip = VideoInput("b.mp4", "video/mp4", b"mp4")
    draft = Draft(
        questions=(noul(1, "q"),),
        media=(MediaDraft("v", "video", "b.mp4", frames=6, fps=2.0), MediaDraft("i", "image", "a.png")),
    )
    store = {"i": image, "v": clip}
    record = to_record(draft, store, "clef")
    assert record.images == (image,)
    assert (record.videos[0].num_frames, record.videos[0].fps) == (6, 2.0)
    request = json.loads(request_text(draft, "clef", store))
    assert request == to_request(record)
    assert list(request) == ["model", "state", "images", "videos", "questions"]
    assert "images" not in json.loads(request_text(draft, "clef"))


def test_limits_are_read_from_what_was_typed() -> None:
    limits = to_limits(Draft(limits=LimitsDraft(" 4096 ", "", truncate=False)))
    assert (limits.max_length, limits.max_state_tokens, limits.truncate) == (4096, None, False)
    assert to_limits(Draft(limits=LimitsDraft("1", "0"))).max_state_tokens == 0


def test_a_limit_beyond_the_models_positions_is_refused_beside_its_field() -> None:
    (problem,) = read_parts(Draft(questions=(noul(1, "q"),), limits=LimitsDraft("262145")), {}).problems
    assert (problem.area, problem.field, problem.where) == ("limits", "maxLength", "max_length")
    assert problem.message.startswith("found the number 262145; a whole number of tokens from 1 to 262,144")


def test_half_a_surrogate_pair_in_a_text_is_refused_with_its_place() -> None:
    (problem,) = read_parts(Draft(state_text="ab\nc\ud83d", questions=(noul(1, "q"),)), {}).problems
    assert (problem.area, problem.line, problem.column) == ("state", 2, 2)
    (problem,) = read_parts(Draft(questions=(noul(1, "q\ud83d"),)), {}).problems
    assert (problem.uid, problem.field) == (1, "id")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "draft: expected an object, found []. Reload the page, or load a preset."),
        (
            '{"stateMode": "yaml"}',
            "draft.stateMode: expected 'text' or 'json', found \"yaml\". Reload the page, or load a preset.",
        ),
    ],
)
def test_a_payload_that_is_no_draft_is_named(text: str, message: str) -> None:
    with pytest.raises(ClefError) as caught:
        read_draft(text)
    assert str(caught.value) == message


def test_a_flood_is_refused_before_it_is_read() -> None:
    with pytest.raises(ClefError, match="The draft has 16,777,217 characters and 16,777,216 are allowed"):
        read_draft(" " * (16 * 2**20 + 1))


def test_a_draft_of_another_shape_in_a_question_is_named_by_its_path() -> None:
    with pytest.raises(ClefError, match=r"^draft.questions\[0\].options\[0\].description.raw: expected true or false"):
        read_questions(
            '[{"uid": 1, "kind": "noul", "id": "", "options": [{"key": "true", "description": {"text": ""}}]}]'
        )


def test_problems_are_problems() -> None:
    assert str(DraftProblem("a", "b", 1, 2)) == "a (line 1, column 2): b"


def test_questions_of_the_form_parse_as_the_parser_reads_them() -> None:
    cards = (noul(1, "up", Text("Is it up?")), card(2, "score", "level", OptionDraft("", Text("low")), OptionDraft("")))
    questions, _ = parse_questions(text_from_form(cards))
    assert [question.id for question in questions] == ["up", "level"]
    assert [option.description for option in questions[1].options] == ["low", None]
