"""Trains clef-nano for a number of minutes and leaves body, head and rows in the output folder.

    python -m training.train --work .nano --release models/clef-nano --out OUT --minutes 9
    torchrun --nproc-per-node 2 -m training.train ...      the same on two GPUs

The learning rate follows the share of the time used: warm-up, plateau, linear decay over the last quarter.
"""

import argparse
import gc
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch.utils.data import DataLoader, IterableDataset

from training import fast_layers
from training import teacher as teaching
from training.evaluation import evaluate, read_items, table, torch_scorer
from training.losses import consistency_loss, decision_loss, readout_loss
from training.mixture import Mixture, Teacher, batches, corpus_texts, option_phrases
from training.model import ROW_SCALE, TrainableNano
from training.optimizer import Muon
from training.release import HIDDEN, halves
from training.rendering import Renderer

WARM_UP = 0.02  # share of the time
DECAY = 0.3
CLIP = 1.0


@dataclass(frozen=True, slots=True)
class Rates:
    matrices: float
    vectors: float
    rows: float


class Stream(IterableDataset):
    """Endless batches, a different seed in each worker and process."""

    def __init__(self, mixture: Mixture, renderer: Renderer, seed: int, batch_tokens: int) -> None:
        self.mixture, self.renderer, self.seed, self.batch_tokens = mixture, renderer, seed, batch_tokens

    def __iter__(self) -> Any:
        worker = torch.utils.data.get_worker_info()
        seed = self.seed + (worker.id if worker else 0)
        torch.set_num_threads(1)
        for batch in batches(self.mixture, self.renderer, seed, self.batch_tokens):
            yield {key: torch.from_numpy(value) for key, value in batch.items()}


def learn_teacher(folder: Path, corpus_mixture: Mixture, device: str) -> Teacher:
    """Embeds all corpus texts and option phrases with the packed teacher."""
    model = teaching.load(folder, device)
    texts, phrases = corpus_texts(corpus_mixture.labelled), option_phrases(corpus_mixture.labelled)
    vectors = teaching.embed(model, folder, texts, device)
    phrase_vectors = teaching.embed(model, folder, phrases, device)
    return Teacher({text: place for place, text in enumerate(texts)}, vectors, phrases, phrase_vectors)


