"""What the service refuses, over a real port: status, code, whole messages, and never a fault of its own."""

import gzip
import json
import logging
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from backports import zstd
from service.local_server import NANO, HeldDecider, Local, serving
from ui.scripted import ScriptedDecider

from clef_model.decision import Decider, Decision, Limits, Progress
from clef_model.errors import BrokenAnswer, BrokenRelease, Unsupported
from clef_model.lazy import LazyDecider
from clef_model.schema import Record
from clef_model.service.settings import ServiceSettings, public

REQUEST: dict[str, Any] = {"state": "x", "questions": {"q": {"type": "noul"}}}


@pytest.fixture(scope="module")
def local() -> Iterator[Local]:
    with serving() as running:
        yield running


def error(response: Any, status: int) -> dict[str, Any]:
    """The error object of a response that must have this status and every part of an error."""
    assert response.status_code == status
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    assert set(body) == {"error", "detail"}
    assert {"code", "message", "problems"} <= set(body["error"])
    found: dict[str, Any] = body["error"]
    return found


def test_text_that_is_no_json_is_told_by_line_and_column(local: Local) -> None:
    found = error(local.post("/v1/systemone", '{"state": 1,\n "questions": }'), 400)
    message = "found '}' where a value is expected. Write the value before it, or remove it."
    assert found == {
        "code": "not_json",
        "message": f"questions (line 2, column 15): {message}",
        "problems": [{"where": "questions", "message": message, "line": 2, "column": 15}],
    }


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b'{"state": NaN}', b'{"state": 1,}', b"{'state': 1}", b'{"a": 01}'])
def test_what_json_forbids_is_400(local: Local, body: bytes) -> None:
    assert error(local.post("/v1/systemone", body), 400)["code"] == "not_json"


def test_json_that_is_no_request_is_422_with_every_problem_and_its_path(local: Local) -> None:
    body = {"questions": {"a b": {"type": "nul"}, "c": {"type": "choice", "criteria": []}}, "max_length": 0, "extra": 1}
    response = local.post("/v1/systemone", body)
    found = error(response, 422)
    assert [problem["where"] for problem in found["problems"]] == [
        "state",
        'questions["a b"].type',
        "questions.c.criteria",
        "max_length",
        "extra",
    ]
    assert found["message"].endswith(" (4 more problems)")
    assert [part["loc"] for part in response.json()["detail"]] == [
        ["body", "state"],
        ["body", "questions", "a b", "type"],
        ["body", "questions", "c", "criteria"],
        ["body", "max_length"],
        ["body", "extra"],
    ]


def test_too_deep_and_duplicate_keys_are_json_and_no_request(local: Local) -> None:
    deep = '{"state": ' + "[" * 5000 + "]" * 5000 + "}"
    assert error(local.post("/v1/systemone", deep), 422)["code"] == "invalid_request"
    twice = '{"state": 1, "state": 2, "questions": {"q": {"type": "noul"}}}'
    assert "duplicate key 'state'" in error(local.post("/v1/systemone", twice), 422)["message"]


def test_half_of_a_character_is_a_problem_and_no_fault_of_ours(local: Local) -> None:
    response = local.post("/v1/systemone", '{"state": 1, "questions": {"q": {"type": "noul", "\\ud800": 1}}}')
    assert error(response, 422)["problems"][-1]["where"] == 'questions.q["\\ud800"]'
    assert response.json()["detail"][-1]["loc"] == ["body", "questions", "q", "\ud800"]


def test_a_batch_names_the_request_of_each_problem(local: Local) -> None:
    body = '{"requests": [\n' + json.dumps(REQUEST) + ',\n{"state": 1, "questions": {"q": {}}},\n{"truncate": true}]}'
    found = error(local.post("/v1/systemone/batch", body), 422)
    assert [(problem["where"], problem["line"]) for problem in found["problems"]] == [
        ("requests[1].questions.q.type", 3),
        ("requests[2].state", 4),
        ("requests[2].questions", 4),
        ("requests[2].truncate", 4),
    ]


@pytest.mark.parametrize("body", ["[]", "{}", '{"requests": []}', '{"requests": {}}', '{"requests": [1]}', '{"x": 1}'])
def test_what_is_no_batch_is_422(local: Local, body: str) -> None:
    assert error(local.post("/v1/systemone/batch", body), 422)["problems"]


def test_a_batch_with_too_many_requests_is_413() -> None:
    with serving(settings=ServiceSettings(max_batch=2)) as local:
        found = error(local.post("/v1/systemone/batch", {"requests": [REQUEST] * 3}), 413)
    assert found["message"] == "The batch holds 3 requests; the limit is 2. Send it in parts."
    assert found["limit_requests"] == 2


