"""Symbolic state of one thread, and the evaluation of core expressions in it."""

from dataclasses import dataclass, field, replace
from fractions import Fraction

from semantics import core
from semantics.symbolic import terms
from semantics.symbolic.arrays import Local
from semantics.symbolic.linear import Indicator, Linear, choice, indicator, literal, quotient, variable
from semantics.symbolic.terms import Condition, Term


class Unsupported(Exception):
    """The automatic prover does not handle this; says what and at which line."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


@dataclass(frozen=True, slots=True)
class State:
    """Values of the registers that are known, and how far the outputs are written: the cells of this
    thread below `done[buffer]` hold their final value, those at or above it their initial one. `limits`
    bounds the counters of the loops around (counter, greatest value at the test)."""

    ints: dict[int, Linear] = field(default_factory=dict)
    reals: dict[int, Term] = field(default_factory=dict)
    done: dict[int, Linear] = field(default_factory=dict)
    limits: tuple[tuple[Linear, Linear], ...] = ()
    locals: dict[int, Local] = field(default_factory=dict)

    def with_int(self, var: int, value: Linear | None) -> "State":
        ints = {v: x for v, x in self.ints.items() if v != var}
        if value is not None:
            ints[var] = value
        return replace(self, ints=ints)

    def with_real(self, var: int, value: Term | None) -> "State":
        reals = {v: x for v, x in self.reals.items() if v != var}
        if value is not None:
            reals[var] = value
        return replace(self, reals=reals)

    def with_done(self, buffer: int, below: Linear) -> "State":
        return replace(self, done={**self.done, buffer: below})

    def with_local(self, array: int, local: Local | None) -> "State":
        kept = {a: x for a, x in self.locals.items() if a != array}
        return replace(self, locals=kept if local is None else {**kept, array: local})

    def only(self, ints: frozenset[int], reals: frozenset[int]) -> "State":
        """Forget the registers that nobody reads any more."""
        return replace(
            self,
            ints={v: x for v, x in self.ints.items() if v in ints},
            reals={v: x for v, x in self.reals.items() if v in reals},
        )


@dataclass(frozen=True, slots=True)
class Context:
    """A launch: sizes, arguments, and the buffer number behind each array of the kernel."""

    call: core.KernelCall
    buffers: dict[int, int]
    sizes: dict[int, int]

    def special(self, what: core.Special, dim: core.Dim) -> Linear:
        at = "xyz".index(dim.value)
        if what is core.Special.BDIM:
            return literal(self.call.block[at])
        if what is core.Special.GDIM:
            return literal(self.call.grid[at])
        extent = self.call.block[at] if what is core.Special.TID else self.call.grid[at]
        return literal(0) if extent == 1 else variable(coordinate(what, dim))

    def argument(self, scalar: int) -> int | Fraction:
        """The value of scalar parameter number `scalar`."""
        value = self.call.args[self.call.kernel.params.index(("scalar", scalar))]
        assert not isinstance(value, str)
        return value


def coordinate(what: core.Special, dim: core.Dim) -> str:
    """`tX` for threadIdx.x, `bX` for blockIdx.x."""
    return ("t" if what is core.Special.TID else "b") + dim.value.upper()


def integer(e: core.IExpr, state: State, context: Context) -> Linear:
    """Value of an integer expression. Raises Unsupported for products of two unknowns and the like."""
    match e:
        case core.ILit(n, _):
            return literal(n)
        case core.IVar(var, _):
            if var not in state.ints:
                raise Unsupported(f"the value of {_int_name(context, var)!r} is not known here")
            return state.ints[var]
        case core.IParam(param, _):
            value = context.argument(param)
            assert isinstance(value, int)
            return literal(value)
        case core.ISpecial(what, dim, _):
            return context.special(what, dim)
        case core.ICast(_, a):
            return integer(a, state, context)
        case core.IBin(op, _, a, b):
            return _operate(op, integer(a, state, context), integer(b, state, context))
        case core.ISelect(cond, a, b):
            return _selected(
                condition(cond, state, context), integer(a, state, context), integer(b, state, context)
            )
        case core.IOfReal():
            raise Unsupported("a conversion of a float to an integer")


def _selected(cond: Condition, x: Linear, y: Linear) -> Linear:
    """`cond ? x : y` where the two differ by a constant, as a truth value and its negation do."""
    if not (x - y).is_constant:
        raise Unsupported("a conditional integer")
    return y + indicator(cond).scale((x - y).constant)


def _operate(op: core.IntOp, x: Linear, y: Linear) -> Linear:
    match op:
        case core.IntOp.ADD:
            return x + y
        case core.IntOp.SUB:
            return x - y
        case core.IntOp.MUL if y.is_constant:
            return x.scale(y.constant)
        case core.IntOp.MUL if x.is_constant:
            return y.scale(x.constant)
        case core.IntOp.DIV | core.IntOp.MOD if y.is_constant and y.constant > 0:
            return quotient(x, y.constant, op is core.IntOp.MOD)
        case core.IntOp.MIN | core.IntOp.MAX:
            return choice(x, y, op is core.IntOp.MAX)
        case core.IntOp.SHL if y.is_constant and y.constant >= 0:
            return x.scale(1 << y.constant)
        case core.IntOp.SHR if y.is_constant and y.constant >= 0:
            return quotient(x, 1 << y.constant, False)
        case core.IntOp.AND if y.is_constant and y.constant > 0 and (y.constant + 1) & y.constant == 0:
            return quotient(x, y.constant + 1, True)
        case _:
            if x.is_constant and y.is_constant and op in (core.IntOp.AND, core.IntOp.OR, core.IntOp.XOR):
                a, b = x.constant, y.constant
                return literal({core.IntOp.AND: a & b, core.IntOp.OR: a | b, core.IntOp.XOR: a ^ b}[op])
            raise Unsupported(f"index arithmetic with {op.value} of two unknowns")


def real(e: core.RExpr, state: State, context: Context) -> Term:
    """Value of a real expression."""
    match e:
        case core.RLit(value):
            return terms.Number(value)
        case core.RNegInf():
            return terms.NegInf()
        case core.RVar(var):
            if var not in state.reals:
                raise Unsupported(f"the value of {context.call.kernel.real_vars[var]!r} is not known here")
            return state.reals[var]
        case core.RParam(param):
            return terms.Number(Fraction(context.argument(param)))
        case core.RBin(op, a, b):
            return terms.Binary(op, real(a, state, context), real(b, state, context))
        case core.RFn(fn, a):
            return terms.Unary(fn, real(a, state, context))
        case core.ROfInt(n):
            return terms.OfInt(integer(n, state, context))
        case core.RSelect(cond, a, b):
            return terms.Chosen(
                condition(cond, state, context), real(a, state, context), real(b, state, context)
            )
        case core.RCall() | core.RPosInf():
            raise Unsupported("this function of reals")


def condition(e: core.BExpr, state: State, context: Context) -> Condition:
    """Value of a condition."""
    match e:
        case core.BLit(value):
            return terms.Truth(value)
        case core.ICmp(op, a, b):
            x, y = integer(a, state, context), integer(b, state, context)
            return _tested(op, x, y) or terms.Compare(op, x, y)
        case core.RCmp(op, c, d):
            return terms.CompareReal(op, real(c, state, context), real(d, state, context))
        case core.BAnd(f, g):
            return terms.Both(condition(f, state, context), condition(g, state, context))
        case core.BOr(f, g):
            return terms.Either(condition(f, state, context), condition(g, state, context))
        case core.BNot(f):
            inner = condition(f, state, context)
            return inner.a if isinstance(inner, terms.Negation) else terms.Negation(inner)


def _tested(op: core.CmpOp, x: Linear, y: Linear) -> Condition | None:
    """`b == 0` and `b == 1` of a truth value `b`."""
    match x, y:
        case Linear(0, ((Indicator(cond), 1),)), Linear(0 | 1 as value, ()) if op is core.CmpOp.EQ:
            return cond if value else terms.Negation(cond)
        case _:
            return None


def _int_name(context: Context, var: int) -> str:
    return context.call.kernel.int_vars[var][0]
