"""Puts a release's weights into backbone and head: everything is checked before the first byte is copied."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from clef_model.decision import Progress
from clef_model.devices import Placement, check_memory
from clef_model.errors import BrokenRelease
from clef_model.head import JointSchemaHead
from clef_model.model import ClefModel
from clef_model.nano_rows import expand_rows, is_nano
from clef_model.release_folder import HEAD_FILE, ReleaseFolder, read_config, read_head_config, weight_files
from clef_model.weights import check_tensors, copy_tensors, read_headers, shapes_of

EMBEDDING = "model.language_model.embed_tokens.weight"
OUTPUT_EMBEDDING = "lm_head.weight"
IGNORED = "mtp."  # multi-token prediction, which no Clef model uses; the backbone's own class leaves it out as well


def build_model(
    release: ReleaseFolder, placement: Placement, *, head_dtype: torch.dtype | None = None, progress: Progress
) -> ClefModel:
    """Backbone and head of a release, in evaluation mode; the head in the backbone's dtype unless told otherwise.

    `progress` gets the share of all bytes.

    Raises: BrokenRelease: files, names, shapes or memory are not as they must be.
    """
    config, head_config = read_config(release), read_head_config(release)
    backbone = _empty_backbone(release, config)
    with torch.device("meta"):
        head = JointSchemaHead(**head_config)
    _check_sizes(release, backbone, head_config)
    stored = read_headers(release.name, weight_files(release))
    stored = {name: tensor for name, tensor in stored.items() if not name.startswith(IGNORED)}
    stored_head = read_headers(release.name, [release.path / HEAD_FILE])
    check_tensors(release.name, "the backbone", stored, _expected(release, backbone, stored))
    check_tensors(release.name, HEAD_FILE, stored_head, shapes_of(head.state_dict().items()))
    head_dtype = head_dtype or placement.dtype
    total = _num_weights(backbone) * placement.dtype.itemsize + _num_weights(head) * head_dtype.itemsize
    check_memory(release.name, total, placement)

    materialize(backbone, placement.device, placement.dtype, initialize=backbone._init_weights)
    materialize(head, placement.device, head_dtype)
    report = _byte_report(progress, total)
    copy_tensors(release.name, stored, backbone.state_dict(), report)
    copy_tensors(release.name, stored_head, head.state_dict())
    if is_nano(release.path):
        progress(1.0, "expanding the table of token rows")
        table = torch.from_numpy(expand_rows(release.path))
        # In place of the empty one, so that a CPU holds it once; the output embedding is the same parameter.
        backbone.get_input_embeddings().weight.data = table.to(placement.device, placement.dtype)
    return ClefModel(backbone, head).eval()


def materialize(
    module: nn.Module, device: torch.device, dtype: torch.dtype, initialize: Callable[[nn.Module], Any] | None = None
) -> None:
    """Gives a module that was built on the meta device memory, uninitialised, in place; shared parameters stay shared.

    `initialize` fills the buffers that no file holds, such as rotary frequencies; they keep their own dtype.
    """
    made: dict[int, tuple[nn.Parameter, nn.Parameter]] = {}  # old (held, so that its id stays its own), new
    for part in module.modules():
        for name, parameter in part._parameters.items():
            if parameter is not None:
                if id(parameter) not in made:
                    empty = torch.empty(parameter.shape, dtype=dtype, device=device)
                    made[id(parameter)] = (parameter, nn.Parameter(empty))
                part._parameters[name] = made[id(parameter)][1]
        buffers = {name: buffer for name, buffer in part._buffers.items() if buffer is not None}
        for name, buffer in buffers.items():
            part._buffers[name] = torch.empty_like(buffer, device=device)
        if buffers:
            assert initialize is not None, "buffers need values"
            initialize(part)


def _empty_backbone(release: ReleaseFolder, config: Mapping[str, Any]) -> Any:
    # Only this model's classes: importing all of transformers' automatic ones takes seconds.
    from transformers.models.qwen3_5.configuration_qwen3_5 import Qwen3_5Config
    from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5ForConditionalGeneration

    try:
        with torch.device("meta"):
            return Qwen3_5ForConditionalGeneration(Qwen3_5Config.from_dict(dict(config)))
    except Exception as error:  # the class raises anything for sizes that do not fit together
        raise BrokenRelease(
            f"Release {release.name}: config.json describes no model that can be built ({error}). "
            "Download the release again."
        ) from error


def _check_sizes(release: ReleaseFolder, backbone: Any, head_config: Mapping[str, int]) -> None:
    width = backbone.config.text_config.hidden_size
    if head_config["hidden_size"] != width:
        raise BrokenRelease(
            f"Release {release.name}: the head reads hidden states of {head_config['hidden_size']} numbers and the "
            f"backbone gives {width}. Head and backbone are of different releases: download both again."
        )


def _expected(release: ReleaseFolder, backbone: Any, stored: Mapping[str, object]) -> dict[str, tuple[int, ...]]:
    """The tensors that the files must hold; a shared output embedding may be written out or not."""
    expected = shapes_of(backbone.state_dict().items())
    if is_nano(release.path):
        del expected[EMBEDDING]
    if backbone.config.tie_word_embeddings and OUTPUT_EMBEDDING not in stored:
        expected.pop(OUTPUT_EMBEDDING, None)
    return expected


def _num_weights(module: nn.Module) -> int:
    return sum(tensor.numel() for tensor in {*module.parameters(), *module.buffers()})


def _byte_report(progress: Progress, total: int) -> Callable[[int], None]:
    """Passes on whole percents, since a release has hundreds of small tensors."""
    percent = -1

    def report(copied: int) -> None:
        nonlocal percent
        if copied * 100 // total > percent:
            percent = copied * 100 // total
            progress(copied / total, f"reading weights: {copied / 1e9:.1f} of {total / 1e9:.1f} GB")

    return report
