"""Properties on generated programs: the race detector against its definition, other interleavings,
exact against floating arithmetic, integer expressions against Python's."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from semantics import core
from semantics.faults import FaultKind
from semantics.interp import Schedule, explore, run
from tests.semantics.interp.interp_kernels import (
    I32,
    SHARED,
    TID,
    Array,
    Barrier,
    CmpOp,
    IBin,
    ICmp,
    IExpr,
    If,
    IntOp,
    Load,
    RVar,
    S,
    SetI,
    SetR,
    Space,
    Stmt,
    Store,
    X,
    Y,
    iv,
    kernel,
    less,
    line,
    lit,
    op,
    plan,
    plus,
    radd,
    real,
)

BLOCK = 64


@dataclass(frozen=True)
class Step:
    """`kind` is store, load, add, barrier, syncwarp or shuffle; `at` and `guard` number a function below."""

    kind: str
    at: int = 0
    guard: int = 0
    constant: bool = False


INDEX: list[tuple[IExpr, Any]] = [
    (TID, lambda t: t),
    (lit(5), lambda t: 5),
    (op("mod", plus(TID, lit(1)), lit(BLOCK)), lambda t: (t + 1) % BLOCK),
    (op("div", TID, lit(2)), lambda t: t // 2),
    (op("sub", lit(BLOCK - 1), TID), lambda t: BLOCK - 1 - t),
    (op("mod", TID, lit(32)), lambda t: t % 32),
]
GUARD: list[tuple[core.BExpr, Any]] = [
    (core.BLit(True), lambda t: True),
    (less(TID, lit(32)), lambda t: t < 32),
    (ICmp(CmpOp.EQ, TID, lit(5)), lambda t: t == 5),
    (ICmp(CmpOp.EQ, op("mod", TID, lit(2)), lit(0)), lambda t: t % 2 == 0),
    (less(lit(60), TID), lambda t: t > 60),
]
accesses = st.builds(
    Step,
    st.sampled_from(["store", "load", "add"]),
    st.integers(0, len(INDEX) - 1),
    st.integers(0, len(GUARD) - 1),
    st.booleans(),
)
syncs = st.sampled_from([Step("barrier"), Step("syncwarp"), Step("shuffle")])
programs = st.lists(st.one_of(accesses, accesses, syncs), min_size=1, max_size=8)


def body_of(steps: list[Step]) -> tuple[Stmt, ...]:
    """Initialise the shared array and a register, run the steps, store both to y."""
    body: list[Stmt] = [Store(S, TID, core.ROfInt(TID)), SetR(0, core.ROfInt(TID)), Barrier()]
    for number, step in enumerate(steps, 1):
        at = line(number)
        index, guard = INDEX[step.at][0], GUARD[step.guard][0]
        match step.kind:
            case "store":
                value: core.RExpr = real(number) if step.constant else radd(RVar(0), real(number))
                body.append(If(guard, (Store(S, index, value, at),), (), at))
            case "load":
                body.append(If(guard, (Load(0, S, index, at),), (), at))
            case "add":
                body.append(If(guard, (core.AtomicAdd(S, index, real(1), at),), (), at))
            case "barrier":
                body.append(Barrier(at))
            case "syncwarp":
                body.append(core.SyncWarp(at))
            case _:
                body.append(core.Shfl(core.ShflKind.XOR, 1, 0, lit(1), 32, at))
    body += [
        Barrier(),
        Store(Y, TID, RVar(0)),
        Load(2, S, TID),
        Store(Y, plus(TID, lit(BLOCK)), RVar(2)),
    ]
    return tuple(body)


def races_by_definition(steps: list[Step]) -> bool:
    """Two threads, one element, a write, nothing between that orders them; equal constants stored by
    lanes of one warp are allowed."""
    events = [
        (number, t, INDEX[s.at][1](t), s)
        for number, s in enumerate(steps)
        if s.kind in ("store", "load", "add")
        for t in range(BLOCK)
        if GUARD[s.guard][1](t)
    ]
    kinds = [s.kind for s in steps]
    for i, (first, t, cell, a) in enumerate(events):
        for second, u, other, b in events[i:]:
            if t == u or cell != other or a.kind == b.kind == "load" or a.kind == b.kind == "add":
                continue
            between = kinds[first:second]
            warp = t // 32 == u // 32
            if "barrier" in between or (warp and "syncwarp" in between):
                continue
            if warp and a.kind == "load" and "shuffle" in between:
                continue
            if warp and a.kind == b.kind == "store" and a.constant and b.constant and first == second:
                continue
            return True
    return False


def run_steps(steps: list[Step], **options: Any) -> Any:
    p = plan(kernel(body_of(steps), arrays=SHARED), {"x": 1, "y": 2 * BLOCK}, block=BLOCK)
    return run(p, {"x": np.zeros(1)}, **options)


@settings(max_examples=150, deadline=None)
@given(programs)
def test_the_race_detector_is_its_definition(steps: list[Step]) -> None:
    steps = [Step(s.kind, s.at, s.guard, True) for s in steps]
    found = run_steps(steps).faults
    assert {f.kind for f in found} == ({FaultKind.RACE} if races_by_definition(steps) else set())


@settings(max_examples=60, deadline=None)
@given(programs, st.integers(0, 10_000))
def test_race_free_programs_give_one_result_in_every_order(steps: list[Step], seed: int) -> None:
    p = plan(kernel(body_of(steps), arrays=SHARED), {"x": 1, "y": 2 * BLOCK}, block=BLOCK)
    base = run(p, {"x": np.zeros(1)})
    for schedule in (Schedule(seed, "warp"), Schedule(seed, "thread")):
        other = run(p, {"x": np.zeros(1)}, schedule=schedule)
        assert bool(other.faults) == bool(base.faults)
        if not base.faults:
            np.testing.assert_array_equal(other.outputs["y"], base.outputs["y"])


def test_a_race_shows_in_some_order() -> None:
    """A neighbour's slot is read without a barrier: in lockstep nothing seems wrong."""
    steps = [Step("store", 0, 0), Step("load", 4, 0)]
    p = plan(kernel(body_of(steps), arrays=SHARED), {"x": 1, "y": 2 * BLOCK}, block=BLOCK)
    found = explore(p, {"x": np.zeros(1)}, seeds=3)
    assert found.base.faults[0].kind is FaultKind.RACE
    assert found.differs is not None
    assert found.output == "y"


