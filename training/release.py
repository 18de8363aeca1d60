"""The shape of clef-nano, and how its release folder and its plain form are written.

python -m training.release random models/clef-nano        random weights, to try the layout
python -m training.release plain models/clef-nano OUT     all rows in one model.safetensors, for the reference's loader
"""

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import Qwen3_5Config, Qwen3_5ForConditionalGeneration

from clef_model.nano_rows import ROWS_FILE, VOCABULARY, expand_rows, pack_rows

HIDDEN = 256
LAYERS = ("linear_attention", "full_attention") * 4
HEAD = {"hidden_size": HIDDEN, "width": 256, "routing_layers": 2, "layers": 2, "heads": 4, "feedforward": 768}
EMBEDDING = "model.language_model.embed_tokens.weight"
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "processor_config.json")


def nano_config() -> Qwen3_5Config:
    """Clef's configuration at a small size; its vision tower is the least that the class builds, untrained."""
    text = {
        "vocab_size": VOCABULARY,
        "hidden_size": HIDDEN,
        "intermediate_size": 768,
        "num_hidden_layers": len(LAYERS),
        "layer_types": list(LAYERS),
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 64,
        "linear_num_key_heads": 4,
        "linear_num_value_heads": 4,
        "linear_key_head_dim": 64,
        "linear_value_head_dim": 64,
        "linear_conv_kernel_dim": 4,
        "max_position_embeddings": 262_144,
        "tie_word_embeddings": True,
        "pad_token_id": 248_044,
        "eos_token_id": 248_046,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10_000_000.0,
            "partial_rotary_factor": 0.25,
            "mrope_interleaved": True,
            "mrope_section": [3, 3, 2],  # sums to half of the 16 rotated dimensions
        },
    }
    vision = {
        "depth": 1,
        "hidden_size": 32,
        "intermediate_size": 32,
        "num_heads": 2,
        "out_hidden_size": HIDDEN,
        "num_position_embeddings": 16,
    }
    config = Qwen3_5Config(text_config=text, vision_config=vision, tie_word_embeddings=True)
    config.architectures = ["Qwen3_5ForConditionalGeneration"]
    return config


def write_release(
    folder: Path,
    body: dict[str, torch.Tensor],
    head: dict[str, torch.Tensor],
    rows: np.ndarray,
    layout: Path,
    notes: dict[str, Any],
) -> None:
    """Writes body and head in float16 and the rows in int8; `layout` is the rows.npz with lengths and parts."""
    folder.mkdir(parents=True, exist_ok=True)
    config = nano_config()
    config.dtype = torch.float16
    config.save_pretrained(folder)
    save_file(halves(body), folder / "model.safetensors", metadata={"format": "pt"})
    save_file(halves(head), folder / "joint_head.safetensors", metadata={"format": "pt"})
    (folder / "joint_head_config.json").write_text(json.dumps(HEAD, indent=2) + "\n", encoding="utf-8")
    about = {"text_only": True, "embedding_rows": ROWS_FILE, **notes}
    (folder / "clef_nano.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    with np.load(layout) as stored:
        pack_rows(rows.astype(np.float32), stored["lengths"], stored["parts"], folder)
    for path in folder.iterdir():
        path.chmod(0o644)  # safetensors writes files only their owner may read


def halves(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {key: value.detach().to("cpu", torch.float16).contiguous() for key, value in tensors.items()}


def random_body() -> dict[str, torch.Tensor]:
    """The state dict of a fresh backbone without its embedding and output rows."""
    config = nano_config()
    config.text_config.vocab_size = 8  # the table comes from the rows
    config.text_config.pad_token_id = None
    model = Qwen3_5ForConditionalGeneration(config)
    return {key: value for key, value in model.state_dict().items() if key not in (EMBEDDING, "lm_head.weight")}


def write_plain(folder: Path, out: Path) -> None:
    """Writes the release with its embedding expanded, so that from_pretrained alone loads it."""
    out.mkdir(parents=True, exist_ok=True)
    names = (*TOKENIZER_FILES, "config.json", "joint_head_config.json", "joint_head.safetensors")
    for name in names:
        shutil.copy(folder / name, out / name)
    body = load_file(folder / "model.safetensors")
    body[EMBEDDING] = torch.from_numpy(expand_rows(folder))
    save_file(body, out / "model.safetensors", metadata={"format": "pt"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("form", choices=["random", "plain"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--layout", type=Path, default=Path(".nano/rows.npz"))
    flags = parser.parse_args()
    if flags.form == "plain":
        write_plain(flags.folder, flags.out)
        return
    from training.head import BatchedHead

    torch.manual_seed(0)
    with np.load(flags.layout) as stored:
        num_rows = len(json.loads(str(stored["texts"])))
    rows = np.random.default_rng(0).standard_normal((num_rows, HIDDEN)).astype(np.float32) * 0.05
    head = BatchedHead(**HEAD).state_dict()
    write_release(flags.folder, random_body(), head, rows, flags.layout, {"trained": False})


if __name__ == "__main__":
    main()
