"""The tensors of a record's media: the same bits as the release's processor gives, without torchvision."""

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from clef_model.images import Picture
from clef_model.media import EncodedMedia, MediaItem
from clef_model.media_config import Size, VisionConfig

# Legend: P patches, C channels (3), T frames of a slot (2), H, W height and width shown, S side of a patch (16).


def media_tensors(encoded: EncodedMedia, *, token_offset: int) -> dict[str, Any]:
    """What the release keeps as a record's `media`: tensors per kind that occurs, type ids, and where the block starts.

    `pixel_values` and `pixel_values_videos` are float32 [P, C*T*S*S], `image_grid_thw` and `video_grid_thw` int64
    [items, 3]; `mm_token_type_ids` is a list of ints, one a token of the block.

    Raises: InvalidRecord: a file can no longer be read.
    """
    media: dict[str, Any] = {}
    for kind, pixels_key, grid_key in (
        ("image", "pixel_values", "image_grid_thw"),
        ("video", "pixel_values_videos", "video_grid_thw"),
    ):
        items = [item for item in encoded.items if item.kind == kind]
        if items:
            media[pixels_key] = torch.cat([patches for item in items for patches in _item_patches(item)])
            media[grid_key] = torch.tensor([item.grid for item in items], dtype=torch.long)
    media["mm_token_type_ids"] = list(encoded.mm_token_type_ids)
    media["token_offset"] = token_offset
    return media


def _item_patches(item: MediaItem) -> Iterator[Tensor]:
    """Each slot's patches [h*w, C*T*S*S]: an image is one slot of the same frame twice, an odd last frame as well."""
    slot: list[Tensor] = []
    for frame in resized(item.pictures(), item.size_shown):
        slot.append(frame)
        if len(slot) == item.config.temporal_patch_size:
            yield patchify(torch.stack(slot), item.config)
            slot = []
    if slot:
        missing = item.config.temporal_patch_size - len(slot)
        yield patchify(torch.stack([*slot, *slot[-1:] * missing]), item.config)


def resized(pictures: Iterable[Picture], size: Size) -> Iterator[Tensor]:
    """Each picture as uint8 [C, H, W] in the size the model sees.

    It stays uint8 through the resize: a float resize differs by up to 24 of 255.
    """
    width, height = size
    for picture in pictures:
        frame = torch.from_numpy(picture).permute(2, 0, 1).contiguous()
        if frame.shape[1:] != (height, width):
            frame = torch.nn.functional.interpolate(
                frame[None], size=(height, width), mode="bicubic", align_corners=False, antialias=True
            )[0]
        yield frame


def patchify(slot: Tensor, config: VisionConfig) -> Tensor:
    """A slot's frames, uint8 [T, C, H, W], as normalised patches [h*w, C*T*S*S].

    Patches of one token stand together: token row, token column, then row and column inside the token.
    """
    frames, channels, height, width = slot.shape
    # Rescaling and normalising are one step in the release; two would round differently.
    mean = torch.tensor(config.mean) * (1.0 / config.rescale_factor)
    std = torch.tensor(config.std) * (1.0 / config.rescale_factor)
    values = slot.to(torch.float32).sub_(mean.view(-1, 1, 1)).div_(std.view(-1, 1, 1))
    side, merge = config.patch_size, config.merge_size
    rows, columns = height // (side * merge), width // (side * merge)
    cells = values.view(frames, channels, rows, merge, side, columns, merge, side)
    return cells.permute(2, 5, 3, 6, 1, 0, 4, 7).reshape(rows * columns * merge**2, channels * frames * side**2)
