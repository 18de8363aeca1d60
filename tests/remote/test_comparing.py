"""Two models on one record, in the library and from the command line."""

import json
from pathlib import Path
from typing import Any

import pytest
from remote.deciders import QUESTIONS, closed_connections, record, remote_decider
from remote.hosting import hosted_fake
from ui.scripted import ScriptedDecider

from clef_model.__main__ import main
from clef_model.comparing import compare, comparison_facts
from clef_model.decision import Limits

pytestmark = pytest.mark.usefixtures(closed_connections.__name__)

EVEN = {"late": [0.0, 0.0], "team": [0.0, 0.0, 0.0], "tone": [0.0, 0.0, 0.0]}
SURE = {"late": [0.0, 0.0], "team": [0.0, 50.0, 0.0], "tone": [0.0, 0.0, 50.0]}


def test_each_option_moves_by_percentage_points() -> None:
    found = compare(ScriptedDecider(logits=EVEN), ScriptedDecider(logits=SURE), record(), Limits())
    facts = comparison_facts(found)
    assert facts["questions"]["team"] == {
        "type": "choice",
        "top": {"a": "shipping", "b": "it"},
        "options": {
            "shipping": {"a": pytest.approx(1 / 3), "b": pytest.approx(0, abs=1e-9), "points": -33.333},
            "billing": {"a": pytest.approx(1 / 3), "b": pytest.approx(0, abs=1e-9), "points": -33.333},
            "it": {"a": pytest.approx(1 / 3), "b": pytest.approx(1), "points": 66.667},
        },
    }
    assert facts["questions"]["tone"]["score"] == {"a": pytest.approx(1), "b": pytest.approx(2)}
    assert facts["changed"] == ["team", "tone"]
    assert facts["largest"] == {"question": "team", "option": "it", "points": 66.667}
    assert facts["a"]["model"]["name"] == "scripted"


def test_equal_answers_differ_in_nothing() -> None:
    found = compare(ScriptedDecider(), ScriptedDecider(), record(), Limits())
    assert found.changed == ()
    assert found.largest[2] == 0


def test_a_server_and_a_model_here_are_compared_alike() -> None:
    with hosted_fake("ollama") as (_, url):
        facts = comparison_facts(compare(ScriptedDecider(), remote_decider("ollama", url), record(), Limits()))
    assert facts["b"]["model"]["device"] == "box (Ollama 0.40)"
    assert [notice["code"] for notice in facts["b"]["notices"]] == ["remote_plan"]
    assert facts["a"]["planned_tokens"] == facts["b"]["planned_tokens"]


@pytest.fixture
def request_file(tmp_path: Path) -> Path:
    path = tmp_path / "request.json"
    path.write_text(json.dumps({"model": "clef-flash", "state": "A parcel is late.", "questions": QUESTIONS}))
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: Any) -> tuple[int, Any, str]:
    code = main([*map(str, arguments)])
    told = capsys.readouterr()
    return code, json.loads(told.out) if told.out else None, told.err


def test_the_command_compares_two_servers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, request_file: Path
) -> None:
    with hosted_fake("sglang") as (_, first), hosted_fake("ollama") as (_, second):
        listed = [{"name": "gpu box", "profile": "sglang", "url": first, "model": "clef-flash"}]
        monkeypatch.setenv("CLEF_REMOTES", json.dumps(listed))
        code, facts, told = run(capsys, "compare", "gpu box", f"ollama={second}#clef-flash:9b", request_file)
    # Both fakes make their answers of the same prompt.
    assert (code, facts["changed"], facts["largest"]["points"]) == (0, [], 0)
    assert facts["a"]["model"]["name"] == "served-name"
    assert facts["b"]["model"]["name"] == "clef-flash:9b"
    assert told == "note: model: 'clef-flash' is left out: A and B say which models are asked.\n"


def test_the_command_says_with_its_exit_code_that_an_answer_differs(
    capsys: pytest.CaptureFixture[str], request_file: Path
) -> None:
    request_file.write_text(json.dumps({"state": "A parcel is late. " * 40, "questions": QUESTIONS}))
    with hosted_fake("systemone") as (_, whole), hosted_fake("systemone", context=1000) as (_, short):
        code, facts, _ = run(capsys, "compare", whole, short, request_file)
    assert (code, facts["changed"]) == (3, ["late", "team", "tone"])
    assert facts["largest"]["points"] != 0


def test_a_server_that_is_not_there_is_a_failure(capsys: pytest.CaptureFixture[str], request_file: Path) -> None:
    code, facts, told = run(capsys, "compare", "http://127.0.0.1:9", "http://127.0.0.1:9", request_file)
    assert (code, facts) == (1, None)
    assert told.splitlines()[-1].startswith("clef: 127.0.0.1:9 (a System One server) cannot be reached")


def test_a_request_that_cannot_be_read_is_bad_input(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, told = run(capsys, "compare", "http://127.0.0.1:9", "http://127.0.0.1:9", tmp_path / "none.json")
    assert code == 2
    assert told == f"clef: {tmp_path / 'none.json'}: cannot be read: No such file or directory.\n"


def test_lint_prints_its_advice_and_says_whether_there_is_any(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "request.json"
    criteria = {"b": "about a bill", "a": "about an account", "none of these": "anything else"}
    question = {"type": "choice", "instructions": "What is the ticket about?", "criteria": criteria}
    path.write_text(json.dumps({"state": "x", "questions": {"team": question}}))
    code, advice, _ = run(capsys, "lint", path)
    assert code == 3
    assert [found["code"] for found in advice] == ["option_order"]
    question["criteria"] = dict(sorted(criteria.items()))
    path.write_text(json.dumps({"state": "x", "questions": {"team": question}}))
    assert run(capsys, "lint", path)[:2] == (0, [])


def test_canary_tells_its_cost_and_measures_only_when_told(capsys: pytest.CaptureFixture[str]) -> None:
    with hosted_fake("systemone", context=3000) as (fake, url):
        code, told, _ = run(capsys, "canary", url, "--max-tokens", 2000)
        assert (code, fake.bodies) == (0, [])
        assert told["at_most"]["dollars"] is None
        code, window, _ = run(capsys, "canary", url, "--max-tokens", 2000, "--run")
    assert code == 3
    assert window["is_conclusive"]
    assert window["unread_tokens"] < 1000
    assert run(capsys, "canary", url, "--max-tokens", 5)[0] == 2
