"""Closes the connections that a test has opened."""

from collections.abc import Iterator

import pytest
from remote.deciders import OPENED


@pytest.fixture(autouse=True)
def closed_connections() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()
