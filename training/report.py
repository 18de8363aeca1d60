"""Measures a release: accuracy beside chance and two baselines, calibration, stability, latency, load time, memory.

    python -m training.report models/clef-nano --items heldout_public.json --teacher .nano/teacher --json figures.json

Accuracy is computed from the release's own files in float32; latency, load time and memory with clef_model's loader.
"""

import argparse
import json
import resource
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from training.evaluation import (
    Item,
    Scorer,
    evaluate,
    option_order,
    read_items,
    stability,
    table,
    to_record,
    torch_scorer,
)
from training.heldout import FOLDER
from training.rendering import Example, Renderer, render
from training.sources import Overlap, state_text

HAND_WRITTEN = ("yesno", "facts", "choice", "score", "everyday")
MEGABYTE = 1024  # kilobytes


def release_scorer(folder: Path) -> Scorer:
    """Probabilities by the release's stored weights, float32, without clef_model."""
    import torch
    from safetensors.torch import load_file

    from training.model import TrainableNano

    model = TrainableNano(folder / "embedding_rows.npz")
    with np.load(folder / "embedding_rows.npz") as stored:
        rows = stored["rows"].astype(np.float32) * stored["scales"].astype(np.float32)[:, None]
    body = {key: value for key, value in load_file(folder / "model.safetensors").items() if ".language_model." in key}
    model.load(body, load_file(folder / "joint_head.safetensors"), torch.from_numpy(rows))
    return torch_scorer(model, Renderer(folder), "cpu", batch_tokens=8_192)


def static_vectors(folder: Path, texts: Sequence[str]) -> np.ndarray:
    """Mean embedding of each text's tokens, unit length, from the release's own rows."""
    from clef_model.nano_rows import expand_rows

    embedding = expand_rows(folder)
    renderer = Renderer(folder)
    vectors = np.stack([embedding[list(renderer.tokens(text)) or [0]].mean(axis=0) for text in texts])
    return vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9)


def cosine_scorer(embed: Any) -> Scorer:
    """A baseline without training: options by the cosine of their text to the state's; a claim by that of the claim.

    A yes/no claim counts as true when its cosine lies above the median of its set, which no deployed system could know.
    """

    def score(records: list[tuple[Any, list[Example]]]) -> list[list[np.ndarray]]:
        states = embed([render(state) for state, _ in records])
        wanted: list[str] = []
        for _, examples in records:
            example = examples[0]
            options = sorted(example.options, key=lambda pair: pair[0]) if example.kind == "choice" else example.options
            texts = [str(text or name) for name, text in options]
            wanted += [render(example.instructions)] if example.kind == "noul" else texts
        distinct = list(dict.fromkeys(wanted))
        place_of = {text: place for place, text in enumerate(distinct)}
        vectors = embed(distinct)[[place_of[text] for text in wanted]]
        out: list[np.ndarray] = []
        claims: list[float] = []
        at = 0
        for state, (_, examples) in zip(states, records, strict=True):
            count = 1 if examples[0].kind == "noul" else len(examples[0].options)
            out.append(vectors[at : at + count] @ state)
            if examples[0].kind == "noul":
                claims.append(float(out[-1][0]))
            at += count
        middle = statistics.median(claims) if claims else 0.0
        answers = []
        for likeness, (_, examples) in zip(out, records, strict=True):
            if examples[0].kind == "noul":
                likeness = np.asarray([likeness[0] - middle, 0.0])
            weights = np.exp((likeness - likeness.max()) / 0.06)
            answers.append([weights / weights.sum()])
        return answers

    return score


def own_items() -> list[Item]:
    """The project's own decisions, all of them development by now; tasks of fresh.json are named apart."""
    items = [item for name in ("own", "everyday") for item in read_items(FOLDER / f"{name}.json")]
    return items + [{**item, "task": f"fresh {item['task']}"} for item in read_items(FOLDER / "fresh.json")]


def frozen_items() -> list[Item]:
    """Those of second.json, without the ones whose state a hand-written training state repeats."""
    from training import written

    found, _ = written.read()
    return [item for item in read_items(FOLDER / "second.json") if not repeats(item, [state.state for state in found])]


def repeats(item: Item, trained: Sequence[str]) -> bool:
    overlap = Overlap([state_text(item["state"])])
    return any(text in overlap for text in trained)


