"""Undefined arithmetic, overflow, loops that never end and odd trees are found; what C allows is not."""

from fractions import Fraction

import numpy as np
import pytest

from semantics import core
from semantics.faults import FaultKind
from semantics.interp import Run, run
from tests.semantics.interp.interp_kernels import (
    I32,
    SHARED,
    TID,
    Array,
    IBin,
    If,
    IntOp,
    IntType,
    Kernel,
    Load,
    RVar,
    SetI,
    SetR,
    Space,
    Stmt,
    Store,
    While,
    X,
    Y,
    elementwise,
    iv,
    kernel,
    less,
    line,
    lines,
    lit,
    only,
    op,
    plan,
    plus,
    radd,
    real,
    run_shared,
    tree_sum,
)

# ---------------------------------------------------------------- arithmetic


@pytest.mark.parametrize(
    ("type_", "operator", "a", "b", "text"),
    [
        (I32, "mul", 1 << 20, 1 << 12, "1048576 * 4096 = 4294967296 does not fit `int`"),
        (I32, "add", (1 << 31) - 1, 1, "2147483647 + 1 = 2147483648 does not fit `int`"),
        (IntType.U32, "mul", 1 << 20, 1 << 12, "does not fit `unsigned int` and wraps"),
        (IntType.U32, "sub", 0, 1, "0 - 1 = -1 does not fit `unsigned int` and wraps"),
        (IntType.I64, "mul", 1 << 40, 1 << 40, "does not fit `long long`"),
        (IntType.U64, "sub", 3, 4, "does not fit `unsigned long long` and wraps"),
    ],
)
@pytest.mark.parametrize("per_thread", [False, True])
def test_leaving_the_type_is_an_overflow(
    type_: IntType, operator: str, a: int, b: int, text: str, per_thread: bool
) -> None:
    left = core.ILit(a, type_)
    if per_thread:
        zero = core.ICast(type_, op("mul", TID, lit(0)))
        left = IBin(IntOp.ADD, type_, left, zero)  # type: ignore[assignment]
    value = IBin(IntOp(operator), type_, left, core.ILit(b, type_))
    statement: Stmt = SetI(0, value, line(1)) if type_.signed else Load(0, X, value, line(1))
    f = run_shared((statement,)).faults[0]
    assert (f.kind, lines(f)) == (FaultKind.INT_OVERFLOW, (1,))
    assert text in f.message


UTID = core.ISpecial(core.Special.TID, core.Dim.X, IntType.U32)
BELOW = op("sub", UTID, core.ILit(1, IntType.U32), IntType.U32)


def unsigned_kernel(*body: Stmt) -> Run:
    """Registers: i0 of type int, i1 of type unsigned."""
    k = kernel(body, arrays=SHARED)
    k = core.Kernel(
        k.name, k.params, k.arrays, k.scalars, (("i", I32), ("u", IntType.U32)), k.real_vars, k.body
    )
    return run(plan(k, {"x": 64, "y": 64}, block=64), {"x": np.arange(64.0)})


def test_an_unsigned_difference_may_become_a_signed_number() -> None:
    """`int i = threadIdx.x - 1; if (i >= 0) y[i] = x[i];` is right C."""
    body = (
        SetI(0, core.ICast(I32, BELOW), line(1)),
        If(
            less(lit(-1), iv(0)),
            (Load(0, X, iv(0), line(3)), Store(Y, iv(0), RVar(0), line(3))),
            (),
            line(2),
        ),
    )
    r = unsigned_kernel(*body)
    assert r.faults == ()
    assert r.outputs["y"][:63].tolist() == list(range(63))


def test_a_wrapped_value_may_decide_but_not_address() -> None:
    """`unsigned u = threadIdx.x - 1; if (u < 63) y[u] = x[u];` tests both bounds at once."""
    u = core.IVar(1, IntType.U32)
    inside = (Load(0, X, u, line(3)), Store(Y, u, RVar(0), line(3)))
    guarded = If(less(u, core.ILit(63, IntType.U32)), inside, (), line(2))
    assert unsigned_kernel(SetI(1, BELOW, line(1)), guarded).faults == ()
    f = unsigned_kernel(SetI(1, BELOW, line(1)), *inside).faults[0]
    assert (f.kind, lines(f), f.threads) == (FaultKind.INT_OVERFLOW, (1,), ((0, 0, 0),))
    assert f.message == "0 - 1 = -1 does not fit `unsigned int` and wraps"


