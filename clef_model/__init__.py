"""The model library; the release's own names are here, loaded when first used."""

from importlib import import_module
from typing import Any

# name -> module; loaded lazily, since torch and transformers take seconds to import
_NAMES = {
    "encode_record": "clef_model.release",
    "collate_records": "clef_model.release",
    "load_release_model": "clef_model.release",
    "systemone": "clef_model.release",
    "systemone_answer": "clef_model.decision",
    "render": "clef_model.rendering",
    "ClefModel": "clef_model.inference",
    "JointSchemaHead": "clef_model.head",
    "EncodedRecord": "clef_model.encoding",
    "EncodedQuestion": "clef_model.encoding",
    "load_release": "clef_model.loading",
    "parse_record": "clef_model.parsing",
    "ContextTooLong": "clef_model.errors",
    "InvalidRecord": "clef_model.errors",
    "BudgetExceeded": "clef_model.errors",
}

__all__ = sorted(_NAMES)


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'clef_model' has no attribute {name!r}")
    return getattr(import_module(_NAMES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *_NAMES]
