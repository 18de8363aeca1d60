"""The joint schema head against the release's own, at release size, on the CPU.

Run: `python -m benchmarks.head [--json PATH]`. Needs the package clef-finetune, whose copy of the release's file is the
reference. Weights are random; both heads hold the same ones and must agree within 1e-5 before anything is timed. Passes
alternate between the two in one process. Ratios are those of the medians: of the time on the clock, and of the time on
the processors, which other work on the machine disturbs less.
"""

import argparse
import json
import platform
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from clef_finetune._vendor import joint_schema_model as reference

from clef_model.head import JointSchemaHead

CONFIG = {"hidden_size": 4096, "width": 1024, "routing_layers": 2, "layers": 4, "heads": 16, "feedforward": 4096}
VOCABULARY = 248_320
SPAN_TOKENS = 18  # a noul option takes 18 tokens
SHAPES = [(256, 64, 8), (1024, 64, 8), (4096, 64, 8), (1024, 3, 4), (256, 1, 2), (4096, 1, 2)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="timed passes of each head at each shape")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, help="file to write the results to")
    flags = parser.parse_args()
    torch.set_num_threads(flags.threads)
    torch.manual_seed(0)
    random.seed(0)
    theirs = reference.JointSchemaHead(**CONFIG).eval()
    ours = JointSchemaHead(**CONFIG).eval()
    ours.load_state_dict(theirs.state_dict(), strict=True)
    table = torch.empty(VOCABULARY, CONFIG["hidden_size"]).normal_()
    rows = [measure(theirs, ours, table, shape, flags.rounds) for shape in SHAPES]
    columns = (
        "tokens",
        "questions",
        "options each",
        "reference ms",
        "ours ms",
        "ratio",
        "CPU time ratio",
        "difference",
    )
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for row in rows:
        print(
            f"| {row['tokens']:,} | {row['questions']} | {row['options']} | {row['reference_ms']:.0f} "
            f"| {row['ours_ms']:.0f} | {row['ratio']:.2f} | {row['cpu_ratio']:.2f} | {row['largest_difference']:.1e} |"
        )
    if flags.json:
        versions = {"torch": torch.__version__, "python": platform.python_version(), "threads": flags.threads}
        flags.json.write_text(json.dumps({"config": CONFIG, "versions": versions, "rows": rows}, indent=2) + "\n")


def measure(theirs: Any, ours: Any, table: torch.Tensor, shape: tuple[int, int, int], rounds: int) -> dict[str, Any]:
    """Median milliseconds of both heads at (tokens, questions, options a question)."""
    tokens, questions, options = shape
    record = fake_record(tokens, questions, options)
    batch = reference.collate_records([record], 0, torch.device("cpu"))
    hidden = torch.randn(1, tokens, CONFIG["hidden_size"])
    arguments = (hidden, batch["input_ids"], batch["attention_mask"], [record], table)
    with torch.inference_mode():
        difference = (torch.cat(theirs(*arguments)[0]) - torch.cat(ours(*arguments)[0])).abs().max().item()
        if difference > 1e-5:
            raise SystemExit(f"the heads differ by {difference} at {shape}")
        times: dict[str, list[tuple[float, float]]] = {"reference": [], "ours": []}
        for _ in range(rounds):
            for name, head in (("reference", theirs), ("ours", ours)):
                times[name].append(milliseconds(lambda head=head: head(*arguments)))
    medians = {name: statistics.median(clock for clock, _ in values) for name, values in times.items()}
    cpu = {name: statistics.median(cpu for _, cpu in values) for name, values in times.items()}
    return {
        "tokens": tokens,
        "questions": questions,
        "options": options,
        "reference_ms": medians["reference"],
        "ours_ms": medians["ours"],
        "ratio": medians["reference"] / medians["ours"],
        "cpu_ratio": cpu["reference"] / cpu["ours"],
        "clock_and_cpu_ms": times,
        "largest_difference": difference,
    }


def milliseconds(call: Callable[[], Any]) -> tuple[float, float]:
    """On the clock, and on all processors together."""
    clock, cpu = time.perf_counter(), time.process_time()
    call()
    return (time.perf_counter() - clock) * 1000, (time.process_time() - cpu) * 1000


def fake_record(tokens: int, questions: int, options: int) -> Any:
    """A record whose spans lie anywhere, so that many options fit into few tokens."""

    def span() -> tuple[int, int]:
        start = random.randint(0, tokens - SPAN_TOKENS)
        return start, start + SPAN_TOKENS

    return reference.EncodedRecord(
        input_ids=tuple(random.randrange(VOCABULARY) for _ in range(tokens)),
        questions=tuple(
            reference.EncodedQuestion(
                question_id=str(place),
                question_type=1,
                question_span=span(),
                option_spans=tuple(span() for _ in range(options)),
                option_ids=tuple(str(option) for option in range(options)),
            )
            for place in range(questions)
        ),
        record_id="fake",
    )


if __name__ == "__main__":
    main()
