"""Where the page decides: this machine or a server of the operator's list, and what is told of its window."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from remote.fakes import KEY, Fake
from remote.hosting import hosted_fake
from ui.scripted import ScriptedDecider

from clef_model.diagnostics.canary import Estimate, Sample, Window
from clef_model.errors import ClefError
from clef_model.remote_settings import read_remotes
from clef_ui.deciding import Desk, Outcome
from clef_ui.draft_types import Draft, write_draft
from clef_ui.pasting import from_request_text
from clef_ui.place_calls import place_calls
from clef_ui.places import Places
from clef_ui.presets import read_presets
from clef_ui.runs import Runs
from clef_ui.uploads import MediaStore
from clef_ui.views.window import estimate_view, window_view
from clef_ui.workbench import build_workbench

PRESETS = Path(__file__).parents[2] / "presets"
REQUEST = {"state": "A parcel is late.", "questions": {"q": {"type": "noul", "instructions": "Is it?"}}}


def servers(url: str, **more: Any) -> Any:
    box = {"name": "gpu box", "profile": "sglang", "url": url, "model": "clef-flash", "context_tokens": 3000, **more}
    return read_remotes({"CLEF_REMOTES": json.dumps([box])})


@pytest.fixture
def fake() -> Iterator[tuple[Fake, str]]:
    with hosted_fake("sglang", context=3000) as running:
        yield running


def run(desk: Desk, request: Any = REQUEST, **view: Any) -> Outcome:
    filled = from_request_text(json.dumps(request), Draft())
    assert filled is not None
    return desk.run(write_draft(replace(filled.draft, view={"run": "run-1", **view})))


def desk_with(url: str) -> tuple[Desk, ScriptedDecider]:
    here = ScriptedDecider()
    return Desk(here, MediaStore(), Runs(), Places(here, servers(url))), here


def test_a_run_goes_where_it_is_sent(fake: tuple[Fake, str]) -> None:
    desk, here = desk_with(fake[1])
    there = json.loads(run(desk, place="gpu box").answers or "null")
    assert (there["model"]["name"], there["model"]["device"]) == ("served-name", "gpu box (SGLang)")
    assert len(fake[0].bodies) == 1
    assert here.decided == []
    assert "Its prompt cannot be seen" in there["notices"][0]["message"]
    assert json.loads(run(desk).answers or "null")["model"]["name"] == "scripted"
    assert len(here.decided) == 1


def test_a_place_that_the_operator_has_not_named_is_not_asked(fake: tuple[Fake, str]) -> None:
    desk, _ = desk_with(fake[1])
    told = json.loads(run(desk, place="http://evil.example").feedback)
    assert told["message"] == (
        "'http://evil.example' is no place that this page can ask; there are this machine, 'gpu box'. "
        "Choose one of them."
    )


def test_a_servers_refusal_is_shown_and_the_page_goes_on(fake: tuple[Fake, str]) -> None:
    desk, _ = desk_with(fake[1] + "/elsewhere")
    told = json.loads(run(desk, place="gpu box").feedback)
    assert "gpu box (SGLang) refuses the request (HTTP 404 (Not Found): 404 page not found)" in told["message"]
    assert run(desk).answers is not None


def test_the_page_knows_names_and_kinds_and_neither_address_nor_key(
    fake: tuple[Fake, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPU_KEY", KEY)
    here = ScriptedDecider()
    listed = servers(fake[1], key_env="GPU_KEY")
    places = Places(here, listed)
    assert places.view() == [
        {"name": "", "label": "this machine", "detail": ""},
        {"name": "gpu box", "label": "gpu box", "detail": "SGLang · clef-flash"},
    ]
    page = build_workbench(here, read_presets(PRESETS), servers=listed)
    outcome = run(Desk(here, MediaStore(), Runs(), places), place="gpu box")
    assert outcome.answers is not None
    for text in (place_calls(places)[0](""), str(outcome), json.dumps(page.get_config_file(), default=str)):
        assert KEY not in text
        assert fake[1] not in text


def test_the_calls_of_the_chooser_measure_a_window(fake: tuple[Fake, str]) -> None:
    places = Places(ScriptedDecider(), servers(fake[1]))
    calls = {call.__name__: call for call in place_calls(places)}
    asked = json.dumps({"place": "gpu box", "tokens": 4096, "run": "w1"})
    assert json.loads(calls["window_cost"](asked))["sentence"].startswith("At most 21 requests with ")
    assert fake[0].bodies == []
    found = json.loads(calls["window"](asked))
    assert found["sentence"].endswith("on their end is cut without a word.")
    assert {row["finding"] for row in found["rows"]} == {"end read", "end not read"}
    calls["stop_window"]("w2")
    assert json.loads(calls["window"](asked.replace("w1", "w2"))) == {"stopped": True}
    for wrong in ('{"place": "gpu box", "tokens": 5, "run": ""}', "[]"):
        assert "can be measured" in json.loads(calls["window_cost"](wrong))["error"]
    assert "is no place" in json.loads(calls["window_cost"](asked.replace("gpu box", "x")))["error"]


@pytest.mark.parametrize(
    ("window", "sentence"),
    [
        (
            Window((), 0, 300, 0.0, is_conclusive=False),
            "Nothing can be said: not even the end of a short text changes an answer of this model.",
        ),
        (
            Window((), 4096, None, 0.0, is_conclusive=True),
            "Everything was read, up to 4,096 tokens of state, which is as far as was looked.",
        ),
        (
            Window((Sample(3000, 3100, False, refusal="no"),), 2000, 3000, 0.0, is_conclusive=True),
            "States of 2,000 tokens are read whole; from 3,000 on they are refused.",
        ),
    ],
)
def test_a_window_is_told_in_a_sentence(window: Window, sentence: str) -> None:
    assert window_view(window)["sentence"] == sentence


def test_a_cost_is_told_with_its_price_when_there_is_one() -> None:
    assert estimate_view(Estimate(9, 12_345, None))["sentence"] == (
        "At most 9 requests with 12,345 tokens together. Most measurements take less than half."
    )
    assert "about $0.0011 by the price that is known" in estimate_view(Estimate(9, 12_345, 0.0011))["sentence"]


def test_without_servers_there_is_one_place() -> None:
    places = Places(ScriptedDecider())
    assert [place["label"] for place in places.view()] == ["this machine"]
    with pytest.raises(ClefError, match="there are this machine"):
        places.decider("gpu box")
