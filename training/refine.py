"""The second run: goes on from a release's weights with the hand-written states, and keeps the best checkpoint.

    python -m training.refine --pack .nano/pack --work .nano --release models/clef-nano --out OUT --minutes 15

Every few minutes the moving average of the weights is saved in a folder of OUT, in three files below 16 MiB, and
measured on the development sets. OUT/final holds the log, the table and the names of the best and the last of them; a
killed run loses nothing. `python -m training.refine_table OUT2 OUT` gathers what is worth keeping, at any time.
"""

import argparse
import copy
import gc
import json
import os
import time
import traceback
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader

from training import fast_layers
from training import written as texts
from training.average import average, of_release, of_run
from training.evaluation import read_items, torch_scorer
from training.mixture import Mixture
from training.model import TrainableNano
from training.pack import VECTORS, teacher_vectors, unpack
from training.refine_table import HEADLINE, Development, row_of, save_compact
from training.rendering import Example, Renderer
from training.sources import heldout_texts
from training.train import WARM_UP, Rates, Stream, Trainer

HELDOUT = Path(__file__).parent / "heldout"
OWN = ("own.json", "everyday.json", "fresh.json")
AVERAGE = 0.998  # of the moving average of the weights, a step
RAMP = 0.1  # share of the time in which the teacher's read-out, new in this run, gains its weight


def schedule(share: float, fall: float) -> float:
    """The factor of the rates; over the last `fall` of the time they fall to zero."""
    return min(1.0, share / WARM_UP, max(0.0, 1 - share) / fall)


class Remembering:
    """A renderer that keeps what it has rendered: the development sets are measured many times."""

    def __init__(self, renderer: Renderer) -> None:
        self.renderer = renderer
        self.known: dict[str, Any] = {}

    def __call__(self, state: Any, examples: list[Example]) -> Any:
        key = repr((state, examples))
        if key not in self.known:
            self.known[key] = self.renderer(state, examples)
        return self.known[key]


class Average:
    """The moving average of a model's weights, itself a model."""

    def __init__(self, model: TrainableNano) -> None:
        self.shadow = copy.deepcopy(model).eval().requires_grad_(False)
        self.pairs = [
            (mine, theirs)
            for (_, mine), (_, theirs) in zip(self.shadow.named_parameters(), model.named_parameters(), strict=True)
            if theirs.requires_grad
        ]

    @torch.no_grad()
    def follow(self, steps: int) -> None:
        keep = min(AVERAGE, (1 + steps) / (10 + steps))
        mine, theirs = zip(*self.pairs, strict=True)
        torch._foreach_lerp_(list(mine), [p.detach() for p in theirs], 1 - keep)


