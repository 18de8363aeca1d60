"""A server as a Decider: cuts, notices, names and counts; and against our own service, which really runs."""

from dataclasses import replace
from typing import Any

import pytest
from remote.deciders import closed_connections, record, remote_decider
from remote.hosting import hosted_fake
from service.local_server import NANO, serving
from ui.scripted import ScriptedDecider

from clef_model.decision import Limits
from clef_model.diagnostics.sweep import plan_sweep
from clef_model.encoding import encode
from clef_model.errors import BudgetExceeded, ContextTooLong, InvalidRecord, Notice, RemoteFailed, Unsupported
from clef_model.schema import ImageInput
from clef_model.service.settings import ServiceSettings

pytestmark = pytest.mark.usefixtures(closed_connections.__name__)

NOTE = "Its prompt cannot be seen: tokens and spans are counted here with scripted's tokenizer."


def codes(notices: tuple[Notice, ...]) -> list[str]:
    return [notice.code for notice in notices]


def test_the_plan_says_that_it_stands_in_for_a_prompt_nobody_sees() -> None:
    decider = remote_decider("sglang", "http://127.0.0.1:9/v1/systemone")
    assert decider.plan(record()).notices[-1] == Notice("remote_plan", "", NOTE)
    assert decider.status.note == "box (SGLang) answers, not this machine."
    rough = remote_decider("sglang", "http://127.0.0.1:9/v1/systemone", exact=False)
    assert str(rough.plan(record()).notices[-1]) == (
        "Its prompt cannot be seen: tokens and spans are counted here with clef-nano's tokenizer, "
        "which is approximate outside plain English."
    )


def test_a_decision_names_the_model_that_answered_and_keeps_what_was_said() -> None:
    with hosted_fake("sglang") as (_, url):
        (decision,) = remote_decider("sglang", url).decide([record()])
    assert (decision.model.name, decision.model.device) == ("served-name", "box (SGLang)")
    assert decision.said is not None
    assert decision.said["model"] == "served-name"
    assert decision.timing.forward_ms > 0
    assert codes(decision.notices) == ["remote_plan"]


def test_clef_nano_is_a_demonstration_model_wherever_it_runs() -> None:
    with hosted_fake("systemone") as (_, url):
        decider = remote_decider("systemone", url, model="clef-nano")
        assert decider.status.is_demonstration
        assert decider.decide([record()])[0].model.is_demonstration
        assert not remote_decider("systemone", url, model="clef").decide([record()])[0].model.is_demonstration


def test_a_state_that_the_limits_cut_is_sent_as_the_text_that_is_kept() -> None:
    with hosted_fake("systemone") as (fake, url):
        decider = remote_decider("systemone", url)
        (decision,) = decider.decide([record(state={"a": "x" * 50})], Limits(max_state_tokens=12))
    assert fake.bodies[-1]["state"] == '{"a":"xxxxxx'
    assert decision.encoded.budget.state_kept == 12
    assert [str(notice) for notice in decision.notices if notice.code == "remote_cut"] == [
        "state: the kept part was sent as text, cut by this machine's count."
    ]
    assert "remote_tokens" not in codes(decision.notices)


def test_a_sweep_over_a_server_reads_as_much_as_it_says() -> None:
    with hosted_fake("systemone") as (fake, url):
        decider = remote_decider("systemone", url)
        plans = plan_sweep(record(state="A parcel is late, and nobody answers."), Limits(), decider.plan, [0, 8, 37])
        for reading in plans.readings:
            decider.decide([reading.record], reading.limits)
    assert [body["state"] for body in fake.bodies] == ["", "A parcel", "A parcel is late, and nobody answers."]


def test_a_model_that_the_request_does_not_want_is_not_asked() -> None:
    with hosted_fake("systemone") as (fake, url):
        with pytest.raises(InvalidRecord) as raised:
            remote_decider("systemone", url, model="clef").decide([replace(record(), model="clef-flash")])
        assert fake.bodies == []
    assert str(raised.value) == (
        "model: the request names 'clef-flash', and box is set up for 'clef'. "
        "Leave the name out, or choose the server of that model."
    )


