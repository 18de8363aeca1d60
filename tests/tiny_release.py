"""A real release folder of a random model with tiny sizes: loading and inference run through the production path."""

import json
import shutil
from pathlib import Path
from typing import Any

SPECIAL_TOKENS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<think>",
    "</think>",
)
VOCABULARY = 320  # 256 bytes, the special tokens, and rows that no text reaches, as in the release
HEAD = {"hidden_size": 64, "width": 32, "routing_layers": 2, "layers": 2, "heads": 4, "feedforward": 48}
NANO = Path(__file__).parents[1] / "models" / "clef-nano"


def write_tiny_release(folder: Path, *, seed: int = 0, tied: bool = False, shards: int = 1) -> Path:
    """The folder, written; the same seed gives the same weights (float32, so that parity has no rounding)."""
    import torch
    from safetensors.torch import save_file
    from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5ForConditionalGeneration

    from clef_model.head import JointSchemaHead

    folder.mkdir(parents=True, exist_ok=True)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        backbone = Qwen3_5ForConditionalGeneration(tiny_config(tied))
        head = JointSchemaHead(**HEAD)
        with torch.no_grad():
            # Larger than at the start of a training, so that every part of the head moves the logits.
            for parameter in head.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.1)
            head.prior_logit_scale.fill_(1.5)
            head.joint_logit_scale.fill_(1.0)
            head.residual_gate.fill_(0.5)
    state = {name: tensor.contiguous() for name, tensor in backbone.state_dict().items()}
    if tied:
        del state["lm_head.weight"]
    _save_shards(folder, state, shards)
    backbone.config.save_pretrained(folder)
    save_file(head.state_dict(), folder / "joint_head.safetensors")
    (folder / "joint_head_config.json").write_text(json.dumps(HEAD))
    _write_tokenizer(folder)
    shutil.copy(NANO / "processor_config.json", folder)
    return folder


def tiny_config(tied: bool = False) -> Any:
    """Hybrid attention and a vision tower like the release's, with sizes that a test can afford."""
    from transformers.models.qwen3_5.configuration_qwen3_5 import Qwen3_5Config

    ids = {token: 256 + place for place, token in enumerate(SPECIAL_TOKENS)}
    text = {
        "hidden_size": HEAD["hidden_size"],
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "layer_types": ["linear_attention", "full_attention"],
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "linear_key_head_dim": 16,
        "linear_value_head_dim": 16,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": 262_144,
        "tie_word_embeddings": tied,
        "eos_token_id": ids["<|im_end|>"],
        "pad_token_id": ids["<|endoftext|>"],
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10_000_000.0,
            "partial_rotary_factor": 0.25,
            "mrope_interleaved": True,
            "mrope_section": [2, 1, 1],
        },
    }
    vision = {
        "depth": 1,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_heads": 2,
        "out_hidden_size": HEAD["hidden_size"],
        "patch_size": 16,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
        "num_position_embeddings": 64,
    }
    return Qwen3_5Config(
        text_config=text,
        vision_config=vision,
        tie_word_embeddings=tied,
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
    )


def _save_shards(folder: Path, state: dict[str, Any], shards: int) -> None:
    from safetensors.torch import save_file

    if shards == 1:
        save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
        return
    names = sorted(state)
    weight_map = {}
    for shard in range(shards):
        file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        part = names[shard::shards]
        save_file({name: state[name] for name in part}, folder / file, metadata={"format": "pt"})
        weight_map.update(dict.fromkeys(part, file))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))


def _write_tokenizer(folder: Path) -> None:
    """One token a byte; the special tokens as in the release, parsed wherever they stand."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: place for place, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL_TOKENS])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "Qwen3_5Tokenizer", "pad_token": "<|endoftext|>", "eos_token": "<|im_end|>"})
    )