def test_truncate_false_is_413_with_both_numbers(local: Local) -> None:
    found = error(
        local.post("/v1/systemone", REQUEST | {"state": "x" * 500, "truncate": False, "max_length": 600}), 413
    )
    assert found["code"] == "context_too_long"
    assert (found["needed_tokens"], found["limit_tokens"]) == (966, 600)
    assert "the record needs 966 tokens and max_length is 600" in found["message"]


def test_questions_that_alone_are_too_long_are_413(local: Local) -> None:
    found = error(local.post("/v1/systemone", REQUEST | {"max_length": 100}), 413)
    assert found["code"] == "budget_exceeded"
    assert (found["needed_tokens"], found["limit_tokens"]) == (466, 100)


def test_a_batch_names_the_request_that_is_too_long(local: Local) -> None:
    body = {"requests": [REQUEST, REQUEST | {"state": "x" * 500}], "truncate": False, "max_length": 600}
    found = error(local.post("/v1/systemone/batch", body), 413)
    assert found["message"].startswith("requests[1]: Record 'unknown': maximum context length exceeded")


def test_no_request_may_ask_for_more_than_the_operator_allows(local: Local) -> None:
    found = error(local.post("/v1/systemone", REQUEST | {"max_length": 65_537}), 422)
    assert found["problems"][0]["where"] == "max_length"
    assert found["problems"][0]["message"] == "found 65,537 tokens; this server allows 65,536. Ask for fewer."


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "application/json; charset=utf-16"},
        {"Content-Type": ""},
    ],
    ids=lambda headers: headers["Content-Type"] or "none",
)
def test_what_is_not_json_by_its_headers_is_415(local: Local, headers: dict[str, str]) -> None:
    response = local.client.post("/v1/systemone", content=json.dumps(REQUEST), headers=headers)
    assert error(response, 415)["code"] == "unsupported_media_type"


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=UTF-8", "application/vnd.x+json"])
def test_json_by_any_of_its_names_is_read(local: Local, kind: str) -> None:
    response = local.client.post("/v1/systemone", content=json.dumps(REQUEST), headers={"Content-Type": kind})
    assert response.status_code == 200


def test_compressed_bodies_are_read(local: Local) -> None:
    for name, packed in (
        ("gzip", gzip.compress(json.dumps(REQUEST).encode())),
        ("zstd", zstd.compress(json.dumps(REQUEST).encode())),
    ):
        assert local.post("/v1/systemone", packed, headers={"Content-Encoding": name}).status_code == 200


def test_an_unknown_encoding_is_415_and_names_those_there_are(local: Local) -> None:
    response = local.post("/v1/systemone", b"x", headers={"Content-Encoding": "br"})
    assert (
        error(response, 415)["message"] == "The body: found the encoding 'br'. Send it as it is, or with gzip or zstd."
    )
    assert response.headers["accept-encoding"] == "gzip, zstd"


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_a_body_that_is_not_compressed_as_it_says_is_400(local: Local, name: str) -> None:
    for body in (b"{}", gzip.compress(b"{}") + b"more", zstd.compress(b"{}") + b"more"):
        assert (
            error(local.post("/v1/systemone", body, headers={"Content-Encoding": name}), 400)["code"]
            == "broken_encoding"
        )


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_a_small_body_that_unpacks_to_a_large_one_is_413(name: str) -> None:
    pack = gzip.compress if name == "gzip" else zstd.compress
    with serving(settings=ServiceSettings(max_body_bytes=2**20)) as local:
        bomb = pack(b'{"state": "' + b" " * 2**26 + b'"}')
        assert len(bomb) < 2**17
        found = error(local.post("/v1/systemone", bomb, headers={"Content-Encoding": name}), 413)
    assert found["code"] == "body_too_large"


def test_unknown_routes_and_methods_are_json_too(local: Local) -> None:
    assert error(local.client.get("/v1/decisions"), 404)["code"] == "not_found"
    assert error(local.client.get("/systemone"), 404)["code"] == "not_found"
    response = local.client.get("/v1/systemone")
    assert error(response, 405)["message"] == "/v1/systemone takes POST, and this was GET."
    assert response.headers["allow"] == "POST"
    assert error(local.client.request("OPTIONS", "/v1/plan"), 405)["code"] == "method_not_allowed"


def test_media_that_name_a_path_or_an_address_are_refused_unopened(local: Local) -> None:
    for image in ("/etc/passwd", "file:///etc/passwd", "http://127.0.0.1:1/x.png", "../x.png"):
        found = error(local.post("/v1/systemone", REQUEST | {"images": [image]}), 422)
        assert "which is never opened" in found["problems"][0]["message"]
    found = error(local.post("/v1/systemone", REQUEST | {"media_kwargs": {}}), 422)
    assert found["problems"][0]["where"] == "media_kwargs"


