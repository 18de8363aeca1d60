"""What an operator sets of the service: limits, names, key, and who may call."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from clef_model.decision import Limits
from clef_model.errors import ClefError
from clef_model.json_text import MAX_JSON_BYTES

PUBLIC_BODY_BYTES = 16 * 2**20  # a little more than Workers AI takes (13 MiB)
MAX_CACHE_MIB = 2**20
HIGHEST_MAX_LENGTH = 65_536  # what the hosted service has advertised; the head was trained at 16,384


class BrokenSetting(ClefError):
    """An environment variable of the service holds what it cannot mean."""


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Bounds of the service. Sizes are bytes, times seconds; hosts and origins are in lower case."""

    limits: Limits = field(default_factory=Limits)  # of a request that says nothing about them
    highest_max_length: int = HIGHEST_MAX_LENGTH  # that a request may ask for
    model_names: tuple[str, ...] = ()  # further names that clients may call the model by
    is_public: bool = False
    key: str | None = field(default=None, repr=False)
    hosts: tuple[str, ...] = ()  # names beside localhost and addresses; "*" is any
    origins: tuple[str, ...] = ()  # pages elsewhere that may call
    max_body_bytes: int = MAX_JSON_BYTES
    max_pending_bytes: int = 4 * MAX_JSON_BYTES  # bodies of all requests that are being worked on
    max_pending: int = 128  # requests that are being worked on
    max_pending_per_client: int = 128
    max_batch: int = 256  # requests of one batch
    max_waiting: int = 64  # requests in the queue for the model
    max_waiting_per_client: int = 64
    cache_bytes: int | None = None  # of states the model keeps between requests; None is the device's usual
    is_behind_proxy: bool = False  # then clients are told apart by X-Forwarded-For
    chunk_seconds: float = 10.0  # between two parts of a body
    body_seconds: float = 120.0  # a body of the largest size at half a megabyte a second


def read_settings(environ: Mapping[str, str], *, limits: Limits = Limits(), host: str = "") -> ServiceSettings:  # noqa: B008
    """The settings of an environment, see docs/api.md; `host` is the address or name that is served.

    Raises: BrokenSetting.
    """
    in_space = bool(environ.get("SPACE_ID"))
    hosts = [host, environ.get("SPACE_HOST", ""), *_list(environ, "CLEF_ALLOWED_HOSTS")]
    settings = ServiceSettings(
        limits=limits,
        highest_max_length=max(HIGHEST_MAX_LENGTH, limits.max_length),
        model_names=_list(environ, "CLEF_MODEL_NAMES"),
        is_public=_flag(environ, "CLEF_PUBLIC", default=in_space),
        key=_key(environ),
        hosts=tuple(name.casefold() for name in hosts if name),
        origins=tuple(_origin(origin) for origin in _list(environ, "CLEF_ALLOWED_ORIGINS")),
        is_behind_proxy=_flag(environ, "CLEF_BEHIND_PROXY", default=in_space),
    )
    settings = public(settings) if settings.is_public else settings
    cache_mib = environ.get("CLEF_CACHE_MIB", "").strip()
    return replace(settings, cache_bytes=_mebibytes(cache_mib)) if cache_mib else settings


def public(settings: ServiceSettings) -> ServiceSettings:
    """The settings for strangers: nothing longer than the operator's own limit, little at once for one client."""
    return replace(
        settings,
        is_public=True,
        highest_max_length=settings.limits.max_length,
        max_body_bytes=PUBLIC_BODY_BYTES,
        max_pending_bytes=4 * PUBLIC_BODY_BYTES,
        max_pending=64,
        max_pending_per_client=16,
        max_batch=8,
        max_waiting=32,
        max_waiting_per_client=8,
        cache_bytes=0,  # how fast an answer comes must not tell strangers what another one has sent
        chunk_seconds=5.0,
        body_seconds=60.0,
    )


def _mebibytes(text: str) -> int:
    if not text.isdecimal() or not text.isascii() or int(text) > MAX_CACHE_MIB:
        raise BrokenSetting(f"CLEF_CACHE_MIB: expected a whole number from 0 to {MAX_CACHE_MIB:,}, got {text[:20]!r}.")
    return int(text) * 2**20


def _list(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(item for part in environ.get(name, "").split(",") if (item := part.strip()))


def _flag(environ: Mapping[str, str], name: str, *, default: bool) -> bool:
    value = environ.get(name, "").strip().casefold()
    if value not in ("", "0", "1", "false", "true"):
        raise BrokenSetting(f"{name}: expected 0 or 1, got {value!r}.")
    return default if value == "" else value in ("1", "true")


def _key(environ: Mapping[str, str]) -> str | None:
    key = environ.get("CLEF_API_KEY", "").strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        # The key itself never stands in a message.
        raise BrokenSetting("CLEF_API_KEY: found a space or a character that no header can carry. Use ASCII letters.")
    return key or None


def _origin(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/") or parts.query:
        raise BrokenSetting(f"CLEF_ALLOWED_ORIGINS: expected an origin such as https://example.org, got {text!r}.")
    return f"{parts.scheme}://{parts.netloc}".casefold()
