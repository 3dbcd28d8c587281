"""Proof lines for a running maximum and a sum of exponentials relative to it."""

from collections.abc import Iterator

from semantics import core
from semantics.symbolic import terms
from semantics.symbolic.terms import Term

_CLOSE = "(by first | rfl | (ks_spec; done))"
STEP = f"(congrArg Ext.fin (online_step (by omega) {_CLOSE}))"
"""A round of the sum, as an equation in `Ext R`."""


def lemmas(term: Term | None) -> str:
    """What `simp` needs for a value, as the end of a list of lemmas: exponentials of differences of which the
    first operand may be -infinity."""
    return ", exp_sub_fin" if term is not None and any(_open_exponents(term)) else ""


def value_lines(term: Term | None, simplify: str) -> list[str]:
    """The bullet that a register gets the value `term`; `simplify` is the tactic for plain values. The maximum of
    one more element is a step of the fold."""
    match term:
        case terms.Largest(_, count, _) if not count.is_constant and terms.positive(count):
            return [f"· first | ({simplify}; done) | ({simplify}; exact maxE_next (by omega) {_CLOSE})"]
        case _:
            return [f"· {simplify}"]


def _open_exponents(t: Term) -> Iterator[bool]:
    match t:
        case terms.Unary(core.RealFn.EXP, terms.Binary(core.RealOp.SUB, a, b)):
            yield terms.may_be_infinite(a)
            yield from _open_exponents(b)
        case terms.Unary(_, a):
            yield from _open_exponents(a)
        case terms.Binary(_, a, b) | terms.Chosen(_, a, b):
            yield from _open_exponents(a)
            yield from _open_exponents(b)
        case _:
            pass
