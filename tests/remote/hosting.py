"""Starts a web application on a free port of this machine, for tests."""

import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import uvicorn
from remote.fakes import Fake
from remote.kinds import KINDS
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

Answer = Callable[[Request], Awaitable[Response]]


@contextmanager
def hosted(answer: Answer) -> Iterator[str]:
    """The address of a server that answers every POST, until the block ends."""

    async def endpoint(request: Request) -> Response:  # Starlette takes any other callable for an application
        return await answer(request)

    app = Starlette(routes=[Route("/{path:path}", endpoint, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server ended before it began"
        time.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)


@contextmanager
def hosted_fake(kind: str, context: int | None = None) -> Iterator[tuple[Fake, str]]:
    """A fake of this kind, and its address with the route."""
    fake = Fake(KINDS[kind], context=context)
    with hosted(fake.answer) as url:
        yield fake, url + fake.kind.path
