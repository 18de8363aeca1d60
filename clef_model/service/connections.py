"""Connections of the service alone: who sends no request, or goes on sending after the answer, is cut off."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 20.0  # for a request's headers, and for the rest of a body that was refused


class PatientProtocol(H11Protocol):
    """uvicorn's own protocol with a deadline where it has none: before the headers, and behind the answer."""

    deadline: asyncio.TimerHandle | None = None
    header_seconds = HEADER_SECONDS

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Starts the deadline when the client owes something, and ends it when it has kept it."""
        is_late = self.conn.their_state is h11.IDLE
        is_refused = self.conn.our_state is h11.DONE and self.conn.their_state is h11.SEND_BODY
        if not (is_late or is_refused):
            self._forget()
        elif self.deadline is None:
            self.deadline = self.loop.call_later(self.header_seconds, self._cut_off)

    def _cut_off(self) -> None:
        self.deadline = None
        if not self.transport.is_closing():
            self.transport.close()

    def _forget(self) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None
