"""Where decisions are made: on this machine, or by a server of the operator's list, chosen for each run."""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clef_model.errors import ClefError
from clef_model.json_paths import shown

if TYPE_CHECKING:
    from clef_model.decision import Decider
    from clef_model.remote_settings import RemoteSetting
    from clef_ui.deciding import PageDecider

HERE = ""  # the name of this machine


class Places:
    """This machine and the operator's servers. Visitors choose among them; no address comes from the page."""

    def __init__(self, here: "PageDecider", servers: "Sequence[RemoteSetting]" = ()) -> None:
        self.here = here
        self._servers = {server.name: server for server in servers}
        self._deciders: dict[str, PageDecider] = {HERE: here}
        self._lock = threading.Lock()

    def view(self) -> list[dict[str, str]]:
        """The places in their order, this machine first."""
        servers = [
            {"name": name, "label": name, "detail": " · ".join(filter(None, (server.profile.title, server.model)))}
            for name, server in self._servers.items()
        ]
        return [{"name": HERE, "label": "this machine", "detail": ""}, *servers]

    def decider(self, name: str) -> "PageDecider":
        """Who decides there; a server's prompts are planned by this machine.

        Raises: ClefError: there is no such place, or the key that it needs is not set.
        """
        with self._lock:
            if name not in self._deciders:
                self._deciders[name] = self._server(name).decider(self.here)
            return self._deciders[name]

    def measured(self, name: str) -> "Decider":
        """One address of a server, sent records of any length. Raises: as `decider`."""
        from clef_model.remote import RemoteDecider

        decider = self.decider(name)
        if isinstance(decider, RemoteDecider):
            return decider.without_length_check()
        return RemoteDecider(self._server(name).remotes()[0], self.here, checks_length=False)

    def price(self, name: str) -> float | None:
        """US dollars for a million input tokens there; None when nobody has told."""
        server = self._server(name)
        return server.profile.price(server.model)

    def _server(self, name: str) -> "RemoteSetting":
        if name not in self._servers:
            known = ", ".join(["this machine", *map(shown, self._servers)])
            raise ClefError(f"{shown(name)} is no place that this page can ask; there are {known}. Choose one of them.")
        return self._servers[name]
