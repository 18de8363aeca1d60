"""The servers an operator offers, from the environment variable CLEF_REMOTES, and one named on the command line."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from clef_model.errors import InvalidRecord
from clef_model.json_paths import Json, describe, shown
from clef_model.json_text import parse_json
from clef_model.lazy import Planner
from clef_model.remote import Remote, RemoteDecider
from clef_model.remote_profiles import ServerProfile, read_server_profiles, server_profile
from clef_model.replicas import ReplicatedDecider
from clef_model.schema import unknown_key
from clef_model.service.settings import BrokenSetting

VARIABLE = "CLEF_REMOTES"
KEYS = ("name", "profile", "url", "model", "key_env", "context_tokens")
GENERAL = "systemone"  # the profile of a server of no known kind

_EXAMPLE = '[{"name": "gpu box", "profile": "sglang", "url": "http://gpu:30000", "model": "clef-flash"}]'


@dataclass(frozen=True, slots=True)
class RemoteSetting:
    """One entry of the operator's list; `urls` are addresses of the same model, each whole, with the route."""

    name: str
    profile: ServerProfile
    urls: tuple[str, ...]
    model: str | None = None
    key_env: str | None = None
    context_tokens: int | None = None

    def remotes(self, environ: Mapping[str, str] = os.environ, key: str | None = None) -> tuple[Remote, ...]:
        """The servers, one for each address, with `key` or the one that the environment holds now.

        Raises: BrokenSetting: the variable with the key is empty, or holds what no header can carry.
        """
        if key is None and self.key_env is not None:
            key = environ.get(self.key_env, "").strip()
            if not key:
                message = (
                    f"the environment variable {self.key_env} is empty, and {self.name} needs the key it should hold"
                )
                raise BrokenSetting(f"{VARIABLE}: {message}. Set it and start again.")
        if key is not None and (not key.isascii() or not key.isprintable() or " " in key):
            # The key itself never stands in a message.
            raise BrokenSetting(f"The key of {self.name} has a space or a character that no header can carry.")
        many = len(self.urls) > 1
        return tuple(
            Remote(
                f"{self.name} {place}" if many else self.name, self.profile, url, self.model, key, self.context_tokens
            )
            for place, url in enumerate(self.urls, 1)
        )

    def decider(
        self, planner: Planner, environ: Mapping[str, str] = os.environ, key: str | None = None
    ) -> RemoteDecider | ReplicatedDecider:
        """The server, or all of its addresses in turn. Raises: as `remotes`."""
        deciders = [RemoteDecider(remote, planner) for remote in self.remotes(environ, key)]
        return deciders[0] if len(deciders) == 1 else ReplicatedDecider(self.name, deciders)


def read_remotes(environ: Mapping[str, str] = os.environ) -> tuple[RemoteSetting, ...]:
    """The operator's list; empty when the variable is not set.

    Raises: BrokenSetting: with all that is wrong in it.
    """
    text = environ.get(VARIABLE, "").strip()
    if not text:
        return ()
    try:
        entries = parse_json(text).value
    except InvalidRecord as error:
        raise BrokenSetting(f"{VARIABLE}: {error.problems[0]} Write {_EXAMPLE}.") from error
    if not isinstance(entries, list):
        raise BrokenSetting(f"{VARIABLE}: expected a list, got {describe(entries)}. Write {_EXAMPLE}.")
    faults = [f"{VARIABLE}[{place}].{fault}" for place, entry in enumerate(entries) for fault in _faults(entry)]
    if faults:
        raise BrokenSetting("\n".join(faults))
    names = [entry["name"].strip() for entry in entries]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise BrokenSetting(f"{VARIABLE}: found {shown(doubled[0])} more than once. Name each server once.")
    return tuple(map(_setting, entries))


