"""One line of figures for each checkpoint, and the compact files it is kept in.

python -m training.refine_table OUT RUN [RUN]      gathers what runs have kept in at most eight files, below 64 MiB
"""

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from training.evaluation import Item, Scorer, calibration_error, evaluate, option_order, stability, to_record
from training.model import TrainableNano
from training.release import halves

Development = dict[str, list[Item]]
COLUMNS = (
    "choose",
    "public",
    "ece",
    "sst5mae",
    "yesno",
    "facts",
    "own",
    "ownece",
    "everyday",
    "sure",
    "w_yesno",
    "w_choice",
    "w_score",
    "w_mae",
    "w_ece",
    "turned",
)
HEADLINE = "".join(f"{name:>9}" for name in COLUMNS)


def row_of(sets: Development, scorer: Scorer) -> dict[str, Any]:
    """Figures of all development sets. `yesno` and `facts` pool the hand-written ones of own and fresh, `sure` counts
    everyday decisions that are wrong above 0.9, `turned` is the share of answers that change with the order, `choose`
    is what the best checkpoint has most of."""
    public, written = evaluate(sets["public"], scorer), evaluate(sets["written"], scorer)
    hand = [item for item in (*sets["own"], *sets["fresh"]) if "grammar" not in item["task"]]
    own = evaluate([*sets["own"]], scorer)
    hand_figures = evaluate(hand, scorer)
    everyday = [
        (item, answer[0])
        for item, answer in zip(sets["everyday"], scorer([to_record(item) for item in sets["everyday"]]), strict=True)
    ]
    wrong = [float(answer.max()) for item, answer in everyday if not is_right(item, answer)]
    every_answer = [answer[0] for answer in scorer([to_record(item) for item in sets["own"]])]
    right = np.asarray([is_right(item, answer) for item, answer in zip(sets["own"], every_answer, strict=True)])
    figures = {
        "public": mean(public, "accuracy"),
        "ece": mean(public, "ece"),
        "sst5mae": public.get("sst5_score", {}).get("mae", 0.0),
        "yesno": hand_figures.get("yesno", {}).get("accuracy", 0.0),
        "facts": hand_figures.get("facts", {}).get("accuracy", 0.0),
        "own": mean(own, "accuracy"),
        "ownece": 100 * calibration_error(right.astype(float), np.asarray([float(a.max()) for a in every_answer])),
        "everyday": float(len(everyday) - len(wrong)),
        "sure": float(sum(sure > 0.9 for sure in wrong)),
        "w_yesno": written.get("written yes/no", {}).get("accuracy", 0.0),
        "w_choice": written.get("written choice", {}).get("accuracy", 0.0),
        "w_score": written.get("written score", {}).get("accuracy", 0.0),
        "w_mae": written.get("written score", {}).get("mae", 0.0),
        "w_ece": mean(written, "ece"),
        "turned": stability(sets["own"], scorer)["reordered"] if len(sets["own"]) >= 3 else 0.0,
    }
    near = np.mean([figures["yesno"], figures["facts"], 100 * figures["everyday"] / max(1, len(everyday))])
    figures["choose"] = 0.3 * figures["public"] + 0.35 * figures["w_yesno"] + 0.35 * float(near)
    line = "".join(f"{figures[name]:>9.2f}" for name in COLUMNS)
    return {**figures, "line": line, "tasks": {"public": public, "written": written, "own": own, "hand": hand_figures}}


def is_right(item: Item, answer: np.ndarray) -> bool:
    return option_order(item)[int(answer.argmax())] == item["gold"]


def mean(figures: dict[str, dict[str, float]], key: str) -> float:
    return float(np.mean([row[key] for row in figures.values()])) if figures else 0.0


def save_compact(model: TrainableNano, folder: Path, notes: dict[str, Any]) -> None:
    """Body, with the notes of the run, and head in float16, rows in int8 as the release stores them."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file(halves(model.body_state()), folder / "body.safetensors", metadata={"run": json.dumps(notes)})
    save_file(halves(model.head.state_dict()), folder / "head.safetensors")
    rows = model.rows.weight.detach().float().cpu()
    scales = (rows.abs().amax(dim=1) / 127).half()
    scales[scales == 0] = 1
    rounded = (rows / scales.float().unsqueeze(1)).round().clamp(-127, 127).to(torch.int8)
    save_file({"rows": rounded, "scales": scales}, folder / "rows.safetensors")


def load_notes(run: Path) -> dict[str, Any]:
    """The notes of a run: in run.json, or with the body of a compact one."""
    if (run / "run.json").is_file():
        return dict(json.loads((run / "run.json").read_text(encoding="utf-8")))
    with safe_open(run / "body.safetensors", "pt") as stored:
        return dict(json.loads(stored.metadata()["run"]))


def load_rows(path: Path) -> np.ndarray:
    """The rows of a run: of the first kind in float16, or of a compact one in int8 with their scales."""
    stored = load_file(path)
    rows = stored["rows"].float()
    if "scales" in stored:
        rows = rows * stored["scales"].float().unsqueeze(1)
    return rows.numpy()


def gather(out: Path, runs: list[Path]) -> None:
    """Of one run its best and last checkpoint, of several the best of the two best; all tables and logs as one."""
    tables: dict[str, list[dict[str, Any]]] = {run.name: [] for run in runs}
    for run in runs:
        path = run / "final" / "table.json"
        if path.is_file():
            tables[run.name] = json.loads(path.read_text(encoding="utf-8"))
    value = {run: max((row["choose"] for row in tables[run.name] if row["steps"]), default=0.0) for run in runs}
    wanted = {(run.name, "best"): run for run in sorted(runs, key=lambda run: -value[run])[:2]}
    if len(runs) == 1:
        wanted[runs[0].name, "last"] = runs[0]
    print(HEADLINE)
    for name, rows in tables.items():
        print("\n".join(f"{row['line']}  {name} {row['name']}" for row in rows))
    out.mkdir(parents=True, exist_ok=True)
    logs = [f"== {run.name}\n" + (run / "final" / "log.txt").read_text(encoding="utf-8") for run in runs]
    (out / "log.txt").write_text("\n".join(logs), encoding="utf-8")
    (out / "table.json").write_text(json.dumps(tables, indent=1) + "\n", encoding="utf-8")
    for (name, which), run in wanted.items():
        pointer = run / "final" / which
        if not pointer.is_file() and which == "best":
            pointer = run / "final" / "last"
        if pointer.is_file():
            step = pointer.read_text(encoding="utf-8")
            shutil.copytree(run / step, out / f"{name}-{which}", dirs_exist_ok=True)
            print(f"{name}-{which} is {step}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("runs", type=Path, nargs="+", help="output folders of training.refine")
    flags = parser.parse_args()
    gather(flags.out, flags.runs)


if __name__ == "__main__":
    main()
