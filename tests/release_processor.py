"""The release's own processor out of transformers, for a machine that has torchvision in a folder of its own.

transformers cannot build it without torchvision, and torchvision's wheel does not import beside a CPU build of torch
of another origin. Its Python code alone is all that is needed, so it goes into a folder outside of the environment:

    pip install --no-deps --target FOLDER torchvision==0.28.0
    CLEF_TORCHVISION=FOLDER pytest tests/model/test_parity_media.py
"""

import os
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

VARIABLE = "CLEF_TORCHVISION"
_kept: list[Any] = []  # a torch library takes its operators with it when it goes


def torchvision_is_there() -> bool:
    return bool(os.environ.get(VARIABLE))


@cache
def import_torchvision() -> None:
    """Makes torchvision importable: its operators' schemas are declared first, since the compiled ones do not load."""
    import torch

    folder = Path(os.environ[VARIABLE])
    library = torch.library.Library("torchvision", "DEF")
    _kept.append(library)
    text = (folder / "torchvision" / "_meta_registrations.py").read_text("utf-8")
    for name in set(re.findall(r"torchvision::(\w+)", text)) | set(re.findall(r'register_meta\("(\w+)"', text)):
        library.define(f"{name}(Tensor x) -> Tensor")
    sys.path.append(str(folder))
    import torchvision  # noqa: F401


@cache
def release_processor(folder: Path) -> Any:
    """The processor of a release folder as the release loads it."""
    import_torchvision()
    from transformers import AutoProcessor

    return AutoProcessor.from_pretrained(str(folder))
