"""Bodies of the service as records: one request or a batch, with the settings that stand beside them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clef_model.decision import Limits, ModelStatus, parse_limits
from clef_model.errors import InvalidRecord, Problem
from clef_model.json_paths import MAX_PROBLEMS, TOO_MANY, Json, Path, describe, path_text, shown
from clef_model.json_text import Located, scan_json
from clef_model.parsing import parse_record
from clef_model.schema import Record, unknown_key
from clef_model.service.errors import Refused, refused
from clef_model.service.settings import ServiceSettings

LIMIT_KEYS = ("max_length", "max_state_tokens", "truncate")
SETTING_KEYS = (*LIMIT_KEYS, "x_clef")
BATCH_KEYS = ("requests", *SETTING_KEYS)

# What clients of TypeSafe's API send when they have not been told a model: whichever there is.
ANY_MODEL = "jev-latest"


@dataclass(frozen=True, slots=True)
class Asked:
    """The records of a body, in order; `wants_facts` when their answers shall carry x_clef."""

    records: tuple[Record, ...]
    limits: Limits
    wants_facts: bool
    is_batch: bool


def parse_asked(body: bytes, status: ModelStatus, settings: ServiceSettings, *, is_batch: bool = False) -> Asked:
    """A System One request with the settings of the call, or `{"requests": […]}` with settings for all of them.

    Raises: Refused: the body is no JSON (400), or holds too many requests (413); InvalidRecord: with all problems.
    """
    located = scan_json(body)
    if located.problems and not _is_json(body):
        summary = refused(InvalidRecord(located.problems))
        raise Refused(400, "not_json", str(summary), problems=located.problems)
    reading = _Reading(located, served_names(status, settings), settings)
    records = reading.batch() if is_batch else reading.single()
    limits, wants_facts = reading.settings()
    reading.raise_problems()
    return Asked(records, limits, wants_facts, is_batch)


def served_names(status: ModelStatus, settings: ServiceSettings) -> tuple[str, ...]:
    """The names a client may give the model: its own, that without its owner, the hosted service's, the operator's."""
    owner, _, name = status.name.rpartition("/")
    hosted = (f"@cf/cloudflare/{name}",) if owner == "Cloudflare" else ()
    return tuple(dict.fromkeys((status.name, name, *hosted, *settings.model_names)))


class _Reading:
    """A body in JSON, and the problems found in it so far."""

    def __init__(self, located: Located, names: Sequence[str], settings: ServiceSettings) -> None:
        self.located = located
        self.names = names
        self.limits = settings
        self.problems: list[Problem] = []

    def single(self) -> tuple[Record, ...]:
        record = self._record(self.located, (), settings=SETTING_KEYS)
        return () if record is None else (record,)

    def batch(self) -> tuple[Record, ...]:
        value = self.located.value
        if not self.located.is_complete or not isinstance(value, dict):
            raise InvalidRecord(self.located.problems or [Problem("", _no_batch(value))])
        self.problems.extend(self.located.problems)
        for key in value:
            if key not in BATCH_KEYS:
                self._report((key,), unknown_key(key, BATCH_KEYS))
        requests = value.get("requests")
        if not isinstance(requests, list) or not requests:
            found = describe(requests) if "requests" in value else "nothing"
            self._report(("requests",), f"expected a list of at least one System One request, got {found}.")
            return ()
        if len(requests) > self.limits.max_batch:
            found = f"The batch holds {len(requests):,} requests; the limit is {self.limits.max_batch:,}."
            raise Refused(413, "batch_too_large", f"{found} Send it in parts.", limit_requests=self.limits.max_batch)
        return tuple(self._records(requests))

    def _records(self, requests: Sequence[Json]) -> Iterator[Record]:
        marks = self.located.marks[1]["requests"][1]
        for place, (request, mark) in enumerate(zip(requests, marks, strict=True)):
            part = replace(self.located, value=request, marks=mark, problems=(), notices=())
            record = self._record(part, ("requests", place), settings=())
            if record is not None:
                yield record
            if len(self.problems) >= MAX_PROBLEMS:
                return

    def _record(self, part: Located, here: Path, settings: Sequence[str]) -> Record | None:
        try:
            record = parse_record(part, settings=settings)
        except InvalidRecord as error:
            outer = path_text(here)
            # A problem of the text itself has been told already, by its place in the whole.
            known = {problem.where for problem in self.problems}
            found = [replace(problem, where=_joined(outer, problem.where)) for problem in error.problems]
            self.problems.extend(problem for problem in found if problem.where not in known)
            record = None
        for path, message in self._model_faults(part.value):
            self._report((*here, *path), message)
        # An answer names the model that gave it, where the request names none.
        return replace(record, model=None) if record is not None and record.model == ANY_MODEL else record

    def _model_faults(self, request: Json) -> Iterator[tuple[Path, str]]:
        name = request.get("model") if isinstance(request, dict) else None
        if isinstance(name, str) and name not in (*self.names, ANY_MODEL):
            names = " or ".join(repr(name) for name in self.names)
            yield ("model",), f"found {shown(name)}, and the model here is {names}. Send that name, or leave it out."
        if name == ANY_MODEL:
            yield from _empty_levels(request)

    def settings(self) -> tuple[Limits, bool]:
        """The settings beside the requests; those that are wrong are reported."""
        value = self.located.value if isinstance(self.located.value, dict) else {}
        given = {key: value[key] for key in LIMIT_KEYS if key in value}
        highest = self.limits.highest_max_length
        limits = self.limits.limits
        try:
            asked = parse_limits(given)
            limits = replace(limits, **{key: getattr(asked, key) for key in given})
            if limits.max_length > highest:
                found = f"found {limits.max_length:,} tokens; this server allows {highest:,}. Ask for fewer."
                self._report(("max_length",), found)
        except InvalidRecord as error:
            for problem in error.problems:
                self._report((problem.where,), problem.message)
        wants_facts = value.get("x_clef", False)
        if not isinstance(wants_facts, bool):
            self._report(("x_clef",), f"expected true or false, got {describe(wants_facts)}.")
        return limits, wants_facts is True

    def _report(self, path: Path, message: str) -> None:
        self.problems.append(Problem(path_text(path), message, *self.located.position(path)))

    def raise_problems(self) -> None:
        if self.problems:
            ordered = sorted(self.problems, key=lambda found: (found.line or 0, found.column or 0))
            more = [TOO_MANY] if len(ordered) > MAX_PROBLEMS else []
            raise InvalidRecord([*ordered[:MAX_PROBLEMS], *more])


def _empty_levels(request: Mapping[str, Json]) -> Iterator[tuple[Path, str]]:
    """TypeSafe's API, which ANY_MODEL belongs to, has no empty level, and its clients cannot read one in an answer."""
    questions = request.get("questions")
    for question_id, question in (questions if isinstance(questions, dict) else {}).items():
        levels = question.get("criteria") if isinstance(question, dict) and question.get("type") == "score" else None
        for place, level in enumerate(levels if isinstance(levels, list) else ()):
            if level is None:
                message = f"found null, which clients of {ANY_MODEL!r} cannot read back. Describe the level."
                yield ("questions", question_id, "criteria", place), message


def _joined(outer: str, where: str) -> str:
    return f"{outer}.{where}" if outer and where and not where.startswith("[") else f"{outer}{where}"


def _no_batch(value: Json) -> str:
    return f'expected an object {{"requests": […]}}, got {describe(value)}.'


def _is_json(body: bytes) -> bool:
    """Whether it is JSON by RFC 8259, whatever else is wrong with it."""

    def refuse(_: str) -> None:
        raise ValueError

    as_text: Callable[[str], Any] = str  # numbers stay text: how large they are is another question
    try:
        json.loads(body.decode("utf-8-sig"), parse_constant=refuse, parse_int=as_text, parse_float=as_text)
    except RecursionError:
        return True  # too deep for Python, and told as such
    except ValueError:
        return False
    return True
