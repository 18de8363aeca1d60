"""Writes the map of modules into README.md from the modules' first docstring lines: `python tools/readme_map.py`."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.test_layout import first_line, modules  # noqa: E402

START, END = "<!-- map -->\n", "<!-- end of map -->"


def main() -> None:
    readme = ROOT / "README.md"
    text = readme.read_text("utf-8")
    before, rest = text.split(START)
    rows = "".join(f"| `{path.relative_to(ROOT).as_posix()}` | {first_line(path)} |\n" for path in modules())
    after = rest.split(END)[1]
    readme.write_text(f"{before}{START}| file | what it holds |\n|---|---|\n{rows}{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
