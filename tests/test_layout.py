"""The README's map and the modules' first docstring lines are the same text."""

import ast
import re
import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINE = re.compile(r"^\| `(?P<path>[^`]+\.py)` \| (?P<text>.+) \|$", re.MULTILINE)


def first_line(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8")))
    assert docstring, f"{path.relative_to(ROOT)} has no docstring"
    return docstring.splitlines()[0].removesuffix(".")


def modules() -> list[Path]:
    return [ROOT / "app.py", *sorted(ROOT.glob("clef_model/**/*.py")), *sorted(ROOT.glob("clef_ui/**/*.py"))]


def test_the_readme_map_has_one_line_for_each_module() -> None:
    mapped = {match["path"]: match["text"] for match in LINE.finditer((ROOT / "README.md").read_text("utf-8"))}
    found = {path.relative_to(ROOT).as_posix(): first_line(path) for path in modules()}
    assert mapped == found


def test_the_page_on_speed_shows_the_kept_results() -> None:
    tables = runpy.run_path(str(ROOT / "tools" / "speed_tables.py"))
    text = (ROOT / "docs" / "speed.md").read_text("utf-8")
    assert tables["filled"](text) == text


def test_no_file_of_ours_is_longer_than_400_lines() -> None:
    ours = [*modules(), *ROOT.glob("clef_ui/assets/**/*.js"), *ROOT.glob("clef_ui/assets/**/*.css")]
    long = {path.name: count for path in ours if (count := len(path.read_text("utf-8").splitlines())) > 400}
    assert long == {}
