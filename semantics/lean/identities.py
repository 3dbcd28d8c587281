"""Identities of the Lean library, as rewriting steps on symbolic values."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from semantics import core
from semantics.lean import terms as show
from semantics.symbolic import normal, terms
from semantics.symbolic.linear import Linear, literal, variable
from semantics.symbolic.normal import Ranges
from semantics.symbolic.terms import Term

_ADD, _SUB, _MUL, _DIV = core.RealOp.ADD, core.RealOp.SUB, core.RealOp.MUL, core.RealOp.DIV


@dataclass(frozen=True, slots=True)
class Step:
    """`part` equals `by`; `proof` closes that equality up to the equality `rest` of two terms."""

    part: Term
    by: Term
    proof: tuple[str, ...]
    rest: tuple[Term, Term] | None = None


def rewrite(have: Term, want: Term, ranges: Ranges) -> Step | None:
    """A step on a part of `have` that stands under ring operations only, towards `want`."""
    for part in subterms(have):
        for rule in (_variance, _one_sum, _appended):
            step = rule(part, want, ranges)
            if step is not None:
                return step
    return None


def subterms(t: Term) -> Iterator[Term]:
    """The term and its parts that stand under ring operations and choices only."""
    yield t
    match t:
        case terms.Unary(_, a):
            yield from subterms(a)
        case terms.Binary(_, a, b) | terms.Chosen(_, a, b):
            yield from subterms(a)
            yield from subterms(b)


def _size(t: Term, ranges: Ranges) -> int | None:
    """The integer a term stands for, where it is one."""
    match t:
        case terms.Number(value) if value.denominator == 1:
            return int(value)
        case terms.OfInt(n):
            simple = normal.index(n, ranges)
            return simple.constant if simple.is_constant else None
        case _:
            return None


def _variance(part: Term, _want: Term, ranges: Ranges) -> Step | None:
    """`sum x^2 / n - mean * mean`, or its maximum with 0, is `sum (x - mean)^2 / n`."""
    maximum = False
    inner = part
    match part:
        case terms.Binary(core.RealOp.MAX, inner, terms.Number(zero)) if zero == 0:
            maximum = True
        case _:
            pass
    match inner:
        case terms.Binary(
            core.RealOp.SUB,
            terms.Binary(core.RealOp.DIV, terms.Total(k, n, terms.Binary(core.RealOp.MUL, f, g)), size),
            terms.Binary(core.RealOp.MUL, mean, again),
        ) if f == g and mean == again and n.is_constant and n.constant > 0:
            pass
        case _:
            return None
    if _size(size, ranges) != n.constant:
        return None
    plain = terms.Binary(core.RealOp.DIV, terms.Total(k, n, f), size)
    if not normal.same(mean, plain, ranges):
        return None
    off = terms.Binary(core.RealOp.SUB, f, mean)
    by = terms.Binary(core.RealOp.DIV, terms.Total(k, n, terms.Binary(core.RealOp.MUL, off, off)), size)
    lemma = "one_pass_max" if maximum else "one_pass"
    function = f"(f := fun {k} : Int => {show.scalar(f)})"
    proof = (
        f"have hn : {show.scalar(size)} = (ofInt {n.constant} : R) := by ks_ring",
        f"have hz : {show.literal(Fraction(0))} = (0 : R) := by ks_ring",
        f"have hm : {show.scalar(mean)} = {show.scalar(plain)} := rfl",
        *(["rw [hz]"] if maximum else []),
        f"exact {lemma} {function} (n := {n.constant}) (by omega) hn hm",
    )
    return Step(part, by, proof)


def _nested(part: Term) -> tuple[str, int, str, int, Term] | None:
    match part:
        case terms.Total(k, n, terms.Total(j, m, body)) if n.is_constant and m.is_constant:
            return k, n.constant, j, m.constant, body
        case _:
            return None


def _one_sum(part: Term, _want: Term, ranges: Ranges) -> Step | None:
    """A sum of `w` partial sums over every `w`-th element is one sum."""
    found = _nested(part)
    if found is None:
        return None
    k, w, j, m, body = found
    flat = variable("i")
    # body(k, j) = f(j * w + k)
    function = _function_of(body, {j: w, k: 1})
    if function is None:
        return None
    by = terms.Total("i", literal(w * m), terms.substitute(function, {"": flat}))
    text = f"(f := fun i : Int => {show.scalar(terms.substitute(function, {'': flat}))})"
    inside = terms.substitute(function, {"": variable(f"({j} * {w} + {k})")})
    proof = (
        f"refine Eq.trans ?_ (sumI_strided {text} (w := {w}) (m := {m}) (W := {w}) rfl rfl)",
        f"refine sumI_congr (fun {k} {k}_0 {k}_1 => sumI_congr (fun {j} {j}_0 {j}_1 => ?_))",
        f"show {show.scalar(body)} = {show.scalar(inside)}",
    )
    return Step(part, by, proof, (body, inside))


def _function_of(body: Term, strides: dict[str, int]) -> Term | None:
    """`f` with `body = f(sum of stride * counter)`; its argument is the atom with the empty name."""
    (first, scale), (second, unit) = strides.items()
    if unit != 1:
        return None
    replaced = terms.substitute(body, {second: variable("") - variable(first).scale(scale)})
    return None if first in terms.names(replaced) else replaced


def _appended(part: Term, _want: Term, ranges: Ranges) -> Step | None:
    """A sum and the sum over the elements that follow are one sum."""
    match part:
        case terms.Binary(core.RealOp.ADD, terms.Total(k, n, f), terms.Total(j, m, g)) if (
            n.is_constant and m.is_constant and n.constant > 0
        ):
            pass
        case _:
            return None
    shifted = terms.substitute(f, {k: variable(j) + n})
    if not normal.same(shifted, g, {**ranges, j: (0, m.constant - 1)}):
        return None
    by = terms.Total(k, Linear(n.constant + m.constant), f)
    name = f"{j}_"
    left = terms.substitute(g, {j: variable(name)})
    right = terms.substitute(f, {k: variable(f"({name} + {n.constant})")})
    proof = (
        f"refine Eq.trans ?_ (sumI_append (f := fun {k} : Int => {show.scalar(f)}) (n := {n.constant}) "
        f"(m := {m.constant}) (N := {n.constant}) rfl rfl)",
        f"refine congr2 (f := fun z w : R => z + w) rfl (sumI_congr (fun {name} {name}0 {name}1 => ?_))",
        f"show {show.scalar(left)} = {show.scalar(right)}",
    )
    return Step(part, by, proof, (left, right))
