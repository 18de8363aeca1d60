"""The service on a real port of this machine, for tests."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
from ui.scripted import STATUS, ScriptedDecider

from clef_model.decision import Decider, Decision, Limits, ModelStatus, Progress
from clef_model.lane import Lane
from clef_model.schema import Record
from clef_model.service.routes import service_app
from clef_model.service.settings import ServiceSettings
from clef_model.serving import build_server

NANO = replace(STATUS, name="clef-nano")


@dataclass(frozen=True)
class Local:
    """A running service; `client` calls it."""

    url: str
    port: int
    lane: Lane
    client: httpx.Client

    def post(self, path: str, body: Any, **more: Any) -> httpx.Response:
        """Bytes and text as they are, everything else as JSON."""
        if isinstance(body, bytes | str):
            headers = {"Content-Type": "application/json", **more.pop("headers", {})}
            return self.client.post(path, content=body, headers=headers, **more)
        return self.client.post(path, json=body, **more)


@contextmanager
def serving(
    decider: Decider | None = None, settings: ServiceSettings | None = None, *, lane: Lane | None = None
) -> Iterator[Local]:
    """The service over a decider on a free port, until the block ends."""
    settings = settings or ServiceSettings()
    lane = lane or Lane(settings.max_waiting, settings.max_waiting_per_client)
    app = service_app(decider or ScriptedDecider(status=NANO), lane, settings)
    server = build_server(app, host="127.0.0.1", port=0)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server ended before it began"
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    try:
        with httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
            yield Local(url, port, lane, client)
    finally:
        server.should_exit = True
        thread.join(30)


@dataclass
class HeldDecider(ScriptedDecider):
    """Decides once it is let go; `began` is set when a call is inside."""

    began: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)
    stopped: threading.Event = field(default_factory=threading.Event)

    def decide(
        self,
        records: Sequence[Record],
        limits: Limits = Limits(),  # noqa: B008 (frozen)
        progress: Progress | None = None,
    ) -> list[Decision]:
        self.began.set()
        try:
            while not self.go.wait(0.01):
                if progress is not None:
                    progress(0.0, "held")
        except BaseException:
            self.stopped.set()
            raise
        return super().decide(records, limits, progress)


def status(**changes: Any) -> ModelStatus:
    return replace(NANO, **changes)
