"""Starts the Clef workbench: read the flags, load the release in the background, serve the page."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

if find_spec("spaces"):
    import spaces  # noqa: F401 (must come before anything that may touch CUDA)

import gradio as gr

from clef_model.decision import Decider, Limits, Progress
from clef_model.encoding import MAX_LENGTH
from clef_model.errors import ClefError
from clef_model.lane import Lane
from clef_model.lazy import LazyDecider, Planner
from clef_model.remote_settings import RemoteSetting, read_remotes
from clef_model.service.settings import ServiceSettings, read_settings
from clef_ui.beside import service_beside
from clef_ui.presets import read_presets
from clef_ui.workbench import build_workbench, serve

HERE = Path(__file__).parent


def parse_flags(arguments: Sequence[str]) -> argparse.Namespace:
    """The flags, with the environment variables their help names in place of those that are not given."""
    parser = argparse.ArgumentParser(description=__doc__)
    given = list(arguments)

    def flag(name: str, default: Any, text: str, **options: Any) -> None:
        variable = "CLEF_" + name.upper().replace("-", "_")
        parser.add_argument(f"--{name}", default=default, help=f"{text} (${variable}; {default or 'none'})", **options)
        if os.environ.get(variable):
            given.insert(0, f"--{name}={os.environ[variable]}")  # checked as a flag is, and a flag goes before it

    flag("release", "models/clef-nano", "a release's folder or its hub id")
    flag("revision", "", "revision of a hub release")
    flag("device", "auto", "where the model runs", choices=["auto", "cuda", "mps", "cpu"])
    flag("dtype", "auto", "number format of the weights", choices=["auto", "bfloat16", "float32"])
    flag("fast", "off", "on CUDA: compile operations and capture short passes", choices=["off", "on"])
    flag("max-length", MAX_LENGTH, "tokens of one record", type=int)
    flag("host", "127.0.0.1", "address the page is served at")
    flag("port", 7860, "port the page is served at", type=int)
    flag("mcp", "off", "the tools decide and plan for agents, at /gradio_api/mcp", choices=["off", "on"])
    chosen = parser.parse_args(given)
    if chosen.mcp == "on" and not find_spec("mcp"):
        parser.error("--mcp on needs the package mcp, which is not installed: pip install -r requirements-mcp.txt")
    return chosen


def service_settings(flags: argparse.Namespace) -> ServiceSettings:
    try:
        return read_settings(os.environ, limits=Limits(max_length=flags.max_length), host=flags.host)
    except ClefError as error:
        raise SystemExit(f"clef: {error}") from error


def listed_servers() -> tuple[RemoteSetting, ...]:
    try:
        return read_remotes(os.environ)
    except ClefError as error:
        raise SystemExit(f"clef: {error}") from error


def lazy_decider(flags: argparse.Namespace, settings: ServiceSettings) -> LazyDecider:
    release = str(HERE / flags.release) if (HERE / flags.release).is_dir() else flags.release

    def planner() -> Planner:
        from clef_model.loading import read_planner  # seconds of imports: only in the background

        return read_planner(release, revision=flags.revision or None)

    def load(progress: Progress) -> Decider:
        from clef_model.loading import load_release

        return load_release(
            release,
            device=flags.device,
            dtype=flags.dtype,
            revision=flags.revision or None,
            cache_bytes=settings.cache_bytes,
            fast=flags.fast == "on",
            progress=progress,
        )

    lane = Lane(settings.max_waiting, settings.max_waiting_per_client)
    return LazyDecider(
        planner,
        load,
        limits=settings.limits,
        lane=lane,
        highest_max_length=settings.highest_max_length if settings.is_public else None,
        tells_why=not settings.is_public,
    )


flags = parse_flags(sys.argv[1:] if __name__ == "__main__" else [])
settings = service_settings(flags)
decider = lazy_decider(flags, settings)
demo: gr.Blocks = build_workbench(decider, read_presets(HERE / "presets"), decider.limits, listed_servers())

if __name__ == "__main__":
    if os.environ.get("SPACES_ZERO_GPU"):
        decider.wait()  # only weights that are there before the launch are packed for the GPU
    beside = service_beside(decider, settings)
    serve(demo, host=flags.host, port=flags.port, beside=beside, then=decider.start, with_mcp=flags.mcp == "on")
