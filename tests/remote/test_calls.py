"""What happens between here and a server: retries, redirects, pages that are no JSON, keys, and being stopped."""

import asyncio
import gc
import json
import logging
import socket
import threading
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from remote.deciders import OPENED, QUICK, closed_connections, record, remote_decider
from remote.fakes import KEY
from remote.hosting import hosted
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from clef_model.errors import BrokenAnswer, ClefError, ContextTooLong, InvalidRecord, RemoteFailed
from clef_model.remote_calls import Patience

pytestmark = pytest.mark.usefixtures(closed_connections.__name__)

ASKED = record({"late": {"type": "noul", "instructions": "Is it late?"}})
ANSWERED = {"model": "clef", "answers": {"late": {"type": "noul", "noul": 0.75}}, "usage": {"input_tokens": 3}}
CAPACITY = {"success": False, "errors": [{"code": 3040, "message": "No more data centers"}], "result": None}
QUOTA = {"success": False, "errors": [{"code": 4006, "message": "you have used up your daily allocation"}]}
FAILED = {"success": False, "errors": [{"code": 5012, "message": "Clef inference failed"}]}


class Script:
    """A server that gives its replies one after the other, the last one again and again."""

    def __init__(self, *replies: Response | Callable[[Request], Awaitable[Response]]) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []

    async def __call__(self, request: Request) -> Response:
        await request.body()
        self.requests.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return reply if isinstance(reply, Response) else await reply(request)


def said(body: Any, status: int = 200, **headers: str) -> Response:
    return JSONResponse(body, status, headers={name.replace("_", "-"): value for name, value in headers.items()})


def page(text: str, status: int) -> Response:
    return Response(text, status, media_type="text/html")


def outcome(
    script: Script, profile: str = "workers-ai", patience: Patience = QUICK, path: str = "/x", **remote: Any
) -> float | ClefError:
    """The probability that came back, or the error."""
    with hosted(script) as url:
        decider = remote_decider(profile, url + path, patience=patience, **remote)
        try:
            (decision,) = decider.decide([ASKED])
        except ClefError as error:
            return error
        return decision.answers[0].probabilities[0]


@pytest.mark.parametrize(
    ("replies", "attempts", "result"),
    [
        ([said(CAPACITY, 429), said(CAPACITY, 429), said(ANSWERED)], 3, 0.75),
        ([said({"error": "busy"}, 503, Retry_After="0"), said(ANSWERED)], 2, 0.75),
        ([said(FAILED, 529), said(ANSWERED)], 2, 0.75),
        (
            [said(CAPACITY, 429)],
            4,
            "box (Workers AI) is busy (HTTP 429 (Too Many Requests), code 3040: No more data centers). "
            "It was asked 4 times. Try again later.",
        ),
        (
            [said(QUOTA, 429)],
            1,
            "box (Workers AI) is busy (HTTP 429 (Too Many Requests), code 4006: you have used up your daily "
            "allocation). Try again later.",
        ),
        (
            [said(FAILED, 529)],
            2,
            "box (Workers AI) failed (HTTP 529, code 5012: Clef inference failed). It was asked 2 times. "
            "Try again later.",
        ),
        (
            [said({"error": "busy"}, 503, Retry_After="120")],
            1,
            "box (Workers AI) is busy (HTTP 503 (Service Unavailable): busy). Try again in 120 seconds.",
        ),
        (
            [said({"success": False, "errors": [{"code": 5012, "message": "bad id"}]}, 422)],
            1,
            "box (Workers AI) refuses the request (HTTP 422 (Unprocessable Entity), code 5012: bad id). "
            "Change the record, or ask another server.",
        ),
        (
            [said({"errors": [{"code": 10000, "message": "Authentication error"}]}, 401)],
            1,
            "box (Workers AI) refuses the key (HTTP 401 (Unauthorized), code 10000: Authentication error). "
            "It wants a key, and none is set.",
        ),
        (
            [said({"detail": "Not Found"}, 404)],
            1,
            "box (Workers AI) refuses the request (HTTP 404 (Not Found): Not Found). "
            "Check its address, its kind and the name of the model.",
        ),
        (
            [said({"detail": [{"loc": ["body", "state"], "msg": "Field required"}]}, 400)],
            1,
            "box (Workers AI) refuses the request (HTTP 400 (Bad Request): body.state: Field required). "
            "Change the record, or ask another server.",
        ),
    ],
)
def test_only_failures_that_may_pass_are_repeated(replies: list[Response], attempts: int, result: float | str) -> None:
    script = Script(*replies)
    found = outcome(script)
    assert (str(found) if isinstance(found, ClefError) else found) == result
    assert len(script.requests) == attempts


