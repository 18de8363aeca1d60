"""Records that servers treat differently, one for each claim of a profile."""

from dataclasses import replace
from typing import Any

from media_files import flat
from remote.deciders import record

from clef_model.schema import ImageInput, Record

PNG = ImageInput("a.png", "image/png", flat((64, 64)))
JPEG = ImageInput("a.jpg", "image/jpeg", flat((64, 64)))
GIF = ImageInput("a.gif", "image/gif", flat((64, 64)))
NOUL = {"type": "noul", "instructions": "Is it?"}
LONG = "A sentence about parcels. " * 1200  # 31,200 tokens of a byte each


def choice(count: int, **more: Any) -> dict[str, Any]:
    return {"type": "choice", "instructions": "Which?", "criteria": {f"k{n:03d}": None for n in range(count)}, **more}


def score(count: int) -> dict[str, Any]:
    return {"type": "score", "instructions": "How?", "criteria": [f"level {n}" for n in range(count)]}


PROBES: dict[str, Record] = {
    "an ordinary record": record(),
    "a JSON state": record(state={"b": [1.0, 10**30], "a": None}),
    "plain numbers": record(state={"n": [0.1, 3, -2.5, 1e-05, 2**63 - 1]}),
    "a number of many digits": record(state={"price": 1234567.89}),
    "a whole float": record({"q": {**NOUL, "instructions": {"at least": 2.0}}}),
    "an integer of 64 bits": record(state={"id": 2**64 - 1}),
    "a null state": record(state=None),
    "a bare number as state": record(state=5),
    "one question too many for 64": record({f"q{n}": NOUL for n in range(65)}),
    "one option": record({"q": choice(1)}),
    "26 options": record({"q": choice(26)}),
    "27 options": record({"q": choice(27)}),
    "255 options": record({"q": choice(255)}),
    "256 options": record({"q": choice(256)}),
    "one level": record({"q": score(1)}),
    "10 levels": record({"q": score(10)}),
    "11 levels": record({"q": score(11)}),
    "27 levels": record({"q": score(27)}),
    "no instructions": record({"q": {"type": "noul"}}),
    "null instructions": record({"q": {"type": "noul", "instructions": None}}),
    "instructions of 0": record({"q": {"type": "noul", "instructions": 0}}),
    "instructions of an empty list": record({"q": {"type": "noul", "instructions": []}}),
    "a removed noul text": record({"q": {**NOUL, "criteria": {"true": "yes", "false": None}}}),
    "a third noul key": record({"q": {**NOUL, "criteria": {"true": "yes", "maybe": "?"}}}),
    "an id with a space": record({"a b": NOUL}),
    "an id of 101 letters": record({"a" * 101: NOUL}),
    "an image": replace(record(), images=(PNG,)),
    "five images": replace(record(), images=(PNG,) * 5),
    "a GIF": replace(record(), images=(GIF,)),
    "an image of 5 MiB": replace(record(), images=(replace(PNG, data=PNG.data + bytes(5 * 2**20)),)),
    "a long state": record(state=LONG),
    "a state of 100,000 bytes": record(state="A sentence about parcels. " * 3850),
    "a long schema": record({f"q{n}": choice(90, instructions="Which of these? " * 40) for n in range(9)}),
}
