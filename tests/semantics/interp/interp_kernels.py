"""Core IR written by hand for the tests: short constructors, and kernels with one line a statement."""

from fractions import Fraction

import numpy as np

from semantics import core
from semantics.core import (
    Array,
    Barrier,
    CmpOp,
    Dim,
    IBin,
    ICmp,
    IExpr,
    If,
    ILit,
    IntOp,
    IntType,
    ISpecial,
    IVar,
    Kernel,
    KernelCall,
    Load,
    Plan,
    RBin,
    RealOp,
    RExpr,
    RLit,
    RVar,
    SetI,
    SetR,
    Space,
    Special,
    Stmt,
    Store,
    While,
)
from semantics.faults import Fault
from semantics.interp import Run, run
from semantics.span import Span

I32 = IntType.I32
TID = ISpecial(Special.TID, Dim.X, I32)
BID = ISpecial(Special.BID, Dim.X, I32)
BDIM = ISpecial(Special.BDIM, Dim.X, I32)


def line(number: int) -> Span:
    return Span(number, 1, number, 20)


def lit(value: int) -> ILit:
    return ILit(value, I32)


def iv(var: int) -> IVar:
    return IVar(var, I32)


def op(name: str, a: IExpr, b: IExpr, type_: IntType = I32) -> IBin:
    return IBin(IntOp(name), type_, a, b)


def plus(a: IExpr, b: IExpr) -> IBin:
    return op("add", a, b)


def less(a: IExpr, b: IExpr) -> ICmp:
    return ICmp(CmpOp.LT, a, b)


def real(value: int | str) -> RLit:
    return RLit(Fraction(value))


def radd(a: RExpr, b: RExpr) -> RBin:
    return RBin(RealOp.ADD, a, b)


def kernel(
    body: tuple[Stmt, ...],
    *,
    arrays: tuple[Array, ...] = (Array("x", Space.GLOBAL, const=True), Array("y", Space.GLOBAL)),
    ints: int = 4,
    reals: int = 4,
    scalars: tuple[core.Scalar, ...] = (),
) -> Kernel:
    """Parameters are the global arrays, then the scalars."""
    params = [("array", k) for k, a in enumerate(arrays) if a.space is Space.GLOBAL]
    params += [("scalar", k) for k in range(len(scalars))]
    return Kernel(
        "k",
        tuple(params),
        arrays,
        scalars,
        tuple((f"i{k}", I32) for k in range(ints)),
        tuple(f"r{k}" for k in range(reals)),
        body,
    )


def plan(
    k: Kernel,
    sizes: dict[str, int],
    *,
    grid: int = 1,
    block: int = 32,
    args: tuple[str | int | Fraction, ...] = ("x", "y"),
    shared_bytes: int = 0,
    elems: dict[str, str] | None = None,
) -> Plan:
    elems = elems or {}
    call = KernelCall(k, (grid, 1, 1), (block, 1, 1), shared_bytes, args)
    return Plan((call,), {name: (count, elems.get(name, "float")) for name, count in sizes.items()})


X, Y, S = 0, 1, 2
SHARED = (Array("x", Space.GLOBAL, const=True), Array("y", Space.GLOBAL), Array("s", Space.SHARED, size=256))


def elementwise(n: int, guard: bool = True) -> tuple[Stmt, ...]:
    """`i = bid*bdim + tid; if (i < n) y[i] = x[i] + 1`."""
    inner: tuple[Stmt, ...] = (
        Load(0, X, iv(0), line(3)),
        Store(Y, iv(0), radd(RVar(0), real(1)), line(4)),
    )
    body: tuple[Stmt, ...] = (If(less(iv(0), lit(n)), inner, (), line(2)),) if guard else inner
    return (SetI(0, plus(op("mul", BID, BDIM), TID), line(1)), *body)


def tree_sum(
    n: int,
    *,
    block: int = 256,
    barrier_in_loop: bool = True,
    barrier_first: bool = True,
    halve: IExpr | None = None,
) -> tuple[Stmt, ...]:
    """Sum of `x[0..n)` by one block: strided partial sums, a halving tree, thread 0 stores `y[0]`.

    Registers: i0 = i, i1 = s; r0 = acc, r1, r2."""
    strided: tuple[Stmt, ...] = (
        Load(1, X, iv(0), line(4)),
        SetR(0, radd(RVar(0), RVar(1)), line(5)),
        SetI(0, plus(iv(0), BDIM), line(3)),
    )
    combine: tuple[Stmt, ...] = (
        Load(1, S, TID, line(9)),
        Load(2, S, plus(TID, iv(1)), line(9)),
        Store(S, TID, radd(RVar(1), RVar(2)), line(9)),
    )
    level: tuple[Stmt, ...] = (
        If(less(TID, iv(1)), combine, (), line(9)),
        *((Barrier(line(10)),) if barrier_in_loop else ()),
        SetI(1, halve or op("div", iv(1), lit(2)), line(8)),
    )
    return (
        SetR(0, real(0), line(1)),
        SetI(0, TID, line(3)),
        While(less(iv(0), lit(n)), strided, line(3)),
        Store(S, TID, RVar(0), line(6)),
        *((Barrier(line(7)),) if barrier_first else ()),
        SetI(1, lit(block // 2), line(8)),
        While(less(lit(0), iv(1)), level, line(8)),
        If(
            ICmp(CmpOp.EQ, TID, lit(0)),
            (Load(1, S, lit(0), line(12)), Store(Y, lit(0), RVar(1), line(12))),
            (),
            line(12),
        ),
    )


def run_shared(body: tuple[Stmt, ...], *, n: int = 64, block: int = 64, y: int = 64, grid: int = 1) -> Run:
    p = plan(kernel(body, arrays=SHARED), {"x": n, "y": y}, block=block, grid=grid)
    return run(p, {"x": np.arange(n, dtype=np.float32)})


def only(r: Run) -> Fault:
    assert len(r.faults) == 1, r.faults
    return r.faults[0]


def lines(f: Fault) -> tuple[int, ...]:
    return tuple(s.line for s in f.spans)
