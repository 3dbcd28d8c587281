"""Loops of xor shuffles: which sums or maxima of a warp they leave in every lane."""

from dataclasses import replace
from typing import TYPE_CHECKING

from semantics import core
from semantics.symbolic import liveness, reductions, terms
from semantics.symbolic.linear import Linear, literal, quotient, variable
from semantics.symbolic.phase import halved_register
from semantics.symbolic.pieces import CELL, Butterfly, Contents, Kind, Shuffled, has_shuffle
from semantics.symbolic.shares import shares
from semantics.symbolic.state import State, Unsupported, integer
from semantics.symbolic.terms import Term

if TYPE_CHECKING:
    from semantics.symbolic.phases import Walker


def butterfly(
    walker: "Walker",
    stmt: core.Stmt,
    state: State,
    shared: dict[int, Contents],
    live: liveness.Live,
    reads: frozenset[int],
    names: dict[str, tuple[int, int]],
) -> tuple[Butterfly, State]:
    """The loop, and what holds after it. Raises Unsupported."""
    line = stmt.span.line
    if not isinstance(stmt, core.While) or not stmt.body or not isinstance(stmt.body[0], core.Shfl):
        raise Unsupported("warp operations outside a loop that begins with a shuffle", line)
    shuffles, rest = _split(stmt)
    stride = halved_register(stmt)
    if stride is None or len(shuffles) > 2 or not _plain(shuffles) or has_shuffle(rest):
        raise Unsupported("warp operations other than a reduction by xor shuffles", line)
    distances = [integer(one.arg, state, walker.context) for one in shuffles]
    if state.ints.get(stride) != literal(16) or distances != [literal(16)] * len(shuffles):
        raise Unsupported("a reduction by shuffles whose stride does not start at 16", line)
    if list(walker.threads) != ["tX"] or walker.threads["tX"] % 32:
        raise Unsupported("shuffles in a block that is not a row of whole warps", line)
    if any(one.src not in state.reals for one in shuffles):
        raise Unsupported("a reduction by shuffles of a value that is not known", line)
    firsts = [state.reals[one.src] for one in shuffles]
    name = f"w{next(walker._numbers)}"
    w, t = variable(name), variable("tX")
    needed = liveness.before_one(stmt, live)
    head = state.only(*needed).with_int(stride, w)
    lanes: list[tuple[int, int]] = []
    cells: list[tuple[Term, Term]] = []
    for one, first in zip(shuffles, firsts, strict=True):
        mine, received = 900 + 2 * next(walker._numbers), 901 + 2 * next(walker._numbers)
        top = terms.may_be_infinite(first) or _takes_maximum(rest, one.src)
        cell = terms.Slot if top else terms.Cell
        lanes.append((mine, received))
        cells.append((cell(mine, t), cell(received, t)))
        head = head.with_real(one.src, cell(mine, t))
    if any(integer(one.arg, head, walker.context) != w for one in shuffles):
        raise Unsupported("a shuffle whose distance is not the counter of its loop", line)
    inside = head
    for one, (_, got) in zip(shuffles, cells, strict=True):
        inside = inside.with_real(one.dst, got)
    inner = {**names, name: (1, 17)}
    phase, end, _ = walker._phase(
        Kind.READ, rest, line, inside, shared, needed, reads | walker._read([stmt]), inner
    )
    wanted, other = head.with_int(stride, quotient(w, 2, False)), end
    done = state.only(*live)
    found: list[Shuffled] = []
    for one, first, pair in zip(shuffles, firsts, cells, strict=True):
        op = reductions.joining(end.reals.get(one.src), *pair)
        if op is not (core.RealOp.MAX if isinstance(pair[0], terms.Slot) else core.RealOp.ADD):
            raise Unsupported("a reduction by shuffles that neither adds nor takes the maximum", line)
        wanted, other = wanted.with_real(one.src, None), other.with_real(one.src, None)
        whole = _whole(one, op, first, f"q{next(walker._numbers)}")
        found.append(whole)
        if one.src in live[1]:
            done = done.with_real(one.src, whole.total)
    if other != wanted:
        raise Unsupported("a reduction by shuffles that changes other registers", line)
    if stride in live[0]:
        done = done.with_int(stride, literal(0))
    unbounded = {b for pair, (cell, _) in zip(lanes, cells, strict=True) for b in pair if _is_slot(cell)}
    numbers = tuple(b for pair in lanes for b in pair)
    code = replace(phase, lanes=numbers, unbounded=frozenset(unbounded))
    return Butterfly(stmt, line, name, tuple(found), head, code), done


def _split(stmt: core.While) -> tuple[list[core.Shfl], tuple[core.Stmt, ...]]:
    """The shuffles that a loop body begins with, and the rest."""
    shuffles: list[core.Shfl] = []
    for one in stmt.body:
        if not isinstance(one, core.Shfl):
            break
        shuffles.append(one)
    return shuffles, stmt.body[len(shuffles) :]


def _takes_maximum(stmts: tuple[core.Stmt, ...], register: int) -> bool:
    """Whether a register is assigned a maximum in there."""
    return any(
        isinstance(one, core.SetR)
        and one.var == register
        and isinstance(one.value, core.RBin)
        and one.value.op is core.RealOp.MAX
        for one in stmts
    )


def _plain(shuffles: list[core.Shfl]) -> bool:
    """Xor shuffles of the whole warp from registers to other registers, all different."""
    registers = [register for one in shuffles for register in (one.src, one.dst)]
    return len(set(registers)) == len(registers) and all(
        one.kind is core.ShflKind.XOR and one.width == 32 and one.mask is None for one in shuffles
    )


def _is_slot(t: Term) -> bool:
    return isinstance(t, terms.Slot)


def _whole(shuffle: core.Shfl, op: core.RealOp, first: Term, counter: str) -> Shuffled:
    """What one register holds in the end."""
    lane: Linear = quotient(variable("tX"), 32, False).scale(32) + variable(counter)
    fold = terms.Total if op is core.RealOp.ADD else terms.Largest
    total: Term = fold(counter, literal(32), terms.substitute(first, {"tX": lane}))
    found = shares(op, reductions.lane_term(first, "i"), 32, counter)
    part = None if found is None else found.part
    if found is not None:
        total = found.whole
    start = terms.substitute(first, {"tX": CELL})
    return Shuffled(op, shuffle.src, shuffle.dst, start, total, part)
