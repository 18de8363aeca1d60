"""The Qwen3.5 backbone: the hidden states of one whole pass, for text or for text with media."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

PLACEHOLDER_IDS = ("image_token_id", "video_token_id")  # of the configuration


def unwrapped(language_model: nn.Module) -> Any:
    """The model itself when an adapter library has wrapped it, as the release allows."""
    get_base_model = getattr(language_model, "get_base_model", None)
    return language_model if get_base_model is None else get_base_model()


def hidden_states(backbone: Any, input_ids: Tensor, attention_mask: Tensor, media: Mapping[str, Tensor]) -> Tensor:
    """Every token's hidden state after the final norm, [B, T, D], without a cache.

    `media` holds the tensors of the release's processor under its names; without any, the text model alone runs.
    """
    model = backbone.model
    if not media and hasattr(model, "language_model"):
        model = model.language_model
    output = model(input_ids=input_ids, attention_mask=attention_mask, use_cache=False, return_dict=True, **media)
    states: Tensor = output.last_hidden_state
    return states


def output_embeddings(backbone: Any) -> Tensor:
    """A row for each token id, [vocabulary, D], as the head compares options by."""
    weight: Tensor = backbone.get_output_embeddings().weight
    return weight


def placeholder_ids(backbone: Any) -> frozenset[int]:
    """The token ids that stand for a part of an image or video."""
    return frozenset(getattr(backbone.config, name) for name in PLACEHOLDER_IDS)
