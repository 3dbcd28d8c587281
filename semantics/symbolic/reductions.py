"""Which sum or maximum the partial results of threads make up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from semantics import core
from semantics.symbolic import terms
from semantics.symbolic.linear import Linear, Quotient, literal, quotient, variable
from semantics.symbolic.pieces import Contents
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
    counter `name`. None when the parts are folds that do not take the elements in strides."""
    strided = strided_whole(op, part, threads, name)
    if strided is not None or isinstance(part, terms.Total | terms.Largest):
        return strided
    whole = terms.Total if op is core.RealOp.ADD else terms.Largest
    return whole(name, literal(threads), terms.substitute(part, {"i": variable(name)}))


def strided_parts(op: core.RealOp, part: Term, threads: int) -> tuple[str, Linear, Term, int] | None:
    """Counter, count, element and bound when part `i` folds the elements `i, i + threads, ...` below a
    bound."""
    match op, part:
        case core.RealOp.ADD, terms.Total(counter, count, body):
            pass
        case core.RealOp.MAX, terms.Largest(counter, count, body):
            pass
        case _:
            return None
    i = variable("i")
    match count:
        case Linear(0, ((Quotient(False, numerator, c), 1),)) if c == threads:
            bound = (numerator + i).plus(1 - threads)
            return (counter, count, body, bound.constant) if bound.is_constant else None
        case _:
            return None


def strided_whole(op: core.RealOp, part: Term, threads: int, name: str) -> Term | None:
    """The fold over all elements that such parts make up."""
    parts = strided_parts(op, part, threads)
    if parts is None:
        return None
    counter, _, body, bound = parts
    element = terms.substitute(body, {"i": variable(name) - variable(counter).scale(threads)})
    if {"i", counter} & terms.names(element):
        return None
    whole = terms.Total if op is core.RealOp.ADD else terms.Largest
    return whole(name, literal(bound), element)


def pulled(term: Term) -> Term:
    """The same value with multiples of the divisor taken out of quotients: `(32 * x + y) / 32` is
    `x + y / 32`."""
    match term:
        case terms.Cell(buffer, index):
            return terms.Cell(buffer, pulled_index(index))
        case terms.Slot(buffer, index):
            return terms.Slot(buffer, pulled_index(index))
        case terms.Binary(op, a, b):
            return terms.Binary(op, pulled(a), pulled(b))
        case terms.Unary(fn, a):
            return terms.Unary(fn, pulled(a))
        case terms.OfInt(n):
            return terms.OfInt(pulled_index(n))
        case terms.Total(counter, count, body):
            return terms.Total(counter, pulled_index(count), pulled(body))
        case terms.Largest(counter, count, body):
            return terms.Largest(counter, pulled_index(count), pulled(body))
        case _:
            return term


def pulled_index(x: Linear) -> Linear:
    """The same for an index."""
    result = Linear(x.constant)
    for atom, n in x.terms:
        if isinstance(atom, Quotient):
            a = pulled_index(atom.a)
            out = Linear(0, tuple((part, m // atom.c) for part, m in a.terms if m % atom.c == 0))
            rest = quotient(a - out.scale(atom.c), atom.c, atom.remainder)
            result = result + (rest if atom.remainder else out + rest).scale(n)
        else:
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
            else:
                result = result + Linear(0, ((atom, n),))
        return result

    def walk(t: Term) -> Term:
        match t:
            case terms.Cell(buffer, at):
                return terms.Cell(buffer, index(at))
            case terms.Binary(op, a, b):
                return terms.Binary(op, walk(a), walk(b))
            case terms.Unary(fn, a):
                return terms.Unary(fn, walk(a))
            case terms.OfInt(n):
                return terms.OfInt(index(n))
            case terms.Total(counter, count, body):
                return terms.Total(counter, index(count), walk(body))
            case terms.Largest(counter, count, body):
                return terms.Largest(counter, index(count), walk(body))
            case _:
                return t

    return walk(term)


@dataclass(frozen=True, slots=True)
class Warps:
    """What `fold_of_slots` finds: `count` slots of array `array`, each with the fold `lanes` over 32 lanes of
    partial results of threads; `part` is the partial result of thread `i`, `bound` how many elements there
    are."""

    op: core.RealOp
    array: int
    count: int
    lanes: terms.Total | terms.Largest
    part: terms.Total | terms.Largest
    bound: int


def fold_of_slots(term: Term, values: Mapping[int, Term]) -> Warps | None:
    """A fold over all slots of an array that hold folds of warps."""
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
    assert isinstance(part, terms.Total | terms.Largest)
    parts = strided_parts(op, part, 32 * count)
    return None if parts is None else Warps(op, array, count, lanes, part, parts[3])


def whole_of_warps(term: Term, shared: Mapping[int, Contents], name: str) -> Term | None:
    """The one fold that such a fold is."""
    found = fold_of_slots(term, {b: c.value for b, c in shared.items()})
    return None if found is None else strided_whole(found.op, found.part, 32 * found.count, name)