def by_set(items: Sequence[Item], scorer: Scorer) -> dict[str, dict[str, float]]:
    """Figures of each task, each with a median of its own for the baselines."""
    tasks = sorted({item["task"] for item in items})
    return {task: evaluate([item for item in items if item["task"] == task], scorer)[task] for task in tasks}


def everyday(items: Sequence[Item], scorer: Scorer) -> dict[str, int]:
    """How many are right, and how many are wrong although the model is above 0.9 sure."""
    wrong = wrong_answers(items, scorer)
    sure = sum(row["probability"] > 0.9 for row in wrong)
    return {"items": len(items), "right": len(items) - len(wrong), "wrong above 0.9": sure}


def wrong_answers(items: Sequence[Item], scorer: Scorer) -> list[dict[str, Any]]:
    answers = scorer([to_record(item) for item in items])
    found = []
    for item, (answer,) in zip(items, answers, strict=True):
        order = option_order(item)
        got = order[int(answer.argmax())]
        if got != item["gold"]:
            state = item.get("state", item.get("text"))
            found.append(
                {
                    "task": item["task"],
                    "state": state,
                    "instructions": item["instructions"],
                    "gold": item["gold"],
                    "got": got,
                    "probability": round(float(answer.max()), 3),
                }
            )
    return sorted(found, key=lambda row: -row["probability"])


def speed(folder: Path) -> dict[str, float]:
    """Load time, latency of a record of about 300 tokens with three questions, and memory beyond an imported torch."""
    import torch
    from transformers.models.qwen3_5 import modeling_qwen3_5  # noqa: F401

    from clef_model.loading import load_release
    from clef_model.parsing import parse_record

    torch.set_num_threads(2)
    before = resident_kilobytes()
    start = time.perf_counter()
    decider = load_release(folder)
    loaded = time.perf_counter() - start
    request = {
        "state": "Hello, since this morning our shop shows an error at the checkout. We lose orders. " * 4,
        "questions": {
            "urgent": {"type": "noul", "instructions": "Is this urgent?"},
            "team": {
                "type": "choice",
                "instructions": "Who should handle it?",
                "criteria": {"a": "Billing", "b": "Tech"},
            },
            "mood": {"type": "score", "instructions": "How upset?", "criteria": ["calm", "annoyed", "furious"]},
        },
    }
    record = parse_record(request)
    times = []
    for _ in range(25):
        start = time.perf_counter()
        decider.decide([record])
        times.append(1_000 * (time.perf_counter() - start))
    return {
        "load_seconds": round(loaded, 2),
        "median_ms": round(statistics.median(times[5:]), 1),
        "fastest_ms": round(min(times), 1),
        "tokens": len(decider.plan(record).input_ids),
        "memory_mb": round((resident_kilobytes() - before) / MEGABYTE),
    }


def resident_kilobytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--items", type=Path, nargs="*", default=[], help="further item files")
    parser.add_argument("--teacher", type=Path, help="packed teacher, for its baseline")
    parser.add_argument("--json", type=Path)
    flags = parser.parse_args()
    items = [item for path in flags.items for item in read_items(path)]
    frozen = frozen_items()
    items += [*own_items(), *frozen]
    figures: dict[str, Any] = {"speed": speed(flags.folder)}
    print(figures["speed"], flush=True)
    scorer = release_scorer(flags.folder)
    figures["nano"] = evaluate(items, scorer)
    print(table(figures["nano"]), flush=True)
    figures["static"] = by_set(items, cosine_scorer(lambda texts: static_vectors(flags.folder, texts)))
    print("static table\n" + table(figures["static"]), flush=True)
    if flags.teacher:
        from training import teacher

        model = teacher.load(flags.teacher, "cpu")
        embed = lambda texts: teacher.embed(model, flags.teacher, list(texts), "cpu", 4_096).astype(np.float32)  # noqa: E731
        figures["minilm"] = by_set(items, cosine_scorer(embed))
        print("MiniLM\n" + table(figures["minilm"]), flush=True)
    own = [item for item in items if item["task"].removeprefix("fresh ") in HAND_WRITTEN]
    figures["stability"] = {"development": stability(own, scorer), "second": stability(frozen, scorer)}
    for name in ("everyday", "second everyday"):
        figures[f"{name} counts"] = everyday([item for item in items if item["task"] == name], scorer)
        print(name, figures[f"{name} counts"])
    print(figures["stability"])
    figures["wrong"] = {"development": wrong_answers(own, scorer), "second": wrong_answers(frozen, scorer)}
    if flags.json:
        flags.json.write_text(json.dumps(figures, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
