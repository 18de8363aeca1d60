"""What is known of servers that answer for Clef: routes, envelopes, limits, and what they ignore, as data."""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from clef_model.diagnostics.limits import Profile
from clef_model.diagnostics.limits import read_profiles as read_limit_profiles


@dataclass(frozen=True, slots=True)
class ServerProfile:
    """How one kind of server is asked; what it refuses, cuts and ignores of a record is in its `limits`.

    `source` and `date` say where the facts come from. `route` may hold {model}.
    """

    id: str
    title: str
    limits: Profile
    source: str
    date: str
    note: str
    route: str
    model: Literal["required", "optional", "route"]  # the name in the request; "route" has it in the address too
    models: tuple[str, ...] = ()  # the names there are; empty when they are the operator's
    images: Literal["data_url", "base64"] = "data_url"
    reply: Literal["systemone", "workbench", "mlx-vlm"] = "systemone"
    takes_limits: bool = False  # max_length and the like may stand in the request
    decimals: int | None = 4  # of the probabilities in a reply; None when they are not rounded
    body_bytes: int | None = None  # the largest request
    too_long: tuple[str, ...] = ()  # parts of its messages that mean: more tokens than it holds
    final_codes: tuple[int, ...] = ()  # codes of its 429 that waiting does not help
    prices: tuple[tuple[str, float], ...] = ()  # US dollars for a million input tokens, by model

    def price(self, model: str | None) -> float | None:
        """US dollars for a million input tokens of this model; None when nobody has told."""
        return dict(self.prices).get(model or "")


@cache
def read_server_profiles() -> tuple[ServerProfile, ...]:
    """All known kinds of servers, our own first."""
    limits = {profile.id: profile for profile in read_limit_profiles()}
    entries: list[dict[str, Any]] = json.loads(files("clef_model").joinpath("remote_profiles.json").read_text("utf-8"))
    return tuple(ServerProfile(**_fields(entry, limits)) for entry in entries)


def server_profile(profile_id: str) -> ServerProfile | None:
    """The profile of this id; None when there is none."""
    return next((profile for profile in read_server_profiles() if profile.id == profile_id), None)


def _fields(entry: dict[str, Any], limits: dict[str, Profile]) -> dict[str, Any]:
    fields = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    prices: dict[str, float] = entry.get("prices", {})
    return {**fields, "limits": limits[entry["limits"]], "prices": tuple(prices.items())}
