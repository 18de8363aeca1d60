import json
import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clef_model.errors import InvalidRecord, Problem
from clef_model.json_paths import MAX_PROBLEMS, describe, parse_path, path_text
from clef_model.json_text import MAX_DEPTH, MAX_INTEGER_DIGITS, Located, parse_json, scan_json
from clef_model.json_values import plain_json

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=12,
)


def problems(text: str | bytes) -> list[str]:
    with pytest.raises(InvalidRecord) as raised:
        parse_json(text)
    return [str(problem) for problem in raised.value.problems]


FAULTS = [
    (
        "",
        "request (line 1, column 1): found nothing; expected an object, a list, a string in double quotes, a number, "
        "true, false or null.",
    ),
    ('{"a": 1,}', "request (line 1, column 8): found a comma before '}', where JSON allows none. Remove the comma."),
    ("[1, 2,\n]", "request (line 1, column 6): found a comma before ']', where JSON allows none. Remove the comma."),
    (
        "{'a': 1}",
        'request (line 1, column 2): found a single quote; JSON takes double quotes for keys and strings. Write "…".',
    ),
    (
        "[“a”]",
        "[0] (line 1, column 2): found U+201C LEFT DOUBLE QUOTATION MARK, a typographic quote. "
        "Write a straight double quote.",
    ),
    ("{a: 1}", "request (line 1, column 2): found the key 'a' without quotes. A key takes double quotes."),
    ('{"a" 1}', "a (line 1, column 6): found '1' after the key 'a'. Write ':' and its value."),
    ('{"a"', "a (line 1, column 5): the text ends after the key 'a'. Add ':' and its value."),
    (
        '{"a": 1 "b": 2}',
        "request (line 1, column 9): found '\"' where ',' or '}' is expected. Add a comma between the values.",
    ),
    ("[1}", "request (line 1, column 3): found '}', but '[' of line 1, column 1 is open. Write ']' first."),
    (
        '{"a": [1, 2',
        "a (line 1, column 12): the text ends while '[' of line 1, column 7 is open. Add ']'.",
    ),
    (
        "[1: 2]",
        "request (line 1, column 3): found ':' in a list; only an object has keys. Write {…} around key and value.",
    ),
    ('["a', "[0] (line 1, column 2): found a string without its closing quote. Add '\"' at its end."),
    (
        '["a\nb"]',
        "[0] (line 1, column 4): found a line break inside a string. "
        "Write \\n for it, or add the missing closing quote.",
    ),
    ('["a\tb"]', "[0] (line 1, column 4): found U+0009 a control character inside a string. Write \\t for it."),
    (
        '"C:\\Users"',
        "request (line 1, column 4): found a backslash before 'U', which JSON lacks. Write \\\\ for a backslash.",
    ),
    (
        '"\\u12"',
        "request (line 1, column 2): found '\\\\u12\"'; \\u takes four hexadecimal digits, as in \\u00e9.",
    ),
    (
        "[01]",
        "[0] (line 1, column 2): found the number '01'; JSON writes no zero in front. "
        "Remove it, or send a string, in quotes.",
    ),
    ("[+1]", "[0] (line 1, column 2): found the number '+1'; JSON writes no plus sign in front. Remove it."),
    (
        "[.5]",
        "[0] (line 1, column 2): found the number '.5'; JSON wants a digit on both sides of the point, as in 0.5.",
    ),
    ("[1_000]", "[0] (line 1, column 2): found the number '1_000'; JSON writes no '_' in numbers. Remove it."),
    ("[0x1F]", "[0] (line 1, column 2): found the number '0x1F'; JSON has decimal numbers only."),
    (
        "[12kg]",
        "[0] (line 1, column 2): found the number '12kg', which JSON cannot read. "
        "Write it as in -12, 0.5 or 1e-5, or send a string, in quotes.",
    ),
    ("[yes]", "[0] (line 1, column 2): found 'yes' without quotes. A string takes double quotes."),
    ("[1,,2]", "[1] (line 1, column 4): found ',' where a value is expected. Write the value before it, or remove it."),
    ("{,}", "request (line 1, column 2): found ',' where a key is expected. Remove the comma."),
    ("// note\n{}", "request (line 1, column 1): found a comment; JSON has none. Remove it."),
    ("```json\n{}", "request (line 1, column 1): found ```, the fence of a code block. Remove the lines with it."),
    ("<html>", "request (line 1, column 1): found '<'; this looks like HTML or XML. Send JSON."),
    (
        '{\\"a\\": 1}',
        "request (line 1, column 2): found a backslash outside a string; the text looks escaped once too often. "
        "Remove the backslashes.",
    ),
    (
        '{"a": 1}\n{"a": 2}',
        "request (line 2, column 1): found a second value after the first; one is expected. "
        "Send them one at a time, or put them in a list.",
    ),
    ("{}]", "request (line 1, column 3): found ']' after the end of the value. Remove it."),
    (b"[1,\n \xff]", "request (line 2, column 2): byte 6 (0xFF) is not UTF-8. Save or send the text as UTF-8."),
    ("{}".encode("utf-16"), "request (line 1, column 1): found UTF-16; JSON is UTF-8. Save or send it as UTF-8."),
]


