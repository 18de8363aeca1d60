"""Chooses which token rows clef-nano stores, and how every other id is composed of them.

    python -m training.rows .nano/corpus models/clef-nano .nano/rows.npz

Ids whose text is equal after strip().lower() share one row. Rows are kept for the 256 byte tokens, the special tokens
and the folded texts with the highest score: share in the corpus plus a Zipf prior on the id (ids are ranks). Another
id is the mean of the rows that the longest matches, taken from the left, split its text into.
"""

import argparse
import json
from collections import Counter
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from training.sources import read_jsonl

VOCABULARY = 248_320  # rows of Clef's embedding, padding included
ROWS = 24_576
ZIPF_SHARE = 0.45
ZIPF_OFFSET = 800  # ranks


def byte_of_letter() -> dict[str, int]:
    from training.convert_tokenizer import byte_letters

    return {letter: byte for byte, letter in byte_letters().items()}


def token_bytes(tokenizer: Tokenizer) -> list[bytes]:
    """The bytes of each ordinary token, by id."""
    letters = byte_of_letter()
    vocabulary = tokenizer.get_vocab(with_added_tokens=False)
    spelled = [b""] * len(vocabulary)
    for token, index in vocabulary.items():
        spelled[index] = bytes(letters[letter] for letter in token)
    return spelled


def fold(token: bytes) -> str | None:
    """The text under which a token shares its row, or None where it is no whole text."""
    try:
        text = token.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text.strip().lower() or text


def corpus_counts(corpus: Path, tokenizer: Tokenizer) -> Counter[int]:
    counts: Counter[int] = Counter()
    for path in sorted(corpus.glob("*.jsonl.gz")):
        texts = [" ".join([row.get("text") or row["gloss"], *row.get("examples", [])]) for row in read_jsonl(path)]
        for encoding in tokenizer.encode_batch(texts, add_special_tokens=False):
            counts.update(encoding.ids)
    return counts


def choose(
    spelled: list[bytes], counts: Counter[int], num_rows: int, num_special: int
) -> tuple[list[str], dict[str, int]]:
    """The folded texts that get a row, after bytes and special tokens, and the row of each."""
    folded = [fold(token) for token in spelled]
    score: Counter[str] = Counter()
    total = sum(counts.values())
    best_rank: dict[str, int] = {}
    for index, text in enumerate(folded):
        if text is not None and text.isascii() and len(spelled[index]) > 1:
            best_rank.setdefault(text, index)
            score[text] += (1 - ZIPF_SHARE) * counts[index] / total
    zipf = {text: 1 / (rank + ZIPF_OFFSET) for text, rank in best_rank.items()}
    mass = sum(zipf.values())
    for text, weight in zipf.items():
        score[text] += ZIPF_SHARE * weight / mass
    single = {chr(byte) for byte in range(128)}
    first = 256 + num_special
    chosen = [text for text, _ in score.most_common() if text not in single][: num_rows - first]
    return chosen, {text: first + place for place, text in enumerate(chosen)}


def compose(token: bytes, row_of: dict[str, int]) -> list[int]:
    """The rows whose mean is the token's embedding: its own, its longest pieces', or its bytes'."""
    text = fold(token)
    if text is None or not text.isascii():
        return list(token.strip() or token)
    if text in row_of:
        return [row_of[text]]
    parts: list[int] = []
    at = 0
    while at < len(text):
        for stop in range(len(text), at, -1):
            if stop - at == 1:
                parts.append(ord(text[at]))
            elif text[at:stop] in row_of:
                parts.append(row_of[text[at:stop]])
            else:
                continue
            at = stop
            break
    return parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("release", type=Path, help="folder with tokenizer.json")
    parser.add_argument("out", type=Path)
    flags = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(flags.release / "tokenizer.json"))
    spelled = token_bytes(tokenizer)
    num_special = tokenizer.get_vocab_size(with_added_tokens=True) - len(spelled)
    chosen, row_of = choose(spelled, corpus_counts(flags.corpus, tokenizer), ROWS, num_special)
    parts = [compose(token, row_of) for token in spelled]
    parts += [[256 + place] for place in range(num_special)]
    # Ids past the last token are padding of the table; they never occur and share the end-of-text row.
    parts += [[256]] * (VOCABULARY - len(parts))
    texts = [chr(byte) if byte < 128 else "" for byte in range(256)]
    texts += [tokenizer.id_to_token(len(spelled) + place) for place in range(num_special)] + chosen
    flat = np.concatenate([np.asarray(part, dtype=np.uint16) for part in parts])
    lengths = np.asarray([len(part) for part in parts], dtype=np.uint8)
    np.savez_compressed(flags.out, parts=flat, lengths=lengths, texts=np.asarray(json.dumps(texts)))
    print(f"{len(texts):,} rows; {len(flat):,} parts; {(lengths == 1).sum():,} ids with one row -> {flags.out}")


if __name__ == "__main__":
    main()
