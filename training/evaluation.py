"""Accuracy, calibration, score distance and stability of a model over lists of held-out decisions."""

import copy
import json
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from training.rendering import Example, Renderer

Item = dict[str, Any]  # task, type, state or text, instructions, options [[id, description]], gold
Scorer = Callable[[list[tuple[Any, list[Example]]]], list[list[np.ndarray]]]
BINS = 10


def read_items(path: Path) -> list[Item]:
    return json.loads(path.read_text(encoding="utf-8"))


def to_record(item: Item) -> tuple[Any, list[Example]]:
    state = item["state"] if "state" in item else item["text"]
    options = [(option, description) for option, description in item["options"]]
    return state, [Example(item.get("id", "q"), item["type"], item["instructions"], options, [0.0] * len(options))]


def option_order(item: Item) -> list[str]:
    """Option ids as the model scores them."""
    ids = [option for option, _ in item["options"]]
    return sorted(ids) if item["type"] == "choice" else ids


def evaluate(items: Sequence[Item], scorer: Scorer) -> dict[str, dict[str, float]]:
    """By task: items, chance, accuracy, calibration error; for scores the mean absolute error in levels too."""
    probabilities = [answers[0] for answers in scorer([to_record(item) for item in items])]
    by_task: dict[str, list[tuple[Item, np.ndarray]]] = defaultdict(list)
    for item, answer in zip(items, probabilities, strict=True):
        by_task[item["task"]].append((item, answer))
    return {task: task_figures(answered) for task, answered in by_task.items()}


def task_figures(answered: list[tuple[Item, np.ndarray]]) -> dict[str, float]:
    right, sure, chance, distance = [], [], [], []
    for item, answer in answered:
        order = option_order(item)
        right.append(order[int(answer.argmax())] == item["gold"])
        sure.append(float(answer.max()))
        chance.append(1 / len(order))
        if item["type"] == "score":
            distance.append(abs(float(answer @ np.arange(len(answer))) - order.index(item["gold"])))
    figures = {
        "items": len(answered),
        "chance": 100 * float(np.mean(chance)),
        "accuracy": 100 * float(np.mean(right)),
        "ece": 100 * calibration_error(np.asarray(right, dtype=float), np.asarray(sure)),
    }
    if distance:
        figures["mae"] = float(np.mean(distance))
    return figures


def calibration_error(right: np.ndarray, sure: np.ndarray) -> float:
    """Mean gap between accuracy and confidence over ten equal bins of confidence, weighted by their size."""
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    gaps = [
        abs(right[bins == place].mean() - sure[bins == place].mean()) * (bins == place).mean() for place in set(bins)
    ]
    return float(sum(gaps))


def stability(items: Sequence[Item], scorer: Scorer, seed: int = 3) -> dict[str, float]:
    """Share of top answers, in percent, that change when question ids are renamed and when questions change places."""
    rng = random.Random(seed)
    groups = [list(items[start : start + 3]) for start in range(0, len(items) - 2, 3)]
    plain, renamed, moved = [], [], []
    for group in groups:
        state, _ = to_record(group[0])
        examples = [to_record(item)[1][0] for item in group]
        for place, example in enumerate(examples):
            example.id = f"q{place}"
        other_names = copy.deepcopy(examples)
        for place, name in enumerate(
            rng.sample(("alpha", "check_7", "verdict", "x", "field", "result"), len(examples))
        ):
            other_names[place].id = name
        plain.append((state, examples))
        renamed.append((state, other_names))
        moved.append((state, examples[::-1]))

    def tops(records: list[tuple[Any, list[Example]]], turned: bool = False) -> list[int]:
        return [int(a.argmax()) for answers in scorer(records) for a in (answers[::-1] if turned else answers)]

    first = np.asarray(tops(plain))
    changed_names = np.asarray(tops(renamed)) != first
    changed_order = np.asarray(tops(moved, turned=True)) != first
    return {
        "renamed": 100 * float(changed_names.mean()),
        "reordered": 100 * float(changed_order.mean()),
        "answers": len(first),
    }


def torch_scorer(model: Any, renderer: Renderer, device: str, batch_tokens: int = 32_768) -> Scorer:
    """Probabilities of each question's options by a TrainableNano, records of like length together."""
    import torch

    from training.losses import by_question
    from training.mixture import pad

    @torch.inference_mode()
    def score(records: list[tuple[Any, list[Example]]]) -> list[list[np.ndarray]]:
        model.eval()
        rendered = [renderer(state, examples) for state, examples in records]
        order = sorted(range(len(rendered)), key=lambda place: len(rendered[place].ids))
        out: list[list[np.ndarray]] = [[] for _ in records]
        at = 0
        while at < len(order):
            stop = at + 1
            while stop < len(order) and (stop - at + 1) * len(rendered[order[stop]].ids) <= batch_tokens:
                stop += 1
            places = order[at:stop]
            batch = {
                key: torch.from_numpy(value).to(device) for key, value in pad([rendered[p] for p in places]).items()
            }
            with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
                logits, _, _ = model(batch)
            logs, own, _ = by_question(logits, batch)
            for row, place in enumerate(places):
                questions = len(rendered[place].kinds)
                out[place] = [logs[row, q][own[row, q]].exp().float().cpu().numpy() for q in range(questions)]
            at = stop
        return out

    return score


def table(figures: dict[str, dict[str, float]]) -> str:
    lines = [f"{'set':<24}{'items':>6}{'chance':>8}{'nano':>7}{'ECE':>6}{'MAE':>6}"]
    for task, row in figures.items():
        mae = f"{row['mae']:6.2f}" if "mae" in row else ""
        lines.append(f"{task:<24}{row['items']:>6}{row['chance']:>8.1f}{row['accuracy']:>7.1f}{row['ece']:>6.1f}{mae}")
    mean = {key: np.mean([row[key] for row in figures.values()]) for key in ("chance", "accuracy", "ece")}
    lines.append(f"{'mean':<24}{'':>6}{mean['chance']:>8.1f}{mean['accuracy']:>7.1f}{mean['ece']:>6.1f}")
    return "\n".join(lines)