@pytest.mark.parametrize(("text", "message"), FAULTS, ids=[repr(text) for text, _ in FAULTS])
def test_a_slip_of_syntax_is_named_with_its_place_and_what_to_do(text: str | bytes, message: str) -> None:
    assert problems(text) == [message]


def test_all_that_can_be_read_past_is_reported_at_once() -> None:
    text = '{"a": NaN,\n "b": [1e999, True],\n "a": {"c": 1, "c": None},\n "d": "\\ud800"}'
    assert problems(text) == [
        "a (line 1, column 7): found NaN, which is non-finite; JSON has no NaN or Infinity. "
        "Write null, a number or a string.",
        "b[0] (line 2, column 8): found the number '1e999', which is non-finite as a 64-bit float; "
        "the largest is 1.8e308. Write a smaller number, or send it as a string, in quotes.",
        "b[1] (line 2, column 15): found True; JSON writes true.",
        "a (line 3, column 2): found the duplicate key 'a'; its first value is at line 1, column 7. "
        "Rename or remove one of them.",
        "a.c (line 3, column 16): found the duplicate key 'c'; its first value is at line 3, column 13. "
        "Rename or remove one of them.",
        "a.c (line 3, column 21): found None; JSON writes null.",
        "d (line 4, column 7): found a lone surrogate, U+D800: half a character, which has no tokens. "
        "Write both halves, as in \\ud83d\\ude00, or the character itself.",
    ]


def test_a_problem_before_a_syntax_error_is_not_lost_with_it() -> None:
    assert len(problems('{"a": 1, "a": 2, "b" 3}')) == 2


def test_keys_that_are_equal_after_their_escapes_are_duplicates() -> None:
    assert "duplicate key 'a'" in problems('{"a": 1, "\\u0061": 2}')[0]


def test_more_problems_than_anyone_reads_are_not_looked_for() -> None:
    found = problems("[" + ",".join(["NaN"] * 100_000) + "]")
    assert len(found) == MAX_PROBLEMS + 1
    assert found[-1] == "request: these are the first 100 problems; there may be more. Mend these first."


@pytest.mark.parametrize("bracket", ["[", '{"a":'])
def test_nesting_is_refused_beyond_the_limit_and_read_up_to_it(bracket: str) -> None:
    closer = "]" if bracket == "[" else "}"
    parse_json(bracket * MAX_DEPTH + "1" + closer * MAX_DEPTH)
    (message,) = problems(bracket * (MAX_DEPTH + 1) + "1" + closer * (MAX_DEPTH + 1))
    assert "the nesting depth exceeds 256 levels. Flatten the value, or send this part as a string." in message


def test_an_integer_keeps_every_digit_up_to_the_limit() -> None:
    digits = "9" * MAX_INTEGER_DIGITS
    assert str(parse_json(f"-{digits}").value) == f"-{digits}"
    assert problems("1" + digits) == [
        "request (line 1, column 1): found a number of 4,301 digits; at most 4,300 are read. "
        "Send it as a string, in quotes."
    ]


def test_too_many_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clef_model.json_text.MAX_VALUES", 1_000)
    parse_json("[" + "1," * 998 + "1]")
    assert problems("[" + "1," * 999 + "1]") == [
        "[999] (line 1, column 2000): found more than 1,000 values; so many are not read. "
        "Send less, or send this part as a string."
    ]


