"""How values are written into the prompt, and the pieces of a record in prompt order."""

from typing import Any

import pytest

from clef_model import rendering
from clef_model.rendering import PromptPiece, option_text, pieces, render
from clef_model.schema import ImageInput, Option, Record, VideoInput, choice, noul, score


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is\n\u2028 'quotes\" \\", "as it is\n\u2028 'quotes\" \\"),
        ("", ""),
        (None, "null"),
        (True, "true"),
        (0, "0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (1e-05, "1e-05"),
        (1e16, "1e+16"),
        (123456789012345678901234567890, "123456789012345678901234567890"),
        ([], "[]"),
        ({}, "{}"),
        (["a", None, {"b": 1, "a": [2]}], '["a",null,{"a":[2],"b":1}]'),
        ({"z": "é😀/\u007f\u2028", "Z": '\t\u0001"\\'}, '{"Z":"\\t\\u0001\\"\\\\","z":"é😀/\u007f\u2028"}'),
    ],
)
def test_values_are_rendered_as_the_release_does(value: Any, text: str) -> None:
    assert render(value) == text


def test_keys_are_sorted_by_code_point_at_every_depth() -> None:
    assert render({"～": 1, "😀": 2, "a": {"É": 1, "Z": 2, "10": 3, "2": 4}}) == (
        '{"a":{"10":3,"2":4,"Z":2,"É":1},"～":1,"😀":2}'
    )


@pytest.mark.parametrize("instructions", [None, ""])
def test_absent_instructions_are_replaced_by_the_id(instructions: str | None) -> None:
    assert rendering.instruction_text(noul("is it up", instructions=instructions)) == "is it up"


@pytest.mark.parametrize(
    ("instructions", "text"), [(0, "0"), (False, "false"), ([], "[]"), ({}, "{}"), (" ", " "), (0.0, "0.0")]
)
def test_falsy_instructions_are_rendered(instructions: Any, text: str) -> None:
    assert rendering.instruction_text(noul("q", instructions=instructions)) == text


def test_an_option_without_description_has_no_such_key() -> None:
    assert option_text(Option("a", None)) == '{"option_id":"a"}'
    assert option_text(Option("a", "")) == '{"description":"","option_id":"a"}'


def test_the_pieces_stand_in_prompt_order() -> None:
    record = Record({"b": 1}, (score("lvl", ["low", None], "How bad?"), choice("t", {"b": None, "a": "x"})))
    assert pieces(record) == [
        PromptPiece("prefix", rendering.PREFIX),
        PromptPiece("state", '{"b":1}'),
        PromptPiece("schema_header", "\n\nSCHEMA FIELDS:\n"),
        PromptPiece("question_header", "\nFIELD 1\nID: lvl\nTYPE: score\nINSTRUCTION: ", 0),
        PromptPiece("instruction", "How bad?", 0),
        PromptPiece("options_header", "\nALLOWED OPTIONS:\n", 0),
        PromptPiece("option_label", "OPTION 1: ", 0, 0),
        PromptPiece("option", '{"description":"low","option_id":"0"}', 0, 0),
        PromptPiece("option_end", "\n", 0, 0),
        PromptPiece("option_label", "OPTION 2: ", 0, 1),
        PromptPiece("option", '{"option_id":"1"}', 0, 1),
        PromptPiece("option_end", "\n", 0, 1),
        PromptPiece("question_end", "END FIELD\n", 0),
        PromptPiece("question_header", "\nFIELD 2\nID: t\nTYPE: choice\nINSTRUCTION: ", 1),
        PromptPiece("instruction", "t", 1),
        PromptPiece("options_header", "\nALLOWED OPTIONS:\n", 1),
        PromptPiece("option_label", "OPTION 1: ", 1, 0),
        PromptPiece("option", '{"description":"x","option_id":"a"}', 1, 0),
        PromptPiece("option_end", "\n", 1, 0),
        PromptPiece("option_label", "OPTION 2: ", 1, 1),
        PromptPiece("option", '{"option_id":"b"}', 1, 1),
        PromptPiece("option_end", "\n", 1, 1),
        PromptPiece("question_end", "END FIELD\n", 1),
        PromptPiece("suffix", rendering.SUFFIX),
    ]


def test_images_then_videos_then_one_line_end_stand_before_the_state() -> None:
    image, video = ImageInput("a.png", "image/png", b""), VideoInput("b.mp4", "video/mp4")
    record = Record("s", (noul("q"),), images=(image, image), videos=(video,))
    placeholder = "<|vision_start|><|{}_pad|><|vision_end|>"
    assert [piece.text for piece in pieces(record)[1:6]] == [
        placeholder.format("image"),
        placeholder.format("image"),
        placeholder.format("video"),
        "\n",
        "s",
    ]
