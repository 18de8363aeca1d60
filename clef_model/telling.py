"""How far a call of the model is: tokens that passed, told as a share that only rises."""

from collections.abc import Callable

from clef_model.decision import Progress

Report = Callable[[float], None]  # the share of a pass that is done; what it raises ends the pass


class Telling:
    """Counts the tokens that passed, and tells how far a call is."""

    def __init__(self, progress: Progress, num_records: int, num_tokens: int) -> None:
        self._progress = progress
        self._records = num_records
        self._tokens = max(1, num_tokens)
        self._decided = 0
        self._passed = 0
        self._highest = 0.0

    def reading(self, tokens: int) -> Report:
        """The report of a pass of so many tokens, which begins now."""
        before = self._passed
        self._passed += tokens

        def report(share: float) -> None:
            # A pass that is tried again in parts counts again; progress waits for it meanwhile.
            self._highest = max(self._highest, min(1.0, (before + share * tokens) / self._tokens))
            self._progress(self._highest, f"deciding record {self._decided + 1} of {self._records}")

        report(0.0)
        return report

    def decided(self, records: int) -> None:
        self._decided += records

    def finished(self) -> None:
        self._progress(1.0, f"{self._records} of {self._records} records decided")
