"""Arrays of numbers as pictures: channels first or last, uint8 or floats of 0 to 1."""

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from clef_model.errors import InvalidRecord, Problem
from clef_model.images import Picture, check_size

_CHANNELS = (1, 3, 4)


def as_array(value: Any, where: str, taken: str) -> NDArray[Any]:
    """Whatever can become an array (NumPy, a tensor on the CPU) as one; `taken` says what may stand here.

    Raises: InvalidRecord: a path or address, or something else.
    """
    if isinstance(value, str) or hasattr(value, "__fspath__"):
        message = (
            f"found {type(value).__name__}: no path or address is opened; {taken}. Read the file and pass its content."
        )
        raise InvalidRecord([Problem(where, message)])
    if not hasattr(value, "__array__"):
        raise InvalidRecord([Problem(where, f"found {type(value).__name__}; {taken}.")])
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:  # a tensor of another device, of bfloat16, with a gradient
        message = f"the {type(value).__name__} cannot become an array ({error}). Convert it to a NumPy array of uint8."
        raise InvalidRecord([Problem(where, message)]) from error


def array_pixels(array: NDArray[Any], where: str) -> Picture:
    """The picture in an array; grey is spread over the channels, transparency laid on white.

    Raises: InvalidRecord: a shape that is no image, neither uint8 nor floats of 0 to 1, no pixels or too many.
    """
    array = _channels_last(array, where)
    check_size((array.shape[1], array.shape[0]), where)
    array = _eight_bit(array, where)
    if array.shape[-1] == 1:
        return np.repeat(array, 3, axis=-1)
    if array.shape[-1] == 3:
        return np.ascontiguousarray(array)
    # In float32 and cut off, not rounded: so does the release (torchvision's to_dtype).
    values = array.astype(np.float32) * np.float32(1 / 255)
    alpha = values[..., 3:]
    mixed = values[..., :3] * alpha + (np.float32(1) - alpha)
    pixels: Picture = (mixed * np.float32(256 - 1e-3)).astype(np.uint8)
    return pixels


def _channels_last(array: NDArray[Any], where: str) -> NDArray[Any]:
    if array.ndim == 2:
        return array[:, :, None]
    shapes = "[height, width], [height, width, channels] or [channels, height, width] with 1, 3 or 4 channels"
    if array.ndim == 3 and array.shape[-1] in _CHANNELS and array.shape[0] not in _CHANNELS:
        return array
    if array.ndim == 3 and array.shape[0] in _CHANNELS and array.shape[-1] not in _CHANNELS:
        return array.transpose(1, 2, 0)
    both = array.ndim == 3 and array.shape[0] in _CHANNELS
    doubt = "its channels may be first or last, pass a PIL image" if both else f"an image is {shapes}. Reshape it"
    raise InvalidRecord([Problem(where, f"found an array of shape {array.shape}: {doubt}.")])


def _eight_bit(array: NDArray[Any], where: str) -> Picture:
    if array.dtype == np.uint8:
        return cast(Picture, array)
    if not np.issubdtype(array.dtype, np.floating):
        taken = "uint8 of 0 to 255 and floats of 0 to 1 are taken. Convert it"
        raise InvalidRecord([Problem(where, f"found an array of {array.dtype}; {taken}.")])
    low, high = float(array.min()), float(array.max())
    if not (low >= 0 and high <= 1):  # also when one of them is no number
        found = f"found floats from {low:g} to {high:g}; floats of 0 to 1 are taken"
        raise InvalidRecord([Problem(where, f"{found}. Scale them, or convert to uint8 of 0 to 255.")])
    scaled: Picture = np.round(array * 255).astype(np.uint8)
    return scaled