@pytest.mark.parametrize("literal", ["-0.0", "1.0", "0.1", "1e-05", "1e+16", "5e-324", "1.7976931348623157e+308", "0"])
def test_a_number_in_pythons_spelling_survives_digit_by_digit(literal: str) -> None:
    located = parse_json(literal)
    assert repr(located.value) == literal
    assert located.notices == ()


@pytest.mark.parametrize("literal", ["1E5", "1e16", "0.10", "100000000000000000000.0", "0e99999", "-0"])
def test_another_spelling_of_the_same_number_is_no_notice(literal: str) -> None:
    assert parse_json(literal).notices == ()


@pytest.mark.parametrize(
    ("literal", "read"),
    [
        ("0.1000000000000000055", "0.1"),
        ("9007199254740993.0", "9007199254740992.0"),
        ("1e-400", "0.0"),
        ("-1e-99999999999999999999", "-0.0"),
        ("123456789012345678e0", "1.2345678901234568e+17"),
    ],
)
def test_a_number_that_cannot_keep_its_digits_is_a_notice(literal: str, read: str) -> None:
    (notice,) = parse_json('{"n": [' + literal + "]}").notices
    assert (notice.code, notice.where) == ("number_changed", "n[0]")
    assert notice.message == (
        f"{literal!r} does not fit a 64-bit float; the model reads {read}. "
        "Send it as a string, in quotes, to keep every digit."
    )


def test_notices_of_numbers_are_counted_beyond_the_first_few() -> None:
    notices = parse_json("[" + ",".join(["0.12345678901234567890"] * 50) + "]").notices
    assert len(notices) == 21
    assert str(notices[-1]) == "30 more of the numbers do not fit a 64-bit float."


@pytest.mark.parametrize("text", ["\ufeff[1]", b"\xef\xbb\xbf[1]"])
def test_a_byte_order_mark_in_front_is_passed_over(text: str | bytes) -> None:
    assert parse_json(text).value == [1]


def test_a_surrogate_pair_is_one_character() -> None:
    assert parse_json('"\\ud83d\\ude00"').value == "😀"


def test_every_value_knows_its_line_and_column() -> None:
    located = parse_json('{\n  "a": [1,\n    {"b c": null}]\n}')
    assert located.position("") == (1, 1)
    assert located.position("a") == (2, 8)
    assert located.position("a[0]") == (2, 9)
    assert located.position('a[1]["b c"]') == (3, 13)
    assert located.position(("a", 1, "b c")) == (3, 13)


def test_a_value_that_is_absent_has_the_place_of_what_is_around_it() -> None:
    assert parse_json('{\n  "a": [1]\n}').position("a[7].b") == (2, 8)


def test_a_message_never_carries_an_invisible_character_of_a_key() -> None:
    (message,) = problems('{"safe\u202egnp.exe": NaN}')
    assert message.startswith('["safe\\u202egnp.exe"] (line 1, column 18): found NaN')


@given(st.lists(st.text() | st.integers(0, 10**6)))
def test_a_path_is_read_back_as_it_was_written(steps: list[str | int]) -> None:
    assert parse_path(path_text(tuple(steps))) == tuple(steps)


@pytest.mark.parametrize("text", ["a..b", "[", '["a]', "a b", "[-1]", "ab[0]c", "."])
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no path"):
        parse_path(text)


@given(JSON_VALUES, st.sampled_from([None, 1]), st.booleans())
def test_what_python_writes_is_read_back_exactly(value: Any, indent: int | None, ensure_ascii: bool) -> None:
    located = parse_json(json.dumps(value, indent=indent, ensure_ascii=ensure_ascii))
    assert repr(located.value) == repr(value)


@given(st.text(alphabet='{}[]:,"\\ \n0123456789.-+eEtruefalsnNaI\u00e9\ud800', max_size=40))
def test_a_text_is_read_exactly_when_python_reads_it_strictly(text: str) -> None:
    """The reader of the standard library, made strict, is the judge of what is JSON."""
    located = scan_json(text)
    assert located.is_complete or located.problems
    assert (not located.problems) == _is_strict_json(text), located.problems


def _is_strict_json(text: str) -> bool:
    def refuse(literal: str) -> None:
        raise ValueError(literal)

    def finite(literal: str) -> float:
        value = float(literal)
        return value if math.isfinite(value) else refuse(literal)  # type: ignore[func-returns-value]

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return dict(pairs) if len(dict(pairs)) == len(pairs) else refuse("")  # type: ignore[func-returns-value]

    try:
        value = json.loads(text, parse_constant=refuse, parse_float=finite, object_pairs_hook=unique)
        json.dumps(value, ensure_ascii=False).encode()  # fails on lone surrogates
    except (ValueError, UnicodeError):
        return False
    return True


