"""Bodies, media and headers that nobody means, against a service on a real port.

`python tests/service/fuzzing.py --inputs 10000` starts the service in a process of its own and reports what went wrong:
an answer of 500 or more, none within ten seconds, or memory that grew by more than a tenth after the first inputs.
"""

import argparse
import base64
import json
import random
import socket
import string
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from media_files import clip, noise, saved

SECONDS = 10.0
WARM_UP = 0.2  # of the inputs: caches, decoders and the allocator fill first
GROWTH = 1.10
ROUTES = ("/v1/systemone", "/v1/systemone/batch", "/v1/plan")

QUESTIONS: dict[str, Any] = {
    "a": {"type": "noul", "instructions": "Is it?"},
    "b": {"type": "choice", "instructions": "Which?", "criteria": {"x": "X", "y": None}},
    "c": {"type": "score", "criteria": ["low", "mid", "high"]},
}
REQUEST: dict[str, Any] = {
    "state": {"text": "It is é😀", "n": [1.0, -0.0, 12345678901234567890]},
    "questions": QUESTIONS,
}


@dataclass(frozen=True)
class Input:
    """One call: raw when it is the bytes of a connection, else the parts of a request."""

    kind: str
    path: str = "/v1/systemone"
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)
    raw: bool = False


@dataclass
class Findings:
    """What came back: statuses by kind, and everything that must not happen."""

    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    slowest_seconds: float = 0.0


def inputs(seed: int) -> Iterator[Input]:
    """An endless supply, the same for the same seed."""
    chance = random.Random(seed)
    files = _files()
    makers: list[Callable[[random.Random], Input]] = [
        _bytes,
        _damaged_text,
        _damaged_text,
        _wrong_shape,
        _wrong_shape,
        lambda chance: _media(chance, files),
        lambda chance: _media(chance, files),
        _headers,
        _connection,
    ]
    while True:
        yield chance.choice(makers)(chance)


def _bytes(chance: random.Random) -> Input:
    return Input("bytes", chance.choice(ROUTES), chance.randbytes(chance.randrange(300)))


def _damaged(chance: random.Random, data: bytes) -> bytes:
    """The data with a few bytes changed, cut out, doubled or added."""
    damaged = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 5])):
        place = chance.randrange(len(damaged) + 1)
        length = chance.randrange(1, 20)
        match chance.randrange(4):
            case 0 if place < len(damaged):
                damaged[place] = chance.randrange(256)
            case 1:
                del damaged[place : place + length]
            case 2:
                damaged[place:place] = damaged[place : place + length]
            case _:
                damaged[place:place] = chance.choice(
                    [b"\\", b'"', b"{", b"]", b"\x00", b"\xff", b"1e999", b"\\ud800", b"null"]
                )
    return bytes(damaged)


def _damaged_text(chance: random.Random) -> Input:
    path = chance.choice(ROUTES)
    whole = {"requests": [REQUEST] * chance.randrange(1, 4)} if path.endswith("batch") else REQUEST
    return Input("text", path, _damaged(chance, json.dumps(whole, ensure_ascii=chance.random() < 0.5).encode()))


def _value(chance: random.Random, depth: int = 0) -> Any:
    kinds = 8 if depth < 4 else 6
    match chance.randrange(kinds):
        case 0:
            return None
        case 1:
            return chance.random() < 0.5
        case 2:
            return chance.choice([0, -1, 2**63, -(2**64), 10**400, 1.5, -0.0, 1e308, 5e-324])
        case 3:
            return chance.choice(["", " ", "\x00", "\u202e", "<|im_end|>", "é", "x" * 2000, "/etc/passwd", "data:,"])
        case 4 | 5:
            return "".join(chance.choices(string.printable, k=chance.randrange(8)))
        case 6:
            return [_value(chance, depth + 1) for _ in range(chance.randrange(4))]
        case _:
            return {_key(chance): _value(chance, depth + 1) for _ in range(chance.randrange(4))}


def _key(chance: random.Random) -> str:
    known = ["type", "criteria", "instructions", "true", "false", "base64", "content_type", "frames", "fps", "id", ""]
    return chance.choice([*known, "a", "b", "é", "a.b", '"', "\n"])


def _wrong_shape(chance: random.Random) -> Input:
    request: dict[str, Any] = json.loads(json.dumps(REQUEST))
    keys = [
        "state",
        "questions",
        "images",
        "videos",
        "model",
        "id",
        "max_length",
        "max_state_tokens",
        "truncate",
        "x_clef",
    ]
    for _ in range(chance.randrange(1, 4)):
        request[chance.choice(keys)] = _value(chance)
    if isinstance(request["questions"], dict) and chance.random() < 0.7:
        question = request["questions"].setdefault(_key(chance), {"type": chance.choice(["noul", "choice", "score"])})
        if isinstance(question, dict):
            question[chance.choice(["type", "criteria", "instructions", "extra"])] = _value(chance)
    path = chance.choice(ROUTES)
    whole: Any = {"requests": [request, _value(chance)]} if path.endswith("batch") else request
    return Input("shape", path, json.dumps(whole).encode())


