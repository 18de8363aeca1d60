"""What was decoded last, bounded by bytes: a plan that is made again at each keystroke reads its media once."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class DecodedCache(Generic[Value]):
    """Values by key, the least recently used out first; safe to share between threads."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._values: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._num_bytes = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Value], num_bytes: Callable[[Value], int]) -> Value:
        """The value of the key, made when it is not there. What `make` raises is raised and not kept."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key][0]
        # Outside of the lock: a long clip must not keep other records waiting. Made twice is only made in vain.
        value = make()
        size = num_bytes(value)
        with self._lock:
            if key not in self._values and size <= self._max_bytes:
                self._values[key] = (value, size)
                self._num_bytes += size
                while self._num_bytes > self._max_bytes:
                    _, (_, freed) = self._values.popitem(last=False)
                    self._num_bytes -= freed
        return value

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
            self._num_bytes = 0

    @property
    def num_bytes(self) -> int:
        return self._num_bytes
