"""What the chooser of places asks Python: which there are, and how much of a state one of them reads."""

from typing import Any

from clef_model.diagnostics.canary import FIRST_TOKENS, estimate, measure_window
from clef_model.encoding import MAX_POSITIONS
from clef_model.errors import ClefError
from clef_model.json_text import parse_json
from clef_ui.calls import Call, answering
from clef_ui.places import Places
from clef_ui.runs import Runs, Stopped
from clef_ui.views.window import estimate_view, window_view


def place_calls(places: Places) -> list[Call]:
    """The server functions of the chooser. Measurements take turns among themselves and hold up no run."""
    runs = Runs()

    def places_there(_: str) -> Any:
        return {"places": places.view()}

    def window_cost(text: str) -> Any:
        place, tokens, _ = _asked(text)
        return estimate_view(estimate(places.measured(place), tokens, places.price(place)))

    def window(text: str) -> Any:
        place, tokens, run_id = _asked(text)
        try:
            with runs.running(run_id) as progress:
                return window_view(measure_window(places.measured(place), tokens, progress))
        except Stopped:
            return {"stopped": True}

    def window_progress(run_id: str) -> Any:
        share, stage = runs.progress(run_id)
        return {"share": share, "stage": stage}

    def stop_window(run_id: str) -> Any:
        runs.stop(run_id)
        return {}

    return [answering(call) for call in (places_there, window_cost, window, window_progress, stop_window)]


def _asked(text: str) -> tuple[str, int, str]:
    """The place, the tokens of the longest state, and the name of the measurement."""
    asked = parse_json(text).value
    place, tokens, run_id = (
        (asked.get(key) for key in ("place", "tokens", "run")) if isinstance(asked, dict) else ("",) * 3
    )
    if not isinstance(tokens, int) or not FIRST_TOKENS <= tokens <= MAX_POSITIONS:
        raise ClefError(f"A window of {FIRST_TOKENS} to {MAX_POSITIONS:,} tokens can be measured.")
    return str(place), tokens, str(run_id or "")
