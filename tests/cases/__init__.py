"""The cases of this folder, read for parametrising: one test id a case."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def read_cases(name: str) -> list[dict[str, Any]]:
    """All cases of one class, in file order."""
    cases: list[dict[str, Any]] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return cases


def case_request(case: dict[str, Any]) -> Any:
    """What the case sends: JSON text as it was typed, or the parsed request."""
    return case["request_raw"] if "request_raw" in case else case["request"]


def mentions(message: str, term: str) -> bool:
    """Whether a message says what a case asks for; "a or b" asks for one of the two."""
    return any(word.casefold() in message.casefold() for word in term.split(" or "))
