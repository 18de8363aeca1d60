"""The documentation of remote servers names what there is."""

from pathlib import Path

from clef_model.remote_profiles import read_server_profiles
from clef_model.remote_settings import KEYS

PAGE = (Path(__file__).parents[2] / "docs" / "remote.md").read_text("utf-8")


def test_every_profile_and_its_route_is_in_the_table() -> None:
    rows = [line.split("|")[1:4] for line in PAGE.splitlines() if line.startswith("| `") and "/" in line]
    table = {cells[0].strip(" `"): [cell.strip(" `") for cell in cells[1:]] for cells in rows}
    words = {"required": "required", "optional": "optional", "route": "in the route"}
    for profile in read_server_profiles():
        assert table[profile.id] == [profile.route, words[profile.model]]


def test_every_key_of_the_list_is_explained() -> None:
    for key in KEYS:
        assert f"| `{key}` |" in PAGE