def test_the_requests_own_model_is_sent_to_a_server_without_one() -> None:
    with hosted_fake("systemone") as (fake, url):
        remote_decider("systemone", url).decide([replace(record(), model="clef-flash")])
        remote_decider("systemone", url).decide([record()])
    assert [body.get("model") for body in fake.bodies] == ["clef-flash", None]


def test_what_a_server_reads_otherwise_is_said_and_sent() -> None:
    asked = record({"q": {"type": "noul", "instructions": "Is it?", "criteria": {"false": None}}})
    with hosted_fake("llama-cpp") as (_, url):
        (decision,) = remote_decider("llama-cpp", url, context_tokens=16_384).decide([asked])
    assert [str(notice) for notice in decision.notices if notice.code == "remote_input"] == [
        "questions.q.criteria.false: null is read as the usual text, 'The proposition is false or the answer is no.', "
        "which the release leaves out."
    ]


def test_a_silent_cut_is_foretold_and_shows_in_the_servers_count() -> None:
    with hosted_fake("systemone", context=1000) as (_, url):
        decider = remote_decider("systemone", url)
        (decision,) = decider.decide([record(state="x" * 5000)])
        told = remote_decider("systemone", url, context_tokens=1000)
        (foretold,) = told.decide([record(state="x" * 5000)])
    ours = len(decision.encoded.input_ids)
    message = (
        f"box counted 1,000 input tokens, this machine {ours:,}; it may have read less of the state than is shown."
    )
    assert decision.notices[-1] == Notice("remote_tokens", "usage.input_tokens", message)
    assert codes(foretold.notices) == ["remote_plan", "remote_input", "remote_tokens"]
    assert "the state is cut in silence" in foretold.notices[1].message


def test_an_approximate_count_is_compared_with_room() -> None:
    with hosted_fake("systemone", context=1000) as (_, url):
        near = remote_decider("systemone", url, exact=False)
        fixed = near.plan(record()).budget.fixed
        (decision,) = near.decide([record(state="x" * (1010 - fixed))])
        (other,) = near.decide([record(state="x" * 3000)])
    assert "remote_tokens" not in codes(decision.notices)
    assert "by an approximate tokenizer; it may have read less" in other.notices[-1].message


def test_what_is_too_long_for_a_server_that_never_cuts_is_not_sent() -> None:
    with hosted_fake("ollama") as (fake, url):
        decider = remote_decider("ollama", url)
        with pytest.raises(ContextTooLong) as raised:
            decider.decide([record(state="x" * 17_000)], Limits(max_length=30_000))
        assert fake.bodies == []
        total = decider.plan(record(state="x" * 17_000), Limits(max_length=30_000)).budget.total
        assert str(raised.value) == (
            f"Record 'unknown': the record has {total:,} tokens; Ollama 0.40 holds 16,384 and never cuts. "
            f"It would say: Clef input has {total} tokens; context limit is 16384. "
            "Shorten it, or give the server's own context."
        )
        with pytest.raises(ContextTooLong, match=r"box \(Ollama 0.40\) takes no record of this length"):
            decider.without_length_check().decide([record(state="x" * 17_000)], Limits(max_length=30_000))
        assert len(fake.bodies) == 1


def test_an_approximate_count_leaves_the_last_word_to_the_server() -> None:
    with hosted_fake("ollama", context=60_000) as (_, url):
        decider = remote_decider("ollama", url, exact=False)
        (decision,) = decider.decide([record(state="x" * 17_000)], Limits(max_length=30_000))
    assert "never cuts" in next(n.message for n in decision.notices if n.code == "remote_input")


def test_questions_that_alone_do_not_fit_are_not_sent() -> None:
    decider = remote_decider("systemone", "http://127.0.0.1:9/", context_tokens=100)
    with pytest.raises(BudgetExceeded, match="everything but the state needs"):
        decider.decide([record()])


def test_media_are_not_sent_to_a_server_that_reads_none() -> None:
    decider = remote_decider("vllm-fork", "http://127.0.0.1:9/")
    assert not decider.status.accepts_media
    from media_files import flat

    asked = replace(record(), images=(ImageInput("a.png", "image/png", flat((64, 64))),))
    with pytest.raises(Unsupported, match="reads no images or videos"):
        decider.decide([asked])


