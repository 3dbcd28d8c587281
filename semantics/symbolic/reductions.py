"""Which sum or maximum the partial results of threads make up."""

from collections.abc import Sequence
from fractions import Fraction

from semantics import core
from semantics.symbolic import terms
from semantics.symbolic.linear import Linear, Quotient, literal, variable
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


def reduced(op: core.RealOp, part: Term, threads: int, name: str) -> Term | None:
    """The whole that the parts `part` (a term in `i`) of `threads` threads make up: a fold over one
    counter `name` when the threads take the elements in strides, else the fold of the parts."""
    strided = strided_whole(op, part, threads, name)
    if strided is not None:
        return strided
    if op is core.RealOp.ADD:
        return terms.Total(name, literal(threads), terms.substitute(part, {"i": variable(name)}))
    return None


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
