"""Every claim of a profile, held against a fake of that server: what it takes, cuts, reads otherwise and reports."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from remote.deciders import MODELS, QUESTIONS, closed_connections, record, remote_decider
from remote.fakes import CONTEXT, KEY, Fake, prompt_text
from remote.hosting import hosted_fake
from remote.kinds import KINDS
from remote.probes import PNG, PROBES

from clef_model.decision import Limits, confidences
from clef_model.diagnostics.limits import check
from clef_model.errors import ClefError, InvalidRecord
from clef_model.remote import RemoteDecider
from clef_model.remote_profiles import read_server_profiles, server_profile
from clef_model.remote_wire import request_body
from clef_model.schema import Record

pytestmark = pytest.mark.usefixtures(closed_connections.__name__)


@pytest.fixture(scope="module")
def fakes() -> Iterator[dict[str, tuple[Fake, str]]]:
    running = {kind: hosted_fake(kind) for kind in KINDS}
    try:
        yield {kind: host.__enter__() for kind, host in running.items()}
    finally:
        for host in running.values():
            host.__exit__(None, None, None)


def asking(kind: str, url: str, **options: Any) -> RemoteDecider:
    given = {"workers-ai": {"key": KEY}, "llama-cpp": {"context_tokens": CONTEXT}}.get(kind, {})
    return remote_decider(kind, url, **{**given, **options})


def whole(decider: RemoteDecider, asked: Record) -> Any:
    return decider.plan(asked, Limits(max_length=262_144))


def test_each_profile_says_where_its_facts_are_from_and_has_a_fake() -> None:
    profiles = {profile.id: profile for profile in read_server_profiles()}
    assert set(profiles) == {*KINDS, "workbench"}
    for profile in profiles.values():
        assert profile.source
        assert profile.note
        assert re.fullmatch(r"20\d\d-\d\d(-\d\d)?", profile.date)
        assert profile.limits.title


@pytest.mark.parametrize("probe", PROBES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_profile_refuses_or_reads_otherwise_is_what_its_server_does(
    kind: str, probe: str, fakes: dict[str, tuple[Fake, str]]
) -> None:
    fake, url = fakes[kind]
    decider = asking(kind, url)
    asked = replace(PROBES[probe], model=MODELS.get(kind))
    encoded = whole(decider, asked)
    verdict = check(asked, encoded, decider.remote.limits)
    answered, prompt = posted(kind, url, asked, fake)
    assert (verdict.status == "refused") == (not answered), verdict.findings
    if answered:
        is_read_otherwise = prompt != prompt_text(encoded)
        assert any(found.kind == "input" for found in verdict.findings) == is_read_otherwise, verdict.findings


def posted(kind: str, url: str, asked: Record, fake: Fake) -> tuple[bool, str]:
    """Whether the server answers when the record is sent without a check, and the prompt that it made of it."""
    profile = server_profile(kind)
    assert profile is not None
    body = request_body(profile, asked, asked.model, Limits())
    reply = httpx.post(url, content=body, headers={"Authorization": f"Bearer {KEY}"}, timeout=60, trust_env=False)
    return reply.is_success, fake.prompts[-1] if reply.is_success else ""


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "mlx-vlm"])
def test_its_confidence_is_the_one_that_the_profile_names(kind: str, fakes: dict[str, tuple[Fake, str]]) -> None:
    decider = asking(kind, fakes[kind][1])
    (decision,) = decider.decide([record()])
    said = decision.said or {}
    answers = said.get("result", said)["answers"]
    for answer in decision.answers[1:]:
        ours = confidences(answer)
        name = {"typesafe": "distance" if answer.question.kind == "score" else "rescaled_peak"}
        named = name.get(decider.remote.limits.confidence, decider.remote.limits.confidence)
        assert answers[answer.question.id]["confidence"] == pytest.approx(ours[named], abs=2e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_its_decimals_and_the_order_of_its_options_are_those_of_the_profile(
    kind: str, fakes: dict[str, tuple[Fake, str]]
) -> None:
    decider = asking(kind, fakes[kind][1])
    (decision,) = decider.decide([record()])
    said = decision.said or {}
    given = said.get("result", said)["answers"]["team"]["probabilities"]
    decimals = decider.remote.profile.decimals
    assert all(decimals is None or value == round(value, decimals) for value in given.values())
    assert (decimals is None) == any(value != round(value, 4) for value in given.values())
    in_order = sorted(given) if decider.remote.limits.answer_order == "sorted" else [*QUESTIONS["team"]["criteria"]]
    assert [*given] == in_order


@pytest.mark.parametrize("kind", KINDS)
def test_answers_have_the_models_order_and_the_probabilities_that_were_sent(
    kind: str, fakes: dict[str, tuple[Fake, str]]
) -> None:
    decider = asking(kind, fakes[kind][1])
    (decision,) = decider.decide([record()])
    assert [answer.question.id for answer in decision.answers] == ["late", "team", "tone"]
    assert [option.id for option in decision.answers[1].question.options] == ["billing", "it", "shipping"]
    said = decision.said or {}
    answers = said.get("result", said)["answers"]
    team = answers["team"]["probabilities"]
    assert decision.answers[1].probabilities == (team["billing"], team["it"], team["shipping"])
    assert decision.answers[0].probabilities[0] == answers["late"].get("noul", answers["late"].get("probability"))


def test_a_server_that_wants_the_models_name_refuses_without_it(fakes: dict[str, tuple[Fake, str]]) -> None:
    for kind in KINDS:
        profile = server_profile(kind)
        assert profile is not None
        decider = asking(kind, fakes[kind][1], model=None)
        if profile.model == "required":
            with pytest.raises(ClefError, match="model"):
                decider.decide([record()])
        else:
            assert decider.decide([record()])


def test_images_travel_in_the_form_that_the_server_reads(fakes: dict[str, tuple[Fake, str]]) -> None:
    asking("ollama", fakes["ollama"][1]).decide([replace(record(), images=(PNG,))])
    assert fakes["ollama"][0].bodies[-1]["images"][0].startswith("iVBOR")
    asking("llama-cpp", fakes["llama-cpp"][1]).decide([replace(record(), images=(PNG,))])
    assert fakes["llama-cpp"][0].bodies[-1]["images"][0].startswith("data:image/png;base64,iVBOR")


def test_a_request_carries_what_the_server_knows_and_no_more(fakes: dict[str, tuple[Fake, str]]) -> None:
    fake, url = fakes["workers-ai"]
    asking("workers-ai", url).decide([replace(record(), id="ticket-17")])
    assert fake.bodies[-1] == {"model": "clef-flash", "state": "A parcel is late.", "questions": QUESTIONS}


def test_numbers_travel_with_every_digit(fakes: dict[str, tuple[Fake, str]]) -> None:
    fake, url = fakes["systemone"]
    state = {"big": 10**40, "one": 1.0, "small": 1e-05, "zero": -0.0}
    asking("systemone", url).decide([record(state=state)])
    assert '"big":' + str(10**40) in fake.prompts[-1]
    assert '"one":1.0,"small":1e-05,"zero":-0.0' in fake.prompts[-1]


def test_what_a_server_would_refuse_is_not_sent(fakes: dict[str, tuple[Fake, str]]) -> None:
    fake, url = fakes["workers-ai"]
    fake.bodies.clear()
    with pytest.raises(InvalidRecord) as raised:
        asking("workers-ai", url).decide([record({"a b": {"type": "noul"}})])
    assert str(raised.value) == (
        "questions[\"a b\"]: the id 'a b' does not match [A-Za-z0-9_.-]{1,100}. It would say: 422, code 5012.\n"
        'questions["a b"].instructions: Workers AI wants non-empty instructions for each question. '
        "It would say: 422, code 5012."
    )
    assert fake.bodies == []


def test_a_body_over_the_servers_limit_is_not_sent() -> None:
    profile = server_profile("workers-ai")
    assert profile is not None
    with pytest.raises(InvalidRecord) as raised:
        request_body(profile, record(state="x" * 14_000_000), "clef", Limits())
    assert str(raised.value) == (
        "request: the request has 14,000,295 bytes; Workers AI takes 13,631,488. "
        "Shorten the state, or send smaller images."
    )