def test_problems_of_several_records_come_together() -> None:
    decider = remote_decider("workers-ai", "http://127.0.0.1:9/")
    bad = record({"q": {"type": "noul"}})
    with pytest.raises(InvalidRecord) as raised:
        decider.decide([bad, record(), bad])
    assert [problem.where for problem in raised.value.problems] == [
        "records[0].questions.q.instructions",
        "records[2].questions.q.instructions",
    ]


def test_progress_tells_which_record_is_on_its_way() -> None:
    told: list[tuple[float, str]] = []
    with hosted_fake("systemone") as (_, url):
        remote_decider("systemone", url).decide(
            [record()] * 2, progress=lambda share, stage: told.append((share, stage))
        )
    assert told[0] == (0.0, "waiting for box, record 1 of 2")
    assert (0.5, "waiting for box, record 2 of 2") in told
    assert told[-1] == (1.0, "2 records decided")


# Our own service, as it really runs.

LOGITS = {"late": [1.0, 0.25], "team": [0.1, 0.3, 2.7182818], "tone": [0.0, 1.5, -2.0]}


def service(**settings: Any) -> Any:
    return serving(ScriptedDecider(logits=LOGITS, status=NANO), ServiceSettings(**settings))


def test_our_own_service_answers_at_full_precision() -> None:
    here = ScriptedDecider(logits=LOGITS)
    with service() as local:
        (there,) = remote_decider("workbench", f"{local.url}/v1/systemone").decide([record()])
    (expected,) = here.decide([record()])
    assert [answer.probabilities for answer in there.answers[1:]] == [a.probabilities for a in expected.answers[1:]]
    # Of a noul one probability travels, and the other one is its rest.
    assert there.answers[0].probabilities[0] == expected.answers[0].probabilities[0]
    assert there.answers[0].probabilities[1] == pytest.approx(expected.answers[0].probabilities[1], abs=1e-7)
    assert (there.model.name, there.model.is_demonstration) == ("clef-nano", True)
    assert codes(there.notices) == ["remote_plan"]
    assert there.said is not None
    assert there.said["answers"]["team"]["confidence"] == round(max(expected.answers[1].probabilities), 4)


def test_our_own_service_takes_the_limits_of_the_call() -> None:
    with service() as local:
        decider = remote_decider("workbench", f"{local.url}/v1/systemone")
        (decision,) = decider.decide([record(state={"a": "x" * 50})], Limits(max_state_tokens=12))
        with pytest.raises(ContextTooLong):
            decider.decide([record(state="x" * 50)], Limits(max_state_tokens=12, truncate=False))
    assert decision.said is not None
    assert decision.said["x_clef"]["budget"]["state_kept"] == 12
    assert not {"remote_cut", "remote_tokens"} & {*codes(decision.notices)}


def test_our_own_services_refusals_are_problems_with_their_places() -> None:
    with service() as local:
        decider = remote_decider("workbench", f"{local.url}/v1/systemone")
        with pytest.raises(InvalidRecord, match=r"max_length: found 200,000 tokens; this server allows 65,536"):
            decider.decide([record()], Limits(max_length=200_000))
        with pytest.raises(InvalidRecord, match=r"^model"):
            decider.decide([replace(record(), model="clef-flash")])


def test_our_own_service_wants_its_key() -> None:
    with service(key="sesame") as local:
        url = f"{local.url}/v1/systemone"
        with pytest.raises(RemoteFailed, match="It wants a key, and none is set") as raised:
            remote_decider("workbench", url).decide([record()])
        assert raised.value.status == 401
        assert remote_decider("workbench", url, key="sesame").decide([record()])


def test_the_other_profiles_read_our_own_service_too() -> None:
    with service() as local:
        (decision,) = remote_decider("systemone", f"{local.url}/v1/systemone").decide([record()])
    (expected,) = ScriptedDecider(logits=LOGITS).decide([record()])
    assert decision.answers[1].probabilities == tuple(round(p, 4) for p in expected.answers[1].probabilities)
    assert decision.encoded.input_ids == encode(record(), ScriptedDecider().tokenizer).input_ids
