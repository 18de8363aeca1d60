"""Callers that lie, stall, flood or come from a page elsewhere, on a real port."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
from service.local_server import NANO, HeldDecider, Local, serving
from ui.scripted import ScriptedDecider

from clef_model.service.connections import PatientProtocol
from clef_model.service.settings import ServiceSettings, public

REQUEST: dict[str, Any] = {"state": "x", "questions": {"q": {"type": "noul"}}}
BODY = json.dumps(REQUEST).encode()


@pytest.fixture(scope="module")
def local() -> Iterator[Local]:
    with serving() as running:
        yield running


def code(response: httpx.Response) -> str:
    found: str = response.json()["error"]["code"]
    return found


def raw(port: int, *parts: bytes) -> bytes:
    """Everything that comes back on a connection that sends these parts and then waits."""
    received = b""
    with connected(port) as connection, suppress(ConnectionError):
        for part in parts:
            connection.sendall(part)
        while part := connection.recv(65_536):
            received += part
    return received


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=30)


def head(**headers: str) -> bytes:
    lines = {"Host": "localhost", "Content-Type": "application/json"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return "".join(["POST /v1/systemone HTTP/1.1\r\n", *(f"{k}: {v}\r\n" for k, v in lines.items()), "\r\n"]).encode()


def test_svc_01_a_body_over_the_limit_is_413_with_and_without_its_length(local: Local) -> None:
    def chunks() -> Iterator[bytes]:
        yield b'{"state": "'
        for _ in range(70):
            yield b" " * 2**20
        yield b'"}'

    declared = local.post("/v1/systemone", b"".join(chunks()))
    chunked = local.client.post("/v1/systemone", content=chunks(), headers={"Content-Type": "application/json"})
    for response in (declared, chunked):
        assert (response.status_code, code(response)) == (413, "body_too_large")
        assert response.json()["error"]["message"] == (
            "The body is larger than the limit of 67,108,864 bytes (HTTP 413). Send less text or smaller media."
        )


def test_a_length_that_promises_too_much_is_refused_before_the_body(local: Local) -> None:
    reply = raw(local.port, head(Content_Length=str(10**12), Connection="close"))
    assert reply.startswith(b"HTTP/1.1 413")


def test_a_length_that_is_too_short_leaves_no_second_request() -> None:
    decider = ScriptedDecider(status=NANO)
    with serving(decider) as local:
        reply = raw(local.port, head(Content_Length=str(len(BODY))), BODY + b"GARBAGE\r\n\r\n")
    assert reply.count(b"HTTP/1.1 200") == 1
    assert reply.count(b"HTTP/1.1 400") == 1
    assert len(decider.decided) == 1


def test_length_and_chunks_together_are_not_taken_for_two_requests(local: Local) -> None:
    smuggled = b"0\r\n\r\nGET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n"
    reply = raw(local.port, head(Content_Length=str(len(smuggled)), Transfer_Encoding="chunked"), smuggled)
    assert reply.startswith(b"HTTP/1.1 400")
    assert b'"ambiguous_length"' in reply
    assert b"clef-nano" not in reply


def test_a_body_that_stalls_is_408() -> None:
    with serving(settings=ServiceSettings(chunk_seconds=0.2)) as local:
        reply = raw(local.port, head(Content_Length="100"), b'{"state"')
    assert reply.startswith(b"HTTP/1.1 408")
    assert b'"body_timeout"' in reply


def test_a_body_that_drips_is_408_too() -> None:
    received = b""
    with serving(settings=ServiceSettings(body_seconds=0.3)) as local, connected(local.port) as connection:
        connection.sendall(head(Content_Length="100000"))
        connection.settimeout(0.02)
        while not received:
            connection.sendall(b" ")
            with suppress(TimeoutError):
                received = connection.recv(65_536)
    assert received.startswith(b"HTTP/1.1 408")


def test_a_connection_without_a_whole_head_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PatientProtocol, "header_seconds", 0.2)
    with serving() as local:
        assert raw(local.port) == b""
        assert raw(local.port, b"POST /v1/systemone HTTP/1.1\r\nHost: loc") == b""


def test_a_client_that_goes_on_sending_after_the_refusal_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PatientProtocol, "header_seconds", 0.3)
    with serving() as local, connected(local.port) as connection:
        connection.sendall(head(Content_Length=str(10**12)))
        # It ends with a broken pipe or a reset, as the moment has it; without the deadline it would not end.
        with suppress(ConnectionError):
            while True:
                connection.sendall(b" " * 65_536)


def test_a_head_without_end_ends_the_connection(local: Local) -> None:
    with connected(local.port) as connection, suppress(ConnectionError):
        connection.sendall(b"POST /v1/systemone HTTP/1.1\r\nx: ")
        for _ in range(2**16):
            connection.sendall(b"y" * 2**10)
        raise AssertionError("64 MiB of a header were taken")
    assert local.client.get("/health").status_code == 200


def test_a_client_that_hangs_up_while_it_waits_is_forgotten() -> None:
    decider = HeldDecider(status=NANO)
    with serving(decider) as local:
        first = threading.Thread(target=local.post, args=("/v1/systemone", REQUEST))
        first.start()
        assert decider.began.wait(30)
        with connected(local.port) as connection:
            connection.sendall(head(Content_Length=str(len(BODY))) + BODY)
            until(lambda: local.lane.state().waiting == {"api": 1})
        until(lambda: local.lane.state().waiting == {})
        decider.go.set()
        first.join(30)
    assert len(decider.decided) == 1


def test_a_client_that_hangs_up_while_it_is_answered_stops_the_work() -> None:
    decider = HeldDecider(status=NANO)
    with serving(decider) as local:
        with connected(local.port) as connection:
            connection.sendall(head(Content_Length=str(len(BODY))) + BODY)
            assert decider.began.wait(30)
        assert decider.stopped.wait(30)
        until(lambda: local.lane.state().running is None)
        decider.go.set()
        assert local.post("/v1/systemone", REQUEST).status_code == 200


def until(is_true: Any) -> None:
    deadline = time.monotonic() + 30
    while not is_true():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.005)


def test_a_full_queue_is_429_with_the_time_to_come_back() -> None:
    decider = HeldDecider(status=NANO)
    with serving(decider, ServiceSettings(max_waiting=1)) as local:
        threads = [threading.Thread(target=local.post, args=("/v1/systemone", REQUEST)) for _ in range(2)]
        threads[0].start()
        assert decider.began.wait(30)
        threads[1].start()
        until(lambda: local.lane.state().waiting == {"api": 1})
        response = local.post("/v1/systemone", REQUEST)
        decider.go.set()
        for thread in threads:
            thread.join(30)
    assert (response.status_code, code(response), response.headers["retry-after"]) == (429, "queue_full", "1")
    assert response.json()["error"]["message"] == (
        "The queue for the model holds 1 request already, its limit. Try again in about 1 s."
    )


def test_more_requests_than_can_be_worked_on_are_429() -> None:
    decider = HeldDecider(status=NANO)
    with serving(decider, ServiceSettings(max_pending=1)) as local:
        first = threading.Thread(target=local.post, args=("/v1/systemone", REQUEST))
        first.start()
        assert decider.began.wait(30)
        assert code(local.post("/v1/plan", REQUEST)) == "busy"
        assert local.client.get("/health").status_code == 200
        decider.go.set()
        first.join(30)
        assert local.post("/v1/plan", REQUEST).status_code == 200


def test_one_client_cannot_keep_every_place_at_work() -> None:
    decider = HeldDecider(status=NANO)
    with serving(decider, ServiceSettings(max_pending_per_client=1, is_behind_proxy=True)) as local:
        first = threading.Thread(target=local.post, args=("/v1/systemone", REQUEST))
        first.start()
        assert decider.began.wait(30)
        response = local.post("/v1/plan", REQUEST)
        other = local.client.post("/v1/plan", json=REQUEST, headers={"X-Forwarded-For": "203.0.113.7"})
        decider.go.set()
        first.join(30)
    assert response.json()["error"]["message"] == (
        "The server has 1 request of yours at work already, its limit. Try again in about 1 s."
    )
    assert other.status_code == 200


def test_a_program_that_names_no_host_is_answered(local: Local) -> None:
    assert raw(local.port, b"GET /health HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 200")


def test_bodies_that_are_too_large_together_are_429() -> None:
    with serving(settings=ServiceSettings(max_pending_bytes=1000)) as local:
        assert code(local.post("/v1/plan", REQUEST | {"state": "x" * 2000})) == "busy"
        assert local.post("/v1/plan", REQUEST).status_code == 200


def test_the_key_is_asked_for_on_every_route_below_v1() -> None:
    with serving(settings=ServiceSettings(key="sk-test-CANARY-1")) as local:
        for headers in ({}, {"Authorization": "Bearer sk-test-CANARY-2"}, {"Authorization": "Basic sk-test-CANARY-1"}):
            for path in ("/v1/systemone", "/v1/systemone/batch", "/v1/plan", "/v1/models", "/v1/nothing"):
                response = local.client.post(path, json=REQUEST, headers=headers)
                assert (response.status_code, code(response)) == (401, "authentication_error")
                assert response.headers["www-authenticate"] == "Bearer"
                assert "CANARY" not in response.text
        known = {"Authorization": "Bearer sk-test-CANARY-1"}
        assert local.client.post("/v1/systemone", json=REQUEST, headers=known).status_code == 200
        assert local.client.get("/health").status_code == 200


def test_a_key_that_is_no_text_is_a_wrong_key() -> None:
    with serving(settings=ServiceSettings(key="k")) as local:
        response = local.client.post("/v1/plan", json=REQUEST, headers={"Authorization": b"Bearer \xff\xfe"})
    assert response.status_code == 401


FOREIGN = ["https://evil.example", "http://127.0.0.1:1", "http://localhost", "null", "", "file://", "http://[::1", "x"]


@pytest.mark.parametrize("origin", FOREIGN)
@pytest.mark.parametrize("path", ["/v1/systemone", "/health", "/nothing"])
def test_a_page_elsewhere_may_not_drive_a_local_server(local: Local, origin: str, path: str) -> None:
    response = local.client.post(path, json=REQUEST, headers={"Origin": origin})
    assert (response.status_code, code(response)) == (403, "foreign_origin")
    assert [name for name in response.headers if name.startswith("access-control")] == []


def test_a_page_elsewhere_gets_no_leave_in_advance(local: Local) -> None:
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    response = local.client.request("OPTIONS", "/v1/systemone", headers=headers)
    assert response.status_code == 403
    assert [name for name in response.headers if name.startswith("access-control")] == []


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "x@localhost"]
)
def test_a_name_that_somebody_leads_here_is_refused(local: Local, host: str) -> None:
    response = local.client.post("/v1/systemone", json=REQUEST, headers={"Host": host})
    assert (response.status_code, code(response)) == (421, "unknown_host")


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1234", "a.localhost", "127.0.0.1", "[::1]:80", "192.168.1.5:80"]
)
def test_names_and_addresses_of_this_machine_are_known(local: Local, host: str) -> None:
    assert local.client.post("/v1/systemone", json=REQUEST, headers={"Host": host}).status_code == 200


def test_a_page_of_the_server_itself_may_call(local: Local) -> None:
    assert local.client.post("/v1/systemone", json=REQUEST, headers={"Origin": local.url}).status_code == 200
    headers = {"Origin": "https://localhost", "Host": "localhost:443"}
    assert local.client.post("/v1/systemone", json=REQUEST, headers=headers).status_code == 200


def test_an_operator_may_name_further_hosts_and_origins() -> None:
    settings = ServiceSettings(hosts=("clef.internal",), origins=("https://app.example",))
    with serving(settings=settings) as local:
        headers = {"Host": "clef.internal:8000", "Origin": "https://app.example"}
        response = local.client.post("/v1/systemone", json=REQUEST, headers=headers)
        assert response.status_code == 200
        assert response.headers["access-control-allow-origin"] == "https://app.example"
        other = local.client.post("/v1/systemone", json=REQUEST, headers={"Origin": "https://other.example"})
        assert other.status_code == 403
        assert "access-control-allow-origin" not in other.headers


def test_a_public_server_has_any_name_and_still_no_foreign_pages() -> None:
    with serving(settings=public(ServiceSettings())) as local:
        headers = {"Host": "someone-clef.hf.space"}
        assert local.client.post("/v1/systemone", json=REQUEST, headers=headers).status_code == 200
        response = local.client.post(
            "/v1/systemone", json=REQUEST, headers=headers | {"Origin": "https://evil.example"}
        )
        assert code(response) == "foreign_origin"


def test_two_of_one_header_are_no_way_around(local: Local) -> None:
    twice = [("Host", "localhost"), ("Host", "evil.example")]
    reply = raw(
        local.port, b"".join([b"GET /v1/models HTTP/1.1\r\n", *(f"{k}: {v}\r\n".encode() for k, v in twice), b"\r\n"])
    )
    assert reply.startswith(b"HTTP/1.1 400")


def test_a_server_that_is_told_to_stop_finishes_what_it_has_begun() -> None:
    decider = HeldDecider(status=NANO)
    answers: list[int] = []
    with serving(decider) as local:
        url = f"{local.url}/v1/systemone"
        thread = threading.Thread(target=lambda: answers.append(httpx.post(url, json=REQUEST).status_code))
        thread.start()
        assert decider.began.wait(30)
        threading.Timer(0.1, decider.go.set).start()
    thread.join(30)
    assert answers == [200]
