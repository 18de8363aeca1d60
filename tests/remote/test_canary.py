"""The window canary, against fakes that cut and refuse, and against a Decider that reads all."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from remote.deciders import closed_connections, remote_decider
from remote.hosting import hosted_fake
from ui.scripted import ScriptedDecider

from clef_model.decision import Answer, Decision, Limits, Progress
from clef_model.diagnostics.canary import Window, estimate, measure_window
from clef_model.errors import ClefError

pytestmark = pytest.mark.usefixtures(closed_connections.__name__)


def measured(kind: str, context: int, max_tokens: int = 8000) -> Window:
    with hosted_fake(kind, context=context) as (_, url):
        decider = remote_decider(kind, url, context_tokens=context).without_length_check()
        return measure_window(decider, max_tokens)


def fixed_tokens() -> int:
    return estimate(ScriptedDecider(), 1).input_tokens // 3 - 1


def test_a_silent_cut_is_found_within_a_step() -> None:
    window = measured("systemone", context=3000)
    kept = 3000 - fixed_tokens()
    assert window.is_conclusive
    assert not window.is_refused
    assert window.unread_tokens is not None
    # The word that differs is the last one, so a cut at its first differing letter or later lets it through.
    assert window.read_tokens <= kept + 10
    assert window.unread_tokens > kept
    assert window.unread_tokens - window.read_tokens <= 128
    assert max(sample.counted_tokens or 0 for sample in window.samples) == 3000


def test_a_server_that_never_cuts_refuses_and_the_limit_is_its_own() -> None:
    window = measured("ollama", context=3000)
    kept = 3000 - fixed_tokens()
    assert window.is_refused
    assert window.unread_tokens is not None
    assert window.read_tokens <= kept < window.unread_tokens
    assert "context limit is 3000" in next(sample.refusal for sample in window.samples if sample.refusal)


def test_a_window_larger_than_what_was_looked_for_has_no_end() -> None:
    window = measured("systemone", context=16_384, max_tokens=4000)
    assert window.unread_tokens is None
    assert 3800 < window.read_tokens <= 4000
    assert all(sample.reads_end for sample in window.samples)
    assert [sample.state_tokens // 256 for sample in window.samples] == [0, 1, 3, 7, 15]


def test_a_model_that_does_not_mind_the_end_proves_nothing() -> None:
    window = measure_window(ScriptedDecider(), 2000)
    assert not window.is_conclusive
    assert (window.read_tokens, len(window.samples)) == (0, 1)


@dataclass
class Noisy(ScriptedDecider):
    """Answers the same request a little differently each time, and the end makes no difference."""

    calls: int = 0

    def decide(
        self,
        records: Sequence[object],
        limits: Limits = Limits(),  # noqa: B008
        progress: Progress | None = None,
    ) -> list[Decision]:
        decisions = super().decide(records, limits, progress)  # type: ignore[arg-type]
        return [self._shaken(decision) for decision in decisions]

    def _shaken(self, decision: Decision) -> Decision:
        self.calls += 1
        shift = 0.001 * (self.calls % 3)
        answers = tuple(
            Answer(a.question, a.logits, (a.probabilities[0] - shift, a.probabilities[1] + shift))
            for a in decision.answers
        )
        return Decision(decision.encoded, answers, decision.timing, decision.model)


def test_what_changes_by_itself_is_not_taken_for_reading() -> None:
    # Two equal requests differ as much as those with other last words do.
    window = measure_window(Noisy(), 1000)
    assert window.noise == pytest.approx(0.001)
    assert not window.is_conclusive


def test_the_cost_is_told_before_and_never_less_than_what_is_asked() -> None:
    with hosted_fake("systemone", context=3000) as (fake, url):
        decider = remote_decider("systemone", url)
        told = estimate(decider, 8000, dollars_per_million=0.09)
        assert fake.bodies == []
        window = measure_window(decider.without_length_check(), 8000)
    assert len(fake.bodies) <= told.num_requests
    assert sum(2 * sample.total_tokens for sample in window.samples) <= told.input_tokens
    assert told.dollars == pytest.approx(told.input_tokens * 0.09 / 1e6)
    assert estimate(ScriptedDecider(), 8000).dollars is None


def test_measuring_can_be_stopped() -> None:
    class Stopped(ClefError):
        pass

    def stop(share: float, stage: str) -> None:
        raise Stopped(stage)

    with pytest.raises(Stopped, match="asking with"):
        measure_window(ScriptedDecider(), 2000, stop)
