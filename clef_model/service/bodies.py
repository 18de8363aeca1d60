"""Bodies of requests, bounded while they arrive: size, speed, encoding, and how many at once."""

import asyncio
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from starlette.requests import Request

from clef_model.json_paths import counted
from clef_model.service.errors import Refused
from clef_model.service.settings import ServiceSettings

ZSTD_MODULES = ("compression.zstd", "backports.zstd")  # Python's own from 3.14 on, and its backport
PART_BYTES = 2**20  # decompressed at once

Decompress = Callable[[bytes, int], bytes]  # data and the most bytes to return


class Pending:
    """What is being worked on: the number of requests and the bytes of their bodies. For one event loop."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.num_requests: Counter[str] = Counter()  # of each client
        self.num_bytes = 0

    @contextmanager
    def request(self, client: str) -> Iterator["Held"]:
        """A place for one request until it is answered.

        Raises: Refused (429).
        """
        if (found := self.num_requests.total()) >= self.settings.max_pending:
            raise _busy(f"{counted(found, 'request')} at work")
        if (found := self.num_requests[client]) >= self.settings.max_pending_per_client:
            raise _busy(f"{counted(found, 'request')} of yours at work")
        held = Held(self)
        self.num_requests[client] += 1
        try:
            yield held
        finally:
            self.num_requests[client] -= 1
            self.num_requests += Counter()  # drops those with none
            self.num_bytes -= held.num_bytes


class Held:
    """The bytes that one request holds."""

    def __init__(self, pending: Pending) -> None:
        self.pending = pending
        self.num_bytes = 0

    def grow(self, num_bytes: int) -> None:
        """Raises: Refused (429): all bodies together are too large."""
        if self.pending.num_bytes + num_bytes > self.pending.settings.max_pending_bytes:
            raise _busy(f"{self.pending.num_bytes:,} bytes of requests at work")
        self.num_bytes += num_bytes
        self.pending.num_bytes += num_bytes


async def read_body(request: Request, settings: ServiceSettings, held: Held) -> bytes:
    """The body, decompressed.

    Raises: Refused: not JSON by its headers (415), too large (413), too slow (408), or too much at once (429).
    """
    _check_content_type(request.headers.get("content-type"))
    decompress = _decompressor(request.headers.get("content-encoding", "identity"))
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > settings.max_body_bytes:
        raise _too_large(settings)
    body = bytearray()
    try:
        async with asyncio.timeout(settings.body_seconds):
            async for chunk in _chunks(request, settings.chunk_seconds):
                for part in _parts(chunk, decompress):
                    held.grow(len(part))
                    body += part
                    if len(body) > settings.max_body_bytes:
                        raise _too_large(settings)
    except TimeoutError as error:
        bounds = f"{settings.chunk_seconds:g} s without a byte, or {settings.body_seconds:g} s in all"
        message = f"The body did not arrive in time: the limit is {bounds}. Send it again."
        raise Refused(408, "body_timeout", message, headers={"Connection": "close"}) from error
    return bytes(body)


async def _chunks(request: Request, seconds: float) -> AsyncIterator[bytes]:
    stream = request.stream()
    while True:
        try:
            async with asyncio.timeout(seconds):
                chunk = await anext(stream)
        except StopAsyncIteration:
            return
        yield chunk


def _parts(chunk: bytes, decompress: Decompress | None) -> Iterator[bytes]:
    if decompress is None:
        yield chunk
        return
    try:
        part = decompress(chunk, PART_BYTES)
        while part:
            yield part
            part = decompress(b"", PART_BYTES)
    except Exception as error:  # zlib.error, ZstdError and EOFError have no class in common
        message = "The body is not compressed as Content-Encoding says. Send it as it is, without that header."
        raise Refused(400, "broken_encoding", message) from error


def _check_content_type(header: str | None) -> None:
    kind, _, parameters = (header or "").partition(";")
    kind = kind.strip().casefold()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        found = f"found the content type {kind[:60]!r}" if kind else "found no content type"
        message = f"The body: {found}. Send JSON with the header Content-Type: application/json."
        raise Refused(415, "unsupported_media_type", message)
    charset = parameters.casefold().partition("charset=")[2].partition(";")[0].strip(' "')
    if charset not in ("", "utf-8", "utf8", "us-ascii"):
        message = f"The body: found the charset {charset[:60]!r}. JSON is sent as UTF-8."
        raise Refused(415, "unsupported_media_type", message)


def _decompressor(encoding: str) -> Decompress | None:
    """A new decompressor for one body; None when it is sent as it is."""
    name = encoding.strip().casefold()
    if name in ("", "identity"):
        return None
    if name in ("gzip", "x-gzip"):
        return _Gzip().decompress
    zstd = _zstd()
    if name == "zstd" and zstd is not None:
        return _Zstd(zstd).decompress
    known = "gzip, zstd" if zstd is not None else "gzip"
    message = f"The body: found the encoding {name[:60]!r}. Send it as it is, or with {known.replace(', ', ' or ')}."
    raise Refused(415, "unsupported_encoding", message, headers={"Accept-Encoding": known})


class _Gzip:
    def __init__(self) -> None:
        self.reader = zlib.decompressobj(wbits=31)

    def decompress(self, data: bytes, most: int) -> bytes:
        part = self.reader.decompress(self.reader.unconsumed_tail + data, most)
        if self.reader.unused_data:
            raise zlib.error("found bytes after the end")  # which would be dropped in silence
        return part


class _Zstd:
    def __init__(self, module: Any) -> None:
        self.reader = module.ZstdDecompressor()

    def decompress(self, data: bytes, most: int) -> bytes:
        if self.reader.eof and not data:
            return b""
        part: bytes = self.reader.decompress(data, most)
        if self.reader.unused_data:
            raise EOFError("found bytes after the end")
        return part


def _zstd() -> Any:
    for name in ZSTD_MODULES:
        try:
            return import_module(name)
        except ImportError:
            continue
    return None


def _too_large(settings: ServiceSettings) -> Refused:
    limit = settings.max_body_bytes
    message = f"The body is larger than the limit of {limit:,} bytes (HTTP 413). Send less text or smaller media."
    return Refused(413, "body_too_large", message, limit_bytes=limit)


def _busy(found: str) -> Refused:
    message = f"The server has {found} already, its limit. Try again in about 1 s."
    return Refused(429, "busy", message, headers={"Retry-After": "1"})
