"""Normal forms of symbolic values under known ranges: which two terms are equal, before Lean proves it.

Indices are simplified by interval arithmetic; scalars become polynomials over cells, functions, sums
and maxima, with sums split by linearity. Nothing here is trusted."""

from collections.abc import Iterable, Mapping
from fractions import Fraction

from semantics import core
from semantics.symbolic import terms
from semantics.symbolic.linear import Choice, Indicator, Linear, Quotient, choice, literal, quotient, variable
from semantics.symbolic.terms import Condition, Term

Range = tuple[int, int | None]
Ranges = Mapping[str, Range]
Monomial = frozenset[tuple[object, int]]
Polynomial = frozenset[tuple[Monomial, Fraction]]
"""Monomials with their coefficients; a monomial is a set of atoms with their powers."""

_LIMIT = 400


class TooLarge(Exception):
    """The normal form has too many monomials to be worth it."""


def bounds(x: Linear, ranges: Ranges) -> tuple[int | None, int | None]:
    """Least and greatest value; None is unbounded."""
    low: int | None = x.constant
    high: int | None = x.constant
    for atom, n in x.terms:
        a, b = _atom_bounds(atom, ranges)
        first, last = (a, b) if n > 0 else (b, a)
        low = None if low is None or first is None else low + n * first
        high = None if high is None or last is None else high + n * last
    return low, high


def _atom_bounds(atom: str | Quotient | Choice | Indicator, ranges: Ranges) -> tuple[int | None, int | None]:
    match atom:
        case str():
            return ranges.get(atom, (None, None))
        case Quotient(remainder, a, c):
            low, high = bounds(a, ranges)
            if remainder:
                return 0, c - 1
            return None if low is None else low // c, None if high is None else high // c
        case Indicator():
            return 0, 1
        case Choice(larger, a, b):
            (a0, a1), (b0, b1) = bounds(a, ranges), bounds(b, ranges)
            pick = max if larger else min
            return (
                None if a0 is None or b0 is None else pick(a0, b0),
                None if a1 is None or b1 is None else pick(a1, b1),
            )


def index(x: Linear, ranges: Ranges) -> Linear:
    """The same value with divisions carried out where the ranges decide them."""
    result = literal(x.constant)
    for atom, n in x.terms:
        match atom:
            case str():
                low, high = ranges.get(atom, (None, None))
                part = literal(low) if low is not None and low == high else variable(atom)
            case Quotient(remainder, a, c):
                part = _divided(index(a, ranges), c, remainder, ranges)
            case Choice(larger, a, b):
                first, second = index(a, ranges), index(b, ranges)
                part = _chosen(first, second, larger, ranges)
            case Indicator():
                part = Linear(0, ((atom, 1),))
        result = result + part.scale(n)
    return result


