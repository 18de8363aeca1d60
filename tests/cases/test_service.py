"""The service cases: ours over a real port, and other people's servers through our client; and media over HTTP."""

import asyncio
import json
import logging
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from remote.deciders import QUICK, record, remote_decider
from remote.hosting import hosted
from service.local_server import NANO, Local, serving
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from ui.scripted import ScriptedDecider

from cases import mentions, read_cases, test_image
from clef_model.encoding import EncodedRecord
from clef_model.errors import ClefError, InvalidRecord
from clef_model.facts import plan_facts
from clef_model.lazy import LazyDecider
from clef_model.loading import load_release, read_planner
from clef_model.remote_calls import Patience
from clef_model.service.settings import ServiceSettings

CASES = {case["id"]: case for case in read_cases("service")}
NANO_FOLDER = Path(__file__).parents[2] / "models" / "clef-nano"
ASKED: dict[str, Any] = {"q": {"type": "noul", "instructions": "Is it late?"}}
ANSWERED = {"model": "clef", "answers": {"q": {"type": "noul", "noul": 0.75}}, "usage": {"input_tokens": 3}}


@pytest.fixture(scope="module")
def local() -> Iterator[Local]:
    with serving() as running:
        yield running


def test_SVC_01_a_body_over_the_limit_is_refused_while_it_streams(local: Local) -> None:
    sent: list[int] = []

    def endless() -> Iterator[bytes]:
        yield b'{"state": "'
        for _ in range(70):
            sent.append(2**20)
            yield b" " * 2**20

    chunked = local.client.post("/v1/systemone", content=endless(), headers={"Content-Type": "application/json"})
    whole = local.post("/v1/systemone", b'{"state": "' + b" " * (70 * 2**20) + b'"}')
    for response in (chunked, whole):
        assert response.status_code == 413
        message = response.json()["error"]["message"]
        assert [term for term in CASES["SVC-01"]["expected"]["message_should_mention"] if term not in message] == []


def replies(*answers: Response) -> Any:
    """A server that gives these replies, the last one again and again; and how many were asked for."""
    left, asked = list(answers), list[Request]()

    async def answer(request: Request) -> Response:
        await request.body()
        asked.append(request)
        return left.pop(0) if len(left) > 1 else left[0]

    return answer, asked


def outcome(answer: Any, patience: Patience = QUICK, **remote: Any) -> float | str:
    with hosted(answer) as url:
        try:
            (decision,) = remote_decider("workers-ai", f"{url}/x", patience=patience, **remote).decide([record(ASKED)])
        except ClefError as error:
            return str(error)
    return decision.answers[0].probabilities[0]


def test_SVC_03_a_proxys_error_page_becomes_a_short_sentence_with_its_status() -> None:
    pages = [("<html><h1>413 Request Entity Too Large</h1>", 413), ("", 504), ("<html>login</html>", 200)]
    for text, status in pages:
        answer, _ = replies(Response(text, status, media_type="text/html"))
        message = outcome(answer)
        assert isinstance(message, str)
        assert str(status) in message or (status == 200 and "instead of JSON" in message)
        assert len(message) < 300
        assert "<" not in message


def failed(status: int, code: int) -> Response:
    return JSONResponse({"success": False, "errors": [{"code": code, "message": "no"}], "result": None}, status)


@pytest.mark.parametrize(
    ("status", "code", "attempts"), [(429, 3040, 4), (429, 4006, 1), (529, 5012, 2), (422, 5012, 1), (401, 10000, 1)]
)
def test_SVC_04_only_what_may_pass_is_tried_again(status: int, code: int, attempts: int) -> None:
    answer, asked = replies(failed(status, code))
    assert isinstance(outcome(answer), str)
    assert len(asked) == attempts


def test_SVC_05_the_key_is_in_no_answer_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    key = "sk-test-CANARY-1"

    async def echo(request: Request) -> Response:
        return JSONResponse({"errors": [{"code": 10000, "message": request.headers["authorization"]}]}, 401)

    with caplog.at_level(logging.DEBUG):
        assert key not in str(outcome(echo, key=key))
        with serving(settings=ServiceSettings(key=key)) as local:
            wrong = {"Authorization": f"Bearer {key}x"}
            texts = [local.client.post("/v1/systemone", json={}, headers=wrong).text]
            texts += [local.client.get(path).text for path in ("/health", "/openapi.json", "/v1/models")]
    assert [text for text in [*texts, caplog.text] if "CANARY" in text] == []


