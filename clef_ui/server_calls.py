"""What the panel of other servers asks Python: a draft against every server's limits."""

from typing import Any

from clef_model.diagnostics.limits import check_all
from clef_ui.calls import Call, answering
from clef_ui.result_calls import asked
from clef_ui.uploads import MediaStore
from clef_ui.views.planned import Planner, planned
from clef_ui.views.servers import servers_view


def server_calls(planner: Planner, store: MediaStore) -> list[Call]:
    """The functions of the panel, by the names its script uses."""

    def servers(text: str) -> Any:
        what = asked(text, store)
        return servers_view(check_all(what.record, planned(planner, what).encoded))

    return [answering(servers)]
