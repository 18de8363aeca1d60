"""Fits one temperature on development decisions and folds it into the head, so that inference needs none.

    python -m training.calibrate models/clef-nano development.json ...

The logit is prior + gate * joint. Dividing it by T lowers the log scale of the prior by log T and the gate to gate / T.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from training.evaluation import Item, option_order, read_items, to_record

TEMPERATURES = tuple(float(value) for value in np.arange(0.7, 3.01, 0.05))


def tempered(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    logs = np.log(np.maximum(probabilities, 1e-12)) / temperature
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def log_loss(items: Sequence[Item], answers: Sequence[np.ndarray], temperature: float) -> float:
    """Mean over tasks of the mean negative log-probability of the right option."""
    by_task: dict[str, list[float]] = {}
    for item, answer in zip(items, answers, strict=True):
        place = option_order(item).index(item["gold"])
        by_task.setdefault(item["task"], []).append(-float(np.log(tempered(answer, temperature)[place] + 1e-12)))
    return float(np.mean([np.mean(losses) for losses in by_task.values()]))


def fold(head: dict[str, torch.Tensor], temperature: float) -> dict[str, torch.Tensor]:
    """The head whose logits are the given head's divided by the temperature."""
    folded = dict(head)
    prior = head["prior_logit_scale"].float().clamp(max=float(np.log(100)))
    folded["prior_logit_scale"] = (prior - float(np.log(temperature))).half()
    gate = torch.sigmoid(head["residual_gate"].float()) / temperature
    if gate >= 1:
        raise ValueError(f"a temperature of {temperature} needs a gate of {float(gate):.2f}, and a gate is below 1")
    folded["residual_gate"] = torch.logit(gate).half()
    return folded


def main() -> None:
    from training.report import release_scorer

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("items", type=Path, nargs="+")
    flags = parser.parse_args()
    items = [item for path in flags.items for item in read_items(path)]
    answers = [answer for (answer,) in release_scorer(flags.folder)([to_record(item) for item in items])]
    losses = {temperature: log_loss(items, answers, temperature) for temperature in TEMPERATURES}
    best = min(losses, key=losses.__getitem__)
    print(f"log loss {log_loss(items, answers, 1.0):.4f} -> {losses[best]:.4f} at {best:.2f}")
    path = flags.folder / "joint_head.safetensors"
    save_file(fold(load_file(path), best), path, metadata={"format": "pt"})
    path.chmod(0o644)
    about = flags.folder / "clef_nano.json"
    notes = json.loads(about.read_text(encoding="utf-8"))
    notes["temperature"] = round(best, 3) * notes.get("temperature", 1.0)
    about.write_text(json.dumps(notes, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