@pytest.mark.parametrize("body", CASES["SVC-07"]["expected"]["bodies"])
def test_SVC_07_a_malformed_body_is_refused_as_json_within_two_seconds(local: Local, body: str) -> None:
    started = time.monotonic()
    response = local.post("/v1/systemone", body)
    assert 400 <= response.status_code < 500
    assert response.json()["error"]["message"]
    assert time.monotonic() - started < 2


def test_SVC_09_a_late_answer_is_a_timeout_and_never_the_answer_to_the_next_request() -> None:
    answers_at_once = threading.Event()

    async def answer(request: Request) -> Response:
        await request.body()
        if answers_at_once.is_set():
            return JSONResponse(ANSWERED)
        while not answers_at_once.is_set():
            await asyncio.sleep(0.01)
        return JSONResponse(ANSWERED | {"answers": {"q": {"type": "noul", "noul": 0.1}}})

    with hosted(answer) as url:
        decider = remote_decider(
            "workers-ai",
            f"{url}/x",
            patience=Patience(connect_s=0.3, reply_s=0.3, first_wait_s=0.0, longest_wait_s=0.0),
        )
        with pytest.raises(ClefError):
            decider.decide([record(ASKED)])
        answers_at_once.set()
        (decision,) = decider.decide([record(ASKED)])
        decider.close()
    assert decision.answers[0].probabilities[0] == 0.75


@pytest.mark.parametrize("part", ["joint_head.safetensors", "config.json", "tokenizer.json"])
def test_SVC_11_a_release_without_a_part_starts_no_model_and_names_the_part(tmp_path: Path, part: str) -> None:
    folder = tmp_path / "clef-nano"
    shutil.copytree(NANO_FOLDER, folder, ignore=shutil.ignore_patterns(part))
    decider = LazyDecider(lambda: read_planner(folder), lambda _: load_release(folder)).wait()
    with serving(decider) as local:
        response = local.post("/v1/systemone", {"state": "x", "questions": ASKED})
    assert response.status_code == 503
    assert part in response.json()["error"]["message"]


def test_SVC_13_an_unknown_model_is_refused_with_the_names_there_are(local: Local) -> None:
    response = local.post("/v1/systemone", {"model": "clef-flash", "state": "x", "questions": ASKED})
    assert response.status_code == 422
    assert "'clef-nano'" in response.json()["error"]["message"]
    answered = local.post("/v1/systemone", {"model": "clef-nano", "state": "x", "questions": ASKED})
    assert (answered.headers["x-clef-model"], answered.headers["x-clef-revision"]) == ("clef-nano", NANO.revision)


IMAGE_CASES = [case for case in read_cases("image") if case["id"] not in ("IMG-19",)]  # arrays, which HTTP has not


@pytest.mark.parametrize("case", IMAGE_CASES, ids=lambda case: case["id"])
def test_image_cases_over_http(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each case's own check, while every request it plans goes over HTTP too and must come to the same."""
    planned, asked = test_image.planned, []

    def both(case: dict[str, Any], *files: bytes, config: Any = None) -> EncodedRecord:
        decider = ScriptedDecider(status=NANO, tokenizer=test_image.tokenizer())
        decider.media_config = config or test_image.read_media_config(test_image.NANO)
        request = case["request"] | ({"images": [test_image.data_url(file) for file in files]} if files else {})
        request = {**request, "model": "clef-nano", "max_length": 65_536}
        with serving(decider) as local:
            response = local.post("/v1/plan", json.dumps(request))
        asked.append(response.status_code)
        try:
            encoded = planned(case, *files, config=config)
        except InvalidRecord as error:
            assert_same_refusal(response, error)
            raise
        expected = json.loads(json.dumps(plan_facts(encoded, decider.status)))
        assert response.json() == expected
        return encoded

    monkeypatch.setattr(test_image, "planned", both)
    test_image.CHECKS[case["id"]](case)
    if case["id"] == "IMG-21":  # parses by itself
        with serving() as local:
            for image in case["request"]["images"]:
                response = local.post("/v1/plan", case["request"] | {"images": [image], "model": "clef-nano"})
                assert response.status_code == 422
                assert mentions(response.text, case["expected"]["message_should_mention"][0])
            asked.append(422)
    assert asked


def assert_same_refusal(response: httpx.Response, error: InvalidRecord) -> None:
    assert response.status_code == 422
    told = [(problem["where"], problem["message"]) for problem in response.json()["error"]["problems"]]
    assert told == [(problem.where, problem.message) for problem in error.problems]
