"""How fast decisions are, against the release's own code or our own cold pass in the same run.

    python -m benchmarks.speed --json benchmarks/results_cpu.json             # clef-nano on this CPU
    python -m benchmarks.speed --random flash --fast --json benchmarks/results_gpu.json   # on a GPU

Nothing is downloaded: `--random flash` has random weights of clef-flash's size, which cost the same time. The
reference is the release's own code (package `clef-finetune`) over the same backbone: whole passes without a cache.
"""

import argparse
import gc
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from clef_finetune._vendor import joint_schema_model as oracle
from torch import Tensor

from clef_model import scheduling
from clef_model.decision import Limits
from clef_model.diagnostics.sweep import plan_sweep, sweep
from clef_model.encoding import EncodedRecord
from clef_model.engine import CHUNK_TOKENS
from clef_model.head import JointSchemaHead
from clef_model.inference import ClefDecider
from clef_model.loading import load_release
from clef_model.model import ClefModel
from clef_model.parsing import parse_record
from clef_model.planner import read_planner
from clef_model.release_folder import NANO
from clef_model.schema import Record

FLASH = {"hidden_size": 4_096, "intermediate_size": 12_288, "num_hidden_layers": 32}
SMALL = {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 4}
SIZES = {"flash": FLASH, "small": SMALL}
WORDS = "The parcel of order {n} was late by {m} days and the customer asked twice where it is. "
THREE: dict[str, Any] = {
    "refund": {"type": "noul", "instructions": "Does the customer want money back?"},
    "team": {"type": "choice", "criteria": {"billing": "Payments", "tech": "Faults", "sales": "Offers", "other": None}},
    "anger": {"type": "score", "instructions": "How angry?", "criteria": ["calm", "upset", "angry", "furious"]},
}
EDITED: dict[str, Any] = {
    **THREE,
    "refund": {"type": "noul", "instructions": "Was the parcel late, and was it asked for?"},
}
MANY: dict[str, Any] = {
    f"question {q}": {"type": "choice", "criteria": {f"{q} option {o}": f"meaning {o} of {q}" for o in range(8)}}
    for q in range(64)
}


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: milliseconds (or tokens a second) of the reference and of ours, medians."""

    name: str
    reference: float | None
    ours: float
    unit: str = "ms"
    note: str = ""


def build(sizes: dict[str, int], device: str, dtype: torch.dtype) -> ClefModel:
    """Random weights, with the lm_head that the release has."""
    from transformers.models.qwen3_5.configuration_qwen3_5 import Qwen3_5Config
    from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5ForConditionalGeneration

    large = sizes is FLASH
    layers = sizes["num_hidden_layers"]
    text = {
        **sizes,
        "layer_types": ["linear_attention", "linear_attention", "linear_attention", "full_attention"] * (layers // 4),
        "num_attention_heads": 16 if large else 4,
        "num_key_value_heads": 4 if large else 2,
        "head_dim": 256 if large else 64,
        "linear_key_head_dim": 128 if large else 64,
        "linear_value_head_dim": 128 if large else 64,
        "linear_num_key_heads": 16 if large else 2,
        "linear_num_value_heads": 32 if large else 4,
        "vocab_size": 248_320,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10_000_000.0,
            "partial_rotary_factor": 0.25,
            "mrope_interleaved": True,
            "mrope_section": [11, 11, 10] if large else [3, 3, 2],
        },
    }
    vision = {
        "depth": 1,
        "hidden_size": 32,
        "intermediate_size": 32,
        "num_heads": 2,
        "out_hidden_size": sizes["hidden_size"],
    }
    torch.manual_seed(0)
    torch.set_default_dtype(dtype)
    with torch.device(device):
        language = Qwen3_5ForConditionalGeneration(Qwen3_5Config(text_config=text, vision_config=vision))
        head = JointSchemaHead(
            sizes["hidden_size"], 1_024 if large else 256, 2, 4, 16 if large else 4, 4_096 if large else 512
        )
    torch.set_default_dtype(torch.float32)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.02)
        head.prior_logit_scale.fill_(1.0)
        head.joint_logit_scale.fill_(1.0)
    return ClefModel(language, head).eval()


class Bench:
    def __init__(self, model: ClefModel, rounds: int, *, fast: bool) -> None:
        planner = read_planner(NANO)
        status = replace(planner.status, name="random weights", device=str(model.device), accepts_media=False)
        self.decider = ClefDecider(model, planner, status, cache_bytes=8 * 2**30, fast=fast)
        self.theirs = oracle.ClefModel(model.language_model, their_head(model.head)).eval()
        self.rounds = rounds
        self.rows: list[Row] = []

    def record(self, tokens: int, questions: dict[str, Any] = THREE, seed: int = 0) -> Record:
        """A record of about so many tokens in all."""
        text = "".join(WORDS.format(n=n * 37 + seed, m=n % 9) for n in range(tokens // 16 + 2))
        record = parse_record({"state": text, "questions": questions})
        fixed = self.decider.plan(record, Limits(max_length=262_144)).budget.fixed
        encoded = self.decider.plan(record, Limits(max_length=262_144, max_state_tokens=max(1, tokens - fixed)))
        kept = next(segment.text for segment in encoded.ledger if segment.kind == "state")
        return replace(record, state=kept)

    def plain(self, encoded: Sequence[EncodedRecord]) -> list[list[Tensor]]:
        """The release's own code: one whole pass, answers on the CPU."""
        with torch.inference_mode():
            batch = oracle.collate_records(encoded, self.decider.tokenizer.pad_token_id, self.decider.model.device)
            return [[row.float().cpu() for row in rows] for rows in self.theirs(batch)]

    def time(
        self, work: Callable[[], Any], before: Callable[[], Any] = lambda: None, rounds: int | None = None
    ) -> float:
        """Median milliseconds, after one warm-up."""
        found = []
        for _ in range((rounds or self.rounds) + 1):
            before()
            synchronize()
            started = time.perf_counter()
            work()
            synchronize()
            found.append((time.perf_counter() - started) * 1_000)
        return statistics.median(found[1:])

    def add(self, name: str, reference: float | None, ours: float, unit: str = "ms", note: str = "") -> None:
        self.rows.append(Row(name, reference, ours, unit, note))
        ratio = f"{ours / reference:.3f}" if reference else "-"
        digits = 4 if unit == "p" else 1
        before = f"{reference:.{digits}f}" if reference else "-"
        print(f"{name:58} {before:>10} {ours:10.{digits}f} {unit:9} {ratio:>7}  {note}", flush=True)


