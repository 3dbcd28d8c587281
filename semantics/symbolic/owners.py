"""Owner maps: which thread writes which cell, by mixed-radix inversion of the store indices."""

import itertools
from dataclasses import dataclass

from semantics import core
from semantics.symbolic import terms
from semantics.symbolic.linear import Choice, Linear, Quotient, literal, quotient, variable
from semantics.symbolic.state import Unsupported
from semantics.symbolic.terms import Term


@dataclass(frozen=True, slots=True)
class Owner:
    """For a cell index `i`: the value of each thread coordinate that varies, as forms in `i`."""

    digits: dict[str, Linear]


def coordinates(call: core.KernelCall) -> dict[str, int]:
    """Thread coordinates with more than one value, and how many they have."""
    found = {}
    for prefix, extents in (("b", call.grid), ("t", call.block)):
        for dim, extent in zip("XYZ", extents, strict=True):
            if extent > 1:
                found[prefix + dim] = extent
    return found


def invert(indices: list[Linear], ranges: dict[str, int]) -> Owner:
    """Read the thread coordinates off a cell index. Raises Unsupported when the indices have no common
    mixed-radix form."""
    if not indices:
        raise Unsupported("the kernel stores nothing")
    indices = [_unbounded(index, ranges) for index in indices]
    strides: dict[str, int] = {}
    others: set[int] = set()
    divided: dict[str, int] = {}
    for atom, n in indices[0].terms:
        match atom:
            case str() if atom in ranges:
                strides[atom] = n
            case Quotient(remainder, Linear(0, ((str() as name, 1),)), c) if name in ranges:
                divided[name] = c
                strides[f"{name}{'%' if remainder else '/'}"] = n
            case _:
                others.add(n)
    for index in indices[1:]:
        for atom, n in index.terms:
            if isinstance(atom, str) and atom in ranges:
                if strides.get(atom) != n:
                    raise Unsupported("stores that spread over the threads in different ways")
            elif not isinstance(atom, Quotient):
                others.add(n)
    if any(n <= 0 for n in (*strides.values(), *others)):
        raise Unsupported("a store index that decreases with a thread or loop index")
    levels = sorted({*strides.values(), *others})
    i = variable("i")
    offset = min((index.constant for index in indices), default=0)
    low = min(strides.values(), default=1)
    base = i.plus(-(offset // low * low) if len(indices) > 1 else -offset)
    read: dict[str, Linear] = {}
    for name, stride in strides.items():
        above = [level for level in levels if level > stride]
        value = base
        for level in sorted(_needed(above), reverse=True):
            value = quotient(value, level, True)
        read[name] = quotient(value, stride, False)
    digits: dict[str, Linear] = {}
    for name in ranges:
        if name in read:
            digits[name] = read[name]
        elif name in divided:
            c = divided[name]
            high, rest = read.get(f"{name}/"), read.get(f"{name}%")
            digits[name] = (high.scale(c) if high else literal(0)) + (rest or literal(0))
        else:
            digits[name] = literal(0)
    return Owner(digits)


def filled(index: Linear, names: set[str], value: Term) -> dict[str, Linear] | None:
    """For a store at `index` whose value depends on `names` through the index only: what to put in the place
    of one of them so that cell `i` shows. None when the value depends on them in another way."""
    i = variable("i")
    for atom, n in index.terms:
        if isinstance(atom, str) and atom in names and n == 1:
            found = {atom: i - (index - variable(atom))}
            if not names & terms.names(terms.substitute(value, found)):
                return found
    return None


def _unbounded(x: Linear, ranges: dict[str, int]) -> Linear:
    """The index without bounds: of a minimum or maximum the side that depends on the thread, where the other
    does not."""
    result = literal(x.constant)
    for atom, n in x.terms:
        part = Linear(0, ((atom, 1),))
        if isinstance(atom, Choice):
            sides = [side for side in (atom.a, atom.b) if side.names() & ranges.keys()]
            part = _unbounded(sides[0], ranges) if len(sides) == 1 else part
        result = result + part.scale(n)
    return result


def _needed(above: list[int]) -> list[int]:
    """The moduli to take, largest first: the next stride, and every larger one that is not a multiple
    of the one below it."""
    if not above:
        return []
    kept = [above[0]]
    for lower, upper in itertools.pairwise(above):
        if upper % lower:
            kept.append(upper)
    return kept