@given(st.binary(max_size=60))
def test_any_bytes_are_either_read_or_refused_with_problems(data: bytes) -> None:
    located = scan_json(data)
    assert isinstance(located, Located)
    assert located.is_complete or located.problems
    for problem in located.problems:
        str(problem).encode()  # can be shown


@given(JSON_VALUES)
def test_a_python_value_that_is_json_is_copied_as_it_is(value: Any) -> None:
    copied, found = plain_json(value)
    assert found == ()
    assert repr(copied) == repr(value)
    assert copied is not value or not isinstance(value, dict | list)


class Word(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "another"


def test_a_python_copy_holds_plain_types_only() -> None:
    class Pairs(Mapping[str, int]):
        def __getitem__(self, key: str) -> int:
            return {"a": 1}[key]

        def __iter__(self) -> Any:
            return iter(["a"])

        def __len__(self) -> int:
            return 1

    copied, found = plain_json((Word("word"), Pairs(), (1.5, True)))
    assert (copied, found) == (["word", {"a": 1}, [1.5, True]], ())
    assert type(copied[0]) is str


def python_problems(value: Any) -> list[str]:
    return [str(problem) for problem in plain_json(value)[1]]


def test_python_values_that_json_lacks_are_named_with_their_path() -> None:
    value = {"a": [float("nan"), {1, 2}], "b": b"x", "c": 10**5000, "d": float("-inf"), "e": {"\ud800": "\udfff"}}
    surrogate = (
        "half a character, which has no tokens. Write both halves, as in \\ud83d\\ude00, or the character itself."
    )
    assert python_problems(value) == [
        "a[0]: found nan, a non-finite number (NaN or infinite). Write null or a number.",
        "a[1]: found a Python value of type set, which is no JSON. Convert it to an object, list, string or number.",
        "b: found a Python value of type bytes, which is no JSON. Convert it to an object, list, string or number.",
        "c: found a number of more than 4,300 digits. Send it as a string.",
        "d: found -inf, a non-finite number (NaN or infinite). Write null or a number.",
        f'e["\\ud800"]: found a lone surrogate, U+D800: {surrogate}',
        f'e["\\ud800"]: found a lone surrogate, U+DFFF: {surrogate}',
    ]


def test_keys_become_text_as_json_writes_them_when_their_order_stays() -> None:
    assert plain_json({0: "a", 1: "b"}) == ({"0": "a", "1": "b"}, ())
    assert plain_json({None: 1}) == ({"null": 1}, ())
    assert python_problems({"x": {9: "a", 10: "b"}}) == [
        "x: found keys that are not strings and would sort differently as text. Make them strings."
    ]


def test_keys_that_collide_as_text_are_refused() -> None:
    assert python_problems({1: "a", "1": "b"}) == [
        "[\"1\"]: the keys 1 and '1' collide: both are written '1'. Rename one."
    ]


def test_a_python_value_that_holds_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    assert len(python_problems(value)) == 1
    assert "the nesting depth exceeds 256 levels" in python_problems(value)[0]


def test_a_small_python_value_that_stands_for_a_huge_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clef_model.json_values.MAX_VALUES", 1_000)
    value: list[Any] = [1]
    for _ in range(40):
        value = [value, value]
    assert "found more than 1,000 values" in python_problems(value)[0]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "null"),
        (True, "true"),
        (3, "the number 3"),
        pytest.param(10**5000, "a very large number", id="huge"),
        (1.0, "the number 1.0"),
        ("", "an empty string"),
        ("a" * 100, f"the string '{'a' * 60}'…"),
        ({}, "an empty object"),
        ({"a": 1}, "an object of 1 key"),
        ([], "an empty list"),
        ([1, 2], "a list of 2"),
        (b"", "a Python value of type bytes"),
    ],
)
def test_a_value_is_named_in_a_few_words(value: Any, words: str) -> None:
    assert describe(value) == words


def test_a_problem_says_its_place_first() -> None:
    assert str(Problem("a.b", "found x.", 2, 7)) == "a.b (line 2, column 7): found x."
