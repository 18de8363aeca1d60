"""Bindings, endpoints and scripts of the page, read without a browser."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from fastapi.testclient import TestClient
from ui.scripted import ScriptedDecider

from clef_ui.assets import SCRIPTS, STYLES, asset, page_head
from clef_ui.presets import read_presets
from clef_ui.workbench import build_workbench

FOLDER = Path(__file__).parent.parent.parent
REQUEST = {"model": "clef-flash", "state": {"n": 1.0}, "questions": {"q": {"type": "noul"}}}


@pytest.fixture(scope="module")
def page() -> gr.Blocks:
    return build_workbench(ScriptedDecider(), read_presets(FOLDER / "presets"))


@pytest.fixture(scope="module")
def client(page: gr.Blocks) -> Iterator[TestClient]:
    with TestClient(gr.routes.App.create_app(page.queue())) as opened:
        yield opened


def post(client: TestClient, name: str, *data: Any) -> Any:
    answer = client.post(f"/gradio_api/run/{name}", json={"data": list(data)})
    return answer.json()


def test_the_only_public_endpoints_are_decide_and_plan(page: gr.Blocks) -> None:
    public = [fn.api_name for fn in page.fns.values() if fn.api_visibility == "public"]
    assert sorted(public) == ["decide", "plan"]


def test_every_call_of_the_model_takes_its_turn_and_goes_through_the_queue(page: gr.Blocks) -> None:
    model = [fn for fn in page.fns.values() if fn.concurrency_id == "model"]
    assert len(model) >= 2
    assert all(fn.concurrency_limit == 1 and fn.queue for fn in model)


def test_every_panel_that_calls_the_model_can_stop_its_run_by_its_id(page: gr.Blocks) -> None:
    calls = [fn for fn in page.fns.values() if fn.concurrency_id == "model" and fn.api_visibility == "private"]
    panels = [page.blocks[fn.inputs[0]._id] for fn in calls]
    assert len(panels) == 3
    assert all(hasattr(panel, "cancel") for panel in panels)
    assert not any(fn.cancels for fn in page.fns.values())


def test_no_template_holds_a_value(page: gr.Blocks) -> None:
    panels = [block for block in page.blocks.values() if isinstance(block, gr.HTML)]
    assert {panel.html_template for panel in panels} == {'<div class="clef-root"></div>'}


def test_plan_and_decide_take_objects_and_text_and_give_objects(client: TestClient) -> None:
    for request in (REQUEST, json.dumps(REQUEST)):
        plan = post(client, "plan", request, 16384, None, True)["data"][0]
        assert plan["budget"]["total"] == plan["ledger"][-1]["span"][1]
        assert "".join(part["text"] for part in plan["ledger"] if part["kind"] == "state") == '{"n":1.0}'
        decision = post(client, "decide", request, 16384, None, True)["data"][0]
        assert decision["answers"]["q"]["noul"] == round(decision["predictions"]["q"]["true"], 4)


def test_an_integer_beyond_64_bits_comes_back_as_text(client: TestClient) -> None:
    request = '{"state": "", "questions": {"q": {"type": "score", "criteria": [12345678901234567890123, 1]}}}'
    decision = post(client, "decide", request, 16384, None, True)["data"][0]
    assert decision["answers"]["q"]["legend"] == {"0": "12345678901234567890123", "1": 1}


def test_a_broken_request_gets_all_its_problems(client: TestClient) -> None:
    answer = post(client, "plan", '{"state": "", "questions": {"a": {"type": "x"}, "b": 1}}', 16384, None, True)
    assert "questions.a.type" in answer["error"]
    assert "questions.b" in answer["error"]


def test_a_script_or_style_is_in_the_list_and_on_the_disk() -> None:
    folder = FOLDER / "clef_ui" / "assets"
    assert {path.name for path in (folder / "js").iterdir()} == set(SCRIPTS)
    assert {path.name for path in (folder / "css").iterdir()} == set(STYLES)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_never_makes_markup_or_code_of_a_text(name: str) -> None:
    code = re.sub(r"(?m)^\s*//.*$", "", asset(f"js/{name}"))
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", code)


def test_no_script_closes_the_element_it_stands_in() -> None:
    assert page_head().count("</script") == len(SCRIPTS)


def test_no_script_or_style_names_another_host() -> None:
    texts = [asset(f"js/{name}") for name in SCRIPTS] + [asset(f"css/{name}") for name in STYLES]
    assert not [found for text in texts for found in re.findall(r"(?:https?:)?//[\w-]+\.[\w.-]+", text)]
