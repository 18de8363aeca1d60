"""The same claims against servers that really run, named by the environment; without them nothing is tested here.

CLEF_TEST_SERVERS is a JSON object of addresses by profile, such as {"mlx-vlm": "http://127.0.0.1:8000/v1/decisions"},
CLEF_TEST_RELEASE the folder of the release that they serve: with it, answers are compared with this project's own.
CLEF_TEST_CONTEXT is the context they were started with; CLEF_TEST_TEXT_ONLY says that they were started without images.
"""

import json
import os
from dataclasses import replace
from functools import cache
from typing import Any

import httpx
import pytest
from remote.deciders import MODELS
from remote.probes import PROBES

from clef_model.decision import Answer, Limits
from clef_model.diagnostics.limits import check
from clef_model.remote_profiles import server_profile
from clef_model.remote_wire import request_body, systemone_body
from clef_model.replies import parse_reply
from clef_model.schema import Record

SERVERS: dict[str, str] = json.loads(os.environ.get("CLEF_TEST_SERVERS", "{}"))
RELEASE = os.environ.get("CLEF_TEST_RELEASE", "")
SAME = 2e-3  # half precision and another order of sums change a probability by less

pytestmark = pytest.mark.skipif(not SERVERS, reason="CLEF_TEST_SERVERS names no server that runs")


@cache
def here() -> Any:
    from clef_model.loading import load_release

    return load_release(RELEASE)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("probe", PROBES)
@pytest.mark.parametrize("kind", SERVERS)
def test_a_server_that_runs_does_what_its_profile_says(kind: str, probe: str) -> None:
    profile = server_profile(kind)
    assert profile is not None
    limits = profile.limits
    if "CLEF_TEST_CONTEXT" in os.environ:
        limits = replace(limits, context_tokens=int(os.environ["CLEF_TEST_CONTEXT"]))
    if "CLEF_TEST_TEXT_ONLY" in os.environ:
        limits = replace(limits, images=0)
    asked = replace(PROBES[probe], model=MODELS.get(kind))
    encoded = here().plan(asked, Limits(max_length=262_144)) if RELEASE else None
    verdict = check(asked, encoded, limits)
    headers = {"Content-Type": "application/json"}
    body = request_body(profile, asked, asked.model, Limits())
    reply = httpx.post(SERVERS[kind], content=body, headers=headers, timeout=500)
    assert (verdict.status == "refused") == (not reply.is_success), (verdict.findings, reply.text[:500])
    if reply.is_success and RELEASE:
        answers = parse_reply(asked, systemone_body(profile, reply.json())).answers
        is_read_otherwise = any(found.kind == "input" for found in verdict.findings)
        if not is_read_otherwise:
            assert largest_change(asked, answers) < SAME


def largest_change(asked: Record, answers: tuple[Answer, ...]) -> float:
    (decision,) = here().decide([replace(asked, model=None)], Limits(max_length=262_144))
    return max(
        abs(p - q)
        for one, other in zip(answers, decision.answers, strict=True)
        for p, q in zip(one.probabilities, other.probabilities, strict=True)
    )
