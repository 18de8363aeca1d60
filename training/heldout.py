"""Our own held-out decisions: written by hand, and drawn from the parts of the grammars kept out of training.

    python -m training.heldout own everyday fresh second    writes those files of training/heldout

own.json (300) and everyday.json (20) were frozen before the first training run; their errors were looked at after it,
so they count as development sets since. fresh.json was written after that; its errors have been read too. second.json
(225) was written for the runs after that and answered once, by the weights they ended with; its errors are read by
now, so a further run needs a test of its own. A test holds the hashes that it lists as FROZEN.
"""

import argparse
import json
import random
from pathlib import Path
from typing import Any

from training.rendering import NOUL_TEXTS, Example
from training.structured import Structured
from training.worlds import Worlds

FOLDER = Path(__file__).parent / "heldout"
OWN = 300
SEED = 2026
SOURCES = {"fact": "grammar facts", "field": "grammar fields", "ladder": "grammar scales", "topic": "grammar topics"}

Item = dict[str, Any]


def written(path: Path) -> list[Item]:
    """The hand-written decisions of a file: task | state | instruction | answer."""
    items = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        task, state, instructions, answer = [part.strip() for part in line.split(" | ")]
        item: Item = {
            "task": task,
            "state": json.loads(state) if state.startswith("{") else state,
            "instructions": instructions,
        }
        items.append({**item, **parse_answer(answer)})
    return items


def parse_answer(answer: str) -> Item:
    if answer in ("T", "F"):
        return {
            "type": "noul",
            "options": [list(pair) for pair in NOUL_TEXTS.items()],
            "gold": "true" if answer == "T" else "false",
        }
    if answer.startswith(">"):
        levels = [level.strip() for level in answer[1:].split(";")]
        gold = next(place for place, level in enumerate(levels) if level.startswith("*"))
        return {
            "type": "score",
            "options": [[str(place), level.lstrip("*")] for place, level in enumerate(levels)],
            "gold": str(gold),
        }
    options = [[part.strip() for part in option.split(":", 1)] for option in answer.split(";")]
    gold = next(name for name, _ in options if name.startswith("*"))
    return {"type": "choice", "options": [[name.lstrip("*"), text] for name, text in options], "gold": gold[1:]}


def to_item(state: Any, example: Example) -> Item:
    best = max(range(len(example.target)), key=example.target.__getitem__)
    return {
        "task": SOURCES[example.source.split()[0]],
        "type": example.kind,
        "state": state,
        "id": example.id,
        "instructions": example.instructions,
        "options": [list(option) for option in example.options],
        "gold": example.options[best][0],
    }


def drawn(count: int, rng: random.Random) -> list[Item]:
    """Decisions of the held-out grammar parts whose answer is stated, one of each record."""
    worlds, structured = Worlds(held_out=True), Structured(held_out=True)
    makers = (
        worlds.fact_record,
        worlds.fact_record,
        structured.record,
        structured.record,
        worlds.ladder_record,
        worlds.topic_record,
    )
    items: list[Item] = []
    while len(items) < count:
        state, examples = makers[len(items) % len(makers)](rng)
        clear = [example for example in examples if max(example.target) > 0.75 and "unsaid" not in example.source]
        if clear:
            items.append(to_item(state, rng.choice(clear)))
    return items


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=["own", "everyday", "fresh", "second"])
    for name in parser.parse_args().names:
        items = written(FOLDER / ("written.txt" if name == "own" else f"{name}.txt"))
        if name == "own":
            items += drawn(OWN - len(items), random.Random(SEED))
        (FOLDER / f"{name}.json").write_text(json.dumps(items, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
        print(f"{name}.json: {len(items)} decisions")


if __name__ == "__main__":
    main()