def _divided(a: Linear, c: int, remainder: bool, ranges: Ranges) -> Linear:
    whole = literal(0)
    rest = literal(a.constant)
    for atom, n in a.terms:
        one = Linear(0, ((atom, 1),))
        if n % c == 0:
            whole = whole + one.scale(n // c)
        else:
            rest = rest + one.scale(n)
    low, high = bounds(rest, ranges)
    if low is not None and high is not None and low // c == high // c:
        t = low // c
        return rest.plus(-c * t) if remainder else whole.plus(t)
    if remainder:
        return quotient(rest, c, True)
    return whole + quotient(rest, c, False)


def _chosen(a: Linear, b: Linear, larger: bool, ranges: Ranges) -> Linear:
    low, high = bounds(a - b, ranges)
    if low is not None and low >= 0:
        return a if larger else b
    if high is not None and high <= 0:
        return b if larger else a
    return choice(a, b, larger)


def known(
    extents: Mapping[str, int], counters: Iterable[str], guards: tuple[Condition, ...]
) -> dict[str, Range]:
    """Ranges at a point: coordinates below their extents, counters at least 0, narrowed by the guards."""
    found: dict[str, Range] = {name: (0, n - 1) for name, n in extents.items()}
    found |= dict.fromkeys(counters, (0, None))
    return under(under(found, guards), guards)


def under(ranges: Ranges, guards: Iterable[Condition]) -> dict[str, Range]:
    """Ranges of single variables that conditions narrow."""
    found = dict(ranges)
    for guard in guards:
        for low_side in _differences(guard):
            _narrow(found, low_side)
    return found


def _differences(guard: Condition) -> list[Linear]:
    """Linear forms that are at least 0 when the condition holds."""
    match guard:
        case terms.Compare(core.CmpOp.LT, a, b):
            return [(b - a).plus(-1)]
        case terms.Compare(core.CmpOp.LE, a, b):
            return [b - a]
        case terms.Compare(core.CmpOp.EQ, a, b):
            return [b - a, a - b]
        case terms.Negation(terms.Compare(core.CmpOp.LT, a, b)):
            return [a - b]
        case terms.Negation(terms.Compare(core.CmpOp.LE, a, b)):
            return [(a - b).plus(-1)]
        case terms.Negation(terms.Either(a, b)):
            return _differences(terms.Negation(a)) + _differences(terms.Negation(b))
        case terms.Negation(terms.Negation(a)):
            return _differences(a)
        case terms.Both(a, b):
            return _differences(a) + _differences(b)
        case _:
            return []


def _narrow(ranges: dict[str, Range], form: Linear) -> None:
    for atom, n in form.terms:
        if not isinstance(atom, str):
            continue
        rest = form - variable(atom).scale(n)
        _, high = bounds(rest, ranges)
        if high is None:
            continue
        low, top = ranges.get(atom, (None, None))
        if n > 0:
            bound = -(high // n)
            low = bound if low is None else max(low, bound)
        else:
            bound = high // -n
            top = bound if top is None else min(top, bound)
        if low is not None:
            ranges[atom] = (low, top)


# ---------------------------------------------------------------- scalars


def same(a: Term, b: Term, ranges: Ranges) -> bool:
    """Whether both have one normal form."""
    try:
        return normal(a, ranges) == normal(b, ranges)
    except (TooLarge, RecursionError):
        return False


def normal(t: Term, ranges: Ranges) -> Polynomial:
    """The polynomial of a term. Raises TooLarge."""
    match t:
        case terms.Number(value):
            return _constant(value)
        case terms.OfInt(n):
            simple = index(n, ranges)
            return _constant(Fraction(simple.constant)) if simple.is_constant else _atom("int", simple)
        case terms.NegInf():
            return _atom("ninf")
        case terms.Named(name, kind):
            return _atom("named", name, kind)
        case terms.Cell(buffer, at):
            return _atom("cell", buffer, index(at, ranges))
        case terms.Slot(buffer, at):
            return _atom("slot", buffer, index(at, ranges))
        case terms.Unary(core.RealFn.NEG, a):
            return _scaled(normal(a, ranges), Fraction(-1))
        case terms.Unary(fn, a):
            return _atom("fn", fn, normal(a, ranges))
        case terms.Binary(op, a, b):
            return _binary(op, normal(a, ranges), normal(b, ranges))
        case terms.Chosen(cond, a, b):
            decided = condition(cond, ranges)
            if decided in (True, False):
                return normal(a if decided else b, ranges)
            return _atom("if", decided, normal(a, ranges), normal(b, ranges))
        case terms.Total(counter, count, body):
            return _total(counter, index(count, ranges), body, ranges)
        case terms.Largest(counter, count, body):
            n = index(count, ranges)
            inner, name = _inside(n, body, ranges)
            renamed = terms.substitute(body, {counter: variable(name)})
            return _atom("max over", n, normal(renamed, inner))


def _inside(n: Linear, body: Term, ranges: Ranges) -> tuple[dict[str, Range], str]:
    """The ranges inside a fold, and the name of its counter: by the folds inside, so that it does not
    depend on those around."""
    name = f"#{_height(body)}"
    _, high = bounds(n, ranges)
    return {**ranges, name: (0, None if high is None else max(high - 1, 0))}, name


def _height(t: Term) -> int:
    """How deep folds stand inside one another."""
    match t:
        case terms.Total(_, _, a) | terms.Largest(_, _, a):
            return 1 + _height(a)
        case terms.Unary(_, a):
            return _height(a)
        case terms.Binary(_, a, b):
            return max(_height(a), _height(b))
        case terms.Chosen(cond, a, b):
            inside = [_height(x) for x in (cond.a, cond.b)] if isinstance(cond, terms.CompareReal) else []
            return max(_height(a), _height(b), *inside)
        case _:
            return 0


def _total(counter: str, n: Linear, body: Term, ranges: Ranges) -> Polynomial:
    """A sum, split by linearity."""
    inner, name = _inside(n, body, ranges)
    inside = normal(terms.substitute(body, {counter: variable(name)}), inner)
    length = _constant(Fraction(n.constant)) if n.is_constant else _atom("int", n)
    result: Polynomial = frozenset()
    for monomial, value in inside:
        bound = frozenset(one for one in monomial if _depends(one, name))
        free = monomial - bound
        part = _atom("sum", n, bound) if bound else length
        result = _added(result, _scaled(_multiplied(frozenset({(free, Fraction(1))}), part), value))
    return result


def _depends(part: object, name: str) -> bool:
    if isinstance(part, Linear):
        return name in part.names()
    if isinstance(part, tuple | frozenset):
        return any(_depends(one, name) for one in part)
    return False


def _constant(value: Fraction) -> Polynomial:
    return frozenset({(frozenset(), value)}) if value else frozenset()


def _atom(*parts: object) -> Polynomial:
    return frozenset({(frozenset({(parts, 1)}), Fraction(1))})


def _added(a: Polynomial, b: Polynomial) -> Polynomial:
    sums = dict(a)
    for monomial, n in b:
        sums[monomial] = sums.get(monomial, Fraction(0)) + n
    if len(sums) > _LIMIT:
        raise TooLarge
    return frozenset((monomial, n) for monomial, n in sums.items() if n)


def _scaled(a: Polynomial, by: Fraction) -> Polynomial:
    return frozenset((monomial, n * by) for monomial, n in a) if by else frozenset()


def _multiplied(a: Polynomial, b: Polynomial) -> Polynomial:
    result: dict[Monomial, Fraction] = {}
    if len(a) * len(b) > _LIMIT:
        raise TooLarge
    for left, n in a:
        for right, m in b:
            powers: dict[object, int] = {}
            for atom, power in (*left, *right):
                powers[atom] = powers.get(atom, 0) + power
            monomial = frozenset((x, p) for x, p in powers.items() if p)
            result[monomial] = result.get(monomial, Fraction(0)) + n * m
    return frozenset((monomial, n) for monomial, n in result.items() if n)


def _binary(op: core.RealOp, a: Polynomial, b: Polynomial) -> Polynomial:
    match op:
        case core.RealOp.ADD:
            return _added(a, b)
        case core.RealOp.SUB:
            return _added(a, _scaled(b, Fraction(-1)))
        case core.RealOp.MUL:
            return _multiplied(a, b)
        case core.RealOp.DIV:
            return _multiplied(a, _inverse(b))
        case core.RealOp.MAX | core.RealOp.MIN:
            return _atom(op, frozenset({a, b}))


def _inverse(b: Polynomial) -> Polynomial:
    if len(b) == 1:
        ((monomial, n),) = b
        inverted = frozenset((atom, -power) for atom, power in monomial)
        return frozenset({(inverted, 1 / n)}) if n else _atom("inverse", b)
    return _atom("inverse", b)


def condition(c: Condition, ranges: Ranges) -> object:
    """A normal form of a condition; a bool when the ranges decide it."""
    match c:
        case terms.Truth(value):
            return value
        case terms.Compare(op, a, b):
            return _compared(op, index(a, ranges), index(b, ranges), ranges)
        case terms.CompareReal(op, x, y):
            return ("real", op, normal(x, ranges), normal(y, ranges))
        case terms.Negation(a):
            inner = condition(a, ranges)
            return (not inner) if isinstance(inner, bool) else ("not", inner)
        case terms.Both(a, b):
            return _joined("and", condition(a, ranges), condition(b, ranges), True)
        case terms.Either(a, b):
            return _joined("or", condition(a, ranges), condition(b, ranges), False)


def _compared(op: core.CmpOp, a: Linear, b: Linear, ranges: Ranges) -> object:
    spare = b - a if op is not core.CmpOp.LT else (b - a).plus(-1)
    low, high = bounds(spare, ranges)
    if op is core.CmpOp.EQ:
        if low is not None and low == high == 0:
            return True
        outside = (low is not None and low > 0) or (high is not None and high < 0)
        return False if outside else ("zero", spare)
    if low is not None and low >= 0:
        return True
    if high is not None and high < 0:
        return False
    return ("at least 0", spare)


def _joined(word: str, a: object, b: object, neutral: bool) -> object:
    if isinstance(a, bool):
        return b if a is neutral else a
    if isinstance(b, bool):
        return a if b is neutral else b
    parts: frozenset[object] = frozenset()
    for one in (a, b):
        inside = one[1] if isinstance(one, tuple) and one[0] == word else frozenset({one})
        parts |= inside
    return (word, parts)
