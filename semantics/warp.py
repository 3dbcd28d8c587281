"""Warp operations: shuffles of floats and integers, votes, `__syncwarp`."""

from semantics import ast
from semantics.beyond import ShflI, Vote, VoteKind
from semantics.convert import is_real, to_bool, to_int, to_real
from semantics.core import IExpr, IntType, IVar, RVar, SetI, SetR, Shfl, ShflKind, SyncWarp
from semantics.elaborate import evaluate
from semantics.span import Refusal, Span
from semantics.state import State
from semantics.values import Bool, Int, Nothing, Real, Value, constant

SHUFFLES = {
    "__shfl_sync": ShflKind.IDX,
    "__shfl_up_sync": ShflKind.UP,
    "__shfl_down_sync": ShflKind.DOWN,
    "__shfl_xor_sync": ShflKind.XOR,
}
VOTES = {"__ballot_sync": VoteKind.BALLOT, "__any_sync": VoteKind.ANY, "__all_sync": VoteKind.ALL}
_FULL = 0xFFFFFFFF


def syncwarp(st: State, e: ast.Call) -> Value:
    """`__syncwarp()` of the whole warp."""
    if len(e.args) > 1:
        raise Refusal("__syncwarp takes at most one argument", e.span)
    if e.args and _mask(st, e.args[0]) is not None:
        raise Refusal(
            "__syncwarp is known for the full mask 0xffffffff only", e.args[0].span, "let all lanes take part"
        )
    st.emit(SyncWarp(e.span))
    return Nothing()


def _mask(st: State, arg: ast.Expr) -> IExpr | None:
    """The mask as an expression, None for all 32 lanes."""
    value = to_int(evaluate(st, arg), arg.span)
    if constant(value) in (_FULL, -1):
        return None
    return to_int(value, arg.span, IntType.U32).expr


def shuffle(st: State, e: ast.Call) -> Value:
    """`__shfl_*_sync(mask, value, lane [, width])`."""
    if len(e.args) not in (3, 4):
        raise Refusal(f"{e.name} takes 3 or 4 arguments, not {len(e.args)}", e.span)
    mask = _mask(st, e.args[0])
    value = evaluate(st, e.args[1])
    if is_real(value):
        return _shuffled_real(st, e, mask, to_real(value, e.args[1].span))
    return _shuffled_int(st, e, mask, to_int(value, e.args[1].span))


def _lane(st: State, e: ast.Call) -> tuple[IExpr, int]:
    """The lane argument and the width."""
    lane = to_int(evaluate(st, e.args[2]), e.args[2].span)
    if len(e.args) < 4:
        return lane.expr, 32
    width = constant(evaluate(st, e.args[3]))
    if width not in (1, 2, 4, 8, 16, 32):
        raise Refusal("the width of a shuffle must be a literal power of two up to 32", e.args[3].span)
    return lane.expr, width or 32


def _shuffled_real(st: State, e: ast.Call, mask: IExpr | None, value: Real) -> Value:
    lane, width = _lane(st, e)
    if isinstance(value.expr, RVar):
        source = value.expr.var
    else:
        source = st.real_var("lane")
        st.emit(SetR(source, value.expr, e.span))
    out = st.real_var("shfl")
    st.temporaries.add(("real", out))
    st.emit(Shfl(SHUFFLES[e.name], out, source, lane, width, e.span, mask))
    return Real(RVar(out), value.type)


def _shuffled_int(st: State, e: ast.Call, mask: IExpr | None, value: Int) -> Value:
    lane, width = _lane(st, e)
    if isinstance(value.expr, IVar):
        source = value.expr.var
    else:
        source = st.int_var("lane", value.type)
        st.emit(SetI(source, value.expr, e.span))
    out = st.int_var("shfl", value.type)
    st.temporaries.add(("int", out))
    st.emit(ShflI(SHUFFLES[e.name], out, source, lane, width, e.span, mask))
    return Int(IVar(out, value.type), value.type)


def vote(st: State, e: ast.Call) -> Value:
    """`__ballot_sync`, `__any_sync`, `__all_sync`."""
    if len(e.args) != 2:
        raise Refusal(f"{e.name} takes 2 arguments, not {len(e.args)}", e.span)
    mask = _mask(st, e.args[0])
    cond: Bool = to_bool(evaluate(st, e.args[1]), e.args[1].span)
    kind = VOTES[e.name]
    type_ = IntType.U32 if kind is VoteKind.BALLOT else IntType.I32
    return _voted(st, kind, type_, cond, mask, e.span)


def _voted(st: State, kind: VoteKind, type_: IntType, cond: Bool, mask: IExpr | None, span: Span) -> Value:
    out = st.int_var("vote", type_)
    st.temporaries.add(("int", out))
    st.emit(Vote(kind, out, cond.expr, span, mask))
    return Int(IVar(out, type_), type_)
