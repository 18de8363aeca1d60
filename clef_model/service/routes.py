"""The service's routes as Starlette's, to stand beside a page or alone."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from functools import cache, partial
from typing import Any
from urllib.parse import quote

import anyio
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from clef_model.decision import Decider, ModelStatus
from clef_model.facts import model_facts
from clef_model.lane import Lane
from clef_model.service.answering import Answering
from clef_model.service.asking import ANY_MODEL, served_names
from clef_model.service.bodies import Pending, read_body
from clef_model.service.errors import Refused, error_response, json_response, refused
from clef_model.service.guard import Guard, Receive, Scope, Send
from clef_model.service.openapi import openapi_document
from clef_model.service.settings import ServiceSettings

CLIENT_GONE = 499  # never sent: nobody is there to read it
HIDDEN = "The model cannot answer. The operator finds the reason in the log."  # it may name paths of the machine

Handle = Callable[[Request], Awaitable[Response]]


def service_app(decider: Decider, lane: Lane, settings: ServiceSettings) -> Starlette:
    """The service alone."""
    return Starlette(
        routes=[*service_routes(decider, lane, settings), Route("/{path:path}", Endpoint(None, _unknown, settings))],
        middleware=service_middleware(settings),
    )


def service_middleware(settings: ServiceSettings) -> list[Middleware]:
    """What stands around the service, and around the page beside it."""
    guard = Middleware(Guard, settings=settings)
    if not settings.origins:
        return [guard]
    cors = Middleware(
        CORSMiddleware,
        allow_origins=settings.origins,
        allow_methods=["GET", "POST"],
        allow_headers=["Authorization", "Content-Type"],
        expose_headers=["Retry-After", "X-Clef-Model", "X-Clef-Revision"],
    )
    return [cors, guard]


def service_routes(decider: Decider, lane: Lane, settings: ServiceSettings) -> list[Route]:
    """The routes; `decider.decide` is only called by who has the lane's turn."""
    answering = Answering(decider, lane, settings)
    pending = Pending(settings)

    async def systemone(request: Request, *, is_batch: bool = False) -> Response:
        status = answering.ready_status(weights=True)
        answer = partial(answering.systemone, status=status, client=_client(request, settings), is_batch=is_batch)
        return await _answered(request, status, answer)

    async def plan(request: Request) -> Response:
        status = answering.ready_status(weights=False)
        return await _answered(request, status, partial(answering.plan, status=status))

    async def _answered(request: Request, status: ModelStatus, answer: Callable[[bytes], Awaitable[Any]]) -> Response:
        with pending.request(_client(request, settings)) as held:
            body = await read_body(request, settings, held)
            return json_response(await _unless_gone(request, answer(body)), headers=_model_headers(status))

    async def models(request: Request) -> Response:
        return json_response(models_object(answering.ready_status(weights=False), settings))

    async def health(request: Request) -> Response:
        state = health_object(answering, settings)
        return json_response(state, 200 if state["status"] == "ready" else 503)

    async def document(request: Request) -> Response:
        status = answering.status()
        names = () if status is None else (*served_names(status, settings), ANY_MODEL)
        return json_response(openapi_document(settings, names))

    return [
        Route("/v1/systemone", Endpoint("POST", systemone, settings)),
        Route("/v1/systemone/batch", Endpoint("POST", partial(systemone, is_batch=True), settings)),
        Route("/v1/plan", Endpoint("POST", plan, settings)),
        Route("/v1/models", Endpoint("GET", models, settings)),
        Route("/health", Endpoint("GET", health, settings)),
        Route("/openapi.json", Endpoint("GET", document, settings)),
        Route("/v1/{path:path}", Endpoint(None, _unknown, settings)),
    ]


class Endpoint:
    """An ASGI endpoint for one method (None is any), whose every failure is JSON.

    Starlette matches a route that is no function for all methods, so that the page's own routes never answer here.
    """

    def __init__(self, method: str | None, handle: Handle, settings: ServiceSettings) -> None:
        self.method = method
        self.handle = handle
        self.settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._response(Request(scope, receive))
        await response(scope, receive, send)

    async def _response(self, request: Request) -> Response:
        allowed = {"GET": ("GET", "HEAD")}.get(self.method or "", (self.method,))
        try:
            if self.method is not None and request.method not in allowed:
                names = " or ".join(str(name) for name in allowed)
                message = f"{request.url.path} takes {names}, and this was {request.method[:20]}."
                headers = {"Allow": ", ".join(str(name) for name in allowed)}
                raise Refused(405, "method_not_allowed", message, headers=headers)
            return await self.handle(request)
        except ClientDisconnect:
            return Response(status_code=CLIENT_GONE)
        except Exception as error:
            refusal = refused(error)
            if self.settings.is_public and refusal.status >= 500 and refusal.code != "loading":
                refusal = Refused(refusal.status, refusal.code, HIDDEN, headers=refusal.headers)
            return error_response(refusal)


def models_object(status: ModelStatus, settings: ServiceSettings) -> dict[str, Any]:
    """The loaded model under each of its names, as TypeSafe's API lists models; its release date is not known here."""
    what = "Small demonstration model with Clef's prompt and layout; not Clef." if status.is_demonstration else ""
    names = (*served_names(status, settings), ANY_MODEL)
    return {
        "models": [
            {
                "name": name,
                "description": what or f"Cloudflare's open decision model {status.name}.",
                "release_date": "",
                "x_clef": model_facts(status),
            }
            for name in names
        ]
    }


def health_object(answering: Answering, settings: ServiceSettings) -> dict[str, Any]:
    """Whether the service can decide, and who uses the model."""
    status, loading = answering.status(), answering.loading()
    failed = HIDDEN if settings.is_public and loading.problem else loading.problem
    return {
        "status": "failed" if loading.problem else "ready" if loading.done and status is not None else "loading",
        "loading": {"stage": loading.stage, "share": round(loading.share, 3), "problem": failed},
        "model": None if status is None else model_facts(status),
        "cache": None if settings.is_public else answering.cache(),  # it would tell how long others' states are
        "queue": {**asdict(answering.lane.state()), "max_waiting": answering.lane.max_waiting},
    }


async def _unless_gone(request: Request, answer: Awaitable[Any]) -> Any:
    """The answer, given up as soon as the client hangs up.

    Raises: ClientDisconnect.
    """
    found: list[Any] = []

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        tasks.cancel_scope.cancel()

    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        try:
            found.append(await answer)
        except Exception as error:  # a task group would wrap it
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
    if not found:
        raise ClientDisconnect
    return found[0]


async def _unknown(request: Request) -> Response:
    message = "There is no such route here. GET /openapi.json lists those there are."
    raise Refused(404, "not_found", message)


def _client(request: Request, settings: ServiceSettings) -> str:
    """Whom to share with others: who invents further names for themselves is still bound by what all have together."""
    forwarded = request.headers.get("x-forwarded-for", "") if settings.is_behind_proxy else ""
    return forwarded[:200] or (request.client.host if request.client else "")


@cache
def _header_text(text: str) -> str:
    """What a header can carry of a name."""
    return quote(text, safe="/@:._- ")


def _model_headers(status: ModelStatus) -> dict[str, str]:
    """Who really answered, whatever name the client used."""
    headers = {"X-Clef-Model": _header_text(status.name)}
    return headers if status.revision is None else {**headers, "X-Clef-Revision": _header_text(status.revision)}