def named_on_the_command_line(text: str, remotes: tuple[RemoteSetting, ...]) -> RemoteSetting | None:
    """The operator's server of that name, or the one of an address: URL, PROFILE=URL, either with #MODEL at its end.

    None when the text is neither. Raises: BrokenSetting: it is an address, and something is wrong with it.
    """
    for remote in remotes:
        if remote.name == text:
            return remote
    profile, _, address = text.partition("=") if "=" in text.partition("://")[0] else (GENERAL, "", text)
    if not address.startswith(("http://", "https://")):
        return None
    url, _, model = address.partition("#")
    entry = {"name": urlsplit(url).netloc, "profile": profile, "url": url, **({"model": model} if model else {})}
    faults = list(_faults(entry))
    if faults:
        raise BrokenSetting("\n".join(f"{text}: {fault}" for fault in faults))
    return _setting(entry)


def _setting(entry: Mapping[str, Any]) -> RemoteSetting:
    profile = server_profile(entry["profile"])
    assert profile is not None, "the entry has been checked"
    urls = entry["url"] if isinstance(entry["url"], list) else [entry["url"]]
    route = profile.route.format(model=entry.get("model", ""))
    return RemoteSetting(
        name=entry["name"].strip(),
        profile=profile,
        urls=tuple(_whole(url, route) for url in urls),
        model=entry.get("model"),
        key_env=entry.get("key_env"),
        context_tokens=entry.get("context_tokens"),
    )


def _whole(url: str, route: str) -> str:
    """The address with the route, which may stand in it already."""
    base = url.rstrip("/")
    return base if base.endswith(route) else base.removesuffix("/v1") + route


def _faults(entry: Json) -> Iterator[str]:
    """What is wrong with an entry, each beginning with its key."""
    if not isinstance(entry, dict):
        yield f"expected an object such as {_EXAMPLE[1:-1]}, got {describe(entry)}."
        return
    yield from (f"{key}: {unknown_key(key, KEYS)}" for key in entry if key not in KEYS)
    for key in ("name", "profile"):
        if not isinstance(entry.get(key), str) or not entry[key].strip():
            yield f"{key}: expected a text, got {describe(entry.get(key))}."
    for key in ("model", "key_env"):
        if key in entry and (not isinstance(entry[key], str) or not entry[key].strip()):
            yield f"{key}: expected a text, got {describe(entry[key])}. Leave it out if there is none."
    yield from _profile_faults(entry)
    yield from _url_faults(entry.get("url"))
    context = entry.get("context_tokens", 1)
    if not isinstance(context, int) or isinstance(context, bool) or context < 1:
        yield f"context_tokens: expected a whole number of tokens, got {describe(context)}."


def _profile_faults(entry: Mapping[str, Json]) -> Iterator[str]:
    profile = server_profile(entry["profile"]) if isinstance(entry.get("profile"), str) else None
    model = entry.get("model")
    if profile is None:
        known = ", ".join(known.id for known in read_server_profiles())
        yield f"profile: found {describe(entry.get('profile'))}; known are {known}."
    elif profile.models and model not in profile.models:
        yield f"model: expected one of {', '.join(profile.models)} for {profile.title}, got {describe(model)}."
    elif profile.model == "required" and not model:
        yield f"model: {profile.title} wants the name of the model in each request. Give it."


def _url_faults(value: Json) -> Iterator[str]:
    urls = value if isinstance(value, list) and value else [value]
    for place, url in enumerate(urls):
        where = f"url[{place}]" if urls is value else "url"
        if not isinstance(url, str):
            yield f"{where}: expected an address such as http://gpu:30000, got {describe(url)}."
            continue
        try:
            parts = urlsplit(url)
            is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            is_whole = False
        if not is_whole or any(char.isspace() for char in url):
            yield f"{where}: expected an address such as http://gpu:30000, got {shown(url)}."
        elif parts.username or parts.password or parts.query or parts.fragment:
            # Not repeated: it may hold a key.
            yield f"{where}: found more than host and path. A key belongs into the variable that key_env names."
    if isinstance(value, list) and len(set(map(str, value))) < len(value):
        yield f"url: found an address twice among {len(value)} addresses."
