"""`python -m clef_model serve`, started as one starts it."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from clef_model.decision import Limits
from clef_model.service.settings import BrokenSetting, ServiceSettings, read_settings
from clef_model.serving import run_serve

ROOT = Path(__file__).parents[2]
REQUEST: dict[str, Any] = {"state": "x", "questions": {"q": {"type": "noul"}}}


@contextmanager
def started(*flags: str, **environ: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and the address it says it serves at."""
    command = [sys.executable, "-m", "clef_model", "serve", "--port", "0", *flags]
    with subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **environ}, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        try:
            yield process, line.removeprefix("clef: serving on ").removesuffix("/v1/systemone\n")
        finally:
            process.kill()


def answer(url: str, status: int = 200) -> httpx.Response:
    """The first answer that is not about the loading."""
    while True:
        response = httpx.post(f"{url}/v1/systemone", json=REQUEST, timeout=60)
        if response.status_code != 503 or response.json()["error"]["code"] != "loading":
            assert response.status_code == status, response.text
            return response
        time.sleep(0.2)


@pytest.mark.timeout(600)
def test_the_command_serves_nano_and_stops_when_it_is_told_to() -> None:
    with started("--no-truncate", "--max-length", "600") as (process, url):
        assert answer(url).json()["model"] == "clef-nano"
        assert httpx.post(f"{url}/v1/plan", json=REQUEST | {"state": "word " * 900}, timeout=60).status_code == 413
        long = REQUEST | {"state": "word " * 400}
        answers = [httpx.post(f"{url}/v1/systemone", json=long, timeout=60).json() for _ in range(2)]
        assert answers[0] == answers[1]
        kept = httpx.get(f"{url}/health", timeout=60).json()["cache"]
        assert (kept["trunks"], kept["reads"], kept["hits"]) == (1, 2, 1)
        assert 0 < kept["num_bytes"] < kept["max_bytes"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == -signal.SIGTERM


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("public", "reason"), [("0", "config.json is missing"), ("1", "The operator finds the reason")]
)
def test_a_release_that_is_none_is_told_to_every_client(tmp_path: Path, public: str, reason: str) -> None:
    with started("--release", str(tmp_path), CLEF_PUBLIC=public) as (_, url):
        message = answer(url, 503).json()["error"]["message"]
    assert reason in message
    assert str(tmp_path) not in message


def test_a_port_that_is_taken_is_said_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    from clef_model.__main__ import build_parser

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        flags = build_parser().parse_args(["serve", "--port", str(port)])
        assert run_serve(flags) == 1
    assert (
        capsys.readouterr().err == f"clef: 127.0.0.1, port {port}: Address already in use. Give another with --port.\n"
    )


def test_a_setting_that_means_nothing_is_said_before_anything_starts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from clef_model.__main__ import build_parser

    monkeypatch.setenv("CLEF_PUBLIC", "maybe")
    assert run_serve(build_parser().parse_args(["serve"])) == 2
    assert capsys.readouterr().err == "clef: CLEF_PUBLIC: expected 0 or 1, got 'maybe'.\n"


def test_settings_are_read_from_the_environment() -> None:
    environ = {
        "CLEF_API_KEY": " sk-1 ",
        "CLEF_ALLOWED_HOSTS": "Clef.internal, other",
        "CLEF_ALLOWED_ORIGINS": "https://App.example/",
        "CLEF_MODEL_NAMES": "prod,clef",
    }
    settings = read_settings(environ, limits=Limits(max_length=100_000), host="0.0.0.0")
    assert settings == ServiceSettings(
        limits=Limits(max_length=100_000),
        highest_max_length=100_000,
        model_names=("prod", "clef"),
        key="sk-1",
        hosts=("0.0.0.0", "clef.internal", "other"),
        origins=("https://app.example",),
    )
    assert "sk-1" not in repr(settings)


def test_nothing_is_kept_between_the_requests_of_strangers() -> None:
    assert read_settings({}).cache_bytes is None
    assert read_settings({"CLEF_PUBLIC": "1"}).cache_bytes == 0
    assert read_settings({"CLEF_PUBLIC": "1", "CLEF_CACHE_MIB": "64"}).cache_bytes == 64 * 2**20
    assert read_settings({"CLEF_CACHE_MIB": "0"}).cache_bytes == 0


@pytest.mark.parametrize("text", ["-1", "1.5", "many", "1048577", "٣"])
def test_a_cache_of_no_size_is_refused(text: str) -> None:
    with pytest.raises(BrokenSetting, match=r"^CLEF_CACHE_MIB: expected a whole number from 0 to 1,048,576, got "):
        read_settings({"CLEF_CACHE_MIB": text})


def test_a_space_is_public_unless_it_says_otherwise() -> None:
    space = {"SPACE_ID": "someone/clef", "SPACE_HOST": "someone-clef.hf.space"}
    assert read_settings(space).is_public
    assert read_settings(space).highest_max_length == 16_384
    assert not read_settings(space | {"CLEF_PUBLIC": "0"}).is_public
    assert not read_settings({}).is_public


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        (
            {"CLEF_API_KEY": "sécret"},
            "CLEF_API_KEY: found a space or a character that no header can carry. Use ASCII letters.",
        ),
        (
            {"CLEF_ALLOWED_ORIGINS": "example.org"},
            "CLEF_ALLOWED_ORIGINS: expected an origin such as https://example.org, got 'example.org'.",
        ),
    ],
)
def test_a_setting_that_cannot_work_is_refused(environ: dict[str, str], message: str) -> None:
    with pytest.raises(BrokenSetting) as raised:
        read_settings(environ)
    assert str(raised.value) == message
