"""Many clients at once against the app on this machine: python -m benchmarks.load [--clients 64] [--seconds 60]

Starts app.py with clef-nano, asks a pool of distinct requests one by one, then has all clients ask them again and
again and compares every answer with the first. The page is used meanwhile. Then the server is killed in the middle of
work and started again. Only 127.0.0.1 is called.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil

ROOT = Path(__file__).resolve().parent.parent
POOL = 48
READY_SECONDS = 600
LONGEST_WAIT_SECONDS = 2.0  # between two attempts, whatever Retry-After says: the crowd must not thin out
FIRST_SECONDS = 10  # of a run, after which memory is taken for settled
WORDS = ["invoice", "checkout", "login", "refund", "parcel", "outage", "password", "upgrade", "delay", "contract"]

Answers = list[dict[str, Any]]


@dataclass
class Seen:
    """What the clients saw."""

    statuses: Counter[int] = field(default_factory=Counter)
    milliseconds: list[float] = field(default_factory=list)  # of answered requests, waiting for a place not included
    wrong: list[str] = field(default_factory=list)
    broken: Counter[str] = field(default_factory=Counter)  # connections, by the error a client gets
    page_milliseconds: list[float] = field(default_factory=list)
    page_failures: list[str] = field(default_factory=list)
    memory_mib: list[float] = field(default_factory=list)


def pool() -> Answers:
    """Requests that have nothing in common but their form; ids tell whose an answer is."""
    chance = random.Random(0)
    requests = []
    for number in range(POOL):
        words = " ".join(chance.choices(WORDS, k=chance.randrange(20, 120)))
        requests.append(
            {
                "state": {"ticket": number, "text": f"Ticket {number}: {words}."},
                "questions": {
                    f"urgent_{number}": {"type": "noul", "instructions": f"Is {chance.choice(WORDS)} urgent?"},
                    f"topic_{number}": {"type": "choice", "criteria": {f"{w}_{number}": None for w in WORDS[:4]}},
                    f"anger_{number}": {"type": "score", "criteria": ["calm", "annoyed", "furious"]},
                },
            }
        )
    return requests


class Server:
    """app.py in a process of its own."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        environ = os.environ | {"GRADIO_ANALYTICS_ENABLED": "False", "HF_HUB_OFFLINE": "1"}
        command = [sys.executable, "app.py", "--port", str(port)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def wait(self) -> None:
        """Returns when it can decide."""
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            assert self.process.poll() is None, "app.py ended"
            try:
                if httpx.get(f"{self.url}/health", timeout=10).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.5)
        raise SystemExit(f"the model was not loaded within {READY_SECONDS} s")

    def memory_mib(self) -> float:
        return float(psutil.Process(self.process.pid).memory_info().rss) / 2**20

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


async def client(url: str, requests: Answers, expected: Answers, until: float, seed: int, seen: Seen) -> None:
    """Asks until the time is up, and once more until it is answered."""
    chance = random.Random(seed)
    async with httpx.AsyncClient(base_url=url, timeout=120, trust_env=False) as http:
        while time.monotonic() < until:
            place = chance.randrange(POOL)
            started = time.monotonic()
            try:
                response = await http.post("/v1/systemone", json=requests[place])
            except httpx.TransportError as error:
                seen.broken[type(error).__name__] += 1
                await asyncio.sleep(0.5)
                continue
            seen.statuses[response.status_code] += 1
            if response.status_code == 200:
                seen.milliseconds.append((time.monotonic() - started) * 1000)
                if response.json() != expected[place]:
                    seen.wrong.append(f"request {place}: {response.text[:200]}")
            else:
                wait = float(response.headers.get("retry-after", "1"))
                await asyncio.sleep(min(wait, LONGEST_WAIT_SECONDS) * (0.5 + chance.random()))


async def page(url: str, requests: Answers, expected: Answers, until: float, seen: Seen) -> None:
    """Uses the page's own call for deciding, which waits in Gradio's queue and then in the lane."""
    async with httpx.AsyncClient(base_url=url, timeout=120, trust_env=False) as http:
        place = 0
        while time.monotonic() < until:
            place = (place + 1) % POOL
            started = time.monotonic()
            try:
                opened = await http.get("/")
                data = [requests[place], 16_384, None, True]
                response = await http.post("/gradio_api/run/decide", json={"data": data})
                answers = response.json()["data"][0]["answers"]
            except (httpx.TransportError, KeyError, ValueError, TypeError) as error:
                seen.page_failures.append(repr(error))
                await asyncio.sleep(0.5)
                continue
            seen.page_milliseconds.append((time.monotonic() - started) * 1000)
            if opened.status_code != 200 or answers != expected[place]["answers"]:
                seen.page_failures.append(f"request {place}: {answers}")
            await asyncio.sleep(0.5)