# ---------------------------------------------------------------- arithmetic

leaves: st.SearchStrategy[core.RExpr] = st.one_of(
    st.integers(-5, 5).map(real), st.just(RVar(0)), st.just(core.ROfInt(TID))
)
reals = st.recursive(
    leaves,
    lambda inner: st.builds(
        core.RBin,
        st.sampled_from(
            [core.RealOp.ADD, core.RealOp.SUB, core.RealOp.MUL, core.RealOp.MAX, core.RealOp.MIN]
        ),
        inner,
        inner,
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(reals)
def test_exact_and_float64_agree_on_small_integers(value: core.RExpr) -> None:
    body = (Load(0, X, TID, line(1)), Store(Y, TID, value, line(2)))
    p = plan(kernel(body), {"x": 32, "y": 32})
    x = np.arange(-16, 16)
    exact, floating = run(p, {"x": x}, exact=True), run(p, {"x": x})
    assert exact.faults == floating.faults == ()
    assert [float(v) for v in exact.outputs["y"]] == floating.outputs["y"].tolist()
    assert all(isinstance(v, Fraction) for v in exact.outputs["y"])


ints = st.recursive(
    st.one_of(st.integers(-(1 << 31), (1 << 31) - 1).map(lit), st.integers(-9, 9).map(lit), st.just(TID)),
    lambda inner: st.builds(
        IBin,
        st.sampled_from(
            [IntOp.ADD, IntOp.SUB, IntOp.MUL, IntOp.DIV, IntOp.MOD, IntOp.MIN, IntOp.MAX, IntOp.AND]
        ),
        st.just(I32),
        inner,
        inner,
    ),
    max_leaves=5,
)


class Undefined(Exception):
    pass


def in_python(e: IExpr, tid: int) -> int:
    """The meaning of an `int` expression; Undefined where C leaves it undefined."""
    if isinstance(e, core.ILit):
        return e.value
    if isinstance(e, core.ISpecial):
        return tid
    assert isinstance(e, IBin)
    a, b = in_python(e.a, tid), in_python(e.b, tid)
    match e.op:
        case IntOp.ADD:
            value = a + b
        case IntOp.SUB:
            value = a - b
        case IntOp.MUL:
            value = a * b
        case IntOp.MIN:
            value = min(a, b)
        case IntOp.MAX:
            value = max(a, b)
        case IntOp.AND:
            if a < 0 or b < 0:
                raise Undefined
            value = a & b
        case _:
            if b == 0 or (e.op is IntOp.MOD and (a, b) == (I32.low, -1)):
                raise Undefined
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            value = quotient if e.op is IntOp.DIV else a - quotient * b
    if not I32.low <= value <= I32.high:
        raise Undefined
    return value


@settings(max_examples=200, deadline=None)
@given(ints)
def test_integer_expressions_mean_what_python_computes(e: IExpr) -> None:
    arrays = (Array("x", Space.GLOBAL), Array("y", Space.GLOBAL, "int"))
    body = (SetI(0, e, line(1)), Store(Y, TID, iv(0), line(2)))
    p = plan(kernel(body, arrays=arrays), {"x": 1, "y": 8}, block=8, elems={"y": "int"})
    result = run(p, {"x": np.zeros(1)})
    try:
        expected = [in_python(e, t) for t in range(8)]
    except Undefined:
        assert result.faults
        assert {f.kind for f in result.faults} <= {FaultKind.INT_OVERFLOW, FaultKind.UNDEFINED}
        return
    assert result.faults == ()
    assert result.outputs["y"].tolist() == expected


def test_transcendental_functions_are_exact_to_many_digits() -> None:
    for name, argument, expected in [
        ("exp", "1", "2.718281828459045235360287471352662497757"),
        ("log", "2", "0.693147180559945309417232121458176568075"),
        ("sqrt", "2", "1.414213562373095048801688724209698078569"),
        ("tanh", "1/2", "0.462117157260009758502318483643672548730"),
        ("erf", "1", "0.842700792949714869341220635082609259296"),
        ("sin", "1", "0.841470984807896506652502321630298999622"),
        ("cos", "1", "0.540302305868139717400936607442976603733"),
    ]:
        value = core.RFn(core.RealFn(name), core.RLit(Fraction(argument)))
        p = plan(kernel((Store(Y, lit(0), value, line(1)),)), {"x": 1, "y": 1}, block=1)
        got = run(p, {"x": np.zeros(1)}, exact=True).outputs["y"][0]
        assert abs(got - Fraction(expected)) < Fraction(1, 10**37), name


def test_a_large_reduction_takes_well_under_a_second() -> None:
    from time import perf_counter

    from tests.semantics.interp.interp_kernels import tree_sum

    p = plan(kernel(tree_sum(16384), arrays=SHARED), {"x": 16384, "y": 1}, block=256)
    started = perf_counter()
    assert run(p, {"x": np.ones(16384)}).outputs["y"][0] == 16384
    assert perf_counter() - started < 1.0
