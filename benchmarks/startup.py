"""From `python app.py` to the first page and to the first decision with clef-nano: python -m benchmarks.startup

Each round starts the app as a process of its own on a free port. The clock starts with the process; the decision is a
System One request over HTTP, asked again while the service says that it is still loading.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REQUEST = {"model": "clef-nano", "state": "The site is down.", "questions": {"outage": {"type": "noul"}}}
GOALS = {"first HTTP 200": 8.0, "first decision": 20.0}  # seconds
PATIENCE = 90.0  # seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = [measured() for _ in range(parser.parse_args().rounds)]
    for name, goal in GOALS.items():
        seconds = [one[name] for one in rounds]
        print(f"{name}: median {statistics.median(seconds):.1f} s, slowest {max(seconds):.1f} s (goal {goal:g} s)")


def measured() -> dict[str, float]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = time.perf_counter()
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "GRADIO_ANALYTICS_ENABLED": "False"}
    app = subprocess.Popen(
        [sys.executable, "app.py", "--port", str(port)], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL
    )
    try:
        page = urllib.request.Request(f"http://127.0.0.1:{port}/")
        body = json.dumps(REQUEST).encode()
        kind = {"Content-Type": "application/json"}
        decision = urllib.request.Request(f"http://127.0.0.1:{port}/v1/systemone", data=body, headers=kind)
        return {
            "first HTTP 200": _answered(page) - started,
            "first decision": _answered(decision) - started,
        }
    finally:
        app.terminate()
        app.wait()


def _answered(request: urllib.request.Request) -> float:
    """When the request first got a 200."""
    end = time.perf_counter() + PATIENCE
    while time.perf_counter() < end:
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE):
                return time.perf_counter()
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise
        except OSError:  # the port is not open yet
            pass
        time.sleep(0.05)
    raise SystemExit(f"no answer within {PATIENCE:g} s")


if __name__ == "__main__":
    main()