def test_the_time_to_wait_may_be_a_date() -> None:
    soon = format_datetime(datetime.now(UTC) - timedelta(seconds=5), usegmt=True)
    assert outcome(Script(said({}, 503, Retry_After=soon), said(ANSWERED))) == 0.75
    later = format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)
    script = Script(said({}, 503, Retry_After=later), said(ANSWERED))
    assert isinstance(outcome(script), RemoteFailed)
    assert len(script.requests) == 1


def test_a_server_that_never_answers_is_asked_twice_and_told_of() -> None:
    async def never(request: Request) -> Response:
        while not await request.is_disconnected():
            await asyncio.sleep(0.01)
        return said({})

    script = Script(never)
    found = outcome(script, patience=Patience(connect_s=0.1, reply_s=0.1))
    assert str(found) == (
        "box (Workers AI) did not answer within 0.1 seconds (asked 2 times). Ask again, or send less at once."
    )
    assert len(script.requests) == 2


def test_a_late_answer_is_not_taken_for_the_next_one() -> None:
    async def slow(request: Request) -> Response:
        while not await request.is_disconnected():
            await asyncio.sleep(0.01)
        return said({**ANSWERED, "answers": {"late": {"type": "noul", "noul": 0.1}}})

    script = Script(slow, slow, said(ANSWERED))
    with hosted(script) as url:
        decider = remote_decider("systemone", url, patience=Patience(connect_s=0.1, reply_s=0.1))
        with pytest.raises(RemoteFailed):
            decider.decide([ASKED])
        (decision,) = decider.decide([ASKED])
    assert decision.answers[0].probabilities[0] == 0.75


def test_a_connection_that_breaks_off_is_tried_twice() -> None:
    accepted = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def close_all() -> None:
            for _ in range(2):
                connection, _ = listener.accept()
                accepted.append(connection.recv(100))
                connection.close()

        thread = threading.Thread(target=close_all, daemon=True)
        thread.start()
        decider = remote_decider("systemone", f"http://127.0.0.1:{listener.getsockname()[1]}/v1/systemone")
        with pytest.raises(RemoteFailed, match=r"broke the connection off \(asked 2 times\)") as raised:
            decider.decide([ASKED])
        thread.join(5)
    assert len(accepted) == 2
    assert not raised.value.is_unreachable


def test_an_address_where_nobody_listens_is_said_to_be_out_of_reach() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(RemoteFailed) as raised:
        remote_decider("systemone", f"http://127.0.0.1:{port}").decide([ASKED])
    assert raised.value.is_unreachable
    assert str(raised.value) == (
        "box (a System One server) cannot be reached: All connection attempts failed. "
        "Is it running, and is its address right?"
    )


def test_a_redirect_to_another_host_gets_neither_state_nor_key() -> None:
    elsewhere = Script(said(ANSWERED))
    with hosted(elsewhere) as other:
        script = Script(RedirectResponse(f"{other}/v1/systemone", 307))
        found = outcome(script, "systemone", key=KEY)
    assert str(found) == (
        "box (a System One server) redirects to another host, '127.0.0.1'. "
        "Neither the state nor the key was sent there. Give that address if it is meant."
    )
    assert elsewhere.requests == []


def test_a_redirect_on_the_same_host_is_followed() -> None:
    script = Script(RedirectResponse("/v1/systemone", 307), said(ANSWERED))
    assert outcome(script, "systemone", path="/old") == 0.75
    assert [request.url.path for request in script.requests] == ["/old", "/v1/systemone"]
    assert script.requests[1].method == "POST"


def test_a_redirect_that_would_lose_the_request_is_not_followed() -> None:
    found = outcome(Script(RedirectResponse("/v1/systemone", 302)), "systemone")
    assert str(found) == (
        "box (a System One server) redirects with status 302, which loses the request. Give the address that answers."
    )


def test_redirects_in_a_circle_end() -> None:
    script = Script(RedirectResponse("/x", 307))
    assert "redirects in a circle" in str(outcome(script, "systemone"))
    assert len(script.requests) == 4


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (
            page("<html><h1>413 Request Entity Too Large</h1>", 413),
            "box (a System One server) takes no record of this length (HTTP 413 (Request Entity Too Large)). "
            "Shorten the state, or lower max_length.",
        ),
        (
            page("", 504),
            "box (a System One server) failed (HTTP 504 (Gateway Timeout)). Its log may say more.",
        ),
        (
            page("<html>welcome</html>", 200),
            "box (a System One server) answered with text/html instead of JSON. Is its address right?",
        ),
        (Response("null", 200, media_type="application/json"), None),
        (
            Response('{"answers": NaN}', 200, media_type="application/json"),
            "box (a System One server) sends no valid JSON: answers (line 1, column 13): ",
        ),
    ],
)
def test_pages_that_are_no_answer_are_told_of_in_a_sentence(reply: Response, message: str | None) -> None:
    found = outcome(Script(reply), "systemone")
    assert isinstance(found, ClefError)
    assert "<" not in str(found)
    if message is None:
        assert isinstance(found, BrokenAnswer)
    elif message.endswith(": "):
        assert str(found).startswith(message)
    else:
        assert str(found) == message


