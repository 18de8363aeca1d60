"""Remote deciders for tests: the tokenizer of one token a byte, and no time lost with waiting."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from ui.scripted import ScriptedDecider

from clef_model.parsing import parse_record
from clef_model.remote import Remote, RemoteDecider
from clef_model.remote_calls import Patience
from clef_model.remote_profiles import server_profile
from clef_model.schema import Record

QUICK = Patience(connect_s=5, reply_s=20, first_wait_s=0.0, longest_wait_s=5)
OPENED: list[RemoteDecider] = []  # closed after each test
MODELS = {"workers-ai": "clef-flash", "sglang": "clef-flash", "vllm-fork": "clef-flash", "ollama": "clef-flash:9b"}


def remote_decider(
    profile: str, url: str, *, patience: Patience = QUICK, exact: bool = True, **remote: Any
) -> RemoteDecider:
    """A server of this kind at this address; its plans come from the byte tokenizer."""
    found = server_profile(profile)
    assert found is not None
    planner = ScriptedDecider()
    if not exact:
        planner.status = replace(planner.status, name="clef-nano", tokenizer_is_exact=False)
    settings = {"name": "box", "model": MODELS.get(profile), **remote}
    decider = RemoteDecider(Remote(profile=found, url=url, **settings), planner, patience=patience)
    OPENED.append(decider)
    return decider


@pytest.fixture(autouse=True)
def closed_connections() -> Iterator[None]:
    """Closes what the test has opened; it works in every module that imports it."""
    yield
    while OPENED:
        OPENED.pop().close()


QUESTIONS: dict[str, Any] = {
    "late": {"type": "noul", "instructions": "Is it late?"},
    "team": {
        "type": "choice",
        "instructions": "Who?",
        "criteria": {"shipping": "parcels", "billing": None, "it": "logins"},
    },
    "tone": {"type": "score", "instructions": "How angry?", "criteria": ["calm", "annoyed", "furious"]},
}


def record(questions: dict[str, Any] | None = None, state: Any = "A parcel is late.", **rest: Any) -> Record:
    return parse_record({"state": state, "questions": questions or QUESTIONS, **rest})
