"""Who may call: hosts and origins that a web page elsewhere cannot fake, and the key."""

import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from clef_model.json_paths import shown
from clef_model.service.errors import Refused, error_response
from clef_model.service.settings import ServiceSettings

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

API = "/v1/"
LOCAL_NAMES = ("localhost", "localhost.localdomain")
DEFAULT_PORTS = {"http": "80", "https": "443"}


class Guard:
    """ASGI middleware around the service, and around the page that it stands beside.

    A page of another site may send requests to a server on this machine, by its address or by a name of its own that
    leads here (DNS rebinding). The first names its origin, the second an unknown host; both are refused. A public
    server is open to any host, and its page to any origin, since nothing there is private.
    """

    def __init__(self, app: App, settings: ServiceSettings) -> None:
        self.app = app
        self.settings = settings
        machine = socket.gethostname().casefold()
        self.names = frozenset((*LOCAL_NAMES, machine, f"{machine}.local", *settings.hosts))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        try:
            self._check(scope)
        except Refused as refusal:
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            else:
                await error_response(refusal)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        headers = Headers(raw=scope["headers"])
        is_api = scope["path"].startswith(API)
        if "content-length" in headers and "transfer-encoding" in headers:
            # A proxy that believes the other one would see a second request in the body.
            message = "Content-Length and Transfer-Encoding contradict each other. Send one of them."
            raise Refused(400, "ambiguous_length", message, headers={"Connection": "close"})
        # Every browser names a host; who names none is a program, such as a proxy that asks for /health.
        host = headers.get("host", "localhost")
        if not self.settings.is_public and not self._is_known(host):
            message = (
                f"The host {shown(host)} is not one of this server's, as when a page elsewhere leads here by a name of "
                "its own. Use localhost or an address, or start the server with the name in CLEF_ALLOWED_HOSTS."
            )
            raise Refused(421, "unknown_host", message)
        origin = headers.get("origin")
        if origin is not None and (is_api or not self.settings.is_public) and not self._is_ours(origin, host):
            message = (
                f"A page of {shown(origin)} may not call this server. Call it from a program, or start the server with "
                "the origin in CLEF_ALLOWED_ORIGINS."
            )
            raise Refused(403, "foreign_origin", message)
        if is_api and self.settings.key is not None:
            _check_key(headers.get("authorization", ""), self.settings.key)

    def _is_known(self, host: str) -> bool:
        name = _hostname(host)
        # A name can be made to lead anywhere; an address cannot.
        return "*" in self.names or name in self.names or name.endswith(".localhost") or _is_address(name)

    def _is_ours(self, origin: str, host: str) -> bool:
        if origin.casefold() in self.settings.origins:
            return True
        try:
            parts = urlsplit(origin.casefold())
        except ValueError:  # an address in brackets that is none
            return False
        return parts.netloc != "" and _with_port(parts.netloc, parts.scheme) == _with_port(
            host.casefold(), parts.scheme
        )


def _check_key(authorization: str, key: str) -> None:
    scheme, _, given = authorization.partition(" ")
    is_bearer = scheme.casefold() == "bearer"
    if is_bearer and hmac.compare_digest(given.strip().encode("utf-8", "replace"), key.encode("utf-8")):
        return
    found = "the key is not this server's" if is_bearer and given.strip() else "there is no key"
    message = f"Authorization: {found}. Send the header Authorization: Bearer <CLEF_API_KEY>."
    raise Refused(401, "authentication_error", message, headers={"WWW-Authenticate": "Bearer"})


def _hostname(host: str) -> str:
    """The host without its port, in lower case."""
    name = host.casefold().strip()
    if name.startswith("["):
        return name.partition("]")[0].removeprefix("[")
    return name.partition(":")[0].rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _with_port(netloc: str, scheme: str) -> str:
    has_port = netloc.rpartition("]")[2].rpartition(":")[1] == ":"
    return netloc if has_port else f"{netloc}:{DEFAULT_PORTS.get(scheme, '')}"
