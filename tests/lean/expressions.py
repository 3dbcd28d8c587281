"""Random expressions of the core IR and a plain evaluation of them by the rules of `lean/KShell/Eval.lean`.

The registers, parameters and built-in variables are fixed, the same in Lean, in the interpreter and here."""

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from semantics import core
from semantics.core import CmpOp, IntOp, IntType, RealFn, RealOp, Space, Special
from tests.semantics.strict_machine import Fault, Thread

NINF = float("-inf")
THREAD, BLOCK, GRID, EXTENT = 5, 2, 3, 64
INTS = {0: 7, 1: 4294967290, 2: -9223372036854775000, 3: 4611686018427387904, 4: -3, 5: 31}
TYPES = {0: "i32", 1: "u32", 2: "i64", 3: "u64", 4: "i32", 5: "u32"}
REALS: dict[int, Any] = {0: NINF, 1: Fraction(-5, 3), 2: Fraction(0), 3: Fraction(7, 2)}
PARAMS: dict[int, Any] = {0: 100, 1: 3000000000, 2: Fraction(2, 3)}
SCALARS = (core.Scalar("p", IntType.I32), core.Scalar("q", IntType.U32), core.Scalar("s", None))
LITERALS = [0, 1, 2, 3, 5, 31, 32, 64, -1, -7, 2147483647, -2147483648, 4294967295, 1 << 40, (1 << 62) + 1, (1 << 63) + 5]
ENVIRONMENT = f"""
/-- Registers. -/
def reg : Reg Rat where
  iv v := match v with {" ".join(f"| {v} => {n}" for v, n in INTS.items())} | _ => 0
  rv v := match v with | 0 => .ninf {" ".join(
    f"| {v} => .fin (KShell.ofRat ({q.numerator}) {q.denominator})" for v, q in REALS.items() if v
)} | _ => .ninf
  loc _ _ := none

/-- Parameters and built-in variables. -/
def env : Env Rat where
  special
    | .tid, .x => {THREAD}
    | .bid, .x => {BLOCK}
    | .bdim, .x => {EXTENT}
    | .gdim, .x => {GRID}
    | .tid, _ | .bid, _ => 0
    | .bdim, _ | .gdim, _ => 1
  iparam p := match p with | 0 => 100 | 1 => 3000000000 | _ => 0
  rparam p := match p with | 2 => KShell.ofRat 2 3 | _ => KShell.ofRat 0 1
  size _ := 0
"""
"""The same registers and parameters in Lean."""


