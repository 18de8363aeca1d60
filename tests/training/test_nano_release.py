"""The release folder of clef-nano: rows expand exactly, keys are Clef's, it is small and says that it is text only."""

import json
from pathlib import Path

import numpy as np
import pytest

from clef_model.errors import BrokenRelease
from clef_model.nano_rows import VOCABULARY, expand_rows, is_nano, is_text_only, pack_rows

RELEASE = Path(__file__).parents[2] / "models" / "clef-nano"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Three rows: id 0 is row 0, id 1 is the mean of rows 1 and 2, all others are row 2."""
    rows = np.asarray([[1.27, 0.0], [0.0, 2.54], [-2.54, 1.27]], dtype=np.float32)
    lengths = np.ones(VOCABULARY, dtype=np.uint8)
    lengths[1] = 2
    parts = np.full(VOCABULARY + 1, 2, dtype=np.uint16)
    parts[:3] = 0, 1, 2
    pack_rows(rows, lengths, parts, tmp_path)
    return tmp_path


def test_an_id_is_its_row_or_the_mean_of_its_rows(small: Path) -> None:
    table = expand_rows(small)
    assert table.shape == (VOCABULARY, 2)
    # int8 steps of at most 2.54 / 127, and float16 scales
    assert table[0] == pytest.approx([1.27, 0.0], abs=0.005)
    assert table[1] == pytest.approx([-1.27, 1.905], abs=0.01)
    assert table[VOCABULARY - 1] == pytest.approx([-2.54, 1.27], abs=0.01)


def test_expanding_twice_gives_the_same_bits(small: Path) -> None:
    assert np.array_equal(expand_rows(small), expand_rows(small))


def test_a_row_of_zeros_stays_zero(tmp_path: Path) -> None:
    lengths = np.ones(VOCABULARY, dtype=np.uint8)
    pack_rows(np.zeros((1, 2), dtype=np.float32), lengths, np.zeros(VOCABULARY, dtype=np.uint16), tmp_path)
    assert not expand_rows(tmp_path).any()


def test_rows_that_do_not_cover_the_vocabulary_are_refused(tmp_path: Path) -> None:
    pack_rows(np.ones((1, 2), dtype=np.float32), np.ones(9, dtype=np.uint8), np.zeros(9, dtype=np.uint16), tmp_path)
    with pytest.raises(BrokenRelease, match="describes 9 ids by 9 parts of 1 rows"):
        expand_rows(tmp_path)


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "embedding_rows.npz").write_bytes(b"not a zip")
    with pytest.raises(BrokenRelease, match=r"embedding_rows\.npz cannot be read"):
        expand_rows(tmp_path)


def test_the_folder_is_under_40_megabytes() -> None:
    assert sum(path.stat().st_size for path in RELEASE.iterdir()) < 40e6


def test_the_folder_says_that_it_is_nano_and_text_only() -> None:
    assert is_nano(RELEASE)
    assert is_text_only(RELEASE)
    assert not is_text_only(RELEASE.parent)


def test_the_stored_keys_are_the_classs_own_without_the_tied_table() -> None:
    from safetensors import safe_open

    from training.release import EMBEDDING, random_body

    with safe_open(RELEASE / "model.safetensors", "pt") as stored:
        assert set(stored.keys()) == set(random_body())
        assert EMBEDDING not in set(stored.keys())


def test_the_run_that_made_the_weights_is_recorded() -> None:
    run = json.loads((RELEASE / "clef_nano.json").read_text(encoding="utf-8"))["run"]
    assert {"seed", "steps", "records", "tokens", "minutes", "torch", "device"} <= set(run)


def test_the_references_loader_opens_the_plain_form(tmp_path: Path) -> None:
    import torch
    from transformers import Qwen3_5ForConditionalGeneration

    from training.release import write_plain

    write_plain(RELEASE, tmp_path)
    model, report = Qwen3_5ForConditionalGeneration.from_pretrained(
        tmp_path, dtype=torch.float32, output_loading_info=True
    )
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    embedding = model.get_input_embeddings().weight
    assert model.get_output_embeddings().weight is embedding
    assert np.array_equal(embedding.detach().numpy(), expand_rows(RELEASE))


def test_a_folded_temperature_divides_every_logit() -> None:
    import torch

    from training.calibrate import fold
    from training.head import BatchedHead, Layout

    torch.manual_seed(0)
    shape = {"hidden_size": 16, "width": 16, "routing_layers": 1, "layers": 1, "heads": 2, "feedforward": 16}
    head, cooler = BatchedHead(**shape), BatchedHead(**shape)
    cooler.load_state_dict({key: value.float() for key, value in fold(head.state_dict(), 1.6).items()})
    layout = Layout(
        tokens=torch.ones(1, 20, dtype=torch.bool),
        last=torch.tensor([19]),
        questions=torch.tensor([[[2, 4]]]),
        kinds=torch.tensor([[1]]),
        options=torch.tensor([[[5, 7], [8, 10], [11, 15]]]),
        owner=torch.tensor([[0, 0, 0]]),
    )
    hidden, lexical = torch.randn(1, 20, 16), torch.randn(1, 3, 16)
    # the two scalars are stored in float16
    assert torch.allclose(head(hidden, lexical, layout) / 1.6, cooler(hidden, lexical, layout), atol=5e-3)
