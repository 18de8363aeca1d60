"""The teacher: MiniLM sentence embeddings (Apache-2.0), packed small, and the token table distilled from them.

python -m training.teacher MINILM .nano/teacher      packs the folder of the model in int8, 23 MB
"""

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

MAX_LENGTH = 96  # tokens of a text that the teacher reads


def pack(model: Path, out: Path) -> None:
    """Rounds the matrices to int8 by row; vectors stay float32."""
    from safetensors.torch import load_file

    out.mkdir(parents=True, exist_ok=True)
    packed: dict[str, np.ndarray] = {}
    for key, value in load_file(model / "model.safetensors").items():
        if value.dim() == 2:
            scale = value.abs().amax(dim=1, keepdim=True) / 127
            packed[f"{key}|int8"] = (value / scale).round().to(torch.int8).numpy()
            packed[f"{key}|scale"] = scale.numpy()
        elif value.is_floating_point():
            packed[key] = value.float().numpy()
    np.savez(out / "weights.npz", **packed)
    for name in ("config.json", "tokenizer.json"):
        shutil.copy(model / name, out / name)


def load(folder: Path, device: str) -> Any:
    from transformers import BertConfig, BertModel

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    model = BertModel(BertConfig(**{key: value for key, value in config.items() if key != "architectures"}))
    state: dict[str, Tensor] = {}
    with np.load(folder / "weights.npz") as stored:
        for name in stored.files:
            key, _, form = name.partition("|")
            if form == "int8":
                state[key] = torch.from_numpy(stored[name].astype(np.float32) * stored[f"{key}|scale"])
            elif not form:
                state[key] = torch.from_numpy(stored[name])
    missing, _ = model.load_state_dict(state, strict=False)
    assert not [key for key in missing if "position_ids" not in key and "pooler" not in key], missing
    return model.to(device).eval()


@torch.inference_mode()
def embed(model: Any, folder: Path, texts: list[str], device: str, batch_tokens: int = 131_072) -> np.ndarray:
    """Unit-length mean embeddings, [N, 384] float16."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_LENGTH)
    ids = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
    order = sorted(range(len(texts)), key=lambda place: len(ids[place]))
    out = np.empty((len(texts), 384), dtype=np.float16)
    at = 0
    while at < len(order):
        stop = at + 1
        while stop < len(order) and (stop - at + 1) * len(ids[order[stop]]) <= batch_tokens:
            stop += 1
        places = order[at:stop]
        width = len(ids[places[-1]])
        rows = torch.zeros(len(places), width, dtype=torch.long)
        mask = torch.zeros(len(places), width, dtype=torch.long)
        for row, place in enumerate(places):
            rows[row, : len(ids[place])] = torch.tensor(ids[place])
            mask[row, : len(ids[place])] = 1
        rows, mask = rows.to(device), mask.to(device)
        with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
            hidden = model(input_ids=rows, attention_mask=mask).last_hidden_state
        means = (hidden.float() * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)
        out[places] = functional.normalize(means, dim=-1).half().cpu().numpy()
        at = stop
    return out


def projection(vectors: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Mean and principal directions [384, width] of a sample of embeddings."""
    mean = vectors.mean(dim=0)
    _, _, directions = torch.linalg.svd(vectors - mean, full_matrices=False)
    return mean, directions[:width].T.contiguous()


def distil_rows(
    start: Tensor, token_rows: list[np.ndarray], targets: Tensor, steps: int, batch: int, device: str
) -> Tensor:
    """Token rows whose mean over a text points where the teacher's embedding does.

    `token_rows` holds, for each text, the rows of its tokens; `targets` [N, width] the teacher's projected embeddings.
    """
    lengths = torch.tensor([len(rows) for rows in token_rows])
    padded = torch.full((len(token_rows), int(lengths.max())), len(start), dtype=torch.int32)
    padded[torch.arange(padded.shape[1]) < lengths.unsqueeze(1)] = torch.from_numpy(np.concatenate(token_rows)).to(
        torch.int32
    )
    rows = torch.nn.Parameter(start.to(device).clone())
    optimizer = torch.optim.Adam([rows], lr=2e-3)
    generator = torch.Generator().manual_seed(1)
    padded = padded.to(device)
    targets = functional.normalize(targets.to(device), dim=-1)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 2e-3 * (1 - step / steps) + 1e-5
        chosen = torch.randint(len(token_rows), (batch,), generator=generator).to(device)
        ids = padded[chosen].long()
        table = torch.cat([rows, rows.new_zeros(1, rows.shape[1])])
        bags = functional.embedding(ids, table).sum(1)
        loss = (1 - functional.cosine_similarity(bags, targets[chosen], dim=-1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"rows distilled: cosine with the teacher {1 - loss.item():.3f}")
    return rows.detach()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    flags = parser.parse_args()
    pack(flags.model, flags.out)


if __name__ == "__main__":
    main()
