"""Lost paths in a few words: neighbours in a list become one range."""

from collections.abc import Sequence

from clef_model.json_paths import parse_path, path_text


def path_ranges(paths: Sequence[str], most: int) -> list[str]:
    """The paths without their leading "state", list neighbours as "trace[3] to [9]"; `most` of them, then a count."""
    runs: list[list[tuple[str | int, ...]]] = []
    for path in map(parse_path, paths):
        step = path[-1] if path else None
        last = runs[-1][-1] if runs else ()
        if isinstance(step, int) and last and last[:-1] == path[:-1] and last[-1] == step - 1:
            runs[-1].append(path)
        else:
            runs.append([path])
    names = [_name(run) for run in runs[:most]]
    return names if len(runs) <= most else [*names, f"{len(runs) - most} more"]


def _name(run: Sequence[tuple[str | int, ...]]) -> str:
    first = path_text(run[0][1:]) or "the whole state"
    return first if len(run) == 1 else f"{first} to [{run[-1][-1]}]"