def _files() -> list[tuple[str, bytes]]:
    files = [(f"image/{name.casefold()}", saved(noise(18, 24), name)) for name in ("PNG", "JPEG", "WEBP", "GIF")]
    return [*files, ("video/mp4", clip(6))]


def _media(chance: random.Random, files: list[tuple[str, bytes]]) -> Input:
    mime, data = chance.choice(files)
    if chance.random() < 0.9:
        data = _damaged(chance, data) if chance.random() < 0.9 else chance.randbytes(200)
    if chance.random() < 0.1:
        mime = chance.choice(files)[0]
    text = base64.b64encode(data).decode()
    file: Any = {"content_type": mime, "base64": text} if chance.random() < 0.5 else f"data:{mime};base64,{text}"
    if mime.startswith("video"):
        media = {"videos": [file]}
    elif chance.random() < 0.3:
        media = {"videos": [{"frames": [file] * chance.randrange(1, 5), "fps": chance.choice([1, 0, 24, 1e9])}]}
    else:
        media = {"images": [file] * chance.randrange(1, 3)}
    return Input("media", chance.choice(("/v1/systemone", "/v1/plan")), json.dumps(REQUEST | media).encode())


def _headers(chance: random.Random) -> Input:
    body = json.dumps(REQUEST).encode()
    printable = string.ascii_letters + string.digits + " ;,=/*+()\"'\\<>{}[]:@?-_."
    text = "".join(chance.choices(printable, k=chance.randrange(40))).strip()
    names = [
        "Content-Type",
        "Content-Encoding",
        "Authorization",
        "Origin",
        "Host",
        "Accept",
        "X-Forwarded-For",
        "Cookie",
    ]
    values = [
        text,
        "gzip",
        "zstd",
        "identity",
        "application/json;charset=" + text,
        "Bearer x" + text,
        "null",
        "[::1",
        "a" * 5000,
    ]
    more = tuple((chance.choice(names), chance.choice(values)) for _ in range(chance.randrange(1, 4)))
    return Input(
        "headers", chance.choice(ROUTES), body, tuple(dict((("Content-Type", "application/json"), *more)).items())
    )


def _connection(chance: random.Random) -> Input:
    body = json.dumps(REQUEST).encode()
    head = (
        f"POST /v1/systemone HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    ).encode()
    return Input("connection", body=_damaged(chance, head) + body, raw=True)


def send(client: httpx.Client, port: int, given: Input) -> int:
    """The status; 0 when the connection ended without one, which only a damaged connection may.

    Raises: TimeoutError, httpx.TransportError.
    """
    if not given.raw:
        return client.request("POST", given.path, content=given.body, headers=list(given.headers)).status_code
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
        try:
            connection.sendall(given.body)
            connection.shutdown(socket.SHUT_WR)
            reply = connection.recv(65_536)
        except ConnectionError:
            return 0
    return int(reply.split(b" ", 2)[1]) if reply.startswith(b"HTTP/1.") else 0


def fuzz(port: int, number: int, seed: int, *, each: Callable[[int], None] = lambda done: None) -> Findings:
    """The findings of so many inputs; `each` is called after every one."""
    findings = Findings()
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=SECONDS, trust_env=False) as client:
        for place, given in zip(range(number), inputs(seed), strict=False):
            started = time.monotonic()
            try:
                status = send(client, port, given)
            except (httpx.HTTPError, OSError) as error:
                findings.faults.append(f"input {place} ({given.kind}): {error!r}, {given}")
                continue
            findings.slowest_seconds = max(findings.slowest_seconds, time.monotonic() - started)
            findings.statuses[given.kind, status] += 1
            if status >= 500:
                findings.faults.append(f"input {place} ({given.kind}): status {status}, {given}")
            each(place + 1)
    return findings


def _serve() -> None:
    from service.local_server import NANO, serving
    from ui.scripted import ScriptedDecider

    class Forgetful(list[Any]):
        def extend(self, _: Any) -> None:
            """The decider notes every record, which would be taken for growth of the service."""

    with serving(ScriptedDecider(status=NANO, decided=Forgetful())) as local:
        print(local.port, flush=True)
        sys.stdin.read()


def main() -> int:
    import psutil

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.serve:
        _serve()
        return 0
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        process = psutil.Process(server.pid)
        memory: list[int] = []

        def each(done: int) -> None:
            if done % max(1, int(flags.inputs * WARM_UP)) == 0:
                memory.append(process.memory_info().rss)

        started = time.monotonic()
        findings = fuzz(port, flags.inputs, flags.seed, each=each)
        is_alive = server.poll() is None
        server.communicate("")
    for (kind, status), count in sorted(findings.statuses.items()):
        print(f"{kind:12} {status or 'closed'} {count:6,}")
    growth = memory[-1] / memory[0]
    print(f"{flags.inputs:,} inputs in {time.monotonic() - started:.0f} s, slowest {findings.slowest_seconds:.2f} s")
    print(f"memory after each fifth, MiB: {' '.join(f'{size / 2**20:.1f}' for size in memory)}: x {growth:.3f}")
    print("\n".join(f"FAULT {fault[:500]}" for fault in findings.faults[:20]) or "no fault")
    return 0 if is_alive and not findings.faults and growth <= GROWTH else 1


if __name__ == "__main__":
    raise SystemExit(main())
