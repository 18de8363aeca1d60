"""Reads the hand-written states of `grammar/written`, and draws records of them in many forms.

A block holds a state (`> `) with claims that are right (`+ `) and wrong (`- `), and perhaps a choice (`? `, the right
option `* `, wrong ones `o `) or a score (`% `, its levels `1 ` to `5 `, the right one `= `). About 6 % of the states,
by a hash of their text, are the development set: never trained on, used to choose the checkpoint and the temperature.
"""

import hashlib
import json
import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from training.grammar import FOLDER
from training.rendering import NOUL_TEXTS
from training.sources import Overlap

WRITTEN = FOLDER / "written"
DEVELOPMENT = 60  # of 1,000


@dataclass(slots=True)
class Pick:
    """A choice: options as (name, description), name empty where only a description is given; `right` is a place."""

    asked: str
    options: list[tuple[str, str]] = field(default_factory=list)
    right: int = -1


@dataclass(slots=True)
class Scale:
    asked: str
    levels: list[str] = field(default_factory=list)
    right: int = -1


@dataclass(slots=True)
class Written:
    """A state, its claims with their truth, its choices and scores."""

    domain: str
    state: str
    claims: list[tuple[str, bool]] = field(default_factory=list)
    picks: list[Pick] = field(default_factory=list)
    scales: list[Scale] = field(default_factory=list)
    source: str = ""  # the file it is in, without its ending

    @property
    def value(self) -> Any:
        """The state as a request holds it: a record where it is one."""
        return json.loads(self.state) if self.state[0] in "{[" else self.state.strip()


def parse(text: str) -> tuple[list[Written], list[str]]:
    """The blocks that are well formed, and what is wrong with the others."""
    found: list[Written] = []
    problems: list[str] = []
    domain = ""
    text = re.sub(r"\n(?=[>#] )", "\n\n", text)  # a state and a domain begin a block, blank line or not
    for block in re.split(r"\n\s*\n", text):
        lines = [line.strip() for line in block.splitlines() if line.strip()]
        while lines and lines[0].startswith("# "):
            domain = lines.pop(0)[2:]
        if not lines:
            continue
        try:
            found.append(parse_block(domain, lines))
        except (ValueError, IndexError) as error:
            problems.append(f"{lines[0][:70]}: {error}")
    return found, problems


def parse_block(domain: str, lines: list[str]) -> Written:
    if not lines[0].startswith("> "):
        raise ValueError("a block begins with its state")
    state = lines[0][2:].strip()
    item = Written(domain, state if state[0] in "{[" else state.replace("\\n", "\n"))
    if state[0] in "{[":
        try:
            json.loads(state)
        except json.JSONDecodeError:
            # Text in brackets, as in a log line; a record must be JSON.
            if state[0] == "{" or state[1] in '{["':
                raise
            item.state = " " + state.replace("\\n", "\n")
    for line in lines[1:]:
        mark, _, text = line.partition(" ")
        text = text.strip()
        if mark in "+-" and text:
            item.claims.append((text, mark == "+"))
        elif mark == "?":
            item.picks.append(Pick(text))
        elif mark in ("*", "o"):
            if mark == "*":
                if item.picks[-1].right >= 0:
                    raise ValueError("two right options")
                item.picks[-1].right = len(item.picks[-1].options)
            name, colon, description = text.partition(": ")
            item.picks[-1].options.append((name, description) if colon else ("", text))
        elif mark == "%":
            item.scales.append(Scale(text))
        elif mark == "=":
            item.scales[-1].right = int(text) - 1
        elif mark.isdigit() and int(mark) == len(item.scales[-1].levels) + 1:
            item.scales[-1].levels.append(text)
        else:
            raise ValueError(f"unknown line {line[:50]!r}")
    check(item)
    return item


def check(item: Written) -> None:
    if not item.claims:
        raise ValueError("no claims")
    for pick in item.picks:
        if any(not name for name, _ in pick.options):  # all named, or none
            pick.options = [("", f"{name}: {text}" if name else text) for name, text in pick.options]
        if pick.right < 0 or not 2 <= len({*pick.options}) == len(pick.options):
            raise ValueError("a choice needs one right option and distinct ones")
        names = [name for name, _ in pick.options]
        if names[0] and len({*names}) < len(names):
            pick.options = [("", f"{name}: {text}") for name, text in pick.options]
    for scale in item.scales:
        if not 0 <= scale.right < len(scale.levels) or len(scale.levels) < 2:
            raise ValueError("a score needs its levels and the right one's number")


def is_development(state: str) -> bool:
    return int(hashlib.sha256(state.encode()).hexdigest()[:8], 16) % 1_000 < DEVELOPMENT


def read(folder: Path = WRITTEN) -> tuple[list[Written], list[str]]:
    items, problems = [], []
    for path in sorted(folder.glob("*.txt")):
        found, wrong = parse(path.read_text(encoding="utf-8"))
        for item in found:
            item.source = path.stem
        items += found
        problems += [f"{path.name}: {problem}" for problem in wrong]
    return items, problems


def split(items: Iterable[Written], heldout: Iterable[str] = ()) -> tuple[list[Written], list[Written]]:
    """Training and development states, each state once, without those that repeat a held-out text."""
    overlap = Overlap(heldout)
    once = {item.state: item for item in items if item.state not in overlap}
    train = [item for item in once.values() if not is_development(item.state)]
    development = [item for item in once.values() if is_development(item.state)]
    # A development state in other words or numbers in the training part would flatter the figures.
    near = Overlap(item.state for item in development)
    return [item for item in train if item.state not in near], development


def items_of(written: Iterable[Written]) -> list[dict[str, Any]]:
    """Development decisions, one item a question, in the form of the held-out files."""
    items: list[dict[str, Any]] = []
    for one in written:
        for claim, true in one.claims:
            options = [list(pair) for pair in NOUL_TEXTS.items()]
            items.append(item("written yes/no", "noul", one, claim, options, "true" if true else "false"))
        for pick in one.picks:
            ids = [name or "abcdefghijkl"[place] for place, (name, _) in enumerate(pick.options)]
            options = [[key, text] for key, (_, text) in zip(ids, pick.options, strict=True)]
            items.append(item("written choice", "choice", one, pick.asked, options, ids[pick.right]))
        for scale in one.scales:
            options = [[str(place), level] for place, level in enumerate(scale.levels)]
            items.append(item("written score", "score", one, scale.asked, options, str(scale.right)))
    return items


def item(task: str, kind: str, one: Written, asked: str, options: list[list[str]], gold: str) -> dict[str, Any]:
    return {"task": task, "type": kind, "state": one.value, "instructions": asked, "options": options, "gold": gold}


class Names:
    """Gives the people of a text other first names, women's for women's and men's for men's."""

    def __init__(self) -> None:
        lines = (FOLDER / "names.txt").read_text(encoding="utf-8").splitlines()
        self.lists = [line.split(": ", 1)[1].split() for line in lines]
        self.list_of = {name: names for names in self.lists for name in names}

    def swap(self, rng: random.Random, text: str) -> str:
        found = [word for word in dict.fromkeys(re.findall(r"[^\W\d_]+(?:-[a-z]+)?", text)) if word in self.list_of]
        if not found:
            return text
        new: dict[str, str] = {}
        for name in found:
            free = [other for other in self.list_of[name] if other not in found and other not in new.values()]
            new[name] = rng.choice(free)
        pattern = r"(?<![\w@])(?:" + "|".join(map(re.escape, found)) + r")(?![\w@])"
        return re.sub(pattern, lambda match: new[match.group()], text)
