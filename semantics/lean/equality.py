"""Proof lines for pure goals about scalars: equality with the spec, positivity of denominators."""

import itertools
from collections.abc import Iterator

from semantics import core
from semantics.lean import terms as show
from semantics.symbolic import terms
from semantics.symbolic.linear import variable
from semantics.symbolic.terms import Term

_OPERATORS = {core.RealOp.ADD: "+", core.RealOp.SUB: "-", core.RealOp.MUL: "*", core.RealOp.DIV: "/"}


def equality_proof(have: Term, want: Term) -> list[str]:
    """Tactic lines that close `have = want`: by congruence where both have the same shape (indices by
    omega), otherwise by ring reasoning over the parts that were made equal first."""
    return _prove(have, want, itertools.count(1))


def similar(have: Term, want: Term, depth: int = 0) -> bool:
    """Same shape: they differ in indices, counters and conditions only."""
    name, deeper = f"d{depth}", depth + 1
    match have, want:
        case terms.Cell(a, _), terms.Cell(b, _):
            return a == b
        case terms.Unary(f, a), terms.Unary(g, b):
            return f is g and similar(a, b, depth)
        case terms.Binary(op, a, b), terms.Binary(other, c, d):
            return op is other and similar(a, c, depth) and similar(b, d, depth)
        case terms.Total(k, n, a), terms.Total(j, m, b):
            return n == m and similar(_renamed(a, k, name), _renamed(b, j, name), deeper)
        case terms.Largest(k, n, a), terms.Largest(j, m, b):
            return n == m and similar(_renamed(a, k, name), _renamed(b, j, name), deeper)
        case terms.Chosen(_, a, b), terms.Chosen(_, c, d):
            return similar(a, c, depth) and similar(b, d, depth)
        case _:
            return have == want or _same_number(have, want)


def _same_number(have: Term, want: Term) -> bool:
    """A literal and the scalar of the same integer."""
    match have, want:
        case terms.OfInt(n), terms.Number(value):
            return n.is_constant and n.constant == value
        case terms.Number(), terms.OfInt():
            return _same_number(want, have)
        case _:
            return False


def _prove(have: Term, want: Term, fresh: Iterator[int]) -> list[str]:
    if have == want:
        return ["rfl"]
    if similar(have, want):
        return _congruence(have, want, fresh)
    lines: list[str] = []
    rewrites: list[str] = []
    done: set[tuple[str, str]] = set()
    for a, b in zip(_leaves(have), _leaves(want), strict=False):
        left, right = show.scalar(a), show.scalar(b)
        if left == right or (left, right) in done or not _comparable(a, b):
            continue
        done.add((left, right))
        name = f"e{next(fresh)}"
        lines.append(f"have {name} : {left} = {right} := by")
        lines += [f"  {line}" for line in _same(a, b, fresh)]
        rewrites.append(f"all_goals (try rw [{name}])")
    return [*lines, *rewrites, "all_goals ks_ring"]


def _congruence(have: Term, want: Term, fresh: Iterator[int]) -> list[str]:
    if have == want:
        return ["rfl"]
    match have, want:
        case terms.Cell(b, _), terms.Cell():
            return [f"exact congrArg X{b} (by omega)"]
        case terms.Unary(), terms.Unary():
            return _same(have, want, fresh)
        case terms.Binary(op, a, b), terms.Binary(_, c, d):
            sign = _OPERATORS.get(op)
            name = "maxR z w" if op is core.RealOp.MAX else "minR z w"
            function = f"z {sign} w" if sign else name
            return [
                f"refine congr2 (f := fun z w : R => {function}) ?_ ?_",
                *_bullet(_congruence(a, c, fresh)),
                *_bullet(_congruence(b, d, fresh)),
            ]
        case terms.Total() | terms.Largest(), terms.Total() | terms.Largest():
            return _same(have, want, fresh)
        case terms.OfInt() | terms.Number(), terms.OfInt() | terms.Number():
            return ["ks_ring"]
        case terms.Chosen(_, a, b), terms.Chosen(_, c, d):
            return [
                "refine ite_congr (propext (by omega)) (fun _ => ?_) (fun _ => ?_)",
                *_bullet(_congruence(a, c, fresh)),
                *_bullet(_congruence(b, d, fresh)),
            ]
        case _:
            return ["rfl"]


def _same(have: Term, want: Term, fresh: Iterator[int]) -> list[str]:
    """Lines for two cells, applications or folds of one kind."""
    match have, want:
        case terms.Cell(b, _), terms.Cell():
            return [f"exact congrArg X{b} (by omega)"]
        case terms.Unary(fn, a), terms.Unary(_, b):
            function = {core.RealFn.NEG: "(fun z : R => -z)", core.RealFn.ABS: "absR"}.get(fn, fn.value)
            return [f"refine congrArg {function} ?_", *_prove(a, b, fresh)]
        case terms.Total(k, _, a), terms.Total(j, _, b):
            return _inner("sumI_congr", a, k, b, j, fresh)
        case terms.Largest(k, _, a), terms.Largest(j, _, b):
            return _inner("maxI_congr (by omega)", a, k, b, j, fresh)
        case _:
            return ["rfl"]


def _inner(lemma: str, a: Term, k: str, b: Term, j: str, fresh: Iterator[int]) -> list[str]:
    """The bodies of two folds are equal for every counter."""
    name = f"j{next(fresh)}"
    have, want = _renamed(a, k, name), _renamed(b, j, name)
    return [
        f"refine {lemma} (fun {name} {name}_0 {name}_1 => ?_)",
        f"show {show.scalar(have)} = {show.scalar(want)}",
        *_prove(have, want, fresh),
    ]


def _comparable(a: Term, b: Term) -> bool:
    match a, b:
        case terms.Cell(x, _), terms.Cell(y, _):
            return x == y
        case terms.Unary(f, _), terms.Unary(g, _):
            return f is g
        case terms.Total(_, n, _), terms.Total(_, m, _):
            return n == m
        case terms.Largest(_, n, _), terms.Largest(_, m, _):
            return n == m
        case _:
            return False


def _renamed(body: Term, counter: str, name: str) -> Term:
    return terms.substitute(body, {counter: variable(name)})


def _leaves(t: Term) -> list[Term]:
    """Cells, functions, sums and maxima in a term, left to right, not those inside one another."""
    match t:
        case terms.Unary(core.RealFn.NEG | core.RealFn.ABS, a):
            return _leaves(a)
        case terms.Cell() | terms.Unary() | terms.Total() | terms.Largest():
            return [t]
        case terms.Binary(_, a, b) | terms.Chosen(_, a, b):
            return _leaves(a) + _leaves(b)
        case _:
            return []


def _bullet(lines: list[str]) -> list[str]:
    return [f"{'· ' if at == 0 else '  '}{line}" for at, line in enumerate(lines)]


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
            case terms.Total(k, n, terms.Binary(core.RealOp.MUL, a, b)) if a == b and n.is_constant:
                inner = f"(fun {k} : Int => ({show.scalar(a)} * {show.scalar(b)} : R))"
                found.append(f"sumI_nonneg (f := {inner}) (n := {n.constant}) (fun _ _ _ => sq_nonneg _)")
            case _:
                pass

    walk(t)
    return list(dict.fromkeys(found))
