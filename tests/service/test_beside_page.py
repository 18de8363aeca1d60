"""The service beside the page: one port, one guard, one lane."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from gradio_client import Client
from service.local_server import NANO, HeldDecider
from ui.scripted import ScriptedDecider

from clef_model.decision import Decider, Limits
from clef_model.errors import ClefError
from clef_model.lazy import LazyDecider
from clef_model.parsing import parse_record
from clef_model.service.settings import ServiceSettings, public
from clef_ui.beside import GpuDecider, service_beside
from clef_ui.presets import read_presets
from clef_ui.workbench import build_workbench, serve

PRESETS = Path(__file__).parents[2] / "presets"
REQUEST: dict[str, Any] = {"state": "x", "questions": {"q": {"type": "noul"}}}


def lazy(decider: Decider) -> LazyDecider:
    return LazyDecider(lambda: ScriptedDecider(status=NANO), lambda _: decider).wait()


@contextmanager
def page_of(decider: LazyDecider, settings: ServiceSettings) -> Iterator[httpx.Client]:
    page = build_workbench(decider, read_presets(PRESETS), decider.limits)
    serve(page, host="127.0.0.1", port=None, beside=service_beside(decider, settings), block=False)
    try:
        with httpx.Client(base_url=page.local_url, timeout=60, trust_env=False) as client:
            yield client
    finally:
        page.close()


@pytest.fixture(scope="module")
def local() -> Iterator[httpx.Client]:
    with page_of(lazy(ScriptedDecider(status=NANO)), ServiceSettings()) as client:
        yield client


def test_page_and_service_share_a_port(local: httpx.Client) -> None:
    assert local.get("/").headers["content-type"].startswith("text/html")
    assert local.post("/v1/systemone", json=REQUEST).json()["model"] == "clef-nano"
    assert local.get("/health").json()["status"] == "ready"
    assert "/v1/systemone" in local.get("/openapi.json").json()["paths"]
    assert local.get("/v1/models").headers["content-type"] == "application/json"


def test_below_v1_every_failure_is_ours(local: httpx.Client) -> None:
    for response, status in (
        (local.get("/v1/systemone"), 405),
        (local.get("/v1/other"), 404),
        (local.post("/v1/plan"), 415),
    ):
        assert (response.status_code, set(response.json())) == (status, {"error", "detail"})


@pytest.mark.parametrize("path", ["/", "/gradio_api/call/decide", "/gradio_api/queue/join", "/config", "/v1/systemone"])
def test_neither_page_nor_service_can_be_driven_from_elsewhere(local: httpx.Client, path: str) -> None:
    for headers, status in (({"Origin": "https://evil.example"}, 403), ({"Host": "evil.example"}, 421)):
        assert local.post(path, json={}, headers=headers).status_code == status
        assert local.get(path, headers=headers).status_code == status


def test_the_pages_own_calls_are_let_through(local: httpx.Client) -> None:
    client = Client(str(local.base_url), verbose=False)
    answer = client.predict(REQUEST, api_name="/decide")
    assert answer["answers"] == local.post("/v1/systemone", json=REQUEST).json()["answers"]
    own = {"Origin": str(local.base_url).rstrip("/")}
    assert local.get("/config", headers=own).status_code == 200


def test_the_page_waits_for_the_api_and_the_api_for_the_page() -> None:
    held = HeldDecider(status=NANO)
    decider = lazy(held)
    with page_of(decider, ServiceSettings()) as local:
        threads = [
            threading.Thread(target=local.post, args=("/v1/systemone",), kwargs={"json": REQUEST}),
            threading.Thread(target=decider.decide, args=([],)),
        ]
        threads[0].start()
        assert held.began.wait(30)
        threads[1].start()
        while not decider.lane.state().waiting:
            assert threads[1].is_alive()
        queue = local.get("/health").json()["queue"]
        held.go.set()
        for thread in threads:
            thread.join(30)
    assert (queue["running"], queue["waiting"]) == ("api", {"page": 1})
    assert decider.lane.state().turns == 2


def test_a_public_page_may_be_opened_by_any_name_and_its_service_still_not_from_elsewhere() -> None:
    with page_of(lazy(ScriptedDecider(status=NANO)), public(ServiceSettings())) as local:
        space = {"Host": "someone-clef.hf.space"}
        assert local.get("/", headers=space).status_code == 200
        foreign = space | {"Origin": "https://evil.example"}
        assert local.post("/v1/systemone", json=REQUEST, headers=foreign).status_code == 403


def test_a_decision_in_another_process_brings_back_answers_or_a_sentence() -> None:
    decider = GpuDecider(ScriptedDecider(status=NANO))
    record = parse_record(REQUEST)
    assert [decision.answers for decision in decider.decide([record])] == [
        decision.answers for decision in ScriptedDecider(status=NANO).decide([record])
    ]
    with pytest.raises(ClefError, match="maximum is 10"):
        decider.decide([record], Limits(max_length=10))