class FailingDecider(ScriptedDecider):
    """Raises what it is told to."""

    failure: BaseException = ValueError("secret trace /root/secret")

    def decide(
        self,
        records: Sequence[Record],
        limits: Limits = Limits(),  # noqa: B008 (frozen)
        progress: Progress | None = None,
    ) -> list[Decision]:
        raise self.failure


def failing(failure: BaseException) -> Decider:
    decider = FailingDecider(status=NANO)
    decider.failure = failure
    return decider


def test_a_fault_of_ours_is_told_without_its_trace(caplog: pytest.LogCaptureFixture) -> None:
    with serving(failing(ValueError("secret trace"))) as local, caplog.at_level(logging.CRITICAL):
        response = local.post("/v1/systemone", REQUEST)
    assert error(response, 500) == {
        "code": "internal",
        "message": "Internal error, see the server's log.",
        "problems": [],
    }
    assert "secret" not in response.text


def test_what_a_model_cannot_read_is_422() -> None:
    with serving(failing(Unsupported("Record 'a': clef-nano reads text only."))) as local:
        assert error(local.post("/v1/systemone", REQUEST), 422)["code"] == "unsupported"


def test_an_answer_that_is_none_is_a_fault_of_the_model(caplog: pytest.LogCaptureFixture) -> None:
    with (
        serving(failing(BrokenAnswer("questions.q: the model returned nan."))) as local,
        caplog.at_level(logging.CRITICAL),
    ):
        assert error(local.post("/v1/systemone", REQUEST), 500)["code"] == "broken_answer"


def test_the_lane_is_free_again_after_a_failure() -> None:
    with serving(failing(Unsupported("no"))) as local:
        for _ in range(3):
            local.post("/v1/systemone", REQUEST)
        assert local.client.get("/health").json()["queue"]["running"] is None


def lazy(load: Any, *, planner: Any = lambda: ScriptedDecider(status=NANO)) -> LazyDecider:
    return LazyDecider(planner, load)


def test_while_the_weights_load_plans_are_answered_and_decisions_are_503() -> None:
    held = HeldDecider(status=NANO)

    def load(progress: Progress) -> Decider:
        progress(0.25, "reading weights")
        held.began.set()
        held.go.wait(60)
        return ScriptedDecider(status=NANO)

    decider = lazy(load).start()
    assert held.began.wait(60)
    with serving(decider) as local:
        response = local.post("/v1/systemone", REQUEST)
        assert error(response, 503)["message"] == "The model is loading (reading weights, 25%). Try again in about 5 s."
        assert response.headers["retry-after"] == "5"
        assert local.post("/v1/plan", REQUEST).status_code == 200
        assert local.client.get("/v1/models").status_code == 200
        health = local.client.get("/health")
        assert (health.status_code, health.json()["status"]) == (503, "loading")
        held.go.set()
        decider.wait()
        assert local.post("/v1/systemone", REQUEST).status_code == 200
        assert local.client.get("/health").json()["status"] == "ready"


def broken(_: Progress) -> Decider:
    raise BrokenRelease("Release /srv/private/clef: joint_head.safetensors is missing.")


def test_a_model_that_could_not_be_loaded_says_why() -> None:
    with serving(lazy(broken).wait()) as local:
        found = error(local.post("/v1/systemone", REQUEST), 503)
        health = local.client.get("/health")
    assert found["message"] == "Release /srv/private/clef: joint_head.safetensors is missing."
    assert health.json()["status"] == "failed"


def test_a_public_server_names_no_path_of_its_machine(caplog: pytest.LogCaptureFixture) -> None:
    decider = lazy(broken).wait()
    with serving(decider, public(ServiceSettings())) as local, caplog.at_level(logging.CRITICAL):
        texts = [local.client.get(path).text for path in ("/health", "/v1/models", "/openapi.json")]
        texts.append(local.post("/v1/systemone", REQUEST).text)
    with serving(failing(BrokenRelease("/srv/private/x is gone")), public(ServiceSettings())) as local:
        texts.append(local.post("/v1/systemone", REQUEST).text)
    assert [text for text in texts if "/srv" in text] == []


def test_a_public_server_takes_less() -> None:
    with serving(settings=public(ServiceSettings())) as local:
        assert error(local.post("/v1/systemone", REQUEST | {"max_length": 16_385}), 422)
        assert error(local.post("/v1/systemone/batch", {"requests": [REQUEST] * 9}), 413)
        assert error(local.post("/v1/systemone", b" " * (16 * 2**20 + 1)), 413)
