"""Writes the release folder from a training run: body and head in float16, rows in int8, the run's record beside them.

python -m training.export RUN models/clef-nano
"""

import argparse
from pathlib import Path

import torch
from safetensors.torch import load_file

from training.model import BODY_PREFIX
from training.refine_table import load_notes, load_rows
from training.release import random_body, write_release


def export(run: Path, folder: Path, layout: Path) -> None:
    """The vision tower of the class keeps fixed random weights: the release is text only and says so."""
    torch.manual_seed(0)
    body = random_body()
    trained = load_file(run / "body.safetensors")
    unknown = set(trained) - set(body)
    assert not unknown, unknown
    assert {key for key in body if key.startswith(BODY_PREFIX)} == set(trained)
    body.update(trained)
    notes = {"trained": True, "run": load_notes(run)}
    rows = load_rows(run / "rows.safetensors")
    write_release(folder, body, load_file(run / "head.safetensors"), rows, layout, notes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="output folder of training.train, or final/best of training.refine")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layout", type=Path, default=Path(".nano/rows.npz"), help="or a release's embedding_rows.npz")
    flags = parser.parse_args()
    export(flags.run, flags.folder, flags.layout)
    total = sum(path.stat().st_size for path in flags.folder.iterdir())
    print(f"{flags.folder}: {total / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
