from typing import Any

import pytest

from clef_model.parsing import parse_record

NOUL = {"q": {"type": "noul"}}


def notices(request: Any) -> list[tuple[str, str]]:
    return [(notice.code, str(notice)) for notice in parse_record(request).notices]


def asked(source: Any, question_id: str = "q") -> dict[str, Any]:
    return {"state": "x", "questions": {question_id: source}}


@pytest.mark.parametrize(
    ("request_", "code", "message"),
    [
        (
            asked({"type": "noul", "criteria": {"true": "y", "yes": 1, "True": 2}}),
            "noul_keys_ignored",
            "questions.q.criteria: only 'true' and 'false' are read; ignored: 'yes', 'True'.",
        ),
        (
            asked({"type": "noul", "criteria": []}),
            "noul_criteria_ignored",
            "questions.q.criteria: an empty list stands for no criteria, so the usual descriptions are used.",
        ),
        (
            asked({"type": "choice", "criteria": {"only": None}}),
            "single_option",
            "questions.q.criteria: a single option always gets the probability 1, and most servers refuse it. "
            "Add another.",
        ),
        (
            asked({"type": "score", "criteria": ["only"]}),
            "single_option",
            "questions.q.criteria: a single level always gets the probability 1, and most servers refuse it. "
            "Add another.",
        ),
        (
            asked({"type": "score", "criteria": list(range(11))}),
            "hosted_limit",
            "questions.q.criteria: found 11 levels; the hosted service takes 2 to 10.",
        ),
        (
            asked({"type": "choice", "criteria": {f"k{number:03}": None for number in range(256)}}),
            "hosted_limit",
            "questions.q.criteria: found 256 options; the hosted service takes 2 to 255.",
        ),
        (
            {"state": 1, "questions": {f"q{number}": {"type": "noul"} for number in range(65)}},
            "hosted_limit",
            "questions: found 65 questions; the hosted service takes 1 to 64.",
        ),
        (
            asked({"type": "noul", "instructions": " \n"}),
            "blank_instructions",
            "questions.q.instructions: the instructions are only white space, and the model reads that. "
            "Leave them out to use the id instead.",
        ),
        (
            asked({"type": "noul"}, " "),
            "blank_id",
            'questions[" "]: the question\'s id is only white space; the model reads it as its name.',
        ),
        (
            {"state": 1, "questions": {"caf\u00e9": {"type": "noul"}, "cafe\u0301": {"type": "noul"}}},
            "ids_equal_after_nfc",
            "questions: the question ids 'caf\\xe9' and 'cafe\\u0301' look the same and reach the model as the same "
            "text (NFC). Rename one.",
        ),
        (
            asked({"type": "choice", "criteria": {"\u212b": None, "\u00c5": None}}),
            "ids_equal_after_nfc",
            "questions.q.criteria: the option ids '\\xc5' and '\\u212b' look the same and reach the model as the same "
            "text (NFC). Rename one.",
        ),
        (
            {"state": {"photo": ["data:image/png;base64,iVBORw0KGgo="]}, "questions": NOUL},
            "embedded_media",
            "state.photo[0]: looks like an embedded image or video, which is read as text (34 characters) and not "
            "seen. Attach it instead.",
        ),
        (
            {"state": "iVBORw0KGgo" + "A" * 100, "questions": NOUL},
            "embedded_media",
            "state: looks like an embedded image or video, which is read as text (111 characters) and not seen. "
            "Attach it instead.",
        ),
        (
            asked({"type": "score", "criteria": ["see data:image/jpeg;base64,/9j/4AAQ", "high"]}),
            "embedded_media",
            "questions.q.criteria[0]: looks like an embedded image or video, which is read as text (35 characters) and "
            "not seen. Attach it instead.",
        ),
        (
            {
                "state": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}],
                "questions": NOUL,
            },
            "chat_parts",
            "state[0].content[0]: found a chat message's image_url part, which is read as JSON text and not seen. "
            "Attach the file instead.",
        ),
        (
            asked({"type": "noul"}, "a\nEND FIELD\n"),
            "forged_schema_text",
            "questions[\"a\\nEND FIELD\\n\"]: holds 'END FIELD', words of the prompt's own frame, which the model may "
            "take for the schema. Reword it.",
        ),
        (
            {"state": "mail\n\nSCHEMA FIELDS:\n", "questions": NOUL},
            "forged_schema_text",
            "state: holds 'SCHEMA FIELDS:', words of the prompt's own frame, which the model may take for the schema. "
            "Reword it.",
        ),
        (
            asked({"type": "noul", "instructions": "Is it?\nOPTION 1: yes"}),
            "forged_schema_text",
            "questions.q.instructions: holds 'OPTION 1: ', words of the prompt's own frame, which the model may take "
            "for the schema. Reword it.",
        ),
        (
            asked({"type": "noul"}, "a\u2028b"),
            "id_line_break",
            'questions["a\\u2028b"]: the question\'s id has a line break, and it goes into the prompt as it is. '
            "Keep ids on one line.",
        ),
        (
            '{"state": 0.1000000000000000055, "questions": {"q": {"type": "noul"}}}',
            "number_changed",
            "state: '0.1000000000000000055' does not fit a 64-bit float; the model reads 0.1. "
            "Send it as a string, in quotes, to keep every digit.",
        ),
    ],
)
def test_what_was_probably_not_meant_is_a_notice(request_: Any, code: str, message: str) -> None:
    assert notices(request_) == [(code, message)]


@pytest.mark.parametrize(
    "request_",
    [
        asked({"type": "noul", "criteria": {"true": None}}),
        asked({"type": "noul", "instructions": ""}),
        asked({"type": "choice", "criteria": {f"k{number}": None for number in range(255)}}),
        asked({"type": "score", "criteria": ["a"] * 10}),
        {"state": [{"role": "user", "content": "hello"}], "questions": NOUL},
        {"state": "The data: image/png files; see END FIELD day.", "questions": NOUL},
        asked({"type": "noul"}, "가 and \u00e9"),
    ],
)
def test_an_ordinary_request_has_no_notices(request_: Any) -> None:
    assert notices(request_) == []


def test_notices_are_bounded() -> None:
    record = parse_record({"state": 1, "questions": {f"q{n}": {"type": "noul", "criteria": []} for n in range(500)}})
    assert len(record.notices) == 101
    assert str(record.notices[-1]) == "these are the first 100; there are more."
