"""Proof lines for sums whose loops leave out the elements that add nothing: `sum over max(0, a) <= k < min(n, b)`
of the elements inside is the sum over all `k < n` in which those outside are 0."""

from collections.abc import Callable, Iterator

from semantics.lean import terms as show
from semantics.lean.identities import Step, subterms
from semantics.lean.lemmas import bullet
from semantics.symbolic import normal, terms
from semantics.symbolic.linear import Choice, Linear, Quotient, literal, variable
from semantics.symbolic.normal import Ranges
from semantics.symbolic.terms import Term

Equal = Callable[[Term, Term, Ranges], list[str]]
"""Lines for an equality of two terms."""


def rewrite(have: Term, want: Term, ranges: Ranges, equal: Equal) -> Step | None:
    """A bounded sum in `have` is the sum in `want` over the whole range."""
    for part in subterms(have):
        if not isinstance(part, terms.Total) or not _bounded(part):
            continue
        for whole in subterms(want):
            if isinstance(whole, terms.Total) and _nested(part) == _nested(whole) and not _bounded(whole):
                lines = [*digit_facts(whole), *_Window(equal).lines(part, whole, ranges, 0)]
                return Step(part, whole, tuple(lines))
    return None


def digit_facts(t: Term) -> list[str]:
    """What the quotients in a term are, innermost first, where their terms show it: each is a fact of its own
    for omega. A guess that fails is left out."""
    free, found = terms.names(t), dict[Quotient, Linear]()

    def known(x: Linear) -> Linear:
        result = literal(x.constant)
        for atom, n in x.terms:
            part = found.get(atom) if isinstance(atom, Quotient) else None
            result = result + (part or Linear(0, ((atom, 1),))).scale(n)
        return result

    def walk(x: Linear) -> Linear:
        for atom, _ in x.terms:
            if isinstance(atom, Quotient) and atom.a.names() <= free and atom not in found:
                walk(atom.a)
                inner = known(atom.a)
                whole = Linear(0, tuple((part, n // atom.c) for part, n in inner.terms if n % atom.c == 0))
                if whole.terms:
                    found[atom] = inner - whole.scale(atom.c) if atom.remainder else whole
        return x

    terms.mapped(t, walk)
    return [
        f"try have : {show.integer(Linear(0, ((atom, 1),)))} = {show.integer(value)} := by omega"
        for atom, value in found.items()
    ]


def _nested(t: Term) -> int:
    """How many sums stand directly in one another."""
    return 1 + _nested(t.body) if isinstance(t, terms.Total) else 0


def _bounded(t: Term) -> bool:
    """Whether one of them has a length that is not a literal."""
    return isinstance(t, terms.Total) and (not t.count.is_constant or _bounded(t.body))


class _Window:
    """Writes the lines, outermost sum first; names carry the depth."""

    def __init__(self, equal: Equal) -> None:
        self.equal = equal

    def lines(self, have: Term, want: Term, ranges: Ranges, depth: int) -> list[str]:
        """Lines for `have = want`."""
        if not isinstance(have, terms.Total) or not isinstance(want, terms.Total):
            return self._inside(have, want, ranges)
        i, k = f"k{depth}i", f"s{depth}k"
        part = terms.substitute(have.body, {have.counter: variable(i)})
        whole = terms.substitute(want.body, {want.counter: variable(k)})
        element = f"show {show.scalar(part)} = {show.scalar(whole)}"
        _, most = normal.bounds(have.count, ranges)
        inner = {**ranges, i: (0, None if most is None else max(most - 1, 0))}
        names = f"{i} {k} {i}0 {i}1 {k}e"
        if have.count == want.count:
            first = f"refine sumI_same (fun {names} => ?_)"
            return [first, element, *self.lines(part, whole, {**inner, k: inner[i]}, depth + 1)]
        low = _start(have.count)
        inner = {**inner, k: (0, want.count.constant - 1)}
        return [
            f"refine sumI_window {show.integer(low)} (by omega) (fun {names} => ?_) (fun {k} {k}0 {k}1 {k}o => ?_)",
            *bullet([element, *self.lines(part, whole, inner, depth + 1)]),
            *bullet([f"show {show.scalar(whole)} = 0", *self._outside(whole, depth + 1)]),
        ]

    def _inside(self, have: Term, want: Term, ranges: Ranges) -> list[str]:
        """Every choice in the whole sum takes the element."""
        lines, taken = [], want
        for one in choices(want):
            lines.append(f"rw [show {show.scalar(one)} = {show.scalar(one.a)} from if_pos (by omega)]")
            taken = _taken(taken, one)
        return [*lines, *self.equal(have, taken, ranges)]

    def _outside(self, whole: Term, depth: int) -> list[str]:
        """An element of the whole sum that the bounds leave out is 0."""
        if isinstance(whole, terms.Total):
            k = f"s{depth}k"
            body = terms.substitute(whole.body, {whole.counter: variable(k)})
            first = f"refine sumI_vanish (fun {k} {k}0 {k}1 => ?_)"
            return [first, f"show {show.scalar(body)} = 0", *self._outside(body, depth + 1)]
        found = choices(whole)
        lines = [f"rw [show {show.scalar(one)} = {show.scalar(one.b)} from if_neg (by omega)]" for one in found]
        return [*lines, "ks_ring"]


def choices(t: Term) -> list[terms.Chosen]:
    """The choices in an element, under ring operations."""
    return list(dict.fromkeys(_choices(t)))


def _choices(t: Term) -> Iterator[terms.Chosen]:
    match t:
        case terms.Chosen():
            yield t
        case terms.Binary(_, a, b):
            yield from _choices(a)
            yield from _choices(b)
        case terms.Unary(_, a):
            yield from _choices(a)
        case _:
            pass


def _taken(t: Term, one: terms.Chosen) -> Term:
    """The term with a choice replaced by its first side."""
    match t:
        case terms.Chosen() if t == one:
            return one.a
        case terms.Binary(op, a, b):
            return terms.Binary(op, _taken(a, one), _taken(b, one))
        case terms.Unary(fn, a):
            return terms.Unary(fn, _taken(a, one))
        case _:
            return t


def _start(count: Linear) -> Linear:
    """The first counter of a bounded loop, from its number of rounds `end - start`."""
    for atom, n in count.terms:
        if isinstance(atom, Choice) and atom.larger and n == -1:
            return Linear(0, ((atom, 1),))
    return literal(0)