def start_rows(work: Path, teacher: Teacher, renderer: Renderer, device: str, steps: int) -> torch.Tensor:
    """Token rows distilled from the teacher, centred, in the model's scale."""
    with np.load(work / "rows.npz") as stored:
        row_texts = json.loads(str(stored["texts"]))
        lengths, parts = stored["lengths"].astype(np.int64), stored["parts"].astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    model = teaching.load(work / "teacher", device)
    own = teaching.embed(model, work / "teacher", [text or "?" for text in row_texts], device)
    sample = torch.from_numpy(teacher.texts[:: max(1, len(teacher.texts) // 50_000)].astype(np.float32)).to(device)
    mean, directions = teaching.projection(sample, HIDDEN)
    project = lambda vectors: (torch.from_numpy(vectors.astype(np.float32)).to(device) - mean) @ directions  # noqa: E731
    texts = [*teacher.index, *teacher.phrases]
    token_rows = []
    for ids in renderer.many(texts):
        token_rows.append(
            np.concatenate([parts[starts[index] : starts[index] + lengths[index]] for index in ids[:48] or (0,)])[:64]
        )
    targets = project(np.concatenate([teacher.texts, teacher.phrase_vectors]))
    # Frequent tokens carry little meaning: they start short, as smooth inverse frequency has it.
    counts = np.bincount(np.concatenate(token_rows), minlength=len(row_texts)) + 1
    weight = 1e-3 / (1e-3 + counts / counts.sum())
    start = project(own) * torch.from_numpy(weight.astype(np.float32)).to(device).unsqueeze(1)
    rows = teaching.distil_rows(start, token_rows, targets, steps, 4_096, device)
    rows = rows - rows.mean(dim=0)
    return rows * (ROW_SCALE / rows.pow(2).mean().sqrt())


def trainer_count() -> int:
    return int(os.environ.get("WORLD_SIZE", "1"))


def schedule(share: float) -> float:
    """The factor of the learning rate at a share of the time."""
    if share < WARM_UP:
        return share / WARM_UP
    return min(1.0, max(0.0, (1 - share) / DECAY)) * 0.97 + 0.03 if share > 1 - DECAY else 1.0


class Trainer:
    """Model, optimizers and process group of one training process."""

    def __init__(self, model: TrainableNano, rates: Rates, decay: float = 0.05) -> None:
        self.model, self.rates = model, rates
        trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
        matrices = [p for name, p in trained.items() if p.dim() == 2 and not name.startswith(("rows", "head.type"))]
        chosen = {id(p) for p in matrices}
        self.muon = Muon(matrices, weight_decay=decay)
        self.adam = torch.optim.AdamW(
            [
                {"params": [p for name, p in trained.items() if id(p) not in chosen and not name.startswith("rows")]},
                {"params": [model.rows.weight]},
            ],
            betas=(0.9, 0.98),
            weight_decay=0.0,
        )
        self.parameters = list(trained.values())
        self.processes = trainer_count()

    def step(
        self, batch: dict[str, torch.Tensor], teacher: torch.Tensor | None, factor: float, teacher_weight: float = 3.0
    ) -> dict[str, torch.Tensor]:
        device = batch["ids"].device
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
            logits, read, states = self.model(batch)
        loss, accuracy = decision_loss(logits, batch)
        has_teacher = (batch["text"] >= 0).float()
        wanted = teacher[batch["text"].clamp(min=0).long()].float() if teacher is not None else None
        alike = consistency_loss(logits, batch)
        total = loss + alike + readout_loss(self.model, read, states, wanted, has_teacher, teacher_weight)
        self.muon.zero_grad()
        self.adam.zero_grad(set_to_none=True)
        total.backward()
        self._share_gradients()
        torch.nn.utils.clip_grad_norm_(self.parameters, CLIP)
        self.adam.param_groups[0]["lr"] = self.rates.vectors * factor
        self.adam.param_groups[1]["lr"] = self.rates.rows * factor
        self.adam.step()
        self.muon.step(self.rates.matrices * factor)
        return {"loss": loss.detach(), "total": total.detach(), "alike": alike.detach(), **accuracy}

    def _share_gradients(self) -> None:
        if self.processes == 1:
            return
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        flat = torch.cat([g.flatten() for g in gradients])
        torch.distributed.all_reduce(flat, op=torch.distributed.ReduceOp.AVG)
        at = 0
        for gradient in gradients:
            gradient.copy_(flat[at : at + gradient.numel()].view_as(gradient))
            at += gradient.numel()


def save(model: TrainableNano, out: Path, notes: dict[str, Any]) -> None:
    """Three files in float16, each small enough to travel, and the notes of the run."""
    out.mkdir(parents=True, exist_ok=True)
    save_file(halves(model.body_state()), out / "body.safetensors")
    save_file(halves(model.head.state_dict()), out / "head.safetensors")
    save_file(
        halves(
            {
                "rows": model.rows.weight,
                "state_readout": model.state_readout.weight,
                "teacher_readout": model.teacher_readout.weight,
            }
        ),
        out / "rows.safetensors",
    )
    (out / "run.json").write_text(json.dumps(notes, indent=2) + "\n", encoding="utf-8")


def resume(model: TrainableNano, folder: Path) -> dict[str, Any]:
    stored = load_file(folder / "rows.safetensors")
    model.load(load_file(folder / "body.safetensors"), load_file(folder / "head.safetensors"), stored["rows"])
    with torch.no_grad():
        model.state_readout.weight.copy_(stored["state_readout"].float())
        model.teacher_readout.weight.copy_(stored["teacher_readout"].float())
    return json.loads((folder / "run.json").read_text(encoding="utf-8"))


def parse_flags() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path(".nano"), help="folder with corpus, rows.npz and teacher")
    parser.add_argument("--release", type=Path, default=Path("models/clef-nano"), help="folder with tokenizer.json")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--resume", type=Path, help="output folder of an earlier run to go on from")
    parser.add_argument("--minutes", type=float, default=9.0, help="of training steps")
    parser.add_argument("--max-steps", type=int, default=10**9)
    parser.add_argument("--batch-tokens", type=int, default=65_536)
    parser.add_argument("--workers", type=int, default=14)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate-matrices", type=float, default=2e-3)
    parser.add_argument("--rate-vectors", type=float, default=1e-3)
    parser.add_argument("--rate-rows", type=float, default=5e-4)
    parser.add_argument("--row-steps", type=int, default=3_000, help="steps of the token table's distillation")
    parser.add_argument("--no-teacher", action="store_true")
    parser.add_argument("--development", type=Path, nargs="*", default=[], help="item files to report at the end")
    return parser.parse_args()


def main() -> None:
    flags = parse_flags()
    began = time.monotonic()
    rank = int(os.environ.get("RANK", "0"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    if trainer_count() > 1:
        torch.distributed.init_process_group("nccl" if device == "cuda" else "gloo")
    torch.manual_seed(flags.seed)

    def say(text: str) -> None:
        if rank == 0:
            print(f"[{time.monotonic() - began:6.1f} s] {text}", flush=True)

    renderer = Renderer(flags.release)
    mixture = Mixture(flags.work / "corpus")
    say("sources read")
    teacher_vectors = None
    if not flags.no_teacher:
        teacher = learn_teacher(flags.work / "teacher", mixture, device)
        mixture = Mixture(flags.work / "corpus", teacher)
        teacher_vectors = torch.from_numpy(teacher.texts).to(device)
        say(f"teacher has read {len(teacher.texts):,} texts and {len(teacher.phrases):,} phrases")
    model = TrainableNano(flags.work / "rows.npz").to(device)
    earlier: list[Any] = []
    if flags.resume:
        notes = resume(model, flags.resume)
        earlier = [*notes.get("earlier", []), {key: value for key, value in notes.items() if key != "earlier"}]
    elif not flags.no_teacher:
        rows = start_rows(flags.work, teacher, renderer, device, flags.row_steps)
        model.rows.weight.data.copy_(rows)
    say("rows ready")
    if device == "cuda":
        fast_layers.install(model.backbone)
    if trainer_count() > 1:
        for tensor in model.state_dict().values():
            torch.distributed.broadcast(tensor, 0)
    trainer = Trainer(model, Rates(flags.rate_matrices, flags.rate_vectors, flags.rate_rows))
    seed = flags.seed * 100_003 + rank * 1_009
    stream = Stream(mixture, renderer, seed, flags.batch_tokens)
    loader = DataLoader(
        stream, batch_size=None, num_workers=flags.workers, prefetch_factor=8 if flags.workers else None
    )

    steps = records = tokens = 0
    window: list[dict[str, torch.Tensor]] = []
    start = last = last_saved = time.monotonic()
    window_records = 0
    waited = 0.0
    ready = time.monotonic()
    gc.freeze()  # the workers share what is read so far; collecting it would copy it
    notes: dict[str, Any] = {}
    model.train()
    for batch in loader:
        waited += time.monotonic() - ready
        share = (time.monotonic() - start) / (60 * flags.minutes)
        share = max(share, steps / flags.max_steps)
        if trainer.processes > 1:
            shared = torch.tensor(share, device=device)
            torch.distributed.broadcast(shared, 0)
            share = float(shared)
        if share >= 1:
            break
        steps += 1
        records += len(batch["ids"])
        window_records += len(batch["ids"])
        tokens += int(batch["length"].sum())
        moved = {key: value.to(device, non_blocking=True) for key, value in batch.items()}
        window.append(trainer.step(moved, teacher_vectors, schedule(share)))
        if steps == 1 and device == "cuda":
            assert fast_layers.gated_delta_rule.calls > 0, "the fast layers are not in use"
        now = time.monotonic()
        if now - last > 15 or (device == "cpu" and steps % 5 == 0):
            means = {
                key: float(torch.stack([torch.as_tensor(w[key], dtype=torch.float32) for w in window]).mean())
                for key in window[0]
            }
            rate = window_records / (now - last)
            say(
                f"step {steps} share {share:.2f} {rate:.0f} records/s "
                + " ".join(f"{k} {v:.3f}" for k, v in means.items())
            )
            window, last, window_records, waited = [], now, 0, 0.0
        notes = {
            "seed": flags.seed,
            "steps": steps,
            "records": records * trainer.processes,
            "tokens": tokens * trainer.processes,
            "minutes": round((now - start) / 60, 2),
            "processes": trainer.processes,
            "batch_tokens": flags.batch_tokens,
            "rates": [flags.rate_matrices, flags.rate_vectors, flags.rate_rows],
            "torch": torch.__version__,
            "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
            "earlier": earlier,
        }
        if rank == 0 and now - last_saved > 120:
            save(model, flags.out, notes)
            last_saved = now
        ready = time.monotonic()
    if rank == 0:
        save(model, flags.out, notes)
        say(
            f"saved after {steps} steps, {records * trainer.processes:,} records, {tokens * trainer.processes:,} tokens"
        )
        scorer = torch_scorer(model, renderer, device)
        for path in flags.development:
            say(f"{path.name}\n{table(evaluate(read_items(path), scorer))}")
    os._exit(0)  # the workers generate without end


if __name__ == "__main__":
    main()
