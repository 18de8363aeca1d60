"""Advice on a schema: stable codes for what is allowed and often gives worse answers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from clef_model.diagnostics import lint_options, lint_wording
from clef_model.diagnostics.linted import Finding, LintedQuestion
from clef_model.encoding import EncodedRecord
from clef_model.errors import Notice
from clef_model.json_paths import Path, path_text
from clef_model.schema import Record


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of advice; `code` is stable, `why` says what the model does about it."""

    code: str
    why: str
    check: Callable[[LintedQuestion], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Advice:
    """What one rule says about a question, or about one of its options (a position in the model's order)."""

    code: str
    question: int
    option: int | None
    message: str

    def notice(self, record: Record) -> Notice:
        """The advice with its path in the request."""
        question = record.questions[self.question]
        path: Path = ("questions", question.id)
        if self.option is not None:
            key = self.option if question.kind == "score" else question.options[self.option].id
            path = (*path, "criteria", key)
        return Notice(self.code, path_text(path), self.message)


RULES = (
    Rule("option_order", "Choice options reach the model sorted by id.", lint_options.option_order),
    Rule("same_words", "Options are told apart by their words alone.", lint_options.same_words),
    Rule("same_tokens", "The head averages an option's tokens, so their order is lost.", lint_options.same_tokens),
    Rule("no_way_out", "Some option is always chosen, even when none fits.", lint_options.no_way_out),
    Rule("single_option", "One option always has the probability 1.", lint_options.single_option),
    Rule("missing_descriptions", "A bare option says less than one with words.", lint_options.missing_descriptions),
    Rule("levels_unordered", "A score is the mean over levels, lowest first.", lint_options.levels_unordered),
    Rule("levels_without_order", "The model reads the words of a level.", lint_options.levels_without_order),
    Rule("costly_option", "An option's tokens are averaged, and all are paid for.", lint_options.costly_option),
    Rule("costly_question", "Questions are never cut: the state is.", lint_options.costly_question),
    Rule("special_token", "Marker texts become control tokens wherever they stand.", lint_wording.special_token),
    Rule("empty_span", "The head averages a span; an empty one says nothing.", lint_wording.empty_span),
    Rule("counts_or_computes", "One pass without reasoning counts badly.", lint_wording.counts_or_computes),
    Rule("double_negation", "Two negations are easily misread.", lint_wording.double_negation),
    Rule("two_questions", "One answer cannot hold two.", lint_wording.two_questions),
    Rule("no_question", "The instructions, or the id in their place, are what is asked.", lint_wording.no_question),
    Rule("id_is_instruction", "Ids are in the prompt and are read as text.", lint_wording.id_is_instruction),
    Rule("id_carries_meaning", "Ids are in the prompt and lean the answer.", lint_wording.id_carries_meaning),
)


def lint(record: Record, encoded: EncodedRecord | None = None) -> tuple[Advice, ...]:
    """All advice on the questions of a record, question by question in the order of `RULES`.

    With `encoded`, the same record as the model gets it, advice about tokens is given too. Wording is read as English;
    other languages get the advice that needs no words.
    """
    asked = [LintedQuestion(question, position, encoded) for position, question in enumerate(record.questions)]
    return tuple(
        Advice(rule.code, question.position, option, message)
        for question in asked
        for rule in RULES
        for option, message in rule.check(question)
    )
