"""Averages the weights of runs that began alike, which is often better than each, and measures the average.

    python -m training.average OUT RUN RUN --weights 1 1 --release models/clef-nano --work .nano

OUT is a compact run as `training.refine` saves it, for `training.export`. With one weight more than there are runs, the
last one is that of the release itself.
"""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor

from clef_model.nano_rows import ROWS_FILE
from training.model import BODY_PREFIX, TrainableNano
from training.refine_table import load_notes, load_rows, save_compact

Weights = tuple[dict[str, Tensor], dict[str, Tensor], Tensor]  # body, head, rows


def of_run(run: Path) -> Weights:
    rows = torch.from_numpy(load_rows(run / "rows.safetensors"))
    return load_file(run / "body.safetensors"), load_file(run / "head.safetensors"), rows


def of_release(folder: Path) -> Weights:
    body = load_file(folder / "model.safetensors")
    with np.load(folder / ROWS_FILE) as stored:
        rows = stored["rows"].astype(np.float32) * stored["scales"].astype(np.float32)[:, None]
    body = {key: value for key, value in body.items() if key.startswith(BODY_PREFIX)}
    return body, load_file(folder / "joint_head.safetensors"), torch.from_numpy(rows)


def average(parts: Iterable[tuple[float, Weights]]) -> Weights:
    """The weighted mean, in float32."""
    found = [(weight, weights) for weight, weights in parts if weight]
    total = sum(weight for weight, _ in found)

    def mean(tensors: list[Tensor]) -> Tensor:
        mixed = sum(w / total * tensor.float() for (w, _), tensor in zip(found, tensors, strict=True))
        return torch.as_tensor(mixed)

    body = {key: mean([weights[0][key] for _, weights in found]) for key in found[0][1][0]}
    head = {key: mean([weights[1][key] for _, weights in found]) for key in found[0][1][1]}
    return body, head, mean([weights[2] for _, weights in found])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("runs", type=Path, nargs="+", help="compact runs")
    parser.add_argument("--weights", type=float, nargs="+", help="equal ones if left out")
    parser.add_argument("--release", type=Path, default=Path("models/clef-nano"), help="tokenizer, layout and weights")
    parser.add_argument("--work", type=Path, help="measure too: folder with heldout_public.json")
    flags = parser.parse_args()
    shares = flags.weights or [1.0] * len(flags.runs)
    parts = [of_run(run) for run in flags.runs]
    if len(shares) == len(parts) + 1:
        parts.append(of_release(flags.release))
    mixed = average(zip(shares, parts, strict=True))
    model = TrainableNano(flags.release / ROWS_FILE).eval()
    model.load(*mixed)
    notes: dict[str, Any] = {"averaged": [round(share / sum(shares), 3) for share in shares]}
    notes["earlier"] = [load_notes(run) for run in flags.runs]
    save_compact(model, flags.out, notes)
    print(json.dumps({"out": str(flags.out), **notes}))
    if flags.work:
        measure(model, flags.work, flags.release)


def measure(model: TrainableNano, work: Path, release: Path) -> None:
    from training import fast_layers
    from training import written as texts
    from training.evaluation import torch_scorer
    from training.refine import OWN, development_sets
    from training.refine_table import HEADLINE, row_of
    from training.rendering import Renderer
    from training.sources import heldout_texts

    folder = Path(__file__).parent / "heldout"
    heldout = heldout_texts([work / "heldout_public.json", *(folder / name for name in OWN)])
    _, held = texts.split(texts.read()[0], heldout)
    fast_layers.install(model.backbone)
    scorer = torch_scorer(model, Renderer(release), "cuda" if torch.cuda.is_available() else "cpu", 8_192)
    print(HEADLINE)
    print(row_of(development_sets(work, held, None), scorer)["line"], flush=True)


if __name__ == "__main__":
    main()