def test_a_wrapped_value_is_followed_through_variables_until_it_is_replaced() -> None:
    u = core.IVar(1, IntType.U32)
    half = SetI(1, op("div", u, core.ILit(2, IntType.U32), IntType.U32), line(2))
    load = Load(0, X, u, line(4))
    assert unsigned_kernel(SetI(1, BELOW, line(1)), half, load).faults[0].kind is FaultKind.INT_OVERFLOW
    replaced = SetI(1, UTID, line(3))
    assert unsigned_kernel(SetI(1, BELOW, line(1)), half, replaced, load).faults == ()


def test_a_conversion_of_a_negative_number_compares_as_a_huge_one() -> None:
    minus = core.ICast(IntType.U32, op("sub", TID, lit(5)))
    chosen = core.ISelect(less(minus, core.ILit(64, IntType.U32)), op("sub", TID, lit(5)), lit(0))
    r = unsigned_kernel(Load(0, X, chosen, line(1)), Store(Y, TID, RVar(0), line(2)))
    assert r.faults == ()
    assert r.outputs["y"].tolist() == [max(0, t - 5) for t in range(64)]


def test_products_that_fit_64_bits_are_fine() -> None:
    wide = core.ICast(IntType.I64, TID)
    value = op("mul", wide, core.ILit(1 << 56, IntType.I64), IntType.I64)
    assert run_shared((SetI(0, value, line(1)),)).faults == ()


@pytest.mark.parametrize(
    ("a", "b", "quotient", "remainder"), [(7, 2, 3, 1), (-7, 2, -3, -1), (7, -2, -3, 1), (-7, -2, 3, -1)]
)
def test_division_truncates_toward_zero(a: int, b: int, quotient: int, remainder: int) -> None:
    arrays = (Array("x", Space.GLOBAL), Array("y", Space.GLOBAL, "int"))
    shifted = op("sub", plus(TID, lit(a)), TID)
    body = (Store(Y, lit(0), op("div", shifted, lit(b))), Store(Y, lit(1), op("mod", lit(a), lit(b))))
    p = plan(kernel(body, arrays=arrays), {"x": 1, "y": 2}, block=1, elems={"y": "int"})
    assert run(p, {"x": np.zeros(1)}).outputs["y"].tolist() == [quotient, remainder]


NINF = core.RNegInf()


def rbin(name: str, a: core.RExpr, b: core.RExpr) -> core.RBin:
    return core.RBin(core.RealOp(name), a, b)


def rfn(name: str, a: core.RExpr) -> core.RFn:
    return core.RFn(core.RealFn(name), a)


UNDEFINED = [
    rbin("div", real(1), real(0)),
    rbin("sub", NINF, NINF),
    rbin("sub", real(1), NINF),
    rbin("mul", real(0), NINF),
    rbin("div", NINF, real(2)),
    rfn("log", real(0)),
    rfn("sqrt", real(-1)),
    rfn("rsqrt", real(0)),
    rfn("tanh", NINF),
    rfn("neg", NINF),
]
DEFINED = [
    (rbin("add", NINF, real(1)), float("-inf")),
    (rbin("max", NINF, real(2)), 2.0),
    (rbin("sub", NINF, real(5)), float("-inf")),
    (rfn("exp", NINF), 0.0),
    (rfn("sqrt", real(0)), 0.0),
    (rfn("rsqrt", real(4)), 0.5),
]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("value", UNDEFINED)
def test_undefined_arithmetic_is_a_fault(value: core.RExpr, exact: bool) -> None:
    p = plan(kernel((SetR(0, value, line(4)),)), {"x": 1, "y": 1})
    f = only(run(p, {"x": np.zeros(1)}, exact=exact))
    assert (f.kind, lines(f)) == (FaultKind.UNDEFINED, (4,))
    assert "has no value" in f.message


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(("value", "expected"), DEFINED)
def test_minus_infinity_is_a_value(value: core.RExpr, expected: float, exact: bool) -> None:
    p = plan(kernel((Store(Y, lit(0), value, line(4)),)), {"x": 1, "y": 1}, block=1)
    r = run(p, {"x": np.zeros(1)}, exact=exact)
    assert r.faults == ()
    assert float(r.outputs["y"][0]) == expected


def test_division_by_zero_and_shifts_of_negative_numbers_are_undefined() -> None:
    least_mod = op("mod", lit(-(1 << 31)), op("sub", lit(0), lit(1)))
    for value in (op("div", TID, lit(0)), op("shr", lit(-8), lit(1)), op("shl", lit(1), lit(32)), least_mod):
        assert only(run_shared((SetI(0, value, line(1)),))).kind is FaultKind.UNDEFINED


