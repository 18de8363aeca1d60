"""Turns a request with target probabilities into token ids, spans and targets, exactly as Clef's prompt is rendered.

Each piece of the prompt is tokenized alone, so pieces repeat and are cached.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

PREFIX = (
    "<|im_start|>system\nRead the complete state and schema. Decide every field jointly. Each answer must be exactly "
    "one of that field's allowed options.<|im_end|>\n<|im_start|>user\nSTATE:\n"
)
SUFFIX = "\n<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\nJOINT SCHEMA DECISIONS:"
KINDS = {"noul": 0, "choice": 1, "score": 2}
NOUL_TEXTS = {
    "true": "The proposition is true or the answer is yes.",
    "false": "The proposition is false or the answer is no.",
}
CACHE = 200_000  # pieces


@dataclass(slots=True)
class Example:
    """A question with its target: one probability per option, in the order of the request."""

    id: str
    kind: str
    instructions: Any
    options: list[tuple[str, Any]]
    target: list[float]
    source: str = ""


@dataclass(slots=True)
class Rendered:
    """One record as arrays. Spans are half-open token ranges of the whole record; options of all questions in a row."""

    ids: np.ndarray  # [T] int32
    state: tuple[int, int]
    questions: np.ndarray  # [Q, 2] int32
    kinds: np.ndarray  # [Q] int8
    options: np.ndarray  # [O, 2] int32
    owner: np.ndarray  # [O] int16
    target: np.ndarray  # [O] float32
    text: int = -1  # row of the state's teacher embedding, -1 where it has none
    match: np.ndarray | None = None  # [O] place of each option in the next record, which asks the same in another order


def render(value: Any) -> str:
    return (
        value
        if isinstance(value, str)
        else json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    )


class Renderer:
    """Renders records with one tokenizer."""

    def __init__(self, release: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(release / "tokenizer.json"))
        self.piece = lru_cache(CACHE)(self.tokens)

    def tokens(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def many(self, texts: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._tokenizer.encode_batch(texts, add_special_tokens=False)]

    def __call__(self, state: Any, examples: list[Example], max_state: int = 400, text: int = -1) -> Rendered:
        """The record; a state longer than max_state tokens loses its end."""
        ids = list(self.piece(PREFIX))
        state_ids = self.tokens(render(state))[:max_state]
        state_span = (len(ids), len(ids) + len(state_ids))
        ids += state_ids
        ids += self.piece("\n\nSCHEMA FIELDS:\n")
        questions, options, owner, target = [], [], [], []
        for place, example in enumerate(examples):
            ids += self.tokens(f"\nFIELD {place + 1}\nID: {example.id}\nTYPE: {example.kind}\nINSTRUCTION: ")
            start = len(ids)
            instructions = example.id if example.instructions in (None, "") else example.instructions
            ids += self.piece(render(instructions))
            questions.append((start, len(ids)))
            ids += self.piece("\nALLOWED OPTIONS:\n")
            for number, (option, description, probability) in enumerate(scoring_order(example)):
                ids += self.piece(f"OPTION {number + 1}: ")
                start = len(ids)
                semantics = (
                    {"option_id": option} if description is None else {"option_id": option, "description": description}
                )
                ids += self.piece(render(semantics))
                options.append((start, len(ids)))
                owner.append(place)
                target.append(probability)
                ids += self.piece("\n")
            ids += self.piece("END FIELD\n")
        ids += self.piece(SUFFIX)
        return Rendered(
            ids=np.asarray(ids, dtype=np.int32),
            state=state_span,
            questions=np.asarray(questions, dtype=np.int32),
            kinds=np.asarray([KINDS[example.kind] for example in examples], dtype=np.int8),
            options=np.asarray(options, dtype=np.int32),
            owner=np.asarray(owner, dtype=np.int16),
            target=np.asarray(target, dtype=np.float32),
            text=text,
        )


def scoring_order(example: Example) -> list[tuple[str, Any, float]]:
    """Options with their targets as the model sees them: a choice sorted by id, the others as they come."""
    triples = [(*option, probability) for option, probability in zip(example.options, example.target, strict=True)]
    return sorted(triples, key=lambda triple: triple[0]) if example.kind == "choice" else triples


def to_request(examples: list[Example]) -> dict[str, Any]:
    """The `questions` object of a request that asks the same."""
    questions: dict[str, Any] = {}
    for example in examples:
        criteria: Any = dict(example.options)
        if example.kind == "noul" and criteria == NOUL_TEXTS:
            criteria = None
        if example.kind == "score":
            criteria = [description for _, description in example.options]
        question = {"type": example.kind, "instructions": example.instructions, "criteria": criteria}
        questions[example.id] = {key: value for key, value in question.items() if value is not None}
    return questions