async def memory(server: Server, until: float, seen: Seen) -> None:
    while time.monotonic() < until:
        await asyncio.sleep(1)
        seen.memory_mib.append(server.memory_mib())


async def crowd(server: Server, expected: Answers, clients: int, seconds: float) -> Seen:
    """So many clients and one page for so long."""
    seen, requests = Seen(), pool()
    until = time.monotonic() + seconds
    asking = [client(server.url, requests, expected, until, seed, seen) for seed in range(clients)]
    await asyncio.gather(*asking, page(server.url, requests, expected, until, seen), memory(server, until, seen))
    return seen


async def killed(port: int, server: Server, expected: Answers, clients: int) -> tuple[Server, Seen]:
    """The server is killed while all ask, and another one started at its place; the clients never stop."""
    seen, requests = Seen(), pool()
    until = time.monotonic() + READY_SECONDS
    stop = [until]

    async def asks(seed: int) -> None:
        while time.monotonic() < stop[0]:
            await client(server.url, requests, expected, min(time.monotonic() + 1, stop[0]), seed, seen)

    asking = [asyncio.create_task(asks(seed)) for seed in range(clients)]
    await asyncio.sleep(5)
    server.kill()
    again = await asyncio.to_thread(Server, port)
    await asyncio.to_thread(again.wait)
    answered = seen.statuses[200]
    while seen.statuses[200] < answered + 2 * clients:
        await asyncio.sleep(0.2)
    stop[0] = 0.0
    await asyncio.gather(*asking)
    return again, seen


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def report(seen: Seen, turns: int, page_turns: int, seconds: float, clients: int) -> dict[str, Any]:
    settled = seen.memory_mib[FIRST_SECONDS:] or seen.memory_mib
    return {
        "clients": clients,
        "seconds": seconds,
        "answered": seen.statuses[200],
        "answered_per_second": round(seen.statuses[200] / seconds, 1),
        "told_to_come_back": seen.statuses[429],
        "other_statuses": {str(s): n for s, n in seen.statuses.items() if s not in (200, 429)},
        "wrong_answers": len(seen.wrong),
        "broken_connections": sum(seen.broken.values()),
        "turns_of_the_model": turns,
        "turns_expected": seen.statuses[200] + page_turns,
        "milliseconds": {
            name: round(quantile(seen.milliseconds, share))
            for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))
        },
        "page_milliseconds": {
            "p50": round(statistics.median(seen.page_milliseconds)) if seen.page_milliseconds else None,
            "longest": round(max(seen.page_milliseconds, default=0)),
            "runs": len(seen.page_milliseconds),
            "failures": len(seen.page_failures),
        },
        "memory_mib": {"settled": round(settled[0]), "at_the_end": round(settled[-1]), "most": round(max(settled))},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--no-kill", action="store_true", help="leave out the second part")
    flags = parser.parse_args()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = Server(port)
    try:
        server.wait()
        with httpx.Client(base_url=server.url, timeout=120, trust_env=False) as http:
            expected = [http.post("/v1/systemone", json=request).json() for request in pool()]
            before = http.get("/health").json()["queue"]["turns"]
            seen = asyncio.run(crowd(server, expected, flags.clients, flags.seconds))
            turns = http.get("/health").json()["queue"]["turns"] - before
        result = report(seen, turns, len(seen.page_milliseconds), flags.seconds, flags.clients)
        if not flags.no_kill:
            server, seen_killed = asyncio.run(killed(port, server, expected, flags.clients))
            result["killed"] = {
                "answered": seen_killed.statuses[200],
                "wrong_answers": len(seen_killed.wrong),
                "client_errors": dict(seen_killed.broken),
                "statuses": {str(status): count for status, count in seen_killed.statuses.items()},
            }
    finally:
        server.kill()
    print(
        json.dumps(result, indent=2)
        if flags.json
        else "\n".join(f"{name:20} {value}" for name, value in result.items())
    )
    print("\n".join([*seen.wrong[:5], *seen.page_failures[:5]]), file=sys.stderr)
    is_right = not seen.wrong and not seen.page_failures and turns == result["turns_expected"]
    return 0 if is_right and not result["other_statuses"] and not result["broken_connections"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