class Generator:
    """Random typed expressions; the values are chosen so that about half of them are defined."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def int(self, kind: IntType, depth: int) -> core.IExpr:
        if depth == 0 or self.random.random() < 0.15:
            return self.atom(kind)
        a, b = self.int(kind, depth - 1), self.int(kind, depth - 1)
        match self.random.randrange(10):
            case 0 | 1 | 2 | 3 | 4:
                arithmetic = [IntOp.ADD, IntOp.SUB, IntOp.MUL, IntOp.DIV, IntOp.MOD, IntOp.MIN, IntOp.MAX]
                return core.IBin(self.random.choice(arithmetic), kind, a, b)
            case 5:
                bits = self.random.choice([IntOp.AND, IntOp.OR, IntOp.XOR])
                return core.IBin(bits, kind, a, b)
            case 6:
                shift = self.random.choice([IntOp.SHL, IntOp.SHR])
                return core.IBin(shift, kind, a, core.ILit(self.random.choice([0, 1, 3, 31, 32, 63]), kind))
            case 7:
                return core.ISelect(self.bool(depth - 1), a, b)
            case _:
                return core.ICast(kind, self.int(self.kind(), depth - 1))

    def kind(self) -> IntType:
        return self.random.choice(list(IntType))

    def atom(self, kind: IntType) -> core.IExpr:
        options: list[core.IExpr] = [core.ILit(n, kind) for n in LITERALS if kind.low <= n <= kind.high]
        options += [core.IVar(v, kind) for v, t in TYPES.items() if t == kind] * 3
        if kind is IntType.I32:
            options += [core.IParam(0, kind)] * 3
        if kind is IntType.U32:
            options += [core.IParam(1, kind)] * 3
        if kind in (IntType.I32, IntType.U32):
            options += [core.ISpecial(s, d, kind) for s in Special for d in core.Dim]
        return self.random.choice(options)

    def bool(self, depth: int) -> core.BExpr:
        if depth <= 0:
            return core.BLit(self.random.random() < 0.5)
        match self.random.randrange(6):
            case 0 | 1:
                kind = self.kind()
                op = self.random.choice(list(CmpOp))
                return core.ICmp(op, self.int(kind, depth - 1), self.int(kind, depth - 1))
            case 2:
                return core.RCmp(self.random.choice(list(CmpOp)), self.real(depth - 1), self.real(depth - 1))
            case 3:
                return core.BAnd(self.bool(depth - 1), self.bool(depth - 1))
            case 4:
                return core.BOr(self.bool(depth - 1), self.bool(depth - 1))
            case _:
                return core.BNot(self.bool(depth - 1))

    def real(self, depth: int) -> core.RExpr:
        if depth <= 0 or self.random.random() < 0.1:
            literals: list[core.RExpr] = [core.RLit(Fraction(q)) for q in ("0", "1/3", "-9/4", "6")]
            registers: list[core.RExpr] = [core.RVar(v) for v in REALS]
            return self.random.choice([*literals, *registers, core.RNegInf(), core.RParam(2)])
        match self.random.randrange(9):
            case 0 | 1 | 2 | 3 | 4 | 5:
                op = self.random.choice(list(RealOp))
                return core.RBin(op, self.real(depth - 1), self.real(depth - 1))
            case 6:
                return core.RFn(self.random.choice([RealFn.NEG, RealFn.ABS]), self.real(depth - 1))
            case 7:
                return core.ROfInt(self.int(self.kind(), min(depth - 1, 2)))
            case _:
                return core.RSelect(self.bool(depth - 1), self.real(depth - 1), self.real(depth - 1))


class Permitted(Fault):
    """Undefined by the rules, but the interpreter goes on: an unsigned value that wraps outside an address,
    a product with or a quotient by -infinity."""


class Rules(Thread):
    """The rules for one thread; `reals` come on top of the integers of the strict machine."""

    def __init__(self) -> None:
        self.ints = INTS
        self.scalars = list(PARAMS.values())

    def int(self, e: core.IExpr) -> int:
        match e:
            case core.ISpecial(what, dim):
                first = dim is core.Dim.X
                here = {Special.TID: THREAD, Special.BID: BLOCK}.get(what)
                extent = EXTENT if what is Special.BDIM else GRID
                return (here if first else 0) if here is not None else (extent if first else 1)
            case core.ICast(kind, a) if not kind.signed:
                value = self.int(a)
                if not kind.low <= value <= kind.high:
                    raise Permitted
                return value
            case core.IBin(op, kind, a, b) if not kind.signed:
                x, y = self.int(a), self.int(b)
                value = self.apply(op, x, y, kind)
                if not kind.low <= value <= kind.high:
                    raise Permitted if op in (IntOp.ADD, IntOp.SUB, IntOp.MUL) else Fault
                return value
            case _:
                return super().int(e)

    def bool(self, e: core.BExpr) -> bool:
        if isinstance(e, core.RCmp):
            x, y = self.real(e.a), self.real(e.b)
            return bool(x < y if e.op is CmpOp.LT else x <= y if e.op is CmpOp.LE else x == y)
        return super().bool(e)

    def real(self, e: core.RExpr) -> Any:
        match e:
            case core.RLit(value):
                return value
            case core.RNegInf():
                return NINF
            case core.RVar(var):
                return REALS[var]
            case core.RParam(param):
                return PARAMS[param]
            case core.ROfInt(a):
                return Fraction(self.int(a))
            case core.RSelect(cond, a, b):
                return self.real(a if self.bool(cond) else b)
            case core.RFn(fn, a):
                x = self.real(a)
                if x == NINF:
                    raise Fault("a function of -infinity")
                return -x if fn is RealFn.NEG else abs(x)
            case core.RBin(op, a, b):
                return self.binary(op, self.real(a), self.real(b))

    @staticmethod
    def binary(op: RealOp, x: Any, y: Any) -> Any:
        match op:
            case RealOp.MAX:
                return max(x, y)
            case RealOp.MIN:
                return min(x, y)
            case RealOp.ADD:
                return NINF if NINF in (x, y) else x + y
            case RealOp.SUB:
                if y == NINF:
                    raise Fault("minus -infinity")
                return NINF if x == NINF else x - y
            case RealOp.MUL:
                if NINF in (x, y):
                    raise Permitted
                return x * y
            case RealOp.DIV:
                if y == NINF and x != NINF:
                    raise Permitted
                if x == NINF or y == 0:
                    raise Fault("a quotient")
                return x / y


def outcome(evaluate: Callable[[Any], Any], e: Any) -> tuple[str, Any]:
    """`value`, `fault` or `permitted`, and the value."""
    try:
        return "value", evaluate(e)
    except Permitted:
        return "permitted", None
    except Fault:
        return "fault", None


def kernel_of(e: Any) -> core.Kernel:
    """A kernel in which one thread sets the registers, evaluates the expression and stores it."""
    result = len(REALS)
    body: list[core.Stmt] = [core.SetI(v, core.ILit(n, IntType(TYPES[v]))) for v, n in INTS.items()]
    body += [core.SetR(v, core.RNegInf() if q == NINF else core.RLit(q)) for v, q in REALS.items()]
    if isinstance(e, core.IExpr):
        body.append(core.SetR(result, core.ROfInt(e)))
    elif isinstance(e, core.BExpr):
        truth = [core.SetR(result, core.RLit(Fraction(n))) for n in (0, 1)]
        body.append(core.If(e, (truth[1],), (truth[0],)))
    else:
        body.append(core.SetR(result, e))
    body.append(core.Store(0, core.ILit(0), core.RVar(result)))

    def here(what: Special, n: int) -> core.BExpr:
        return core.ICmp(CmpOp.EQ, core.ISpecial(what, core.Dim.X, IntType.I32), core.ILit(n))

    chosen = core.BAnd(here(Special.TID, THREAD), here(Special.BID, BLOCK))
    return core.Kernel(
        "probe",
        (("array", 0), *(("scalar", k) for k in range(len(SCALARS)))),
        (core.Array("y", Space.GLOBAL),),
        SCALARS,
        tuple((f"i{v}", IntType(TYPES[v])) for v in INTS),
        tuple(f"r{v}" for v in range(result + 1)),
        (core.If(chosen, tuple(body)),),
    )
