"""What planning costs over bare tokenizing, on clef-nano's tokenizer: python -m benchmarks.plan [--json]

Each figure is the median of several runs, all in this process and interleaved, so that a busy machine slows both alike.
"""

import argparse
import gc
import json
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tokenizers

from clef_model import rendering
from clef_model.encoding import encode
from clef_model.schema import Option, Question, Record
from clef_model.tokenizer import Tokenizer, read_tokenizer

RELEASE = Path(__file__).parent.parent / "models" / "clef-nano"
STATE_TOKENS = 16_384
WORDS = [
    "the",
    "customer",
    "asked",
    "for",
    "refund",
    "because",
    "order",
    "late",
    "balance",
    "42",
    "error",
    "timeout",
    "été",
]


def text_state(rng: random.Random, num_words: int) -> str:
    return "".join(rng.choice(WORDS) + rng.choice([" ", " ", " ", ", ", ".\n"]) for _ in range(num_words))


def json_state(rng: random.Random, num_words: int) -> dict[str, Any]:
    rows = [
        {"id": index, "note": " ".join(rng.choices(WORDS, k=8)), "paid": index % 3 == 0, "total": index / 7}
        for index in range(num_words // 28)
    ]
    return {"rows": rows, "summary": " ".join(rng.choices(WORDS, k=30))}


def questions(edit: str = "") -> tuple[Question, ...]:
    """Eight choice questions of four options; `edit` changes the first one."""
    options = tuple(Option(name, f"The text is about {name}.") for name in ("billing", "other", "sales", "support"))
    return tuple(
        Question(
            f"topic_{index}", "choice", f"What is part {index} about?{edit * (index == 0)}", options, (0, 1, 2, 3), {}
        )
        for index in range(8)
    )


def sized(make: Callable[[random.Random, int], Any], bare: tokenizers.Tokenizer) -> Any:
    """A state of about STATE_TOKENS tokens."""
    probe = len(bare.encode(rendering.render(make(random.Random(0), 4_000)), add_special_tokens=False).ids)
    return make(random.Random(0), 4_000 * STATE_TOKENS // probe)


def interleaved_ms(runs: int, *calls: Callable[[], object]) -> list[float]:
    """The median milliseconds of each call."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(runs):
        for call, record in zip(calls, times, strict=True):
            gc.collect()
            start = time.perf_counter()
            call()
            record.append((time.perf_counter() - start) * 1e3)
    return [statistics.median(record) for record in times]


def measure(name: str, state: Any, bare: tokenizers.Tokenizer, max_length: int, runs: int) -> dict[str, Any]:
    """Bare tokenizing of the prompt's pieces, a plan with nothing cached, and a plan after one edited question."""
    record = Record(state, questions())
    texts = [piece.text for piece in rendering.pieces(record)]
    warm = read_tokenizer(RELEASE)
    encode(record, warm, max_length=max_length)
    edits = iter(range(10**6))
    whole, cold, edited = interleaved_ms(
        runs,
        lambda: [bare.encode(text, add_special_tokens=False).ids for text in texts],
        lambda: encode(record, uncached(warm), max_length=max_length),
        lambda: encode(Record(state, questions(str(next(edits)))), warm, max_length=max_length),
    )
    budget = encode(record, warm, max_length=max_length).budget
    figures = {"bare_ms": whole, "plan_ms": cold, "ratio": cold / whole, "edited_ms": edited}
    return {"state": name, "state_tokens": budget.state, "max_length": max_length} | {
        key: round(value, 3) for key, value in figures.items()
    }


def uncached(tokenizer: Tokenizer) -> Tokenizer:
    """The same tokenizer with an empty cache."""
    return Tokenizer(tokenizer.backend, pad_token_id=tokenizer.pad_token_id)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    flags = parser.parse_args()
    bare = tokenizers.Tokenizer.from_file(str(RELEASE / "tokenizer.json"))
    states = {"text": sized(text_state, bare), "json": sized(json_state, bare)}
    states["text, not NFC"] = states["text"].replace("é", "e\u0301")
    rows = [
        measure(name, state, bare, max_length, flags.runs)
        for name, state in states.items()
        for max_length in (32_768, 16_384)
    ]
    if flags.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print(
            f"{row['state']:>14}, {row['state_tokens']:,} state tokens, max_length {row['max_length']:,}: bare "
            f"{row['bare_ms']:.1f} ms, plan {row['plan_ms']:.1f} ms, ratio {row['ratio']:.2f} (goal 1.2), "
            f"after one edited question {row['edited_ms']:.1f} ms (goal 10)"
        )


if __name__ == "__main__":
    main()
