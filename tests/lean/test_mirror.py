"""The syntax of the proof package and the core IR are one language."""

import re
from enum import StrEnum
from pathlib import Path

import pytest

from semantics import core, spec

PACKAGE = Path(__file__).resolve().parents[2] / "lean" / "KShell"
SYNTAX = (PACKAGE / "Syntax.lean").read_text(encoding="utf-8")
SPEC = (PACKAGE / "Spec.lean").read_text(encoding="utf-8")


def constructors(text: str, name: str) -> list[str]:
    """Names of the constructors of an inductive type, in order."""
    body = re.sub(r"/-.*?-/", "", text[text.index(f"inductive {name} ") :], flags=re.DOTALL)
    body = re.split(r"\n(?:deriving|end|inductive|structure|def|mutual)\b|\n\n", body, maxsplit=1)[0]
    return re.findall(r"\| *(\w+)", body)


@pytest.mark.parametrize(
    ("text", "name", "enum"),
    [
        (SYNTAX, "IntTy", core.IntType),
        (SYNTAX, "Special", core.Special),
        (SYNTAX, "Dim", core.Dim),
        (SYNTAX, "IntOp", core.IntOp),
        (SYNTAX, "CmpOp", core.CmpOp),
        (SYNTAX, "RealOp", core.RealOp),
        (SYNTAX, "RealFn", core.RealFn),
        (SYNTAX, "ShflKind", core.ShflKind),
        (SYNTAX, "Space", core.Space),
        (SPEC, "IxOp", spec.IxOp),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
def test_enumerations_have_the_same_names(text: str, name: str, enum: type[StrEnum]) -> None:
    assert constructors(text, name) == [member.value for member in enum]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("IExpr", ["lit", "var", "param", "special", "bin", "cast", "select"]),
        ("BExpr", ["lit", "icmp", "rcmp", "and", "or", "not"]),
        ("RExpr", ["lit", "ninf", "var", "param", "bin", "fn", "ofInt", "select"]),
    ],
)
def test_expressions_have_one_constructor_a_class(name: str, expected: list[str]) -> None:
    classes = {"IExpr": core.IExpr, "BExpr": core.BExpr, "RExpr": core.RExpr}[name]
    assert constructors(SYNTAX, name) == expected
    known = [c for c in classes.__args__ if c.__module__ == core.__name__]
    assert len(expected) == len(known)


def test_ranges_of_integer_types_agree() -> None:
    text = (PACKAGE / "Eval.lean").read_text(encoding="utf-8")
    for type_ in core.IntType:
        assert type_.low == 0 or f"| .{type_.value} => {type_.low}" in text
        assert f"| .{type_.value} => {type_.high}" in text
