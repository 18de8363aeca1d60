"""The service beside the page: its routes and its guard, on the page's own port and over the page's model."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from clef_model.decision import Decider, Decision, Limits, ModelStatus, Progress
from clef_model.encoding import EncodedRecord
from clef_model.errors import ClefError
from clef_model.lazy import LazyDecider
from clef_model.schema import Record
from clef_model.service.routes import service_middleware, service_routes
from clef_model.service.settings import ServiceSettings
from clef_ui.gpu import gpu_seconds, on_gpu


@dataclass(frozen=True, slots=True)
class Beside:
    """What the page's server serves besides the page."""

    routes: Sequence[BaseRoute] = ()
    middleware: Sequence[Middleware] = ()


def service_beside(decider: LazyDecider, settings: ServiceSettings) -> Beside:
    """The service over the page's decider, which shares its lane."""
    on_zero = bool(os.environ.get("SPACES_ZERO_GPU"))
    deciding: Decider = GpuDecider(decider) if on_zero else decider
    return Beside(service_routes(deciding, decider.lane, settings), service_middleware(settings))


class GpuDecider:
    """Decides in the process that has the GPU of a ZeroGPU Space, where no progress can be seen."""

    def __init__(self, decider: Decider) -> None:
        self._decider = decider
        self._on_gpu = on_gpu(self._decide, self._seconds)

    @property
    def status(self) -> ModelStatus:
        return self._decider.status

    def plan(self, record: Record, limits: Limits = Limits()) -> EncodedRecord:  # noqa: B008 (frozen)
        return self._decider.plan(record, limits)

    def decide(
        self,
        records: Sequence[Record],
        limits: Limits = Limits(),  # noqa: B008 (frozen)
        progress: Progress | None = None,
    ) -> list[Decision]:
        """Raises: ClefError: with the sentence alone, since exceptions do not survive the way between processes."""
        result = self._on_gpu(tuple(records), limits)
        if isinstance(result, str):
            raise ClefError(result)
        return result

    def _decide(self, records: Sequence[Record], limits: Limits) -> list[Decision] | str:
        try:
            return self._decider.decide(records, limits)
        except ClefError as error:
            return str(error)

    def _seconds(self, records: Sequence[Record], limits: Limits) -> int:
        return gpu_seconds(sum(self._decider.plan(record, limits).budget.total for record in records))
