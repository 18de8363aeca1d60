"""`python -m clef_model serve`: the service alone, on a port of its own."""

import argparse
import os
import socket
import sys
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette

from clef_model.decision import Decider, Limits, Progress
from clef_model.errors import ClefError
from clef_model.lane import Lane
from clef_model.lazy import LazyDecider, Planner
from clef_model.service.connections import PatientProtocol
from clef_model.service.routes import service_app
from clef_model.service.settings import ServiceSettings, read_settings

MAX_CONNECTIONS = 512  # open at once; more get a bare 503 from the server itself
GRACE_SECONDS = 10  # for answers under way when the server is told to stop

EXAMPLES = """examples:
  python -m clef_model serve --port 8000
  python -m clef_model serve --release Cloudflare/clef-flash --device cuda --no-truncate
  curl http://127.0.0.1:8000/v1/systemone -H 'Content-Type: application/json' \\
    -d '{"state": "The checkout is down", "questions": {"outage": {"type": "noul"}}}'

environment: CLEF_API_KEY, CLEF_PUBLIC, CLEF_BEHIND_PROXY, CLEF_ALLOWED_HOSTS, CLEF_ALLOWED_ORIGINS, CLEF_MODEL_NAMES,
CLEF_CACHE_MIB (see docs/api.md)
"""


def add_serve(commands: Any) -> None:
    """Adds the command to the subparsers of an ArgumentParser; its `run` default is `run_serve`."""
    parser = commands.add_parser(
        "serve",
        help="answer over HTTP: POST /v1/systemone and friends",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--release", default="", help="a release's folder or hub id (default: the embedded clef-nano)")
    parser.add_argument("--revision", help="revision of a hub release")
    parser.add_argument("--device", default="auto", choices=["auto", "cuda", "mps", "cpu"])
    parser.add_argument("--dtype", default="auto", choices=["auto", "bfloat16", "float32"])
    parser.add_argument("--fast", action="store_true", help="on CUDA: compile operations and capture short passes")
    parser.add_argument("--max-length", type=int, default=Limits().max_length, help="tokens of one record")
    parser.add_argument("--max-state-tokens", type=int, help="tokens of a state (default: as many as fit)")
    parser.add_argument(
        "--no-truncate", action="store_true", help="refuse what is too long with 413 instead of cutting the state"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to serve at (default: this machine only)")
    parser.add_argument("--port", type=int, default=8000)
    parser.set_defaults(run=run_serve)


def run_serve(flags: argparse.Namespace) -> int:
    """Serves until it is stopped; the exit code."""
    limits = Limits(flags.max_length, flags.max_state_tokens, truncate=not flags.no_truncate)
    try:
        settings = read_settings(os.environ, limits=limits, host=flags.host)
    except ClefError as error:
        print(f"clef: {error}", file=sys.stderr)
        return 2
    try:
        listening = _listen(flags.host, flags.port)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        print(f"clef: {flags.host}, port {flags.port}: {reason}. Give another with --port.", file=sys.stderr)
        return 1
    lane = Lane(settings.max_waiting, settings.max_waiting_per_client)
    decider = _lazy(flags, settings, lane).start()
    server = build_server(service_app(decider, lane, settings), host=flags.host, port=flags.port)
    name = f"[{flags.host}]" if ":" in flags.host else flags.host
    print(f"clef: serving on http://{name}:{listening.getsockname()[1]}/v1/systemone", file=sys.stderr)
    server.run(sockets=[listening])
    return 0


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=MAX_CONNECTIONS)


def build_server(app: Starlette, *, host: str, port: int) -> uvicorn.Server:
    """A server that bounds connections, headers and waiting, and finishes what it has begun when told to stop."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            host=host,
            port=port,
            http=PatientProtocol,
            ws="none",
            lifespan="off",
            log_level="warning",
            access_log=False,
            server_header=False,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )


def _lazy(flags: argparse.Namespace, settings: ServiceSettings, lane: Lane) -> LazyDecider:
    release: dict[str, Any] = {"release": Path(flags.release) if Path(flags.release).is_dir() else flags.release}
    if not flags.release:
        release = {}

    def planner() -> Planner:
        from clef_model.loading import read_planner  # seconds of imports: only in the background

        return read_planner(**release, revision=flags.revision)

    def load(progress: Progress) -> Decider:
        from clef_model.loading import load_release

        return load_release(
            **release,
            device=flags.device,
            dtype=flags.dtype,
            revision=flags.revision,
            cache_bytes=settings.cache_bytes,
            fast=flags.fast,
            progress=progress,
        )

    return LazyDecider(planner, load, limits=settings.limits, lane=lane, tells_why=not settings.is_public)
