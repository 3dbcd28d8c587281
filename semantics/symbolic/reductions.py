"""Which sum or maximum the partial results of threads make up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from semantics import core
from semantics.symbolic import terms
from semantics.symbolic.linear import Choice, Linear, Quotient, choice, literal, quotient, variable
from semantics.symbolic.pieces import Contents
from semantics.symbolic.shares import Fold, Shares, shares
from semantics.symbolic.terms import Condition, Term

ZERO = Fraction(0)


def instantiated(term: Term, values: dict[int, Term]) -> Term:
    """Replace the cells of arrays by what they hold; each value is a term in `i`."""
    match term:
        case terms.Cell(buffer, index) | terms.Slot(buffer, index):
            return terms.substitute(values[buffer], {"i": index}) if buffer in values else term
        case terms.Binary(op, a, b):
            return terms.Binary(op, instantiated(a, values), instantiated(b, values))
        case terms.Unary(fn, a):
            return terms.Unary(fn, instantiated(a, values))
        case terms.Chosen(cond, a, b):
            return terms.Chosen(cond, instantiated(a, values), instantiated(b, values))
        case terms.Total(counter, count, body):
            return terms.Total(counter, count, instantiated(body, values))
        case terms.Largest(counter, count, body):
            return terms.Largest(counter, count, instantiated(body, values))
        case _:
            return term


def conjunction(conditions: Sequence[Condition]) -> Condition:
    """All of them."""
    result: Condition = terms.Truth(True)
    for at, one in enumerate(conditions):
        result = one if at == 0 else terms.Both(result, one)
    return result


def exhaustive(guards: Sequence[tuple[Condition, ...]]) -> bool:
    """Two ways that exclude each other and leave nothing out."""
    if len(guards) != 2 or len(guards[0]) != len(guards[1]) or not guards[0]:
        return False
    (*first, a), (*second, b) = guards
    return first == second and (a == terms.Negation(b) or b == terms.Negation(a))


def joining(result: Term | None, mine: Term, other: Term) -> core.RealOp | None:
    """The operation that makes `result` of two partial results, in either order: a sum or a maximum; None
    when it is neither."""
    match result:
        case terms.Binary(core.RealOp.ADD | core.RealOp.MAX as op, a, b) if {a, b} == {mine, other}:
            return op
        case _:
            return None


def reduced(op: core.RealOp, part: Term, threads: int, name: str) -> Term | None:
    """The whole that the parts `part` (a term in `i`) of `threads` threads make up: a fold over one
    counter `name`. None when the parts are folds that do not make up one."""
    found = shares(op, part, threads, name)
    if found is not None:
        return found.whole
    if isinstance(part, Fold):
        return None
    whole = terms.Total if op is core.RealOp.ADD else terms.Largest
    return whole(name, literal(threads), terms.substitute(part, {"i": variable(name)}))


def pulled(term: Term) -> Term:
    """The same value with multiples of the divisor taken out of quotients: `(32 * x + y) / 32` is
    `x + y / 32`."""
    return terms.mapped(term, pulled_index)


def pulled_index(x: Linear) -> Linear:
    """The same for an index."""
    result = Linear(x.constant)
    for atom, n in x.terms:
        match atom:
            case Quotient(remainder, b, c):
                a = pulled_index(b)
                out = Linear(0, tuple((part, m // c) for part, m in a.terms if m % c == 0))
                rest = quotient(a - out.scale(c), c, remainder)
                result = result + (rest if remainder else out + rest).scale(n)
            case Choice(larger, a, b):
                result = result + choice(pulled_index(a), pulled_index(b), larger).scale(n)
            case _:
                result = result + Linear(0, ((atom, n),))
    return result


def lane_term(term: Term, name: str) -> Term:
    """A term in `tX` for lane `name` of the warp of thread `tX`."""
    lane = quotient(variable("tX"), 32, False).scale(32) + variable(name)
    return _below_32(pulled(terms.substitute(term, {"tX": lane})), name)


def _below_32(term: Term, name: str) -> Term:
    """The same value when `name` is between 0 and 31."""
    marks = {"$q": Linear(0), "$r": variable(name)}
    quotients = {quotient(variable(name), 32, False): "$q", quotient(variable(name), 32, True): "$r"}

    def index(x: Linear) -> Linear:
        result = Linear(x.constant)
        for atom, n in x.terms:
            known = quotients.get(Linear(0, ((atom, 1),)))
            if known is not None:
                result = result + marks[known].scale(n)
            elif isinstance(atom, Quotient):
                result = result + quotient(index(atom.a), atom.c, atom.remainder).scale(n)
            elif isinstance(atom, Choice):
                result = result + choice(index(atom.a), index(atom.b), atom.larger).scale(n)
            else:
                result = result + Linear(0, ((atom, n),))
        return result

    return terms.mapped(term, index)


@dataclass(frozen=True, slots=True)
class Warps:
    """What `fold_of_slots` finds: `count` slots of array `array`, each with the fold `lanes` over 32 lanes of
    partial results of threads; `shared` says how the threads share out the elements."""

    op: core.RealOp
    array: int
    count: int
    lanes: Fold
    shared: Shares


def fold_of_slots(term: Term, values: Mapping[int, Term], name: str) -> Warps | None:
    """A fold over all slots of an array that hold folds of warps, as one fold over counter `name`."""
    match term:
        case terms.Total(w, Linear(count, ()), terms.Cell(array, index)):
            op = core.RealOp.ADD
        case terms.Largest(w, Linear(count, ()), terms.Slot(array, index)):
            op = core.RealOp.MAX
        case _:
            return None
    if index != variable(w) or array not in values:
        return None
    match op, values[array]:
        case core.RealOp.ADD, terms.Total(lane, Linear(32, ()), terms.Total() as inner) as lanes:
            pass
        case core.RealOp.MAX, terms.Largest(lane, Linear(32, ()), terms.Largest() as inner) as lanes:
            pass
        case _:
            return None
    thread = terms.substitute(inner, {"i": variable("slot")})
    part = terms.substitute(thread, {lane: variable("i") - variable("slot").scale(32)})
    if "slot" in terms.names(part) or lane in terms.names(part):
        return None
    found = shares(op, part, 32 * count, name)
    return None if found is None else Warps(op, array, count, lanes, found)


@dataclass(frozen=True, slots=True)
class Rows:
    """What `rows_of_slots` finds: `warps` slots of an array, each with the fold `lanes` over 32 lanes of what
    a lane folds in `steps` steps. Group `q` of the row is `group`, a term in `q`; where it is a fold itself,
    of elements in a row, `element` is element `j`. `whole` is the fold over the row."""

    op: core.RealOp
    warps: int
    steps: int
    lanes: terms.Total | terms.Largest
    group: Term
    element: Term | None
    whole: terms.Total | terms.Largest


def _fold(op: core.RealOp, term: Term) -> terms.Total | terms.Largest | None:
    """The term when it folds a fixed number of values by an operation."""
    match op, term:
        case core.RealOp.ADD, terms.Total(_, Linear(_, ()), _):
            return term
        case core.RealOp.MAX, terms.Largest(_, Linear(_, ()), _):
            return term
        case _:
            return None


def rows_of_slots(term: Term, values: Mapping[int, Term], name: str) -> Rows | None:
    """A fold over all slots of an array that hold folds of warps, when every lane folds as many groups: those
    that follow one another by as many as the block has threads. `name` counts the whole."""
    match term:
        case terms.Total(w, Linear(warps, ()), terms.Cell(array, index)):
            op = core.RealOp.ADD
        case terms.Largest(w, Linear(warps, ()), terms.Cell(array, index)):
            op = core.RealOp.MAX
        case _:
            return None
    lanes = _fold(op, values[array]) if index == variable(w) and array in values else None
    inner = None if lanes is None else _fold(op, lanes.body)
    if lanes is None or inner is None or lanes.count != literal(32):
        return None
    steps = inner.count.constant
    lane = variable("q") - variable("slot").scale(32) - variable(inner.counter).scale(32 * warps)
    body = terms.substitute(terms.substitute(inner.body, {"i": variable("slot")}), {lanes.counter: lane})
    if {"slot", lanes.counter, inner.counter} & terms.names(body):
        return None
    fold = terms.Total if op is core.RealOp.ADD else terms.Largest
    groups = 32 * warps * steps
    group = _fold(op, body)
    if group is not None:
        size = group.count.constant
        place = variable("j") - variable("q").scale(size)
        element = terms.substitute(group.body, {group.counter: place})
        if not {"q", group.counter} & terms.names(element):
            whole = fold(name, literal(size * groups), terms.substitute(element, {"j": variable(name)}))
            return Rows(op, warps, steps, lanes, body, element, whole)
    whole = fold(name, literal(groups), terms.substitute(body, {"q": variable(name)}))
    return Rows(op, warps, steps, lanes, body, None, whole)


def whole_of_warps(term: Term, shared: Mapping[int, Contents], name: str) -> Term | None:
    """The one fold that such a fold is."""
    values = {b: c.value for b, c in shared.items()}
    found = fold_of_slots(term, values, name)
    if found is not None:
        return found.shared.whole
    rows = rows_of_slots(term, values, name)
    return None if rows is None else rows.whole
