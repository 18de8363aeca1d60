"""The service's OpenAPI document."""

from collections.abc import Sequence
from typing import Any

from clef_model.service.settings import ServiceSettings

Schema = dict[str, Any]

ANY: Schema = {"description": "Any JSON value."}
PROBABILITY: Schema = {"type": "number", "minimum": 0, "maximum": 1}
COUNT: Schema = {"type": "integer", "minimum": 0}
TEXT: Schema = {"type": "string"}
NAMED: Schema = {"type": "object", "minProperties": 1, "propertyNames": {"minLength": 1}}
INSTRUCTIONS: Schema = {"description": "What is asked; any JSON value. Null, empty or absent: the id is asked."}


def openapi_document(settings: ServiceSettings, names: Sequence[str]) -> Schema:
    """OpenAPI 3.1; the bounds in it are this server's, and `names` those of its model, when it is known."""
    secured: Schema = {"security": [{"key": []}]} if settings.key is not None else {}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Clef, System One",
            "version": "1",
            "description": "Typed decisions about a state: a probability for every allowed option.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": {
            "/v1/systemone": _post("Answer one request", "Request", "Response", secured),
            "/v1/systemone/batch": _post("Answer a batch, in order", "Batch", "Responses", secured),
            "/v1/plan": _post("Where every token goes; needs no weights", "Request", "Plan", secured),
            "/v1/models": _get("The model, under each of its names", "Models", secured, other=(503,)),
            "/health": _get("Whether the model is loaded, and who uses it", "Health", {}, other=()),
            "/openapi.json": _get("This document", None, {}, other=()),
        },
        "components": {
            "schemas": {**_requests(settings, names), **_answers(), "Error": _error(), "Model": _model()},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _post(summary: str, body: str, answer: str, secured: Schema) -> Schema:
    statuses = (400, 403, 408, 413, 415, 421, 422, 429, 500, 503)
    headers = {"X-Clef-Model": {"schema": TEXT}, "X-Clef-Revision": {"schema": TEXT}}
    content = {"application/json": {"schema": _ref(body)}}
    operation: Schema = {
        "summary": summary,
        "operationId": body.casefold() + "_" + answer.casefold(),
        "requestBody": {"required": True, "content": content},
        "responses": {"200": {**_json(summary, answer), "headers": headers}, **_errors(statuses, secured)},
        **secured,
    }
    return {"post": operation}


def _get(summary: str, answer: str | None, secured: Schema, *, other: tuple[int, ...]) -> Schema:
    responses: Schema = {"200": _json(summary, answer), **_errors((403, 421, *other), secured)}
    if answer == "Health":
        responses["503"] = _json("The model is not loaded", answer)
    return {"get": {"summary": summary, "responses": responses, **secured}}


def _json(description: str, answer: str | None) -> Schema:
    schema = {"type": "object"} if answer is None else _ref(answer)
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _errors(statuses: tuple[int, ...], secured: Schema) -> Schema:
    meanings = {
        400: "The body is not JSON",
        401: "No key, or a wrong one",
        403: "A page of another origin",
        408: "The body arrived too slowly",
        413: "The body is too large, or the record too long",
        415: "Not JSON by its headers",
        421: "A host that is not this server's",
        422: "The request breaks the schema; every problem is named",
        429: "The queue is full; see Retry-After",
        500: "A fault of the server",
        503: "The model is loading, or could not be loaded",
    }
    told = sorted({*statuses, 401}) if secured else statuses
    errors: Schema = {str(status): _json(meanings[status], "Error") for status in told}
    for status in ("429", "503"):
        if status in errors:
            errors[status]["headers"] = {"Retry-After": {"schema": {"type": "string"}}}
    return errors


def _requests(settings: ServiceSettings, names: Sequence[str]) -> Schema:
    longest = settings.highest_max_length
    call: Schema = {
        "max_length": {"type": "integer", "minimum": 1, "maximum": longest, "default": settings.limits.max_length},
        "max_state_tokens": {"type": ["integer", "null"], "minimum": 0},
        "truncate": {
            "type": "boolean",
            "default": settings.limits.truncate,
            "description": "False: a record that is too long is refused with 413 instead of losing its state's end.",
        },
        "x_clef": {"type": "boolean", "default": False, "description": "True adds `x_clef` to each answer."},
    }
    file = _object({"content_type": TEXT, "base64": TEXT}, required=["content_type", "base64"])
    image: Schema = {"anyOf": [{"type": "string", "pattern": "^data:"}, file]}
    known: Schema = {"enum": list(names)} if names else {}
    record: Schema = {
        "model": {"type": "string", "description": "A name of GET /v1/models. Absent: the one there is.", **known},
        "state": ANY,
        "questions": {**NAMED, "additionalProperties": _ref("Question")},
        "images": {"type": ["array", "null"], "items": image},
        "videos": {"type": ["array", "null"], "items": ANY},
        "id": {"type": ["string", "integer"], "minLength": 1},
    }
    return {
        "Request": _object({**record, **call}, required=["state", "questions"]),
        "Batch": _object(
            {
                "requests": {
                    "type": "array",
                    "minItems": 1,
                    "description": f"At most {settings.max_batch:,}; more are refused with 413.",
                    "items": _object(record, required=["state", "questions"]),
                },
                **call,
            },
            required=["requests"],
        ),
        "Question": {
            "oneOf": [
                _question("noul", {"type": ["object", "null"]}, required=()),
                _question("choice", NAMED, required=("criteria",)),
                _question("score", {"type": "array", "minItems": 1}, required=("criteria",)),
            ]
        },
    }


def _question(kind: str, criteria: Schema, required: tuple[str, ...]) -> Schema:
    properties = {"type": {"const": kind}, "instructions": INSTRUCTIONS, "criteria": criteria}
    return _object(properties, required=["type", *required])


def _answers() -> Schema:
    probabilities: Schema = {"type": "object", "additionalProperties": PROBABILITY}
    noul = _object({"type": {"const": "noul"}, "noul": PROBABILITY})
    choice = {"type": {"const": "choice"}, "choice": TEXT, "confidence": PROBABILITY, "probabilities": probabilities}
    score = {
        "type": {"const": "score"},
        "score": {"type": "number", "minimum": 0},
        "confidence": PROBABILITY,
        "legend": {"type": "object"},
        "probabilities": probabilities,
    }
    answer = {"oneOf": [noul, _object(choice), _object(score)]}
    usage = _object({"input_tokens": COUNT, "output_tokens": COUNT})
    response = {
        "model": TEXT,
        "answers": {"type": "object", "additionalProperties": answer},
        "usage": usage,
        "x_clef": {"type": "object"},
    }
    model = {"name": TEXT, "description": TEXT, "release_date": TEXT, "x_clef": _ref("Model")}
    plan: Schema = {"type": "object", "required": ["model", "budget", "questions", "ledger", "notices", "lint"]}
    health = {
        "status": {"enum": ["ready", "loading", "failed"]},
        "loading": {"type": "object"},
        "model": {"anyOf": [_ref("Model"), {"type": "null"}]},
        "cache": {"type": ["object", "null"], "additionalProperties": {"type": "integer"}},
        "queue": {"type": "object"},
    }
    return {
        "Response": _object(response, required=["model", "answers", "usage"]),
        "Responses": _object({"responses": {"type": "array", "items": _ref("Response")}}),
        "Plan": plan,
        "Models": _object({"models": {"type": "array", "items": _object(model)}}),
        "Health": _object(health),
    }


def _model() -> Schema:
    return {"type": "object", "required": ["name", "revision", "device", "dtype", "is_demonstration"]}


def _error() -> Schema:
    position: Schema = {"type": ["integer", "null"]}
    problem = _object({"where": TEXT, "message": TEXT, "line": position, "column": position})
    error: Schema = {
        "type": "object",
        "required": ["code", "message", "problems"],
        "properties": {"code": TEXT, "message": TEXT, "problems": {"type": "array", "items": problem}},
    }
    return _object({"error": error, "detail": {"description": "The same, as TypeSafe's API says it."}})


def _object(properties: Schema, required: list[str] | None = None) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
        "additionalProperties": False,
    }


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}
