"""Work behind a spec: operations of one call, and the longest sum."""

import math
from dataclasses import dataclass

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
