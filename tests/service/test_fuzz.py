"""A few hundred of the inputs that nobody means; `fuzzing.py` runs as many as one likes."""

from service.fuzzing import fuzz
from service.local_server import serving


def test_what_nobody_means_is_answered_in_time_and_never_with_a_fault_of_ours() -> None:
    with serving() as local:
        findings = fuzz(local.port, 300, seed=20_261_130)
        assert findings.faults == []
        assert local.client.get("/health").json()["queue"]["running"] is None
    assert {kind for kind, _ in findings.statuses} == {"bytes", "text", "shape", "media", "headers", "connection"}
    assert {200, 400, 403, 415, 421, 422} <= {status for _, status in findings.statuses}