def their_head(head: JointSchemaHead) -> Any:
    """The release's own head with the same weights."""
    weight, first = head.memory_projection.weight, head.layers[0]
    sizes = (weight.shape[1], weight.shape[0], len(head.evidence_layers), len(head.layers))
    theirs = oracle.JointSchemaHead(*sizes, first.self_attn.heads, first.linear1.weight.shape[0])
    theirs.load_state_dict(head.state_dict())
    return theirs.to(weight.device, weight.dtype)


def synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def cold(bench: Bench, tokens: int) -> None:
    record, limits = bench.record(tokens), Limits(max_length=262_144)
    encoded = bench.decider.plan(record, limits)
    reference = bench.time(lambda: bench.plain([encoded]))
    ours = bench.time(lambda: bench.decider.decide([record], limits), bench.decider.clear_cache)
    bench.add(f"cold decision, {tokens:,} tokens, 3 questions", reference, ours)


def edited(bench: Bench, tokens: int) -> None:
    limits = Limits(max_length=262_144)
    first = bench.record(tokens)
    second = parse_record({"state": first.state, "questions": EDITED})
    bench.decider.clear_cache()
    cold_ms = bench.time(lambda: bench.decider.decide([first], limits), bench.decider.clear_cache)
    turns = iter(range(10_000))
    for _ in range(4):  # a continuation is captured from its second time on
        bench.decider.decide([(first, second)[next(turns) % 2]], limits)
    ours = bench.time(lambda: bench.decider.decide([(first, second)[next(turns) % 2]], limits))
    bench.add(f"edited question, {tokens:,} tokens, against our cold pass", cold_ms, ours)


def swept(bench: Bench, tokens: int) -> None:
    limits = Limits(max_length=262_144)
    record = bench.record(tokens)
    cold_ms = bench.time(lambda: bench.decider.decide([record], limits), bench.decider.clear_cache)
    plans = plan_sweep(record, limits, bench.decider.plan)
    ours = bench.time(lambda: sweep(bench.decider, plans), bench.decider.clear_cache)
    engine = bench.decider.engine
    sources = [engine.source(reading.encoded) for reading in plans.readings]
    group = scheduling.schedule([source.prompt for source in sources], engine.device.type, engine.known)[0]
    assert group.trunk is not None
    whole, stops = sources[group.trunk], group.stops
    with torch.inference_mode():
        trunk = bench.time(lambda: engine.trunk(whole, stops), bench.decider.clear_cache)
    note = f"of it the state {trunk:.0f} ms, and {len(group.batches)} passes of what follows it"
    bench.add(f"sweep of {len(plans.kept)} points, {tokens:,} tokens, against our cold pass", cold_ms, ours, note=note)


