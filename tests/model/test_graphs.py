"""Which passes are captured and how long a graph is kept; the capture itself needs a GPU (`test_cuda.py`)."""

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from clef_model import graphs as module  # noqa: E402
from clef_model.elementwise import Elementwise  # noqa: E402
from clef_model.graphs import MAX_CONTINUED, MAX_TOKENS, Graphs, bucket  # noqa: E402
from clef_model.prefix_cache import Trunk  # noqa: E402


class Captured:
    """Stands for a captured pass: gives its input back."""

    made: list[int] = []  # noqa: RUF012 (of the whole module, cleared for each test)

    def __init__(self, text: Any, ops: Any, size: int, attending: Any, before: Any, trunk: Any, *rest: Any) -> None:
        self.trunk = trunk
        self.made.append(size)

    def __call__(self, embeddings: Any, positions: Any) -> Any:
        return embeddings


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> Graphs:
    monkeypatch.setattr(module, "_Captured", Captured)
    Captured.made.clear()
    made = Graphs(None, Elementwise())
    made._pool = "a pool"  # none is asked of CUDA
    return made


def trunk() -> Trunk:
    return Trunk(np.zeros(128, np.int32), b"", (), torch.zeros(128, 4), {64: ()})


def tokens(length: int, rows: int = 1) -> tuple[Any, Any]:
    return torch.zeros(rows, length, 4), torch.zeros(3, rows, length, dtype=torch.long)


def test_buckets_are_multiples_of_64_and_at_most_a_quarter_longer() -> None:
    for length in range(1, MAX_TOKENS + 1):
        size = bucket(length)
        assert size % 64 == 0
        assert length <= size < max(length + 64, 1.26 * length)
    assert len({bucket(length) for length in range(1, MAX_TOKENS + 1)}) <= 20


def test_a_short_prompt_is_captured_once_a_length(graphs: Graphs) -> None:
    for length in (10, 60, 65, 64):
        assert graphs.whole(*tokens(length)) is not None
    assert Captured.made == [64, 128]
    assert graphs.whole(*tokens(MAX_TOKENS + 1)) is None
    assert graphs.whole(*tokens(10, rows=2)) is None


def test_a_continuation_is_captured_from_its_second_time_on(graphs: Graphs) -> None:
    one = trunk()
    found = [graphs.continued(one, 64, (), *tokens(100)) is not None for _ in range(3)]
    assert found == [False, True, True]
    assert Captured.made == [128]


def test_what_holds_a_text_goes_with_it(graphs: Graphs) -> None:
    kept, gone, seen_once = trunk(), trunk(), trunk()
    for each in (kept, kept, gone, gone, seen_once):
        graphs.continued(each, 64, (), *tokens(10))
    graphs.keep_only(lambda each: each is kept)
    assert [graph.trunk for graph in graphs._continued.values()] == [kept]
    assert not graphs._seen
    graphs.clear()
    assert not graphs._continued


def test_only_a_few_texts_are_held(graphs: Graphs) -> None:
    texts = [trunk() for _ in range(3 * MAX_CONTINUED)]
    for text in texts:
        for _ in range(2):
            graphs.continued(text, 64, (), *tokens(10))
    assert [graph.trunk for graph in graphs._continued.values()] == texts[-MAX_CONTINUED:]
    assert len(graphs._seen) <= MAX_CONTINUED
