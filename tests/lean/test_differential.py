"""One meaning of expressions in three places: the trusted evaluation in Lean, the interpreter, and a plain
evaluation of the rules, on random expressions with overflow, wrapping, division, shifts and -infinity."""

import asyncio
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from kshell.lean import package, toolchain
from kshell.lean.runner import LeanRunner
from semantics import core
from semantics.core import IntType
from semantics.interp import run
from semantics.lean.syntax import bexpr, iexpr, rexpr
from tests.lean.collectives import coordinate_checks, shuffle_checks, sources
from tests.lean.expressions import (
    ENVIRONMENT,
    EXTENT,
    GRID,
    NINF,
    PARAMS,
    Generator,
    Rules,
    kernel_of,
    outcome,
)

COUNT = 150
Sample = tuple[Any, str, Any]
SORTS: dict[str, Callable[[Any], str]] = {"IExpr": iexpr, "BExpr": bexpr, "RExpr": rexpr}
WRAPS = core.IBin(core.IntOp.SUB, IntType.U32, core.ILit(0, IntType.U32), core.ILit(1, IntType.U32))


def test_shuffles_of_every_kind_are_sampled_defined_and_not() -> None:
    assert sources(core.ShflKind.UP, 8, 3)[:6] == [0, 1, 2, 0, 1, 2]  # type: ignore[index]
    assert sources(core.ShflKind.XOR, 32, 16)[:2] == [16, 17]  # type: ignore[index]
    assert len(list(shuffle_checks())) == 96
    assert len(list(coordinate_checks())) == 6


def sort(e: Any) -> str:
    """The type of expression."""
    return next(name for name in SORTS if isinstance(e, getattr(core, name)))


def samples(seed: int, count: int) -> list[Sample]:
    """Expressions with their outcome and value by the rules."""
    generator, rules = Generator(seed), Rules()
    found: list[Sample] = []
    while len(found) < count:
        e, evaluate = (
            lambda: (generator.int(generator.kind(), 3), rules.int),
            lambda: (generator.bool(3), rules.bool),
            lambda: (generator.real(4), rules.real),
        )[len(found) % 3]()
        found.append((e, *outcome(evaluate, e)))
    return found


def interpreted(e: Any) -> tuple[str, Any]:
    """The outcome of the interpreter in rational arithmetic."""
    call = core.KernelCall(kernel_of(e), (GRID, 1, 1), (EXTENT, 1, 1), 0, ("y", *PARAMS.values()))
    done = run(core.Plan((call,), {"y": (1, "float")}), {}, exact=True)
    return ("fault", None) if done.faults else ("value", done.outputs["y"][0])


def test_the_samples_hold_every_outcome_of_every_kind() -> None:
    counted = Counter((sort(e), kind) for e, kind, _ in samples(1, COUNT))
    assert all(counted[name, kind] >= 5 for name in SORTS for kind in ("value", "fault")), counted
    assert sum(n for (_, kind), n in counted.items() if kind == "permitted") >= 10
    values = {v for _, kind, v in samples(1, COUNT) if kind == "value"}
    assert NINF in values and any(isinstance(v, Fraction) and v.denominator > 1 for v in values)


@pytest.mark.parametrize("seed", range(6))
def test_the_interpreter_follows_the_rules_and_goes_on_only_where_that_is_stated(seed: int) -> None:
    for e, kind, value in samples(seed, 120):
        got, number = interpreted(e)
        if kind == "value":
            assert (got, number) == ("value", value), e
        elif kind == "fault":
            assert got == "fault", e


def term(e: Any) -> str:
    """The expression in Lean."""
    return f"({SORTS[sort(e)](e)} : {sort(e)})"


def answer(kind: str, value: Any) -> str:
    if kind != "value":
        return "some none"
    if isinstance(value, bool):
        return f"some (some {str(value).lower()})"
    if isinstance(value, Fraction):
        return f"some (some (.fin (KShell.ofRat ({value.numerator}) {value.denominator})))"
    return "some (some .ninf)" if value == NINF else f"some (some ({value}))"


def lean_file(found: list[Sample]) -> str:
    checks = [
        f"example : {term(e)}.run env reg = {answer(kind, value)} := by decide +kernel"
        for e, kind, value in found
    ]
    return "\n".join(
        [
            "module",
            "public import KShell.Exec",
            "public import KShell.Meaning",
            "@[expose] public section",
            "noncomputable section",
            "namespace KShell.Differential",
            ENVIRONMENT,
            *shuffle_checks(),
            *coordinate_checks(),
            *checks,
            "end KShell.Differential",
            "",
        ]
    )


@pytest.mark.lean
@pytest.mark.slow
@pytest.mark.xdist_group("lean")
def test_lean_evaluates_as_the_rules_say(tmp_path: Path) -> None:
    found = samples(1, COUNT)
    text = lean_file([*found, (WRAPS, "value", 1)])
    file = tmp_path / "Differential.lean"
    file.write_text(text, encoding="utf-8")

    async def check() -> Any:
        runner = LeanRunner(toolchain.find())
        return await runner.check(file, await package.build(runner))

    result = asyncio.run(check())
    lines = text.splitlines()
    errors = [lines[message.line - 1] for message in result.errors]
    assert errors == [lines[-2]], errors[:3]
