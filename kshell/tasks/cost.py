"""Work behind a spec: operations of one call, and the longest sum."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from semantics.span import Refusal
from semantics.spec import Bin, IxBin, IxVar, MaxOver, Read, SExpr, Spec, Sum, Un, Where


@dataclass(frozen=True, slots=True)
class Cost:
    """`flops` counts each scalar operation once for every index it depends on (what does not depend on
    an outer index is counted once); `longest` is the length of the longest sum, directly
    nested ones taken together."""

    flops: int
    longest: int


def _free(e: SExpr) -> frozenset[str]:
    match e:
        case Read(at=at):
            found: set[str] = set()
            stack = list(at)
            while stack:
                i = stack.pop()
                if isinstance(i, IxVar):
                    found.add(i.name)
                elif isinstance(i, IxBin):
                    stack += [i.a, i.b]
            return frozenset(found)
        case Un(a=a):
            return _free(a)
        case Bin(a=a, b=b) | Where(a=a, b=b):
            return _free(a) | _free(b)
        case Sum(var=var, body=body) | MaxOver(var=var, body=body):
            return _free(body) - {var}
        case _:
            return frozenset()


def flops_of(spec: Spec) -> Cost:
    """The cost of all outputs."""
    total, longest = 0, 1

    def visit(e: SExpr, extents: dict[str, int], depth: int) -> None:
        nonlocal total, longest
        longest = max(longest, depth)
        match e:
            case Un(a=a):
                total += math.prod(extents[v] for v in _free(e))
                visit(a, extents, 1)
            case Bin(a=a, b=b):
                total += math.prod(extents[v] for v in _free(e))
                visit(a, extents, 1)
                visit(b, extents, 1)
            case Where(a=a, b=b):
                visit(a, extents, depth)
                visit(b, extents, depth)
            case Sum(var=var, extent=extent, body=body) | MaxOver(var=var, extent=extent, body=body):
                inner = {**extents, var: extent}
                total += math.prod(inner[v] for v in _free(body) | {var})
                visit(body, inner, depth * extent)
            case _:
                return

    for out in spec.outputs:
        visit(out.body, dict(zip(out.vars, out.extents, strict=True)), 1)
    return Cost(total, longest)


_MOST_AXES = 5


def flops_expression(axes: dict[str, int], count: Callable[[dict[str, int]], int]) -> str:
    """Operations as an expression of the axes: the polynomial, linear in each axis, through the counts at
    small sizes. The number itself where that polynomial misses the count at `axes`, or `count` fails
    (Refusal, ValueError) at small sizes."""
    whole = str(max(1, count(axes)))
    names = list(axes)
    if not names or len(names) > _MOST_AXES:
        return whole
    try:
        values = {
            chosen: count({n: 3 if at & chosen else 2 for at, n in _bits(names)})
            for chosen in range(1 << len(names))
        }
    except (Refusal, ValueError):
        return whole
    found = _expanded(names, values)
    text = " + ".join(
        "*".join([str(c), *(n for at, n in _bits(names) if at & part)]) for part, c in found.items() if c
    ).replace("+ -", "- ")
    return text if text and _value(found, names, axes) == int(whole) else whole


def _bits(names: list[str]) -> list[tuple[int, str]]:
    return [(1 << place, name) for place, name in enumerate(names)]


def _expanded(names: list[str], values: dict[int, int]) -> dict[int, int]:
    """Coefficients by set of axes, of the polynomial with these values at sizes 2 and 3."""
    slopes = dict(values)
    for at, _ in _bits(names):
        for chosen in slopes:
            if chosen & at:
                slopes[chosen] -= slopes[chosen ^ at]
    found = dict.fromkeys(values, 0)
    for chosen, slope in slopes.items():
        part = chosen
        while True:  # the product over `chosen` of (axis - 2), expanded
            found[part] += slope * (-2) ** (chosen ^ part).bit_count()
            if not part:
                break
            part = (part - 1) & chosen
    return found


def _value(found: Mapping[int, int], names: list[str], axes: dict[str, int]) -> int:
    return sum(c * math.prod(axes[n] for at, n in _bits(names) if at & part) for part, c in found.items())
