"""Several addresses of one model: order, turns, a lost address, and what ends a call."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from remote.deciders import closed_connections, record, remote_decider
from remote.hosting import hosted_fake
from ui.scripted import ScriptedDecider

from clef_model.decision import Decision, Limits, Progress
from clef_model.errors import BrokenAnswer, ClefError, InvalidRecord, Problem, RemoteFailed
from clef_model.replicas import ReplicatedDecider
from clef_model.schema import Record

pytestmark = pytest.mark.usefixtures(closed_connections.__name__)


@dataclass
class Replica(ScriptedDecider):
    """Counts what is in flight; `error` is raised for states that hold the word "bad"."""

    error: ClefError | None = None
    together: threading.Barrier | None = None
    seen: list[str] = field(default_factory=list)
    in_flight: int = 0

    def decide(
        self,
        records: Sequence[Record],
        limits: Limits = Limits(),  # noqa: B008
        progress: Progress | None = None,
    ) -> list[Decision]:
        self.in_flight += 1
        assert self.in_flight == 1
        try:
            self.seen += [str(record.state) for record in records]
            if self.together is not None:
                self.together.wait(10)
            if self.error is not None and any("bad" in str(record.state) for record in records):
                raise self.error
            return super().decide(records, limits, progress)
        finally:
            self.in_flight -= 1


def states(*texts: str) -> list[Record]:
    return [record(state=text) for text in texts]


def decided(decisions: Sequence[Decision]) -> list[object]:
    return [decision.encoded.record.state for decision in decisions]


def test_records_spread_over_the_addresses_and_keep_their_order() -> None:
    together = threading.Barrier(3)  # nobody is answered until all three are asked at once
    replicas = [Replica(together=together) for _ in range(3)]
    texts = [f"state {place}" for place in range(9)]
    assert decided(ReplicatedDecider("farm", replicas).decide(states(*texts))) == texts
    assert [len(replica.seen) for replica in replicas] == [3, 3, 3]


def test_single_records_go_to_one_address_after_the_other() -> None:
    replicas = [Replica(), Replica()]
    decider = ReplicatedDecider("farm", replicas)
    for text in ("a", "b", "c"):
        decider.decide(states(text))
    assert [replica.seen for replica in replicas] == [["a", "c"], ["b"]]


def test_an_address_out_of_reach_is_left_out_and_its_record_goes_elsewhere() -> None:
    lost = Replica(error=RemoteFailed("box 1 cannot be reached", is_unreachable=True))
    well = Replica()
    decisions = ReplicatedDecider("farm", [lost, well]).decide(states("bad 1", "2", "bad 3"))
    assert decided(decisions) == ["bad 1", "2", "bad 3"]
    assert sorted(well.seen) == ["2", "bad 1", "bad 3"]
    assert {str(decision.notices[-1]) for decision in decisions} == {
        "1 of 2 addresses could not be reached and were left out."
    }


def test_when_no_address_can_be_reached_the_call_fails() -> None:
    error = RemoteFailed("box cannot be reached", is_unreachable=True)
    with pytest.raises(RemoteFailed, match="box cannot be reached"):
        ReplicatedDecider("farm", [Replica(error=error), Replica(error=error)]).decide(states("bad", "bad"))


def test_any_other_failure_ends_the_call() -> None:
    first = Replica(error=BrokenAnswer("no answer"))
    with pytest.raises(BrokenAnswer, match="no answer"):
        ReplicatedDecider("farm", [first, Replica()]).decide(states("bad", "2"))


def test_a_problem_names_the_record_that_it_is_in() -> None:
    faulty = InvalidRecord([Problem("questions.late", "is wrong.")])
    replicas = [Replica(error=faulty), Replica(error=faulty)]
    with pytest.raises(InvalidRecord) as raised:
        ReplicatedDecider("farm", replicas).decide(states("1", "bad"))
    assert str(raised.value) == "records[1].questions.late: is wrong."


class Stopped(ClefError):
    pass


def test_stopping_ends_the_work_at_all_addresses() -> None:
    def stop(share: float, stage: str) -> None:
        raise Stopped("stopped")

    @dataclass
    class Waiting(Replica):
        left: threading.Event = field(default_factory=threading.Event)

        def decide(
            self,
            records: Sequence[Record],
            limits: Limits = Limits(),  # noqa: B008
            progress: Progress | None = None,
        ) -> list[Decision]:
            assert progress is not None
            try:
                while True:
                    progress(0.0, "waiting")
            finally:
                self.left.set()

    replicas = [Waiting(), Waiting()]
    with pytest.raises(Stopped):
        ReplicatedDecider("farm", replicas).decide(states("1", "2", "3"), progress=stop)
    assert all(replica.left.is_set() for replica in replicas)


def test_no_records_need_no_address() -> None:
    assert ReplicatedDecider("farm", [Replica()]).decide([]) == []


def test_the_status_says_how_many_addresses_there_are() -> None:
    status = ReplicatedDecider("farm", [Replica(), Replica()]).status
    assert status == replace(Replica().status, device="farm, 2 addresses", note="2 addresses of farm are used in turn.")


def test_real_addresses_share_a_batch() -> None:
    with hosted_fake("systemone") as (one, first), hosted_fake("systemone") as (other, second):
        farm = ReplicatedDecider("farm", [remote_decider("systemone", url) for url in (first, second)])
        texts = [f"state {place}" for place in range(8)]
        told: list[float] = []
        decisions = farm.decide(states(*texts), progress=lambda share, stage: told.append(share))
        assert farm.plan(record()).notices[-1].code == "remote_plan"
    assert decided(decisions) == texts
    assert {body["state"] for body in one.bodies} | {body["state"] for body in other.bodies} == set(texts)
    assert one.bodies
    assert other.bodies
    assert told[-1] == 1.0
