"""Proof lines for pure goals about scalars: equality with the spec, positivity."""

from semantics import core
from semantics.lean import terms as show
from semantics.symbolic import terms
from semantics.symbolic.terms import Term

_OPAQUE = (
    core.RealFn.EXP,
    core.RealFn.LOG,
    core.RealFn.SQRT,
    core.RealFn.RSQRT,
    core.RealFn.TANH,
    core.RealFn.ERF,
    core.RealFn.SIN,
    core.RealFn.COS,
)


def equality_proof(have: Term, want: Term) -> list[str]:
    """Tactic lines for `have = want`: the arguments of functions are made equal first, inside out, so
    that ring reasoning is left."""
    if have == want:
        return ["rfl"]
    lines: list[str] = []
    done: set[tuple[str, str]] = set()
    for a, b in zip(_applications(have), _applications(want), strict=False):
        key = (show.scalar(a), show.scalar(b))
        if a == b or a.fn is not b.fn or key in done:
            continue
        done.add(key)
        name = f"e{len(done)}"
        lines.append(f"have {name} : {show.scalar(a.a)} = {show.scalar(b.a)} := by ks_ring")
        lines.append(f"rw [{name}]")
    return [*lines, "all_goals ks_ring"]


def _applications(t: Term) -> list[terms.Unary]:
    """The applications of functions in a term, inner ones first, left to right."""
    match t:
        case terms.Unary(fn, a):
            return [*_applications(a), *([t] if fn in _OPAQUE else [])]
        case terms.Binary(_, a, b) | terms.Chosen(_, a, b):
            return _applications(a) + _applications(b)
        case terms.Total(_, _, a) | terms.Largest(_, _, a):
            return _applications(a)
        case _:
            return []


def positivity_hints(t: Term) -> list[str]:
    """Facts that show denominators are not zero."""
    found = []
    for application in _applications(t):
        if application.fn is core.RealFn.EXP:
            found.append(f"exp_pos {show.scalar(application.a)}")
    return list(dict.fromkeys(found))