class Keeper:
    """Saves and measures checkpoints; `final` always names the best and the latest one so far."""

    def __init__(self, out: Path, development: Development, notes: dict[str, Any], say: Any) -> None:
        self.out, self.final = out, out / "final"
        self.final.mkdir(parents=True, exist_ok=True)
        self.development, self.notes, self.say = development, notes, say
        self.rows: list[dict[str, Any]] = []
        self.best = float("-inf")

    def keep(self, name: str, model: TrainableNano, scorer: Any, store: bool = True) -> None:
        folder = self.out / name
        if store:
            save_compact(model, folder, {"name": name, **self.notes})
            if name.startswith("step"):
                (self.final / "last").write_text(name, encoding="utf-8")
        began = time.monotonic()
        try:
            row = {"name": name, **self.notes, **row_of(self.development, scorer)}
        except Exception:  # the weights matter more than their figures
            self.say("measuring failed:\n" + traceback.format_exc())
            return
        self.rows.append(row)
        self.say(f"{HEADLINE}\n{row['line']}  {name}, measured in {time.monotonic() - began:.0f} s")
        if store and row["choose"] > self.best:
            self.best = row["choose"]
            (self.final / "best").write_text(name, encoding="utf-8")
            self.say(f"{name} is the best so far")
        (self.final / "table.json").write_text(json.dumps(self.rows, indent=1) + "\n", encoding="utf-8")

    def mix(self, model: TrainableNano, scorer: Any, release: Path) -> None:
        """Averages of checkpoints, and of the best one with the weights the run began with; `model` takes them."""
        saved = [self.out / row["name"] for row in self.rows if (self.out / row["name"]).is_dir()]
        best = self.out / (self.final / "best").read_text(encoding="utf-8")
        start = of_release(release)
        for name, parts in (
            ("later", [(1.0, of_run(run)) for run in saved[len(saved) // 2 :]]),
            ("all", [(1.0, of_run(run)) for run in saved]),
            ("half", [(1.0, of_run(best)), (1.0, start)]),
        ):
            model.load(*average(parts))
            self.keep(name, model, scorer)


def parse_flags() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pack", type=Path, default=Path(".nano/pack"), help="what training.pack made")
    parser.add_argument("--work", type=Path, default=Path(".nano"), help="folder to unpack it into")
    parser.add_argument("--release", type=Path, default=Path("models/clef-nano"), help="weights to go on from")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=15.0, help="of training, measuring included")
    parser.add_argument("--every", type=float, default=2.5, help="minutes between checkpoints")
    parser.add_argument("--max-steps", type=int, default=10**9)
    parser.add_argument("--batch-tokens", type=int, default=65_536)
    parser.add_argument("--workers", type=int, default=12)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--rate-matrices", type=float, default=1e-3)
    parser.add_argument("--rate-vectors", type=float, default=5e-4)
    parser.add_argument("--rate-rows", type=float, default=1e-4)
    parser.add_argument("--decay", type=float, default=0.1, help="weight decay of the matrices")
    parser.add_argument("--dropout", type=float, nargs=2, default=(0.12, 0.1), help="of tokens; inside the head")
    parser.add_argument("--written", type=float, default=0.14, help="share of the records that are hand-written")
    parser.add_argument(
        "--known", nargs="*", help="files of hand-written states seen before: others come twice as often"
    )
    parser.add_argument("--fall", type=float, default=0.5, help="share of the time over which the rates fall")
    parser.add_argument("--limit", type=int, help="measure on so many items of each set only")
    return parser.parse_args()


def development_sets(work: Path, written: list[texts.Written], limit: int | None) -> Development:
    sets = {"public": read_items(work / "heldout_public.json")}
    sets.update({name.removesuffix(".json"): read_items(HELDOUT / name) for name in OWN})
    sets["written"] = texts.items_of(written)
    return {name: items[:limit] for name, items in sets.items()}


def main() -> None:
    flags = parse_flags()
    began = time.monotonic()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(flags.seed)
    flags.out.mkdir(parents=True, exist_ok=True)

    def say(text: str) -> None:
        line = f"[{time.monotonic() - began:6.1f} s] {text}"
        print(line, flush=True)
        (flags.out / "final").mkdir(exist_ok=True)
        with (flags.out / "final" / "log.txt").open("a", encoding="utf-8") as log:
            log.write(line + "\n")

    unpack(flags.pack, flags.work)
    renderer = Renderer(flags.release)
    found, problems = texts.read()
    heldout = heldout_texts([flags.work / "heldout_public.json", *(HELDOUT / name for name in OWN)])
    train, held = texts.split(found, heldout)
    claims = sum(len(item.claims) for item in train)
    say(f"{len(train):,} written states with {claims:,} claims, {len(held)} kept; {len(problems)} blocks skipped")
    often = [item for item in train if flags.known and item.source not in flags.known]
    say(f"{len(often):,} of them come twice as often")
    mixture = Mixture(flags.work / "corpus", written=[*train, *often], written_share=flags.written)
    mixture.learn_from(teacher_vectors(flags.pack / VECTORS, mixture.labelled))
    assert mixture.teacher is not None
    teacher = torch.from_numpy(mixture.teacher.texts).to(device)
    say(f"corpus read, {len(teacher):,} texts known to the teacher; on {device}")
    model = TrainableNano(flags.release / "embedding_rows.npz", teacher.shape[1])
    model.load_release(flags.release)
    model.regularise(*flags.dropout)
    model.to(device)
    if device == "cuda":
        fast_layers.install(model.backbone)
    trainer = Trainer(model, Rates(flags.rate_matrices, flags.rate_vectors, flags.rate_rows), flags.decay)
    average = Average(model)
    remembering = Remembering(renderer)
    scorer = torch_scorer(average.shadow, remembering, device)  # type: ignore[arg-type]
    notes: dict[str, Any] = {
        "seed": flags.seed,
        "batch_tokens": flags.batch_tokens,
        "rates": [flags.rate_matrices, flags.rate_vectors, flags.rate_rows],
        "average": AVERAGE,
        "written": flags.written,
        "states": len(train),
        "dropout": list(flags.dropout),
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "steps": 0,
        "earlier": [json.loads((flags.release / "clef_nano.json").read_text(encoding="utf-8"))["run"]],
    }
    keeper = Keeper(flags.out, development_sets(flags.work, held, flags.limit), notes, say)
    stream = Stream(mixture, renderer, flags.seed * 100_003, flags.batch_tokens)
    loader = DataLoader(
        stream, batch_size=None, num_workers=flags.workers, prefetch_factor=8 if flags.workers else None
    )
    gc.freeze()  # the workers share what is read so far; collecting it would copy it
    batches = iter(loader)
    keeper.keep("start", average.shadow, scorer, store=False)  # meanwhile the workers fill their queues

    steps = records = tokens = window_records = 0
    window: list[dict[str, torch.Tensor]] = []
    start = last = saved = time.monotonic()
    model.train()
    for batch in batches:
        share = max((time.monotonic() - start) / (60 * flags.minutes), steps / flags.max_steps)
        if share >= 1:
            break
        moved = {key: value.to(device, non_blocking=True) for key, value in batch.items()}
        window.append(trainer.step(moved, teacher, schedule(share, flags.fall), 3.0 * min(1.0, share / RAMP)))
        steps += 1
        average.follow(steps)
        records += len(batch["ids"])
        window_records += len(batch["ids"])
        tokens += int(batch["length"].sum())
        if steps == 1 and device == "cuda":
            assert fast_layers.gated_delta_rule.calls > 0, "the fast layers are not in use"
        now = time.monotonic()
        if now - last > 15 or device == "cpu":
            means = {
                key: float(torch.stack([torch.as_tensor(w[key]).float() for w in window]).mean()) for key in window[0]
            }
            said = " ".join(f"{key} {value:.3f}" for key, value in means.items())
            say(f"step {steps} share {share:.2f} {window_records / (now - last):.0f} records/s {said}")
            window, last, window_records = [], now, 0
            if means["total"] != means["total"]:
                say("the loss is no number any more; stopping")
                break
        notes.update(steps=steps, records=records, tokens=tokens, minutes=round((now - start) / 60, 2))
        if now - saved > 60 * flags.every and share < 0.97:
            keeper.keep(f"step{steps}", average.shadow, scorer)
            saved = last = time.monotonic()
    try:
        keeper.keep(f"step{steps}", average.shadow, scorer)
        keeper.keep(f"step{steps}raw", model, torch_scorer(model, remembering, device))  # type: ignore[arg-type]
        keeper.mix(average.shadow, scorer, flags.release)
    except Exception:  # what is saved so far stays
        say(traceback.format_exc())
    finally:
        (flags.out / "done").write_text("done\n", encoding="utf-8")
        say("done")
        os._exit(0)  # the workers generate without end


if __name__ == "__main__":
    main()
