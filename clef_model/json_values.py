"""Python values copied as plain JSON, with everything that JSON cannot hold named."""

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from clef_model import json_faults
from clef_model.errors import Problem
from clef_model.json_paths import MAX_PROBLEMS, TOO_MANY, Json, Path, describe, path_text, shown
from clef_model.json_text import MAX_DEPTH, MAX_INTEGER_DIGITS, MAX_VALUES

_SCALARS = (type(None), bool, int, float, str)


def plain_json(
    value: Any, *, keep: tuple[type, ...] = (), has_ids: Callable[[Path], bool] = lambda path: False
) -> tuple[Json, tuple[Problem, ...]]:
    """A copy made of dict, list, str, int, float, bool and None alone, and all problems met.

    Tuples become lists. Keys become text: with str() where `has_ids` says that a mapping's keys are ids, elsewhere as
    json.dumps writes them, provided that their order stays. Instances of `keep` are passed through.
    """
    copier = _Copier(keep, has_ids)
    return copier.copy(value), tuple(copier.problems)


class _Full(Exception):
    """The value is too deep, too large or too wrong to go on."""


class _Copier:
    def __init__(self, keep: tuple[type, ...], has_ids: Callable[[Path], bool]) -> None:
        self.keep = keep
        self.has_ids = has_ids
        self.problems: list[Problem] = []
        self.num_values = 0

    def copy(self, value: Any) -> Json:
        """The value, walked with a stack of its own so that depth costs no recursion."""
        whole: list[Json] = []
        stack: list[tuple[Path, Any, Iterator[tuple[str | int, Any]]]] = [((), whole, iter([(0, value)]))]
        try:
            while stack:
                path, target, children = stack[-1]
                for step, child in children:
                    here = (*path, step) if target is not whole else ()
                    copied: Json = self._start(child, here, len(stack))
                    if isinstance(target, dict):
                        target[step] = copied
                    else:
                        target.append(copied)
                    if isinstance(copied, dict):
                        stack.append((here, copied, self._members(child, here)))
                        break
                    if isinstance(copied, list):
                        stack.append((here, copied, iter(enumerate(child))))
                        break
                else:
                    stack.pop()
        except _Full:
            return None
        return whole[0]

    def _start(self, value: Any, path: Path, depth: int) -> Json:
        """The copy of a scalar, or an empty container to be filled."""
        self.num_values += 1
        if self.num_values > MAX_VALUES:
            self._stop(path[:8], json_faults.too_many_values(MAX_VALUES))
        if isinstance(value, _SCALARS):
            return self._scalar(value, path)
        if isinstance(value, self.keep):
            return value
        if isinstance(value, Mapping | list | tuple):
            if depth > MAX_DEPTH:
                self._stop(path[:8], json_faults.too_deep(MAX_DEPTH))
            return {} if isinstance(value, Mapping) else []
        self._report(
            path, f"found {describe(value)}, which is no JSON. Convert it to an object, list, string or number."
        )
        return None

    def _scalar(self, value: Any, path: Path) -> Json:
        if isinstance(value, str):
            if fault := json_faults.lone_surrogate(value):
                self._report(path, fault)
            return str.__str__(value)  # of a subclass, the plain text
        if isinstance(value, float):
            if not math.isfinite(value):
                self._report(path, f"found {value!r}, a non-finite number (NaN or infinite). Write null or a number.")
            return float(value)
        if isinstance(value, int) and not isinstance(value, bool):
            limit = min(MAX_INTEGER_DIGITS, sys.get_int_max_str_digits() or MAX_INTEGER_DIGITS)
            if value.bit_length() > 3 * limit and abs(value) >= 10**limit:
                self._report(path, f"found a number of more than {limit:,} digits. Send it as a string.")
                return 0
            return int(value)
        return value

    def _members(self, mapping: Mapping[Any, Any], path: Path) -> Iterator[tuple[str, Any]]:
        """The entries with their keys as text, in the mapping's order."""
        are_ids = self.has_ids(path)
        entries: dict[str, Any] = {}
        keys: list[Any] = []
        for key, value in mapping.items():
            text = self._key(key, path, are_ids=are_ids)
            if text in entries:
                pair = f"{keys[list(entries).index(text)]!r} and {key!r}"
                self._report((*path, text), f"the keys {pair} collide: both are written {shown(text)}. Rename one.")
                continue
            entries[text] = value
            keys.append(key)
        if not are_ids and not _keeps_order(keys, list(entries)):
            self._report(path, "found keys that are not strings and would sort differently as text. Make them strings.")
        return iter(entries.items())

    def _key(self, key: Any, path: Path, *, are_ids: bool) -> str:
        if isinstance(key, str):
            text = str.__str__(key)
            if fault := json_faults.lone_surrogate(text):
                self._report((*path, text), fault)
            return text
        if isinstance(key, _SCALARS):
            copied = self._scalar(key, path)
            return str(copied) if are_ids else json.dumps(copied)
        self._report(path, f"found a key that is {describe(key)}. Make it a string.")
        return str(type(key).__name__)

    def _report(self, path: Path, message: str) -> None:
        if len(self.problems) == MAX_PROBLEMS:
            self.problems.append(TOO_MANY)
            raise _Full
        self.problems.append(Problem(path_text(path), message))

    def _stop(self, path: Path, message: str) -> None:
        self._report(path, message)
        raise _Full


def _keeps_order(keys: list[Any], texts: list[str]) -> bool:
    """Whether the keys sort as their texts do, as they must for the prompt to be the release's."""
    if all(isinstance(key, str) for key in keys):
        return True
    try:
        order = sorted(range(len(keys)), key=keys.__getitem__)
    except TypeError:
        return False
    return order == sorted(range(len(texts)), key=texts.__getitem__)
