"""A question as the lint rules read it: its words, its option texts, its tokens."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from clef_model.encoding import EncodedRecord
from clef_model.json_paths import shown
from clef_model.rendering import instruction_text, render
from clef_model.schema import Option, Question

Finding = tuple[int | None, str]  # an option's position in the model's order, or None for the question; the sentence

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True)
class LintedQuestion:
    """`position` is the question's place in the record; `encoded` is None when only texts are known."""

    question: Question
    position: int
    encoded: EncodedRecord | None = None

    @cached_property
    def has_instructions(self) -> bool:
        return self.question.instructions not in (None, "")

    @cached_property
    def instructions(self) -> str:
        """The text that stands in the prompt as instructions: the id when there are none."""
        return instruction_text(self.question)

    @cached_property
    def words(self) -> list[str]:
        """The words of the instructions, in lower case; none when the id stands in for them."""
        return words_of(self.instructions) if self.has_instructions else []

    @cached_property
    def id_words(self) -> list[str]:
        return words_of(_CAMEL.sub(" ", self.question.id).replace("_", " "))

    @cached_property
    def descriptions(self) -> list[str]:
        """Each option's rendered description, in the model's order; empty where there is none."""
        return [described(option) for option in self.question.options]

    @cached_property
    def option_tokens(self) -> list[tuple[int, ...]]:
        """The token ids of each option's span; empty without an encoded record."""
        if self.encoded is None:
            return []
        ids = self.encoded.input_ids
        return [ids[span.start : span.end] for span in self.encoded.questions[self.position].option_spans]

    @cached_property
    def num_tokens(self) -> int:
        """Tokens of the whole question, from its header to its end; 0 without an encoded record."""
        ledger = self.encoded.ledger if self.encoded else ()
        return sum(segment.num_tokens for segment in ledger if segment.question == self.position)

    def option_name(self, position: int) -> str:
        """An option in a sentence: a choice's id, a score's level."""
        option = self.question.options[position]
        return f"level {option.id}" if self.question.kind == "score" else shown(option.id)


def words_of(text: str) -> list[str]:
    return [word.replace("’", "'") for word in _WORD.findall(text.lower())]


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def described(option: Option) -> str:
    return "" if option.description is None else render(option.description)


def listed(names: Sequence[str], most: int = 4) -> str:
    """Names in a sentence, the first few and how many more."""
    if len(names) > most:
        return ", ".join(names[:most]) + f" and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