def throughput(bench: Bench, tokens: int, count: int) -> None:
    limits = Limits()
    records = [bench.record(tokens, seed=seed * 1_000) for seed in range(count)]
    encoded = [bench.decider.plan(record, limits) for record in records]
    total = sum(len(each.input_ids) for each in encoded)
    reference = bench.time(lambda: [bench.plain(encoded[i : i + 32]) for i in range(0, count, 32)])
    sources = [bench.decider.engine.source(each) for each in encoded]
    prompts = [source.prompt for source in sources]

    def passes() -> None:
        with torch.inference_mode():
            for places in scheduling.pack(
                prompts, range(count), scheduling.BATCH_TOKENS[bench.decider.model.device.type]
            ):
                bench.decider.engine.logits([sources[place] for place in places])

    ours = bench.time(passes)
    bench.add(
        f"throughput, {count} records of {tokens} tokens", total / reference * 1e3, total / ours * 1e3, "tokens/s"
    )
    whole = bench.time(lambda: bench.decider.decide(records, limits))
    bench.add("  the same through decide, tokenizing included", None, total / whole * 1e3, "tokens/s")


def head_alone(bench: Bench, tokens: int = 4_096) -> None:
    from clef_model.layout import plan_layout

    encoded = bench.decider.plan(bench.record(tokens, MANY), Limits(max_length=262_144))
    model = bench.decider.model
    weight = model.language_model.get_output_embeddings().weight
    hidden = torch.randn(1, len(encoded.input_ids), weight.shape[1], device=weight.device, dtype=weight.dtype)
    ids = torch.tensor([encoded.input_ids], device=weight.device)
    mask = torch.ones_like(ids)
    with torch.inference_mode():
        reference = bench.time(lambda: bench.theirs.head(hidden, ids, mask, [encoded], weight)[0][-1].cpu())
    with torch.inference_mode():
        ours = bench.time(
            lambda: model.head.score(hidden, ids, plan_layout([encoded], ids.shape[1], hidden.device), weight).cpu()
        )
    bench.add(f"head alone, 64 questions of 8 options, {len(encoded.input_ids):,} tokens", reference, ours)


def largest_change(bench: Bench) -> None:
    """How far the answers of kept, forked and batched passes are from those of one plain pass, in probability."""
    limits, worst = Limits(max_length=262_144), 0.0
    base = bench.record(4_096)
    records = [base, parse_record({"state": base.state, "questions": EDITED})]
    records += [replace(base, state=base.state[: len(base.state) * part // 4]) for part in (1, 2, 3)]
    records += [bench.record(512, seed=seed) for seed in (1, 2, 3)]
    bench.decider.clear_cache()
    decisions = [*bench.decider.decide(records, limits), *bench.decider.decide(records[:1], limits)]
    for decision in decisions:
        for answer, row in zip(decision.answers, bench.plain([decision.encoded])[0], strict=True):
            worst = max(worst, (torch.tensor(answer.probabilities) - row.softmax(-1)).abs().max().item())
    bench.add("largest change of a probability, kept, forked, batched", None, worst, "p")


def longest(bench: Bench, tokens: int) -> None:
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    bench.decider.clear_cache()
    before = torch.cuda.memory_allocated()
    record, limits = bench.record(tokens), Limits(max_length=262_144)
    ours = bench.time(lambda: bench.decider.decide([record], limits), bench.decider.clear_cache, rounds=1)
    peak = torch.cuda.max_memory_allocated()
    note = f"peak {peak / 1e9:.2f} GB, of it weights {before / 1e9:.2f} GB"
    bench.add(f"cold decision, {tokens:,} tokens", None, ours, note=note)


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--random", choices=list(SIZES), help="random weights of this size instead of clef-nano's own")
    parser.add_argument("--fast", action="store_true", help="fused operations and captured graphs")
    parser.add_argument("--json", type=Path)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    asked = parse_arguments(arguments)
    device = "cuda" if torch.cuda.is_available() and asked.random else "cpu"
    if asked.random:
        model = build(SIZES[asked.random], device, torch.bfloat16 if device == "cuda" else torch.float32)
    else:
        model = load_release(device="cpu").model
    bench = Bench(model, asked.rounds, fast=asked.fast)
    print(f"{'':58} {'reference':>10} {'ours':>10} {'':9} {'ratio':>7}", flush=True)
    parts: list[Callable[[], None]] = [
        lambda: largest_change(bench),
        *[lambda tokens=tokens: cold(bench, tokens) for tokens in (300, 512, 4_096, 16_384)],  # type: ignore[misc]
        lambda: edited(bench, 8_192),
        lambda: edited(bench, 16_384),
        lambda: swept(bench, 16_384),
        lambda: throughput(bench, 512, 128 if device == "cuda" else 32),
        lambda: head_alone(bench),
    ]
    if device == "cuda":
        parts.append(lambda: longest(bench, 65_536))
    for part in parts:
        part()
    if asked.json:
        where = torch.cuda.get_device_name() if device == "cuda" else platform.processor() or platform.machine()
        facts = {
            "device": where,
            "torch": torch.__version__,
            "threads": torch.get_num_threads(),
            "weights": asked.random or "clef-nano",
            "fast": asked.fast,
        }
        rows = [{name: getattr(row, name) for name in Row.__slots__} for row in bench.rows]
        asked.json.write_text(json.dumps({**facts, "chunk": CHUNK_TOKENS, "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
