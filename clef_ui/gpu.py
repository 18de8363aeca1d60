"""The GPU of a ZeroGPU Space, asked for as long as a record's length needs; nothing elsewhere."""

from collections.abc import Callable
from html.parser import HTMLParser
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ParamSpec, TypeVar

from clef_model.errors import ClefError

MIN_SECONDS = 20  # the weights of clef-flash must reach the GPU before the first answer
MAX_SECONDS = 60  # what a Space may ask for by default, so that visitors without an account are served too
TOKENS_PER_SECOND = 800  # far below the 16,000 a second of one H200, as a call shares its GPU

P = ParamSpec("P")
R = TypeVar("R")


class GpuRefused(ClefError):
    """The Space got no GPU: the quota is used up, or the queue is too long."""


def gpu_seconds(num_tokens: int) -> int:
    """How long a record of this length may hold the GPU."""
    return min(MAX_SECONDS, MIN_SECONDS + num_tokens // TOKENS_PER_SECOND)


def on_gpu(task: Callable[P, R], seconds: Callable[P, int]) -> Callable[P, R]:
    """The task run where the GPU is, when the package `spaces` is there; its refusals are raised as `GpuRefused`.

    Off ZeroGPU the package returns the task itself. The arguments and the result are pickled on the way.
    """
    if find_spec("spaces") is None:
        return task
    wrapped: Callable[P, R] = import_module("spaces").GPU(duration=seconds)(task)

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return wrapped(*args, **kwargs)
        except ClefError:
            raise
        except Exception as error:
            if not hasattr(error, "title"):  # every refusal is a gr.Error, which has one
                raise
            raise GpuRefused(refusal(error)) from error

    return call


def refusal(error: Any) -> str:
    """The Space's own words as plain text: its messages are written as HTML with links."""
    text = plain_text(str(getattr(error, "message", "") or error))
    return f"{error.title}: {text}"


def plain_text(markup: str) -> str:
    """The text of an HTML fragment, without its tags; a link's address follows its words in brackets."""
    reader = _Text()
    reader.feed(markup)
    reader.close()
    return " ".join("".join(reader.parts).split())


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.parts.append(data)
