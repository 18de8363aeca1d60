"""Writes `model/media_goldens.json` with the release's own processor: transformers, torchvision and no code of ours.

    PYTHONPATH=. CLEF_TORCHVISION=FOLDER python tests/make_media_goldens.py

See `release_processor.py` for what FOLDER is. The text that the processor gets is the release's
(`joint_schema_model.py`, as `clef-finetune` carries it), which is run here.
"""

import json
import platform
from typing import Any

from media_golden_cases import CASES, GOLDENS, RELEASE, Case, summary
from PIL import Image
from release_processor import import_torchvision, release_processor


def release_media(processor: Any, case: Case) -> tuple[list[int], dict[str, Any]]:
    """Ids and media as the release's `encode_record` gets them."""
    from clef_finetune.jsm import load_jsm

    images = [Image.fromarray(picture) for picture in case.pictures]
    videos = [[Image.fromarray(frame) for frame in clip.pixels] for clip in case.clips]
    record = {"images": images, "videos": videos, "media_kwargs": case.media_kwargs}
    input_ids, media = load_jsm()._encode_media(processor, record)
    return input_ids, media


def main() -> None:
    import_torchvision()
    import torch
    import torchvision
    import transformers

    processor = release_processor(RELEASE)
    made_with = {
        "transformers": transformers.__version__,
        "torchvision": torchvision.__version__,
        "torch": torch.__version__,
        "machine": platform.machine(),
    }
    lines = [f'"made_with": {json.dumps(made_with)}']
    for name, case in CASES.items():
        input_ids, media = release_media(processor, case)
        lines.append(f"{json.dumps(name)}: {json.dumps(summary(input_ids, media['mm_token_type_ids'], media))}")
    GOLDENS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