@pytest.mark.parametrize(
    "words",
    [
        "input is too large to process. increase the physical batch size",
        "input (6140 tokens) is too large to process. increase the physical batch size (current batch size: 4096)",
    ],
)
def test_a_length_refused_by_the_server_is_a_length_and_no_failure(words: str) -> None:
    script = Script(said({"error": {"code": 500, "message": words, "type": "server_error"}}, 500))
    found = outcome(script, "llama-cpp")
    assert isinstance(found, ContextTooLong)
    assert str(found) == (
        "box (llama.cpp) takes no record of this length (HTTP 500 (Internal Server Error): "
        f"{words}). Shorten the state, or lower max_length."
    )
    assert len(script.requests) == 1


def test_a_reply_without_end_is_left() -> None:
    found = outcome(Script(Response(b" " * (33 * 2**20), media_type="application/json")), "systemone")
    assert str(found) == (
        "box (a System One server) sends more than 32 MiB, which is no System One reply. Check its address."
    )


def test_the_key_shows_nowhere_even_when_the_server_echoes_it(caplog: pytest.LogCaptureFixture) -> None:
    async def echo(request: Request) -> Response:
        return said({"errors": [{"code": 10000, "message": f"bad header {request.headers['Authorization']}"}]}, 401)

    with caplog.at_level(logging.DEBUG):
        found = outcome(Script(echo), key=KEY)
    assert str(found) == (
        "box (Workers AI) refuses the key (HTTP 401 (Unauthorized), code 10000: bad header Bearer …). "
        "Check the key that the operator has set."
    )
    assert KEY not in caplog.text

    async def echo_in_answer(request: Request) -> Response:
        return said({**ANSWERED, "model": KEY, "debug": {request.headers["Authorization"]: [KEY]}})

    with hosted(Script(echo_in_answer)) as url:
        decider = remote_decider("systemone", url, key=KEY)
        (decision,) = decider.decide([ASKED])
    assert KEY not in json.dumps(decision.said)
    assert KEY not in repr((decision, decider.remote, vars(decider)))
    assert decision.said is not None
    assert decision.said["debug"] == {"Bearer …": ["…"]}


def test_a_key_is_sent_as_a_bearer_and_without_one_no_header() -> None:
    script = Script(said(ANSWERED))
    outcome(script, "systemone", key=KEY)
    outcome(script, "systemone")
    assert [request.headers.get("Authorization") for request in script.requests] == [f"Bearer {KEY}", None]


class Stopped(ClefError):
    pass


def test_stopping_breaks_the_request_off_and_the_next_one_works() -> None:
    gone = threading.Event()

    async def held(request: Request) -> Response:
        while not await request.is_disconnected():
            await asyncio.sleep(0.01)
        gone.set()
        return said({})

    looks: list[str] = []

    def stop(share: float, stage: str) -> None:
        looks.append(stage)
        if len(looks) > 2:
            raise Stopped("stopped")

    with hosted(Script(held, said(ANSWERED))) as url:
        decider = remote_decider("systemone", url)
        with pytest.raises(Stopped):
            decider.decide([ASKED], progress=stop)
        assert gone.wait(10)
        assert decider.decide([ASKED])[0].answers[0].probabilities[0] == 0.75
    assert looks[0] == "waiting for box, record 1 of 1"


def test_a_server_has_one_request_in_flight_from_here() -> None:
    now, most = 0, 0

    async def counting(request: Request) -> Response:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return said(ANSWERED)

    with hosted(Script(counting)) as url:
        decider = remote_decider("systemone", url)
        threads = [threading.Thread(target=decider.decide, args=([ASKED] * 3,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert most == 1


def test_problems_that_a_workbench_lists_are_problems_of_the_record() -> None:
    problem = {"where": "questions.late", "message": "found nothing good.", "line": 1, "column": 2}
    error = {"error": {"code": "invalid_request", "message": "x", "problems": [problem]}}
    found = outcome(Script(said(error, 422)), "workbench")
    assert isinstance(found, InvalidRecord)
    assert str(found) == "questions.late: found nothing good."


def test_connections_and_thread_end_when_nobody_holds_the_decider() -> None:
    with hosted(Script(said(ANSWERED))) as url:
        decider = remote_decider("systemone", url)
        before = set(threading.enumerate())
        decider.decide([ASKED])
        (worker,) = (thread for thread in set(threading.enumerate()) - before if thread.name == "remote-calls")
        OPENED.clear()
        del decider
        gc.collect()
        worker.join(10)
        assert not worker.is_alive()


def test_a_closed_decider_opens_anew() -> None:
    with hosted(Script(said(ANSWERED))) as url:
        decider = remote_decider("systemone", url)
        for _ in range(2):
            assert decider.decide([ASKED])[0].answers[0].probabilities[0] == 0.75
            decider.close()
