"""A System One server as a Decider: its answers recomputed here, its own words kept beside them."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace

from clef_model.decision import Decision, Limits, ModelStatus, Progress, Timing
from clef_model.diagnostics.limits import Finding, Profile, check
from clef_model.encoding import MAX_POSITIONS, EncodedRecord
from clef_model.errors import (
    BrokenAnswer,
    BudgetExceeded,
    ContextTooLong,
    InvalidRecord,
    Notice,
    Problem,
    Unsupported,
)
from clef_model.json_paths import Json, counted, shown
from clef_model.lazy import Planner
from clef_model.remote_calls import Destination, HttpReply, Loop, Patience, ask
from clef_model.remote_profiles import ServerProfile
from clef_model.remote_refusals import refusal, refusal_words
from clef_model.remote_wire import model_facts, request_body, systemone_body
from clef_model.replies import Reply, parse_reply
from clef_model.schema import Record
from clef_model.tokenizer import Tokenizer

NANO_NAME = "clef-nano"  # never shown as Clef, wherever it runs
NEAR = 0.02  # how far an approximate count may be off before it is told


@dataclass(frozen=True, slots=True)
class Remote:
    """A server as its operator names it. `url` is the whole address of the route; the key is never shown or kept."""

    name: str
    profile: ServerProfile
    url: str
    model: str | None = None  # the name that requests give the model; None leaves it to the record
    key: str | None = field(default=None, repr=False)
    context_tokens: int | None = None  # what this server was started with, where that is not the profile's

    @property
    def shown_name(self) -> str:
        return f"{self.name} ({self.profile.title})"

    @property
    def limits(self) -> Profile:
        profile = self.profile.limits
        return profile if self.context_tokens is None else replace(profile, context_tokens=self.context_tokens)


@dataclass(frozen=True, slots=True)
class _Order:
    """A record as it is sent: `encoded` is the plan that is shown for it, `body` the request."""

    encoded: EncodedRecord
    sent: Record
    body: bytes
    notices: tuple[Notice, ...]
    encode_ms: float


class RemoteDecider:
    """A server of Clef as a `Decider`. It is sent one request at a time.

    `planner` stands in for the prompt, which cannot be seen. `checks_length` is False for who wants to find out what
    the server itself makes of a long record.
    """

    def __init__(
        self,
        remote: Remote,
        planner: Planner,
        *,
        patience: Patience | None = None,
        checks_length: bool = True,
    ) -> None:
        self.remote = remote
        self.checks_length = checks_length
        self._planner = planner
        self._patience = patience or Patience()
        self._to = Destination(remote.shown_name, remote.url, remote.key, remote.profile.final_codes)
        self._loop = Loop()
        self._turn = threading.Lock()

    def without_length_check(self) -> "RemoteDecider":
        """The same server and its one turn, sent records of any length."""
        unchecked = copy(self)
        unchecked.checks_length = False
        return unchecked

    def close(self) -> None:
        """Ends its connections; a later call opens new ones."""
        self._loop.close()

    @property
    def status(self) -> ModelStatus:
        """What is known before a reply; each decision has the model that its reply names."""
        local = self._planner.status
        name = self.remote.model or f"the model of {self.remote.name}"
        return ModelStatus(
            name=name,
            revision=None,
            device=self.remote.shown_name,
            dtype="",
            is_demonstration=_is_nano(name),
            accepts_media=self.remote.limits.images != 0,
            tokenizer=local.tokenizer,
            tokenizer_is_exact=local.tokenizer_is_exact,
            note=f"{self.remote.shown_name} answers, not this machine.",
        )

    @property
    def tokenizer(self) -> Tokenizer:
        return self._planner.tokenizer

    def plan(self, record: Record, limits: Limits | None = None) -> EncodedRecord:
        """What this machine would make of the record, with a notice that it stands in for the server's prompt."""
        encoded = self._planner.plan(record, limits or Limits())
        return replace(encoded, notices=(*encoded.notices, Notice("remote_plan", "", self._plan_note())))

    def decide(
        self, records: Sequence[Record], limits: Limits | None = None, progress: Progress | None = None
    ) -> list[Decision]:
        """The decisions, in the order of the records, which are sent one after the other.

        Where the limits cut a state, its kept text is sent. `progress` is called while one waits; what it raises stops
        the work and breaks the request off.

        Raises: InvalidRecord, BudgetExceeded, ContextTooLong: a record is refused, here or there. Unsupported: it has
        media, and the server reads none. RemoteFailed: no answer. BrokenAnswer: the reply contradicts itself.
        """
        orders = self._orders(records, limits or Limits())
        report = progress or _silent
        decisions: list[Decision] = []

        def look() -> None:
            share = len(decisions) / len(orders)
            report(share, f"waiting for {self.remote.name}, record {len(decisions) + 1} of {len(orders)}")

        while not self._turn.acquire(timeout=0.1):
            report(0.0, f"waiting for another request to {self.remote.name}")
        try:
            for order in orders:
                look()
                decisions.append(self._decide(order, look))
        finally:
            self._turn.release()
        report(1.0, f"{counted(len(orders), 'record')} decided")
        return decisions

    def _orders(self, records: Sequence[Record], limits: Limits) -> list[_Order]:
        orders: list[_Order] = []
        problems: list[Problem] = []
        for place, record in enumerate(records):
            try:
                orders.append(self._order(record, limits))
            except InvalidRecord as error:
                problems += at_record(place, error.problems) if len(records) > 1 else error.problems
        if problems:
            raise InvalidRecord(problems)
        return orders

    def _order(self, record: Record, limits: Limits) -> _Order:
        started = time.perf_counter()
        profile = self.remote.profile
        model = self._model_name(record)
        encoded = self.plan(record, limits)
        sent, notices = replace(record, model=model), []
        if encoded.budget.truncation is not None and not profile.takes_limits:
            kept = next(segment.text for segment in encoded.ledger if segment.kind == "state")
            sent = replace(sent, state=kept)
            notices.append(
                Notice("remote_cut", "state", "the kept part was sent as text, cut by this machine's count.")
            )
        notices += self._checked(sent, encoded)
        body = request_body(profile, sent, model, limits)
        return _Order(encoded, sent, body, tuple(notices), _ms_since(started))

    def _model_name(self, record: Record) -> str | None:
        """The name of the model in the request.

        Raises: InvalidRecord: the record wants another model than this server has been set up for.
        """
        asked, own = record.model, self.remote.model
        if asked is not None and own is not None and asked.strip() != own:
            found = f"the request names {shown(asked)}, and {self.remote.name} is set up for {shown(own)}"
            raise InvalidRecord([Problem("model", f"{found}. Leave the name out, or choose the server of that model.")])
        return own if own is not None else asked

    def _checked(self, sent: Record, encoded: EncodedRecord) -> list[Notice]:
        """What this server reads otherwise than the release.

        Raises: InvalidRecord: what it would refuse. ContextTooLong, BudgetExceeded: it holds fewer tokens.
        """
        profile = self.remote.limits
        if (sent.images or sent.videos) and profile.images == 0:
            raise Unsupported(f"Record {sent.id!r}: {self.remote.shown_name} reads no images or videos. Remove them.")
        findings = list(check(sent, None, profile).findings)
        refusals = [finding for finding in findings if finding.kind == "refused"]
        if refusals:
            raise InvalidRecord(Problem(finding.where, refusal_words(finding)) for finding in refusals)
        if self.checks_length and not self.remote.profile.takes_limits:
            findings += self._too_long(sent, encoded, profile)
        # What is only reported otherwise does not matter: answers are recomputed from the probabilities.
        return [Notice("remote_input", found.where, found.message) for found in findings if found.kind == "input"]

    def _too_long(self, sent: Record, encoded: EncodedRecord, profile: Profile) -> list[Finding]:
        plan = encoded if encoded.budget.truncation is None else self._planner.plan(sent, Limits(MAX_POSITIONS))
        known = set(check(sent, None, profile).findings)
        found = [finding for finding in check(sent, plan, profile).findings if finding not in known]
        for finding in found:
            if finding.kind == "refused" and self._planner.status.tokenizer_is_exact:
                context = profile.context_tokens or 0
                kind = BudgetExceeded if plan.budget.fixed > context else ContextTooLong
                message = f"Record {sent.id!r}: {refusal_words(finding)} Shorten it, or give the server's own context."
                raise kind(message, needed=plan.budget.total, limit=context)
        # By an approximate count the server may still take it: it has the last word.
        return [finding._replace(kind="input") for finding in found]

    def _decide(self, order: _Order, look: Callable[[], None]) -> Decision:
        started = time.perf_counter()
        reply = self._loop.run(lambda client: ask(client, self._to, order.body, self._patience), look)
        forward_ms = _ms_since(started)
        if not 200 <= reply.status < 300 or not reply.is_json:
            raise refusal(self._to.name, self.remote.profile, self._to.key is not None, reply, order.encoded)
        read = self._read(reply, order)
        return Decision(
            encoded=order.encoded,
            answers=read.answers,
            timing=Timing(order.encode_ms, forward_ms, order.encode_ms + forward_ms),
            model=self._answered_by(read, reply.body),
            notices=(*order.encoded.notices, *order.notices, *read.notices, *self._counted(read, order)),
            said=reply.body if isinstance(reply.body, dict) else {},
        )

    def _read(self, reply: HttpReply, order: _Order) -> Reply:
        try:
            return parse_reply(order.sent, systemone_body(self.remote.profile, reply.body))
        except BrokenAnswer as error:
            raise BrokenAnswer(f"{self.remote.shown_name}: {error}") from error

    def _answered_by(self, read: Reply, body: Json) -> ModelStatus:
        """The model that the reply names; a workbench's service says more of it."""
        status = self.status
        facts = model_facts(body) if self.remote.profile.reply == "workbench" else None
        if facts is not None:
            revision = facts.get("revision")
            return replace(
                status,
                name=str(facts.get("name") or status.name),
                revision=revision if isinstance(revision, str) else None,
                dtype=str(facts.get("dtype") or ""),
                is_demonstration=bool(facts.get("is_demonstration")),
            )
        name = read.model or status.name
        return replace(status, name=name, is_demonstration=_is_nano(name))

    def _counted(self, read: Reply, order: _Order) -> list[Notice]:
        """Whether the server counted as this machine does; when it counted less, it has probably read less."""
        theirs, ours = read.input_tokens, len(order.encoded.input_ids)
        is_exact = self._planner.status.tokenizer_is_exact
        if theirs is None or theirs == ours or (not is_exact and abs(theirs - ours) <= NEAR * ours):
            return []
        approximate = "" if is_exact else " by an approximate tokenizer"
        less = "; it may have read less of the state than is shown" if theirs < ours else ""
        message = f"{self.remote.name} counted {theirs:,} input tokens, this machine {ours:,}{approximate}{less}."
        return [Notice("remote_tokens", "usage.input_tokens", message)]

    def _plan_note(self) -> str:
        local = self._planner.status
        exact = "" if local.tokenizer_is_exact else ", which is approximate outside plain English"
        return f"Its prompt cannot be seen: tokens and spans are counted here with {local.name}'s tokenizer{exact}."


def _is_nano(name: str) -> bool:
    return name.rpartition("/")[2] == NANO_NAME


def at_record(place: int, problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems of one record of a call, placed in the list of all."""
    where = f"records[{place}]"
    return tuple(replace(problem, where=f"{where}.{problem.where}" if problem.where else where) for problem in problems)


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000


def _silent(share: float, stage: str) -> None:
    pass
