"""What the service answers, over a real port: the release's shape, the facts beside it, batches, plans, models."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from service.local_server import NANO, Local, serving
from ui.scripted import ScriptedDecider

from clef_model.decision import Limits, to_response
from clef_model.parsing import parse_record
from clef_model.service.settings import ServiceSettings

QUESTIONS: dict[str, Any] = {
    "outage": {"type": "noul", "instructions": "Is a service down?"},
    "team": {"type": "choice", "criteria": {"web": "Pages", "billing": None, "api": {"owns": ["keys"]}}},
    "urgency": {"type": "score", "criteria": ["Can wait", {"n": 2}, None]},
}
REQUEST: dict[str, Any] = {
    "model": "clef-nano",
    "state": {"text": "The checkout is down", "n": 1.0},
    "questions": QUESTIONS,
}
LOGITS = {"outage": [0.25, -1.5], "team": [0.1, 1.75, 0.3], "urgency": [-0.5, 2.0, 0.125]}


@pytest.fixture(scope="module")
def local() -> Iterator[Local]:
    with serving(ScriptedDecider(LOGITS, status=NANO)) as running:
        yield running


def test_an_answer_is_exactly_the_releases_response(local: Local) -> None:
    (decision,) = ScriptedDecider(LOGITS, status=NANO).decide([parse_record(REQUEST)])
    response = local.post("/v1/systemone", REQUEST)
    assert response.status_code == 200
    assert response.json() == to_response(decision)
    assert list(response.json()["answers"]["team"]["probabilities"]) == ["web", "billing", "api"]


def test_an_answer_is_spelled_as_it_always_is(local: Local) -> None:
    response = local.post("/v1/systemone", REQUEST)
    assert response.text == (
        '{"model":"clef-nano","answers":{"outage":{"type":"noul","noul":0.852},"team":{"type":"choice",'
        '"choice":"billing","confidence":0.701,"probabilities":{"web":0.1644,"billing":0.701,"api":0.1346}},'
        '"urgency":{"type":"score","score":1.0577,"confidence":0.8094,"legend":{"0":"Can wait","1":{"n":2},'
        '"2":null},"probabilities":{"0":0.0664,"1":0.8094,"2":0.1241}}},"usage":{"input_tokens":963,'
        '"output_tokens":0}}'
    )


def test_headers_say_who_really_answered_and_forbid_caching(local: Local) -> None:
    headers = local.post("/v1/systemone", REQUEST).headers
    assert headers["content-type"] == "application/json"
    assert headers["x-clef-model"] == "clef-nano"
    assert headers["x-clef-revision"] == "0123456789abcdef"
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers


def test_a_request_without_a_model_is_answered_by_name(local: Local) -> None:
    request = {key: REQUEST[key] for key in ("state", "questions")}
    assert local.post("/v1/systemone", request).json()["model"] == "clef-nano"


def test_a_client_that_takes_any_model_is_told_which_one_answered(local: Local) -> None:
    request = {"model": "jev-latest", "state": "x", "questions": {"q": {"type": "noul"}}}
    assert local.post("/v1/systemone", request).json()["model"] == "clef-nano"


def test_svc_13_an_unknown_model_is_refused_with_the_names_there_are(local: Local) -> None:
    response = local.post("/v1/systemone", REQUEST | {"model": "clef-flash"})
    assert response.status_code == 422
    assert response.json()["error"]["message"] == (
        "model (line 1, column 10): found 'clef-flash', and the model here is 'clef-nano'. "
        "Send that name, or leave it out."
    )


def test_a_hub_release_is_called_by_its_usual_names() -> None:
    flash = ScriptedDecider(status=replace(NANO, name="Cloudflare/clef-flash"))
    names = ["Cloudflare/clef-flash", "clef-flash", "@cf/cloudflare/clef-flash", "prod"]
    with serving(flash, ServiceSettings(model_names=("prod",))) as local:
        for name in names:
            response = local.post("/v1/systemone", REQUEST | {"model": name})
            assert response.json()["model"] == name
        listed = [model["name"] for model in local.client.get("/v1/models").json()["models"]]
    assert listed == [*names, "jev-latest"]


def test_x_clef_on_request_holds_what_the_response_has_no_place_for(local: Local) -> None:
    response = local.post("/v1/systemone", REQUEST | {"x_clef": True, "max_state_tokens": 10}).json()
    facts = response.pop("x_clef")
    plain = local.post("/v1/systemone", REQUEST | {"max_state_tokens": 10}).json()
    assert response == plain
    assert facts["predictions"]["outage"] == {"true": 0.8519527912139893, "false": 0.14804719388484955}
    assert facts["readings"]["team"]["confidence"] == {
        "max_probability": 0.7009574174880981,
        "rescaled_peak": 0.5514361262321472,
        "entropy": 0.2573871038691463,
    }
    assert facts["budget"]["truncation"]["kept_tokens"] == 10
    assert facts["budget"]["truncation"]["cause"] == "max_state_tokens"
    assert "state_cut" in [notice["code"] for notice in facts["notices"]]
    assert facts["timing"]["forward_ms"] == 40.6
    assert facts["model"]["revision"] == "0123456789abcdef"


def test_large_integers_and_every_character_come_back_as_they_were_sent(local: Local) -> None:
    levels = '[12345678901234567890123, 1.0, "é😀\\u2028"]'
    body = f'{{"state": 0, "questions": {{"q": {{"type": "score", "criteria": {levels}}}}}}}'
    text = local.post("/v1/systemone", body).text
    assert '"legend":{"0":12345678901234567890123,"1":1.0,"2":"é😀\u2028"}' in text


def test_a_batch_is_answered_in_order_and_each_as_if_alone(local: Local) -> None:
    requests = [REQUEST | {"state": f"number {number}"} for number in range(12)]
    batch = local.post("/v1/systemone/batch", {"requests": requests}).json()["responses"]
    assert batch == [local.post("/v1/systemone", request).json() for request in requests]


def test_settings_of_a_batch_count_for_all_its_requests(local: Local) -> None:
    body = {"requests": [REQUEST, REQUEST], "max_state_tokens": 5, "x_clef": True}
    responses = local.post("/v1/systemone/batch", body).json()["responses"]
    assert [response["x_clef"]["budget"]["state_kept"] for response in responses] == [5, 5]


def test_a_long_batch_takes_several_turns_so_that_nobody_waits_for_all_of_it() -> None:
    with serving() as local:
        local.post("/v1/systemone/batch", {"requests": [REQUEST | {"state": "x" * 9000} for _ in range(3)]})
        assert local.client.get("/health").json()["queue"]["turns"] == 3
        local.post("/v1/systemone/batch", {"requests": [REQUEST] * 3})
        assert local.client.get("/health").json()["queue"]["turns"] == 4


def test_a_plan_needs_no_decision(local: Local) -> None:
    turns = local.lane.state().turns
    plan = local.post("/v1/plan", REQUEST).json()
    assert local.lane.state().turns == turns
    assert plan["budget"]["total"] == 963
    assert "".join(segment["text"] for segment in plan["ledger"]).startswith("<|im_start|>system\n")
    assert sum(segment["tokens"] for segment in plan["ledger"]) == plan["budget"]["total"]
    start, end = plan["questions"][0]["span"]
    assert end - start == len("Is a service down?")
    assert {"code", "where", "message"} == set(plan["lint"][0])
    assert "option_order" in [advice["code"] for advice in plan["lint"]]


def test_the_servers_own_limits_hold_for_requests_that_say_nothing() -> None:
    with serving(settings=ServiceSettings(limits=Limits(truncate=False, max_state_tokens=3))) as local:
        refused = local.post("/v1/systemone", REQUEST)
        assert refused.status_code == 413
        allowed = local.post("/v1/systemone", REQUEST | {"truncate": True, "x_clef": True})
        assert allowed.json()["x_clef"]["budget"]["state_kept"] == 3


def test_health_shows_the_model_and_who_uses_it(local: Local) -> None:
    health = local.client.get("/health")
    assert health.status_code == 200
    shown = health.json()
    assert shown["status"] == "ready"
    assert shown["model"]["name"] == "clef-nano"
    assert {"running", "waiting", "turns", "max_waiting"} <= set(shown["queue"])


def test_head_requests_of_readable_routes_are_answered(local: Local) -> None:
    assert [local.client.head(path).status_code for path in ("/health", "/v1/models", "/openapi.json")] == [200] * 3
