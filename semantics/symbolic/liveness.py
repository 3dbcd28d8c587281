"""Which registers are read later: assertions speak of nothing else."""

from collections.abc import Sequence

from semantics import core

Live = tuple[frozenset[int], frozenset[int]]
NOTHING: Live = (frozenset(), frozenset())


def before(stmts: Sequence[core.Stmt], after: Live) -> Live:
    """Integer and real registers that are read by `stmts` or, unless assigned there, afterwards."""
    live = after
    for stmt in reversed(stmts):
        live = before_one(stmt, live)
    return live


def before_one(stmt: core.Stmt, after: Live) -> Live:
    """The same for one statement."""
    ints, reals = after
    match stmt:
        case core.SetI(var, value):
            return _join((ints - {var}, reals), _reads(value))
        case core.SetR(var, value):
            return _join((ints, reals - {var}), _reads(value))
        case core.Load(var, _, index):
            return _join((ints, reals - {var}), _reads(index))
        case core.Store(_, index, value) | core.AtomicAdd(_, index, value):
            return _join(_join(after, _reads(index)), _reads(value))
        case core.If(cond, then, other):
            return _join(_join(before(then, after), before(other, after)), _reads(cond))
        case core.While(cond, body):
            live = _join(after, _reads(cond))
            while True:
                again = _join(live, before(body, live))
                if again == live:
                    return live
                live = again
        case core.Check(cond):
            return _join(after, _reads(cond))
        case core.Shfl(_, dst, src, arg):
            return _join((ints, (reals - {dst}) | {src}), _reads(arg))
        case core.ShflI(_, dst, src, arg):
            return _join(((ints - {dst}) | {src}, reals), _reads(arg))
        case core.Vote(_, dst, cond):
            return _join((ints - {dst}, reals), _reads(cond))
        case core.Barrier() | core.SyncWarp():
            return after


def assigned(stmts: Sequence[core.Stmt]) -> Live:
    """Integer and real registers assigned anywhere in `stmts`."""
    found = NOTHING
    for stmt in stmts:
        match stmt:
            case core.SetI(var):
                found = _join(found, (frozenset({var}), frozenset()))
            case core.SetR(var) | core.Load(var) | core.Shfl(_, var):
                found = _join(found, (frozenset(), frozenset({var})))
            case core.If(_, then, other):
                found = _join(found, _join(assigned(then), assigned(other)))
            case core.While(_, body):
                found = _join(found, assigned(body))
            case _:
                pass
    return found


def _join(a: Live, b: Live) -> Live:
    return a[0] | b[0], a[1] | b[1]


def _reads(e: core.IExpr | core.RExpr | core.BExpr) -> Live:
    match e:
        case core.IVar(var):
            return frozenset({var}), frozenset()
        case core.RVar(var):
            return frozenset(), frozenset({var})
        case core.IBin(_, _, a, b):
            return _join(_reads(a), _reads(b))
        case core.RBin(_, c, d):
            return _join(_reads(c), _reads(d))
        case core.ICmp(_, a, b):
            return _join(_reads(a), _reads(b))
        case core.RCmp(_, c, d):
            return _join(_reads(c), _reads(d))
        case core.BAnd(f, g) | core.BOr(f, g):
            return _join(_reads(f), _reads(g))
        case core.BNot(f):
            return _reads(f)
        case core.ICast(_, a) | core.ROfInt(a):
            return _reads(a)
        case core.RFn(_, c):
            return _reads(c)
        case core.ISelect(f, a, b):
            return _join(_reads(f), _join(_reads(a), _reads(b)))
        case core.RSelect(f, c, d):
            return _join(_reads(f), _join(_reads(c), _reads(d)))
        case _:
            return NOTHING
