"""Other people's judgement of the service: jevcompat, the official TypeSafe client, and schemathesis."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jevcompat.runner import Report, run
from service.local_server import NANO, HeldDecider, Local, serving
from typesafe_sdk import (
    Choice,
    Noul,
    RetryPolicy,
    Score,
    TypeSafeAuthenticationError,
    TypeSafeClient,
    TypeSafeRateLimitError,
    TypeSafeUnprocessableEntityError,
)
from ui.scripted import ScriptedDecider

from clef_model.decision import Limits
from clef_model.lane import Lane
from clef_model.loading import load_release
from clef_model.service.settings import ServiceSettings

# The scripted decider has a token a byte, so that 255 options need more than the usual limit.
ROOMY = ServiceSettings(limits=Limits(max_length=65_536))

# What jevcompat advises (SHOULD) and the service does otherwise on purpose; docs/api.md says why.
ON_PURPOSE = {"request.unknown-fields", "confidence.formula", "errors.validation-shape"}
# What it demands (MUST) and Clef cannot promise, since ids are part of the prompt.
BY_NATURE = {"semantics.question-id"}
BY_NATURE_ADVISED = {"semantics.batching", "semantics.question-order"}


@pytest.fixture(scope="module")
def nano() -> Iterator[Local]:
    with serving(load_release()) as running:
        yield running


def failed(report: Report, level: str) -> set[str]:
    assert report.aborted is None
    assert report.inconclusive == []
    assert report.case_errors == []
    return {result.id for result in report.results if result.level == level and result.status == "fail"}


@pytest.mark.timeout(600)
def test_jevcompat_finds_every_must_kept_over_a_scripted_decider() -> None:
    with serving(settings=ROOMY) as local:
        report = run(local.url)
    assert failed(report, "MUST") == set()
    assert report.untested_musts == []
    assert failed(report, "SHOULD") == ON_PURPOSE


def test_jevcompat_finds_the_key_asked_for() -> None:
    with serving(settings=ServiceSettings(key="sk-test-CANARY-1")) as local:
        report = run(local.url, key="sk-test-CANARY-1", only={"auth", "sdk-python", "choice-basic", "score-levels"})
    results = {result.id: result.status for result in report.results}
    assert [results[name] for name in ("auth.bearer", "auth.missing", "auth.invalid", "dropin.sdk-python")] == [
        "pass"
    ] * 4


@pytest.mark.timeout(600)
def test_jevcompat_finds_every_must_kept_over_nano_that_its_nature_allows(nano: Local) -> None:
    report = run(nano.url)
    assert failed(report, "MUST") <= BY_NATURE
    assert report.untested_musts == []
    assert failed(report, "SHOULD") <= ON_PURPOSE | BY_NATURE_ADVISED


@pytest.mark.timeout(300)
def test_the_official_client_parses_every_answer_of_nano(nano: Local) -> None:
    questions = {
        "down": Noul(instructions="Is a service down?"),
        "team": Choice(
            instructions="Which team?", criteria={"web": "Pages", "billing": None, "api": {"owns": ["keys"]}}
        ),
        "urgency": Score(instructions="How urgent is it?", criteria=["Can wait", {"n": 1}, "Today"]),
    }
    with TypeSafeClient(api_key="none", base_url=nano.url) as client:
        # More than a kilobyte, so that the client compresses it.
        answer = client.system_one(state={"text": "The checkout is down. " * 100}, questions=questions)
        listed = client.models.list()
    assert answer.model == "clef-nano"
    assert 0 <= answer.nouls["down"].noul <= 1
    assert set(answer.choices["team"].probabilities) == {"web", "billing", "api"}
    assert answer.scores["urgency"].legend == {0: "Can wait", 1: {"n": 1}, 2: "Today"}
    assert answer.usage.output_tokens == 0
    assert [model.name for model in listed.models] == ["clef-nano", "jev-latest"]


def test_the_official_client_understands_what_is_refused() -> None:
    with serving(settings=ServiceSettings(key="right")) as local:
        with (
            TypeSafeClient(api_key="wrong", base_url=local.url) as client,
            pytest.raises(TypeSafeAuthenticationError) as raised,
        ):
            client.system_one(state="x", questions={"q": Noul(instructions="Is it?")})
        assert "the key is not this server's" in str(raised.value)
        with (
            TypeSafeClient(api_key="right", base_url=local.url) as client,
            pytest.raises(TypeSafeUnprocessableEntityError) as told,
        ):
            client.system_one(state="x", questions={"q": Noul(instructions="Is it?")}, model="jev-9")
        assert "found 'jev-9', and the model here is 'clef-nano'" in str(told.value)


def test_the_official_client_is_told_when_to_come_back() -> None:
    decider = HeldDecider(status=NANO)
    lane = Lane(max_waiting=0)
    with serving(decider, lane=lane) as local:
        held = lane.join("page", "", lambda: None)
        once = RetryPolicy(max_retries=0)
        with (
            TypeSafeClient(api_key="none", base_url=local.url, retry=once) as client,
            pytest.raises(TypeSafeRateLimitError) as raised,
        ):
            client.system_one(state="x", questions={"q": Noul(instructions="Is it?")})
        lane.leave(held)
    assert raised.value.retry_after_ms == 1000


@pytest.mark.timeout(600)
def test_schemathesis_finds_the_service_as_its_document_says(tmp_path: Path) -> None:
    with serving(ScriptedDecider(status=NANO), ROOMY) as local:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", f"{local.url}/openapi.json"),
                *("--phases", "fuzzing", "--max-examples", "25", "--seed", "20261130"),
                # That base64 is a picture, and that a text fits the limit, no schema can say.
                *("--exclude-checks", "positive_data_acceptance"),
            ],
            cwd=tmp_path,  # it keeps a folder of its own there
            capture_output=True,
            text=True,
            timeout=590,
        )
    assert done.returncode == 0, done.stdout[-5000:]
    generated = re.search(r"(\d+) generated, (\d+) passed", done.stdout)
    assert generated is not None
    assert int(generated[1]) >= 60
