"""The two tools that agents see, called by a real MCP client over HTTP."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
from ui.scripted import ScriptedDecider

from clef_model.lazy import LazyDecider
from clef_model.service.settings import ServiceSettings
from clef_ui.beside import service_beside
from clef_ui.presets import read_presets
from clef_ui.workbench import build_workbench, serve

mcp = pytest.importorskip("mcp", reason="the extra gradio[mcp] is not installed: requirements-mcp.txt")

PRESETS = Path(__file__).parents[2] / "presets"
REQUEST: dict[str, Any] = {
    "state": "The parcel never came.",
    "questions": {
        "late": {"type": "noul", "instructions": "Is it late?"},
        "team": {"type": "choice", "instructions": "Who?", "criteria": {"shipping": "parcels", "billing": None}},
    },
}
Result = TypeVar("Result")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    scripted = ScriptedDecider(logits={"team": [0.0, 3.0]})
    decider = LazyDecider(lambda: scripted, lambda _: scripted).wait()
    page = build_workbench(decider, read_presets(PRESETS))
    beside = service_beside(decider, ServiceSettings())  # with its guard, as it is served
    serve(page, host="127.0.0.1", port=None, beside=beside, block=False, with_mcp=True)
    try:
        yield f"{page.local_url}gradio_api/mcp/"
    finally:
        page.close()


def with_session(url: str, use: Callable[[Any], Awaitable[Result]]) -> Result:
    from mcp.client.session import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async def main() -> Result:
        async with (
            httpx.AsyncClient(timeout=60, trust_env=False, follow_redirects=True) as http,
            streamable_http_client(url, http_client=http) as (reading, writing, _),
            ClientSession(reading, writing) as session,
        ):
            await session.initialize()
            return await use(session)

    return asyncio.run(main())


def called(url: str, tool: str, **arguments: Any) -> Any:
    result = with_session(url, lambda session: session.call_tool(tool, arguments))
    text = result.content[0].text
    return text if result.isError else json.loads(text)


def test_agents_see_two_tools_and_nothing_else(url: str) -> None:
    listed = with_session(url, lambda session: session.list_tools())
    assert [tool.name for tool in listed.tools] == ["decide", "plan"]
    resources = with_session(url, lambda session: session.list_resources())
    prompts = with_session(url, lambda session: session.list_prompts())
    assert (resources.resources, prompts.prompts) == ([], [])


def test_the_tools_have_types_and_say_what_they_are_for(url: str) -> None:
    for tool in with_session(url, lambda session: session.list_tools()).tools:
        properties = tool.inputSchema["properties"]
        assert [*properties] == ["request", "max_length", "max_state_tokens", "truncate"]
        assert all(properties[name]["description"] for name in properties)
        assert tool.inputSchema["required"] == ["request"]
        asked = properties["request"]["anyOf"][0]
        assert asked["required"] == ["state", "questions"]
        kinds = asked["properties"]["questions"]["additionalProperties"]["anyOf"]
        assert [kind["properties"]["type"]["const"] for kind in kinds] == ["noul", "noul", "choice", "score"]
        assert "Use it" in tool.description


def test_decide_answers_an_agent(url: str) -> None:
    answer = called(url, "decide", request=REQUEST)
    assert answer["answers"]["team"]["choice"] == "shipping"
    assert answer["predictions"]["late"]["true"] + answer["predictions"]["late"]["false"] == pytest.approx(1)
    assert answer["budget"]["truncation"] is None
    assert called(url, "decide", request=json.dumps(REQUEST)) == answer


def test_plan_counts_for_an_agent(url: str) -> None:
    plan = called(url, "plan", request=REQUEST, max_state_tokens=3)
    assert plan["budget"]["truncation"]["kept_tokens"] == 3
    assert [question["id"] for question in plan["questions"]] == ["late", "team"]


def test_a_wrong_request_tells_an_agent_what_is_wrong(url: str) -> None:
    question = {"type": "choice", "instructions": "Which?", "criteria": {}}
    told = called(url, "decide", request={"state": "x", "questions": {"q": question}})
    assert "questions.q.criteria" in told


def test_no_other_call_of_the_page_can_be_made_as_a_tool(url: str) -> None:
    for name in ("plan_1", "answering", "run", "decide_request"):
        assert "Unknown tool" in called(url, name)
