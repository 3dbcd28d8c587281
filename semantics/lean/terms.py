"""Prints symbolic values as Lean terms over `Int` and a model `R` of the exact scalars."""

from fractions import Fraction

from semantics import core
from semantics.symbolic import terms
from semantics.symbolic.linear import Choice, Linear, Quotient
from semantics.symbolic.terms import Condition, Term

_BINARY = {core.RealOp.ADD: "+", core.RealOp.SUB: "-", core.RealOp.MUL: "*", core.RealOp.DIV: "/"}
_FUNCTIONS = {core.RealFn.ABS: "absR"}
_COMPARE = {core.CmpOp.LT: "<", core.CmpOp.LE: "≤", core.CmpOp.EQ: "="}


def integer(x: Linear) -> str:
    """An integer term; atomic or in parentheses."""
    parts: list[str] = []
    for atom, n in sorted(x.terms, key=lambda one: -abs(one[1])):
        text = _atom(atom)
        parts.append(text if n == 1 else f"{text} * {n}" if n > 0 else f"{text} * ({n})")
    if x.constant or not parts:
        parts.append(str(x.constant) if x.constant >= 0 else f"({x.constant})")
    simple = len(parts) == 1 and (not x.terms or x.terms[0][1] == 1)
    return parts[0] if simple else f"({' + '.join(parts)})"


def _atom(atom: str | Quotient | Choice) -> str:
    match atom:
        case str():
            return atom
        case Quotient(remainder, a, c):
            return f"({integer(a)} {'%' if remainder else '/'} {c})"
        case Choice(larger, a, b):
            first, second = (b, a) if larger else (a, b)
            return f"(if {integer(a)} ≤ {integer(b)} then {integer(first)} else {integer(second)})"


def scalar(t: Term) -> str:
    """A term of type `R`; atomic or in parentheses."""
    match t:
        case terms.Number(value):
            return literal(value)
        case terms.Cell(buffer, index):
            return f"(X{buffer} {integer(index)})"
        case terms.Binary(op, a, b):
            if op in _BINARY:
                return f"({scalar(a)} {_BINARY[op]} {scalar(b)})"
            return f"({'maxR' if op is core.RealOp.MAX else 'minR'} {scalar(a)} {scalar(b)})"
        case terms.Unary(core.RealFn.NEG, a):
            return f"(-{scalar(a)})"
        case terms.Unary(fn, a):
            return f"({_FUNCTIONS.get(fn, fn.value)} {scalar(a)})"
        case terms.OfInt(n):
            return f"(ofInt {integer(n)})"
        case terms.Chosen(cond, a, b):
            return f"(if {condition(cond)} then {scalar(a)} else {scalar(b)})"
        case terms.Total(counter, count, body):
            return f"(sumTo (fun {counter} : Nat => {scalar(_cast(body, counter))}) {natural(count)})"
        case terms.Largest(counter, count, body):
            return f"(maxTo (fun {counter} : Nat => {scalar(_cast(body, counter))}) {natural(count)})"
        case terms.Named(name, _):
            return name
        case terms.NegInf():
            raise ValueError("-infinity is not a scalar")


def extended(t: Term) -> str:
    """A term of type `Ext R`."""
    if isinstance(t, terms.NegInf):
        return ".ninf"
    return f".fin {scalar(t)}"


def literal(value: Fraction) -> str:
    """A rational as `ofRat`."""
    top = str(value.numerator) if value >= 0 else f"({value.numerator})"
    return f"(ofRat {top} {value.denominator})"


def natural(count: Linear) -> str:
    """A count as a `Nat`."""
    return str(count.constant) if count.is_constant else f"(Int.toNat {integer(count)})"


def condition(c: Condition) -> str:
    """A proposition in parentheses."""
    match c:
        case terms.Compare(op, a, b):
            return f"({integer(a)} {_COMPARE[op]} {integer(b)})"
        case terms.CompareReal(op, x, y):
            return f"({scalar(x)} {_COMPARE[op]} {scalar(y)})"
        case terms.Both(a, b):
            return f"({condition(a)} ∧ {condition(b)})"
        case terms.Either(a, b):
            return f"({condition(a)} ∨ {condition(b)})"
        case terms.Negation(a):
            return f"(¬ {condition(a)})"
        case terms.Truth(value):
            return "True" if value else "False"


def _cast(body: Term, counter: str) -> Term:
    """The body with its `Nat` counter used as an integer."""
    return terms.substitute(body, {counter: Linear(0, ((f"({counter} : Int)", 1),))})
