"""Proof lines for pure goals about scalars: equality with the spec, positivity of denominators.

Two terms are proved equal by congruence where they have the same shape (indices by omega). Otherwise
the parts that are no ring operations (cells, functions, sums, maxima) are matched by their normal forms,
each pair is proved equal by itself, and what is left is an identity between polynomials in variables."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from semantics import core
from semantics.lean import identities, windows
from semantics.lean import terms as show
from semantics.symbolic import normal, terms
from semantics.symbolic.linear import variable
from semantics.symbolic.normal import Ranges
from semantics.symbolic.terms import Condition, Term

_OPERATORS = {core.RealOp.ADD: "+", core.RealOp.SUB: "-", core.RealOp.MUL: "*", core.RealOp.DIV: "/"}
_NOTHING: Mapping[str, normal.Range] = {}


@dataclass(slots=True)
class Equality:
    """The proof of one equality. `keys` are the polynomial identities it needs, as tactic lines that hold
    without any hypothesis; they come before `lines`."""

    keys: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


def equality(have: Term, want: Term, ranges: Ranges = _NOTHING) -> Equality:
    """Tactic lines that close `have = want`; `ranges` bounds the integers in scope."""
    prover = _Prover()
    lines = prover.prove(have, want, ranges)
    return Equality(prover.keys, lines)


def equality_proof(have: Term, want: Term, ranges: Ranges = _NOTHING) -> list[str]:
    """The same as one list."""
    found = equality(have, want, ranges)
    return [*found.keys, *found.lines]


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


class _Prover:
    def __init__(self) -> None:
        self.keys: list[str] = []
        self._fresh: Iterator[int] = itertools.count(1)

    def prove(self, have: Term, want: Term, ranges: Ranges) -> list[str]:
        if have == want:
            return ["rfl"]
        if similar(have, want) and not _crossed(have, want, ranges):
            return self._congruence(have, want, ranges)
        step = identities.rewrite(have, want, ranges) or windows.rewrite(have, want, ranges, self.prove)
        if step is not None:
            return self._rewritten(have, want, step, ranges)
        return self._by_parts(have, want, ranges)

    def _rewritten(self, have: Term, want: Term, step: identities.Step, ranges: Ranges) -> list[str]:
        """Replace a part of `have` by what an identity of the library says it equals."""
        name = f"w{next(self._fresh)}"
        hole: Term = terms.Named("z", "scalar")
        replaced = _replaced(have, {step.part: step.by})
        return [
            f"have {name} : {show.scalar(step.part)} = {show.scalar(step.by)} := by",
            *(f"  {line}" for line in step.proof),
            *(f"  {line}" for line in (self._congruence(*step.rest, ranges) if step.rest else [])),
            f"refine (congrArg (fun z : R => {show.scalar(_replaced(have, {step.part: hole}))}) {name}).trans ?_",
            f"show {show.scalar(replaced)} = {show.scalar(want)}",
            *self.prove(replaced, want, ranges),
        ]

    def _by_parts(self, have: Term, want: Term, ranges: Ranges) -> list[str]:
        left = list(dict.fromkeys(_parts(have)))
        right = list(dict.fromkeys(_parts(want)))
        pairs = _matched(left, right, ranges)
        names: dict[Term, Term] = {}
        other: dict[Term, Term] = {}
        for at, part in enumerate(left):
            names[part] = terms.Named(f"u{at}", "scalar")
        for at, part in enumerate(right):
            other[part] = names[part] if part in names else terms.Named(f"v{at}", "scalar")
        loose = [part for part in right if part not in names]
        variables = [_name(x) for x in (*names.values(), *(other[part] for part in loose))]
        unequal = [(a, b) for a, b in pairs if a != b]
        premises = [f"{_name(names[a])} = {_name(other[b])}" for a, b in unequal]
        key = f"r{next(self._fresh)}"
        hypotheses = [f"p{at}" for at in range(len(premises))]
        goal = f"{show.scalar(_replaced(have, names))} = {show.scalar(_replaced(want, other))}"
        proof = [
            f"have {key} : ∀ {' '.join(variables)} : R, {' → '.join([*premises, goal])} := by"
            if variables
            else f"have {key} : {goal} := by",
            *([f"  intro {' '.join([*variables, *hypotheses])}"] if variables else []),
            *(f"  subst {name}" for name in hypotheses),
            "  ks_ring",
        ]
        lines: list[str] = []
        shown = (_replaced(have, names), _replaced(want, other))
        if any(isinstance(part, terms.Chosen) or terms.names(part) for t in shown for part in _every(t)):
            lines += proof
        else:
            self.keys += proof
        facts = []
        for a, b in unequal:
            name = f"e{next(self._fresh)}"
            lines.append(f"have {name} : {show.scalar(a)} = {show.scalar(b)} := by")
            lines += [f"  {line}" for line in self._same(a, b, ranges)]
            facts.append(name)
        given = [show.scalar(part) for part in (*left, *loose)]
        return [*lines, f"exact {' '.join([key, *given, *facts])}"]

    def _congruence(self, have: Term, want: Term, ranges: Ranges) -> list[str]:
        if have == want:
            return ["rfl"]
        match have, want:
            case terms.Cell(b, _), terms.Cell():
                return [f"exact congrArg X{b} (by omega)"]
            case terms.Unary() | terms.Total() | terms.Largest(), _:
                return self._same(have, want, ranges)
            case terms.Binary(op, a, b), terms.Binary(_, c, d):
                sign = _OPERATORS.get(op)
                name = "maxR z w" if op is core.RealOp.MAX else "minR z w"
                function = f"z {sign} w" if sign else name
                return [
                    f"refine congr2 (f := fun z w : R => {function}) ?_ ?_",
                    *_bullet(self._congruence(a, c, ranges)),
                    *_bullet(self._congruence(b, d, ranges)),
                ]
            case terms.OfInt() | terms.Number(), terms.OfInt() | terms.Number():
                return ["ks_ring"]
            case terms.Chosen(_, a, b), terms.Chosen(_, c, d):
                return [
                    *(windows.digit_facts(terms.Binary(core.RealOp.MUL, have, want)) if have != want else []),
                    "refine ite_congr (propext (by omega)) (fun _ => ?_) (fun _ => ?_)",
                    *_bullet(self._congruence(a, c, ranges)),
                    *_bullet(self._congruence(b, d, ranges)),
                ]
            case _:
                return ["rfl"]

    def _same(self, have: Term, want: Term, ranges: Ranges) -> list[str]:
        """Lines for two cells, applications or folds of one kind."""
        match have, want:
            case terms.Cell(b, _), terms.Cell():
                return [f"exact congrArg X{b} (by omega)"]
            case terms.Unary(fn, a), terms.Unary(_, b):
                function = {core.RealFn.NEG: "(fun z : R => -z)", core.RealFn.ABS: "absR"}.get(fn, fn.value)
                return [f"refine congrArg {function} ?_", *self.prove(a, b, ranges)]
            case terms.Total(k, n, a), terms.Total(j, _, b):
                return self._inner("sumI_congr", a, k, b, j, _below(n, ranges), ranges)
            case terms.Largest(k, n, a), terms.Largest(j, _, b):
                return self._inner("maxI_congr (by omega)", a, k, b, j, _below(n, ranges), ranges)
            case _:
                return ["rfl"]

    def _inner(
        self, lemma: str, a: Term, k: str, b: Term, j: str, extent: normal.Range, ranges: Ranges
    ) -> list[str]:
        """The bodies of two folds are equal for every counter."""
        name = f"j{next(self._fresh)}"
        have, want = _renamed(a, k, name), _renamed(b, j, name)
        return [
            f"refine {lemma} (fun {name} {name}_0 {name}_1 => ?_)",
            f"show {show.scalar(have)} = {show.scalar(want)}",
            *self.prove(have, want, {**ranges, name: extent}),
        ]


def _below(n: object, ranges: Ranges) -> normal.Range:
    from semantics.symbolic.linear import Linear

    assert isinstance(n, Linear)
    _, high = normal.bounds(n, ranges)
    return 0, None if high is None else max(high - 1, 0)


def _crossed(have: Term, want: Term, ranges: Ranges) -> bool:
    """Whether operands stand in another order although both have the same shape: the terms are equal
    as wholes but not part by part."""
    match have, want:
        case terms.Binary(_, a, b), terms.Binary(_, c, d):
            if normal.same(a, c, ranges) and normal.same(b, d, ranges):
                return False
            return normal.same(have, want, ranges)
        case _:
            return False


def _matched(left: list[Term], right: list[Term], ranges: Ranges) -> list[tuple[Term, Term]]:
    """Pairs of parts that are equal by their normal forms, and in the order of the text those that are
    left and may be."""
    pairs: list[tuple[Term, Term]] = []
    spare = [part for part in left if part not in right]
    for b in right:
        if b in left:
            continue
        equal = next((a for a in left if _comparable(a, b) and normal.same(a, b, ranges)), None)
        if equal is not None:
            pairs.append((equal, b))
            continue
        taken = {a for a, _ in pairs}
        near = next((a for a in spare if _comparable(a, b) and similar(a, b)), None) or next(
            (a for a in spare if _comparable(a, b) and a not in taken), None
        )
        if near is not None:
            pairs.append((near, b))
    return pairs


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


def _name(t: Term) -> str:
    assert isinstance(t, terms.Named)
    return t.name


def _parts(t: Term) -> list[Term]:
    """Cells, functions, sums and maxima in a term, left to right, not those inside one another."""
    match t:
        case terms.Unary(core.RealFn.NEG | core.RealFn.ABS, a):
            return _parts(a)
        case terms.Cell() | terms.Unary() | terms.Total() | terms.Largest():
            return [t]
        case terms.Binary(_, a, b):
            return _parts(a) + _parts(b)
        case terms.Chosen(cond, a, b):
            compared = [part for side in _compared(cond) for part in _parts(side)]
            return compared + _parts(a) + _parts(b)
        case _:
            return []


def _compared(cond: Condition) -> list[Term]:
    """The scalars that a condition compares."""
    match cond:
        case terms.CompareReal(_, a, b):
            return [a, b]
        case terms.Both(c, d) | terms.Either(c, d):
            return _compared(c) + _compared(d)
        case terms.Negation(c):
            return _compared(c)
        case _:
            return []


def _every(t: Term) -> list[Term]:
    """The term and its ring operands, down to the parts."""
    match t:
        case terms.Unary(core.RealFn.NEG | core.RealFn.ABS, a):
            return [t, *_every(a)]
        case terms.Binary(_, a, b) | terms.Chosen(_, a, b):
            return [t, *_every(a), *_every(b)]
        case _:
            return [t]


def _replaced(t: Term, values: dict[Term, Term]) -> Term:
    """The term with parts replaced."""
    if t in values:
        return values[t]
    match t:
        case terms.Unary(fn, a):
            return terms.Unary(fn, _replaced(a, values))
        case terms.Binary(op, a, b):
            return terms.Binary(op, _replaced(a, values), _replaced(b, values))
        case terms.Chosen(cond, a, b):
            return terms.Chosen(_replaced_in(cond, values), _replaced(a, values), _replaced(b, values))
        case _:
            return t


def _replaced_in(cond: Condition, values: dict[Term, Term]) -> Condition:
    match cond:
        case terms.CompareReal(op, a, b):
            return terms.CompareReal(op, _replaced(a, values), _replaced(b, values))
        case terms.Both(c, d):
            return terms.Both(_replaced_in(c, values), _replaced_in(d, values))
        case terms.Either(c, d):
            return terms.Either(_replaced_in(c, values), _replaced_in(d, values))
        case terms.Negation(c):
            return terms.Negation(_replaced_in(c, values))
        case _:
            return cond


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
            case terms.Binary(op, a, b):
                walk(a)
                walk(b)
                if op is core.RealOp.MAX and not (terms.may_be_infinite(a) or terms.may_be_infinite(b)):
                    found.append(f"le_maxR_right {show.scalar(a)} {show.scalar(b)}")
            case terms.Chosen(_, a, b):
                walk(a)
                walk(b)
            case terms.Total(k, n, terms.Unary(core.RealFn.EXP, a)) if n.is_constant:
                inner = f"(fun {k} : Int => (exp {show.scalar(a)} : R))"
                found.append(
                    f"sumI_pos (f := {inner}) (n := {n.constant}) (by omega) (fun _ _ _ => exp_pos _)"
                )
            case terms.Total(k, n, body) if n.is_constant and (why := _not_negative(body)) is not None:
                inner = f"(fun {k} : Int => ({show.scalar(body)} : R))"
                found.append(f"sumI_nonneg (f := {inner}) (n := {n.constant}) (fun _ _ _ => {why})")
            case _:
                pass

    walk(t)
    return list(dict.fromkeys(found))


def _not_negative(t: Term) -> str | None:
    """The proof that squares and sums of squares are not negative; None for other terms."""
    match t:
        case terms.Binary(core.RealOp.MUL, a, b) if a == b:
            return "sq_nonneg _"
        case terms.Total(_, _, body):
            inner = _not_negative(body)
            return None if inner is None else f"sumI_nonneg (fun _ _ _ => {inner})"
        case _:
            return None