def test_only_the_chosen_side_of_a_conditional_is_evaluated() -> None:
    positive = less(lit(0), TID)
    safe = core.ISelect(positive, op("div", lit(100), TID), lit(0))
    guarded = core.BAnd(positive, less(op("div", lit(100), TID), lit(10)))
    body = (SetI(0, safe, line(1)), If(guarded, (SetI(1, lit(1), line(2)),), (), line(2)))
    assert run_shared(body).faults == ()


# ---------------------------------------------------------------- loops and geometry


def test_a_loop_whose_step_is_zero_never_ends() -> None:
    k = kernel(
        (SetI(0, lit(0), line(1)), While(less(iv(0), lit(5)), (SetI(0, plus(iv(0), lit(0))),), line(2)))
    )
    f = only(run(plan(k, {"x": 1, "y": 1}), {"x": np.zeros(1)}))
    assert (f.kind, lines(f)) == (FaultKind.NON_TERMINATION, (2,))


def test_fuel_bounds_a_loop_that_changes_something() -> None:
    body = (SetI(0, lit(0)), While(less(iv(0), lit(1 << 30)), (SetI(0, plus(iv(0), lit(1))),), line(2)))
    r = run(plan(kernel(body), {"x": 1, "y": 1}), {"x": np.zeros(1)}, fuel=10_000)
    assert (only(r).kind, r.steps) == (FaultKind.NON_TERMINATION, 10_000)


def test_a_stuck_loop_is_found_although_it_accumulates() -> None:
    add = (Load(0, X, iv(0), line(3)), SetR(1, radd(RVar(1), RVar(0)), line(3)))
    step = SetI(0, plus(iv(0), op("div", lit(5), lit(64))), line(2))
    body = (SetR(1, real(0)), SetI(0, lit(0)), While(less(iv(0), lit(5)), (*add, step), line(2)))
    r = run(plan(kernel(body), {"x": 5, "y": 1}), {"x": np.zeros(5)})
    assert (only(r).kind, lines(only(r)), r.steps < 500) == (FaultKind.NON_TERMINATION, (2,), True)


@pytest.mark.parametrize(("block", "notes"), [(100, 1), (96, 1), (64, 0)])
def test_a_halving_tree_over_a_block_that_is_no_power_of_two_is_noted(block: int, notes: int) -> None:
    p = plan(kernel(tree_sum(block, block=block), arrays=SHARED), {"x": block, "y": 1}, block=block)
    r = run(p, {"x": np.ones(block)})
    assert r.faults == ()
    assert [n.kind for n in r.notes] == [FaultKind.GEOMETRY] * notes
    assert (r.outputs["y"][0] == block) is np.bool_(notes == 0)


def test_arrays_that_do_not_fit_the_plan_are_an_error() -> None:
    with pytest.raises(ValueError, match="`x` has 3 elements, the launch needs 32"):
        run(plan(kernel(elementwise(32)), {"x": 32, "y": 32}), {"x": np.zeros(3)})


def test_scalars_reach_the_kernel_by_position() -> None:
    scalars = (core.Scalar("n", I32), core.Scalar("eps", None))
    body = (Store(Y, core.IParam(0), core.RParam(1), line(1)),)
    k: Kernel = kernel(body, scalars=scalars)
    p = plan(k, {"x": 1, "y": 4}, block=1, args=("x", "y", 2, Fraction(1, 4)))
    assert run(p, {"x": np.zeros(1)}).outputs["y"][2] == 0.25


def test_local_arrays_too_large_to_hold_leave_the_run_incomplete() -> None:
    arrays = (*SHARED[:2], Array("t", Space.LOCAL, size=1 << 21))
    body = (Store(2, TID, real(1), line(1)), *elementwise(64))
    r = run(plan(kernel(body, arrays=arrays), {"x": 64, "y": 64}, block=64), {"x": np.zeros(64)})
    assert (r.faults, r.complete) == ((), False)


def test_many_blocks_with_large_arrays_run_in_portions() -> None:
    arrays = (*SHARED[:2], Array("t", Space.LOCAL, size=1 << 18))
    body = (Store(2, TID, real(1), line(1)), *elementwise(256))
    p = plan(kernel(body, arrays=arrays), {"x": 256, "y": 256}, block=32, grid=8)
    r = run(p, {"x": np.arange(256)})
    assert (r.faults, r.complete, r.outputs["y"][255]) == ((), True, 256.0)
