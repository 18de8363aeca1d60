"""The sentences for what is wrong in a JSON text: what was found, what is expected, what to do."""

import re

from clef_model.json_paths import character, shown

Opened = tuple[str, int, int]  # an open bracket with its line and column

A_VALUE = "an object, a list, a string in double quotes, a number, true, false or null"

_NUMBER_LIKE = re.compile(r"[-+.]*[0-9][-+.0-9A-Za-z_]*")
_WORD_LIKE = re.compile(r"[^\W\d][\w.-]*")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_CURLY_QUOTES = "“”„‟‘’‚‛«»"
_LITERALS = {"true": "true", "false": "false", "none": "null", "null": "null", "nil": "null", "undefined": "null"}


def not_utf8(error: UnicodeDecodeError) -> str:
    if error.object[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "found UTF-16; JSON is UTF-8. Save or send it as UTF-8."
    byte = error.object[error.start]
    return f"byte {error.start + 1:,} (0x{byte:02X}) is not UTF-8. Save or send the text as UTF-8."


def too_deep(limit: int) -> str:
    return f"the nesting depth exceeds {limit} levels. Flatten the value, or send this part as a string."


def too_many_values(limit: int) -> str:
    return f"found more than {limit:,} values; so many are not read. Send less, or send this part as a string."


def trailing_comma(closer: str) -> str:
    return f"found a comma before '{closer}', where JSON allows none. Remove the comma."


def wrong_word(word: str) -> str | None:
    """The sentence for a word of another language whose meaning is clear; None for any other word."""
    bare = word.removeprefix("-").casefold()
    if bare in ("nan", "inf", "infinity"):
        return f"found {word}, which is non-finite; JSON has no NaN or Infinity. Write null, a number or a string."
    if bare in _LITERALS and not word.startswith("-"):
        return f"found {word}; JSON writes {_LITERALS[bare]}."
    return None


def at_value(text: str, index: int, opened: Opened | None) -> str:
    """For a place where a value should begin."""
    char = text[index : index + 1]
    if not char and opened is None:
        return f"found nothing; expected {A_VALUE}."
    if common := _common(text, index, opened):
        return common
    if char in "}],:":
        return f"found '{char}' where a value is expected. Write the value before it, or remove it."
    if number := _NUMBER_LIKE.match(text, index):
        return _bad_number(number[0])
    if word := _WORD_LIKE.match(text, index):
        return f"found {shown(word[0])} without quotes. A string takes double quotes."
    return f"found {character(char)}; expected {A_VALUE}."


def at_key(text: str, index: int, opened: Opened | None) -> str:
    """For a place where the key of an object should begin."""
    if common := _common(text, index, opened):
        return common
    word = _WORD_LIKE.match(text, index) or _NUMBER_LIKE.match(text, index)
    if word:
        return f"found the key {shown(word[0])} without quotes. A key takes double quotes."
    if text[index] == ",":
        return "found ',' where a key is expected. Remove the comma."
    return f"found {character(text[index])} where a key in double quotes is expected."


def after_key(text: str, index: int, key: str) -> str:
    if index == len(text):
        return f"the text ends after the key {shown(key)}. Add ':' and its value."
    return f"found {character(text[index])} after the key {shown(key)}. Write ':' and its value."


def after_value(text: str, index: int, opened: Opened | None) -> str:
    """For the place after a value inside a container."""
    if common := _common(text, index, opened):
        return common
    assert opened is not None
    bracket, line, column = opened
    closer = "}" if bracket == "{" else "]"
    char = text[index]
    if char in "}]":
        return f"found '{char}', but '{bracket}' of line {line}, column {column} is open. Write '{closer}' first."
    if char == ":" and bracket == "[":
        return "found ':' in a list; only an object has keys. Write {…} around key and value."
    if char in '"{[-' or char.isalnum():
        return f"found {character(char)} where ',' or '{closer}' is expected. Add a comma between the values."
    return f"found {character(char)}; expected ',' or '{closer}'."


def after_end(text: str, index: int) -> str:
    if text[index] in '{["' or text[index].isalnum():
        return "found a second value after the first; one is expected. Send them one at a time, or put them in a list."
    return f"found {character(text[index])} after the end of the value. Remove it."


def in_string(text: str, start: int, position: int) -> tuple[int, str]:
    """Where and what stops a string that begins at `start`; `position` is where the reader stopped."""
    if position == start:
        return start, "found a string without its closing quote. Add '\"' at its end."
    char = text[position]
    if char in "\n\r":
        return position, "found a line break inside a string. Write \\n for it, or add the missing closing quote."
    if char < " ":
        escape = "\\t" if char == "\t" else f"\\u{ord(char):04x}"
        return position, f"found {character(char)} inside a string. Write {escape} for it."
    slash = text.rfind("\\", start, position + 1)
    if text[slash + 1 : slash + 2] == "u":
        return slash, f"found {shown(text[slash : slash + 6])}; \\u takes four hexadecimal digits, as in \\u00e9."
    return (
        slash,
        f"found a backslash before {character(text[slash + 1])}, which JSON lacks. Write \\\\ for a backslash.",
    )


def lone_surrogate(text: str) -> str | None:
    """The sentence for a string that holds half a character; None for any other."""
    if text.isascii() or not (half := _SURROGATE.search(text)):
        return None
    return (
        f"found a lone surrogate, U+{ord(half[0]):04X}: half a character, which has no tokens. "
        "Write both halves, as in \\ud83d\\ude00, or the character itself."
    )


def _common(text: str, index: int, opened: Opened | None) -> str | None:
    """What is wrong in the same way wherever it stands."""
    char = text[index : index + 1]
    if not char:
        assert opened is not None
        bracket, line, column = opened
        closer = "}" if bracket == "{" else "]"
        return f"the text ends while '{bracket}' of line {line}, column {column} is open. Add '{closer}'."
    if char == "'":
        return 'found a single quote; JSON takes double quotes for keys and strings. Write "…".'
    if char in _CURLY_QUOTES:
        return f"found {character(char)}, a typographic quote. Write a straight double quote."
    if text.startswith(("//", "/*", "#"), index):
        return "found a comment; JSON has none. Remove it."
    if text.startswith("```", index):
        return "found ```, the fence of a code block. Remove the lines with it."
    if char == "<":
        return "found '<'; this looks like HTML or XML. Send JSON."
    if char == "\\":
        return "found a backslash outside a string; the text looks escaped once too often. Remove the backslashes."
    return None


def _bad_number(literal: str) -> str:
    found = f"found the number {shown(literal)}"
    if literal.startswith("+"):
        return f"{found}; JSON writes no plus sign in front. Remove it."
    if re.match(r"-?0[xXbBoO]", literal):
        return f"{found}; JSON has decimal numbers only."
    if re.match(r"-?0[0-9]", literal):
        return f"{found}; JSON writes no zero in front. Remove it, or send a string, in quotes."
    if "_" in literal:
        return f"{found}; JSON writes no '_' in numbers. Remove it."
    if re.match(r"-?\.|-?[0-9]+\.(?![0-9])", literal):
        return f"{found}; JSON wants a digit on both sides of the point, as in 0.5."
    return f"{found}, which JSON cannot read. Write it as in -12, 0.5 or 1e-5, or send a string, in quotes."
