"""Prints symbolic values as Lean terms over `Int` and a model `R` of the exact scalars."""

from fractions import Fraction

from semantics import core
from semantics.symbolic import terms
from semantics.symbolic.linear import Choice, Indicator, Linear, Quotient
from semantics.symbolic.terms import Condition, Term, may_be_infinite, positive

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


def _atom(atom: str | Quotient | Choice | Indicator) -> str:
    match atom:
        case str():
            return atom
        case Quotient(remainder, a, c):
            return f"({integer(a)} {'%' if remainder else '/'} {c})"
        case Indicator(cond):
            return f"(if {condition(cond)} then 1 else 0)"
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
        case terms.Unary(core.RealFn.EXP, terms.Binary(core.RealOp.SUB, a, b)) if may_be_infinite(a):
            return f"(expE ({extended(a)}) {scalar(b)})"
        case terms.Unary(fn, a):
            return f"({_FUNCTIONS.get(fn, fn.value)} {scalar(a)})"
        case terms.OfInt(n):
            return f"(ofInt {integer(n)})"
        case terms.Chosen(cond, a, b):
            return f"(if {condition(cond)} then {scalar(a)} else {scalar(b)})"
        case terms.Total(counter, count, body):
            return f"(sumI (fun {counter} : Int => {scalar(body)}) {natural(count)})"
        case terms.Largest(counter, count, body):
            return f"(maxI (fun {counter} : Int => {scalar(body)}) {natural(count)})"
        case terms.Named(name, _):
            return name
        case terms.NegInf() | terms.Slot():
            raise ValueError("-infinity is not a scalar")


def extended(t: Term) -> str:
    """A term of type `Ext R`, to be used as an argument after `=` or in parentheses."""
    match t:
        case terms.NegInf():
            return ".ninf"
        case terms.Slot(buffer, index):
            return f"(X{buffer} {integer(index)})"
        case terms.Largest(counter, count, body) if may_be_infinite(body):
            function = f"(fun {counter} : Int => {_ext(body)})"
            return f"(foldZ Ext.max (.ninf : Ext R) {function} {natural(count)})"
        case terms.Largest(counter, count, body) if not positive(count):
            return f"(maxE (fun {counter} : Int => {scalar(body)}) {natural(count)})"
        case terms.Binary(core.RealOp.MAX, a, b) if may_be_infinite(a) or may_be_infinite(b):
            return f"(Ext.max ({extended(a)}) ({extended(b)}))"
        case _:
            return f".fin {scalar(t)}"


def _ext(t: Term) -> str:
    """`extended`, of plain type."""
    return f"({extended(t)} : Ext R)"


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
