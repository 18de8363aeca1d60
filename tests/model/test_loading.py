"""Loading: the same weights as transformers reads, strictness both ways, and a sentence for each way to fail."""

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny_release import NANO, write_tiny_release

torch = pytest.importorskip("torch")

from safetensors.torch import load_file, save_file  # noqa: E402

from clef_model import devices  # noqa: E402
from clef_model.errors import BrokenRelease  # noqa: E402
from clef_model.loading import load_model, load_release, read_planner  # noqa: E402
from clef_model.nano_rows import expand_rows  # noqa: E402
from clef_model.parsing import parse_record  # noqa: E402
from clef_model.release_folder import PINNED  # noqa: E402

torch.set_num_threads(1)  # the shapes are tiny

ON_CPU = "The linear layers run in PyTorch's own code, as they do without CUDA."


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_release(tmp_path_factory.mktemp("whole") / "tiny", shards=2)


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy to break."""
    return Path(shutil.copytree(whole, tmp_path / "tiny"))


def load(release: Path, **settings: Any) -> Any:
    return load_model(release, **{"device": "cpu", "dtype": "float32", **settings})[0]


def refusal(release: Any, **settings: Any) -> str:
    with pytest.raises(BrokenRelease) as caught:
        load(release, **settings)
    return str(caught.value)


def edit_json(path: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content))


def edit_head(folder: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    tensors = load_file(folder / "joint_head.safetensors")
    edit(tensors)
    save_file(tensors, folder / "joint_head.safetensors")


def from_transformers(folder: Path) -> Any:
    from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5ForConditionalGeneration

    return Qwen3_5ForConditionalGeneration.from_pretrained(folder, dtype=torch.float32)


# What is loaded


@pytest.mark.parametrize("variant", [{"shards": 1}, {"shards": 3}, {"tied": True}], ids=["file", "shards", "tied"])
def test_weights_and_buffers_are_those_that_transformers_reads(tmp_path: Path, variant: dict[str, Any]) -> None:
    release = write_tiny_release(tmp_path / "tiny", **variant)
    ours, theirs = load(release).language_model, from_transformers(release)
    for kind in ("named_parameters", "named_buffers"):
        mine, other = (dict(getattr(model, kind)()) for model in (ours, theirs))
        assert mine.keys() == other.keys()
        assert [name for name in mine if not torch.equal(mine[name], other[name])] == []
        assert [name for name in mine if mine[name].dtype != other[name].dtype] == []
    assert (ours.lm_head.weight is ours.get_input_embeddings().weight) == variant.get("tied", False)


def test_a_plain_release_is_described_by_its_status(whole: Path) -> None:
    status = load_release(whole, device="cpu").status
    assert (status.name, status.revision, status.device, status.dtype) == ("tiny", None, "cpu", "float32")
    assert (status.is_demonstration, status.accepts_media, status.tokenizer_is_exact) == (False, True, True)
    assert status.note == f"Chosen automatically: float32 since the device is a CPU. {ON_CPU}"


def test_the_head_follows_the_backbones_dtype_unless_told_otherwise(whole: Path) -> None:
    model = load(whole, dtype="bfloat16")
    assert {parameter.dtype for parameter in model.parameters()} == {torch.bfloat16}
    decider = load_release(whole, device="cpu", dtype="bfloat16", head_dtype="float32")
    assert {parameter.dtype for parameter in decider.model.head.parameters()} == {torch.float32}
    assert decider.status.dtype == "bfloat16"
    assert decider.status.note == f"The head runs in float32. {ON_CPU}"


def test_rotary_frequencies_keep_full_precision_in_half_precision(whole: Path) -> None:
    buffers = dict(load(whole, dtype="bfloat16").language_model.named_buffers())
    assert {buffer.dtype for buffer in buffers.values()} == {torch.float32}


def test_tensors_of_multi_token_prediction_are_left_out(folder: Path) -> None:
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    extra = folder / "model-00003-of-00003.safetensors"
    save_file({"mtp.norm.weight": torch.zeros(3)}, extra)
    index["weight_map"]["mtp.norm.weight"] = extra.name
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "mtp.norm.weight" not in load(folder).language_model.state_dict()


def test_nothing_in_the_folder_is_executed(folder: Path) -> None:
    (folder / "joint_schema_model.py").write_text("raise SystemExit('executed')")
    edit_json(folder / "config.json", lambda c: c.update(auto_map={"AutoModel": "joint_schema_model.Model"}))
    load(folder)


def test_progress_rises_to_one_and_may_stop_the_loading(whole: Path) -> None:
    heard: list[float] = []
    load(whole, progress=lambda share, stage: heard.append(share))
    assert heard == sorted(heard)
    assert (heard[0], heard[-1]) == (0.0, 1.0)

    def stop(share: float, stage: str) -> None:
        if stage.startswith("reading weights"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(whole, progress=stop)


# clef-nano


def test_clef_nano_says_what_it_was_measured_at_and_its_card_has_the_same_figures() -> None:
    note = read_planner(NANO).status.note
    card = (NANO / "README.md").read_text(encoding="utf-8")
    assert "70.6 % right on six public held-out sets (chance 29.7 %), 75 % on yes/no claims" in note
    assert "53 % on facts stated in a short text or record" in note
    assert "| mean | | 29.7 | 59.0 | 61.8 | **70.6** | 7.2 |" in card
    assert "| frozen yes/no | 99 | 50.0 | 41.4 | 45.5 | **74.7** |" in card
    assert "| frozen facts | 59 | 50.0 | 52.5 | 52.5 | 52.5 |" in card


@pytest.mark.skipif(not (NANO / "model.safetensors").is_file(), reason="clef-nano has no weights in this checkout")
def test_clef_nano_is_loaded_with_its_rows_expanded_and_shared() -> None:
    decider = load_release(device="cpu")
    backbone = decider.model.language_model
    table = backbone.get_input_embeddings().weight  # type: ignore[operator]
    assert backbone.lm_head.weight is table
    assert torch.equal(table, torch.from_numpy(expand_rows(NANO)))
    status = decider.status
    assert (status.name, status.is_demonstration, status.accepts_media) == ("clef-nano", True, False)
    assert not status.tokenizer_is_exact
    assert status.note.startswith("A small demonstration model ")
    (decision,) = decider.decide([parse_record({"state": "x", "questions": {"q": {"type": "noul"}}})])
    assert sum(decision.answers[0].probabilities) == pytest.approx(1)


def test_code_of_another_version_in_the_folder_is_named_with_both_hashes_and_never_run(folder: Path) -> None:
    (folder / "joint_schema_model.py").write_text("raise SystemExit('executed')", encoding="utf-8")
    note = load_release(folder, device="cpu").status.note
    assert "joint_schema_model.py (SHA-256 " in note
    assert "is not the version followed here (0e304cf7c650…)" in note
    oracle = pytest.importorskip("clef_finetune._vendor.joint_schema_model")
    shutil.copy(oracle.__file__, folder / "joint_schema_model.py")
    assert "SHA-256" not in load_release(folder, device="cpu").status.note


@pytest.mark.parametrize("kernel", [None, print])
@pytest.mark.parametrize("fast", [False, True])
def test_what_would_be_faster_is_named_on_a_gpu_alone(kernel: Any, fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "cuda_kernel", lambda: kernel)
    assert devices.kernels_note(torch.device("cpu"), fast=fast) == ON_CPU
    note = devices.kernels_note(torch.device("cuda"), fast=fast)
    assert ("flash-linear-attention is not installed" in note) == (kernel is None)
    assert ("with --fast" in note) == (not fast)


# Planning


def test_a_planner_needs_no_weights(folder: Path) -> None:
    for weights in folder.glob("*.safetensors*"):
        weights.unlink()
    planner = read_planner(folder)
    encoded = planner.plan(parse_record({"state": "x", "questions": {"q": {"type": "noul"}}}))
    assert encoded.budget.state == 1
    assert (planner.status.name, planner.status.device, planner.status.dtype) == ("tiny", "", "")


# The folder


def test_a_place_that_is_no_release(tmp_path: Path) -> None:
    assert refusal(tmp_path / "nowhere") == (
        f"Release '{tmp_path}/nowhere': no such folder, and no hub id. Give a release's folder, or an id such as "
        "'Cloudflare/clef-flash'."
    )


def test_a_revision_of_a_local_folder(folder: Path) -> None:
    assert refusal(folder, revision="main") == (
        "Release tiny: a local folder has no revision, got 'main'. Leave the revision out, or give a hub id such as "
        "'Cloudflare/clef-flash'."
    )


def test_no_config(folder: Path) -> None:
    (folder / "config.json").unlink()
    assert refusal(folder) == "Release tiny: config.json is missing. Download the release again."


def test_a_config_that_is_no_json(folder: Path) -> None:
    (folder / "config.json").write_text("{")
    assert refusal(folder).startswith("Release tiny: config.json cannot be read (Expecting property name")


def test_another_kind_of_model(folder: Path) -> None:
    edit_json(folder / "config.json", lambda config: config.update(model_type="llama"))
    assert refusal(folder) == (
        "Release tiny: config.json has model_type 'llama', 'qwen3_5' is expected. Give the folder of Clef or "
        "Clef-Flash, or of a model trained from them."
    )


def test_quantised_weights(folder: Path) -> None:
    edit_json(folder / "config.json", lambda config: config.update(quantization={"bits": 4}))
    assert refusal(folder) == (
        "Release tiny: its weights are quantised (quantization in config.json), and only plain ones are read. Give the "
        "release in bfloat16."
    )


def test_a_config_that_describes_no_model(folder: Path) -> None:
    edit_json(folder / "config.json", lambda config: config["text_config"].update(num_hidden_layers=-1))
    assert "tiny: " in refusal(folder)


def test_a_backbone_without_a_head(folder: Path) -> None:
    (folder / "joint_head.safetensors").unlink()
    (folder / "joint_head_config.json").unlink()
    assert refusal(folder) == (
        "Release tiny: this is a backbone only: it has neither joint_head.safetensors nor joint_head_config.json, and "
        "without a head nothing is decided. Give the folder of a Clef release."
    )


def test_half_a_head(folder: Path) -> None:
    (folder / "joint_head_config.json").unlink()
    assert refusal(folder) == "Release tiny: joint_head_config.json is missing. Download the release again."


def test_a_head_config_with_wrong_keys(folder: Path) -> None:
    edit_json(folder / "joint_head_config.json", lambda c: (c.pop("width"), c.update(depth=3, heads=0)))
    assert refusal(folder) == (
        "Release tiny: joint_head_config.json lacks 'width'; has the unknown key 'depth'; has 'heads' = 0, a whole "
        "number above 0 is expected. Download the release again."
    )


def test_a_head_of_another_release(folder: Path) -> None:
    edit_json(folder / "joint_head_config.json", lambda config: config.update(hidden_size=128))
    assert refusal(folder) == (
        "Release tiny: the head reads hidden states of 128 numbers and the backbone gives 64. Head and backbone are of "
        "different releases: download both again."
    )


def test_no_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    assert "tokenizer.json cannot be read" in refusal(folder)


# The weights


def test_no_weights(folder: Path) -> None:
    for weights in folder.glob("model*"):
        weights.unlink()
    assert refusal(folder) == "Release tiny: no model.safetensors in it. Download the release again."


def test_pickled_weights_are_not_opened(folder: Path) -> None:
    for weights in folder.glob("model*"):
        weights.unlink()
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04cos\nsystem\n")
    assert refusal(folder) == (
        "Release tiny: its weights are pickles (pytorch_model.bin), which can run code when they are read. Give a "
        "release with safetensors files."
    )


def test_a_missing_shard(folder: Path) -> None:
    (folder / "model-00002-of-00002.safetensors").unlink()
    assert refusal(folder) == (
        "Release tiny: 1 of 2 weight files are missing: model-00002-of-00002.safetensors. Download the release again."
    )


def test_an_index_that_leads_out_of_the_folder(folder: Path) -> None:
    edit_json(folder / "model.safetensors.index.json", lambda i: i["weight_map"].update(a="../other.safetensors"))
    assert refusal(folder) == (
        "Release tiny: model.safetensors.index.json names no files of the folder. Download it again."
    )


def test_missing_and_surplus_tensors_of_the_head(folder: Path) -> None:
    edit_head(folder, lambda t: (t.pop("type_embedding.weight"), t.update({"pooler.weight": torch.zeros(1)})))
    assert refusal(folder) == (
        "Release tiny: joint_head.safetensors lacks 'type_embedding.weight' and has 'pooler.weight' too many. Download "
        "the release again."
    )


def test_a_tensor_of_the_wrong_shape(folder: Path) -> None:
    edit_head(folder, lambda tensors: tensors.update({"type_embedding.weight": torch.zeros(4, 32)}))
    assert refusal(folder) == (
        "Release tiny: joint_head.safetensors 'type_embedding.weight' is [4, 32] and should be [3, 32]. Download the "
        "release again."
    )


def test_missing_tensors_of_the_backbone(folder: Path) -> None:
    shard = folder / "model-00001-of-00002.safetensors"
    tensors = load_file(shard)
    for name in sorted(tensors)[:5]:
        del tensors[name]
    save_file(tensors, shard)
    start = "model.language_model.layers.0.linear_attn."
    assert refusal(folder) == (
        f"Release tiny: the backbone lacks '{start}conv1d.weight', '{start}in_proj_qkv.weight', "
        f"'{start}in_proj_a.weight' and 2 more. Download the release again."
    )


def test_a_file_cut_short(folder: Path) -> None:
    path = folder / "joint_head.safetensors"
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[: size // 2])
    assert refusal(folder) == (
        "Release tiny: joint_head.safetensors is no safetensors file or is cut short (Error while deserializing "
        "header: incomplete metadata, file not fully covered). Download it again."
    )


@pytest.mark.parametrize(
    "content",
    [b"", b"abc", struct.pack("<Q", 1 << 60), struct.pack("<Q", 2) + b"[]"],
    ids=["empty", "3", "huge", "list"],
)
def test_a_file_that_is_no_safetensors_file(folder: Path, content: bytes) -> None:
    (folder / "joint_head.safetensors").write_bytes(content)
    start = "Release tiny: joint_head.safetensors is no safetensors file or is cut short ("
    assert refusal(folder).startswith(start)
    assert refusal(folder).endswith("). Download it again.")


# The machine


def test_unknown_devices_and_dtypes(folder: Path) -> None:
    assert refusal(folder, device="tpu") == (
        "device: 'tpu' is not known; auto, cuda, mps, cpu are, and cuda:1 and so on."
    )
    assert refusal(folder, dtype="float64") == "dtype: 'float64' is not known; auto, bfloat16, float32 are."


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_gpu_that_is_not_there(folder: Path) -> None:
    assert refusal(folder, device="cuda") == (
        f"device: 'cuda' was asked for, and torch {torch.__version__} sees 0 CUDA GPUs. Use auto or cpu, or install "
        "torch for CUDA."
    )


def test_too_little_memory_is_said_before_the_weights_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "free_bytes", lambda device: 1_000)
    assert refusal(folder) == (
        "Release tiny: its weights need 1.1 MB in float32 and 0.0 MB are free on cpu. Free memory there, choose "
        "another device, or load it in bfloat16."
    )


def test_the_hub_without_a_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert refusal("Cloudflare/clef-flash") == (
        f"Release Cloudflare/clef-flash: the hub cannot be reached and revision {PINNED['Cloudflare/clef-flash']} has "
        "not been downloaded before. Connect to the network (or unset HF_HUB_OFFLINE), or give a local folder."
    )
