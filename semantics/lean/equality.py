"""Proof lines for pure goals about scalars: equality with the spec, positivity."""

import itertools
from collections.abc import Iterator

from semantics import core
from semantics.lean import terms as show
from semantics.symbolic import terms
from semantics.symbolic.linear import variable
from semantics.symbolic.terms import Term


def equality_proof(have: Term, want: Term) -> list[str]:
    """Tactic lines for `have = want`. Parts in the same place are made equal first, inside out (indices
    by omega, sums and maxima by congruence, arguments of functions by ring reasoning), so that at most a
    ring equation is left."""
    return _lines(have, want, itertools.count(1))


def _lines(have: Term, want: Term, fresh: Iterator[int]) -> list[str]:
    return [*_parts(have, want, fresh), "all_goals ks_ring"]


def _parts(have: Term, want: Term, fresh: Iterator[int]) -> list[str]:
    """Rewrites that make corresponding parts equal, as far as the two have the same shape."""
    if have == want:
        return []
    match have, want:
        case terms.Cell(a, i), terms.Cell(b, j) if a == b:
            return _rewrite(show.integer(i), show.integer(j), ["omega"], fresh)
        case terms.Unary(f, a), terms.Unary(g, b) if f is g:
            if f in (core.RealFn.NEG, core.RealFn.ABS):
                return _parts(a, b, fresh)
            return _rewrite(show.scalar(a), show.scalar(b), _lines(a, b, fresh), fresh)
        case terms.Binary(op, a, b), terms.Binary(other, c, d) if op is other:
            return _parts(a, c, fresh) + _parts(b, d, fresh)
        case terms.Total(k, n, a), terms.Total(l, m, b) if n == m:
            inner = _lines(_renamed(a, k, "j"), _renamed(b, l, "j"), fresh)
            return _fold("sumI_congr", have, want, inner, fresh)
        case terms.Largest(k, n, a), terms.Largest(l, m, b) if n == m:
            inner = _lines(_renamed(a, k, "j"), _renamed(b, l, "j"), fresh)
            return _fold("maxI_congr (by omega)", have, want, inner, fresh)
        case terms.Chosen(c, a, b), terms.Chosen(d, e, f):
            lines = []
            if c != d:
                name = f"e{next(fresh)}"
                lines = [
                    f"have {name} : {show.condition(c)} = {show.condition(d)} := propext (by omega)",
                    f"try simp only [{name}]",
                ]
            return lines + _parts(a, e, fresh) + _parts(b, f, fresh)
        case _:
            pairs = zip(_applications(have), _applications(want), strict=False)
            return [line for a, b in pairs for line in _parts(a, b, fresh)]


def _rewrite(left: str, right: str, proof: list[str], fresh: Iterator[int]) -> list[str]:
    if left == right:
        return []
    name = f"e{next(fresh)}"
    return [f"have {name} : {left} = {right} := by", *(f"  {line}" for line in proof), f"try rw [{name}]"]


def _fold(lemma: str, have: Term, want: Term, inner: list[str], fresh: Iterator[int]) -> list[str]:
    name = f"e{next(fresh)}"
    return [
        f"have {name} : {show.scalar(have)} = {show.scalar(want)} := by",
        f"  refine {lemma} (fun j j0 j1 => ?_)",
        f"  show {show.scalar(_renamed_body(have))} = {show.scalar(_renamed_body(want))}",
        *(f"  {line}" for line in inner),
        f"try rw [{name}]",
    ]


def _renamed_body(fold: Term) -> Term:
    assert isinstance(fold, terms.Total | terms.Largest)
    return _renamed(fold.body, fold.counter, "j")


def _renamed(body: Term, counter: str, name: str) -> Term:
    return terms.substitute(body, {counter: variable(name)})


def _applications(t: Term) -> list[Term]:
    """Functions, sums and maxima in a term, left to right, not those inside one another."""
    match t:
        case terms.Unary(core.RealFn.NEG | core.RealFn.ABS, a):
            return _applications(a)
        case terms.Unary() | terms.Total() | terms.Largest():
            return [t]
        case terms.Binary(_, a, b) | terms.Chosen(_, a, b):
            return _applications(a) + _applications(b)
        case _:
            return []


def positivity_hints(t: Term) -> list[str]:
    """Facts that show denominators are not zero."""
    found: list[str] = []

    def walk(t: Term) -> None:
        match t:
            case terms.Unary(fn, a):
                walk(a)
                if fn is core.RealFn.EXP:
                    found.append(f"exp_pos {show.scalar(a)}")
            case terms.Binary(_, a, b) | terms.Chosen(_, a, b):
                walk(a)
                walk(b)
            case terms.Total(k, n, terms.Unary(core.RealFn.EXP, a)) if n.is_constant:
                inner = f"(fun {k} : Int => (exp {show.scalar(a)} : R))"
                found.append(
                    f"sumI_pos (f := {inner}) (n := {n.constant}) (by omega) (fun _ _ _ => exp_pos _)"
                )
            case _:
                pass

    walk(t)
    return list(dict.fromkeys(found))
