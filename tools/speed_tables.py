"""Writes the tables of docs/speed.md from the results that benchmarks.speed has kept."""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "speed.md"
UNITS = {"ms": "ms", "tokens/s": "tokens a second", "p": "probability"}


def number(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if unit == "p" else f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| what | reference | here | unit | here / reference |", "|---|---|---|---|---|"]
    for row in rows:
        ratio = f"{row['ours'] / row['reference']:.3f}" if row["reference"] else ""
        name = f"{row['name'].strip()} ({row['note']})" if row["note"] else row["name"].strip()
        cells = [
            name,
            number(row["reference"], row["unit"]),
            number(row["ours"], row["unit"]),
            UNITS[row["unit"]],
            ratio,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def filled(text: str) -> str:
    """The page's text with the tables of the kept results."""
    for name in ("gpu", "cpu"):
        results = json.loads((ROOT / "benchmarks" / f"results_{name}.json").read_text("utf-8"))
        inside = f"<!-- {name} -->\n\n{table(results['rows'])}\n\n<!-- /{name} -->"
        text, found = re.subn(f"<!-- {name} -->.*?<!-- /{name} -->", lambda _, new=inside: new, text, flags=re.DOTALL)
        assert found == 1, name
    return text


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text("utf-8")), "utf-8")
