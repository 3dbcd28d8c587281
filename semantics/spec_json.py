"""Specs as canonical JSON: one text for one spec, so that its hash means something."""

import json
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

from semantics import core, spec

_CLASSES = {
    c.__name__: c
    for c in (
        spec.IxLit, spec.IxVar, spec.IxBin, spec.IxCmp, spec.IxAll, spec.Const, spec.Read, spec.Un,
        spec.Bin, spec.Sum, spec.MaxOver, spec.Where, spec.OutputSpec, spec.Spec,
    )
}  # fmt: skip
_ENUMS: dict[str, type[Enum]] = {e.__name__: e for e in (spec.IxOp, core.CmpOp, core.RealOp, core.RealFn)}


def _encode(value: object) -> Any:
    if isinstance(value, Enum):
        return {"enum": type(value).__name__, "value": value.value}
    if isinstance(value, Fraction):
        return {"fraction": [value.numerator, value.denominator]}
    if isinstance(value, tuple):
        return [_encode(v) for v in value]
    if isinstance(value, dict):
        return {"map": [[k, _encode(v)] for k, v in value.items()]}
    if is_dataclass(value) and type(value).__name__ in _CLASSES:
        return {
            "is": type(value).__name__,
            **{f.name: _encode(getattr(value, f.name)) for f in fields(value)},
        }
    if isinstance(value, str | int):
        return value
    raise TypeError(f"not part of a spec: {value!r}")


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decode(v) for v in value)
    if not isinstance(value, dict):
        return value
    if "enum" in value:
        return _ENUMS[value["enum"]](value["value"])
    if "fraction" in value:
        return Fraction(*value["fraction"])
    if "map" in value:
        return {k: _decode(v) for k, v in value["map"]}
    return _CLASSES[value["is"]](**{k: _decode(v) for k, v in value.items() if k != "is"})


def dumps(value: spec.Spec) -> str:
    """Canonical JSON of a spec."""
    return json.dumps(_encode(value), separators=(",", ":"), ensure_ascii=True)


def loads(text: str) -> spec.Spec:
    """Inverse of `dumps`. Raises ValueError for a text that is not a spec."""
    try:
        result = _decode(json.loads(text))
    except (KeyError, TypeError) as error:
        raise ValueError("not the JSON of a spec") from error
    if not isinstance(result, spec.Spec):
        raise ValueError("not the JSON of a spec")
    return result
