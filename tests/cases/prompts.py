"""A record's prompt in the form that the cases write it."""

from typing import Any

from clef_model.rendering import instruction_text, option_text, question_header, render
from clef_model.schema import Question, Record


def options_in_model_order(question: Question) -> list[list[str]]:
    return [[option.id, option_text(option)] for option in question.options]


def prompt(record: Record) -> dict[str, Any]:
    """The state and the fields, with every option's piece."""
    fields = []
    for place, question in enumerate(record.questions):
        field = {"n": place + 1, "id": question.id, "type": question.kind, "instruction": instruction_text(question)}
        assert question_header(place, question).startswith(f"\nFIELD {place + 1}\nID: {question.id}\n")
        fields.append(field | {"options_in_model_order": options_in_model_order(question)})
    return {"state": render(record.state), "fields": fields}
