"""The spec of an output as a symbolic term in the flat index `i` of a cell."""

import math

from semantics import core, spec
from semantics.symbolic import terms
from semantics.symbolic.linear import Linear, literal, quotient, variable
from semantics.symbolic.state import Unsupported
from semantics.symbolic.terms import Condition, Term


def output_term(out: spec.OutputSpec, inputs: dict[str, tuple[int, ...]], buffers: dict[str, int]) -> Term:
    """The value of cell `i`, row-major, in terms of the initial contents of the input buffers."""
    i = variable("i")
    values: dict[str, Linear] = {}
    for at, (name, extent) in enumerate(zip(out.vars, out.extents, strict=True)):
        below = math.prod(out.extents[at + 1 :])
        value = quotient(i, below, False)
        if at:
            value = quotient(value, extent, True)
        values[name] = value if extent > 1 else literal(0)
    return _Meaning(inputs, buffers).term(out.body, values)


class _Meaning:
    def __init__(self, inputs: dict[str, tuple[int, ...]], buffers: dict[str, int]) -> None:
        self.inputs = inputs
        self.buffers = buffers

    def term(self, e: spec.SExpr, values: dict[str, Linear]) -> Term:
        match e:
            case spec.Const(value):
                return terms.Number(value)
            case spec.Read(name, at):
                return terms.Cell(self.buffers[name], self._flat(name, at, values))
            case spec.Un(fn, a):
                return terms.Unary(fn, self.term(a, values))
            case spec.Bin(op, a, b):
                return terms.Binary(op, self.term(a, values), self.term(b, values))
            case spec.Sum(var, extent, body):
                inner = {**values, var: variable(f"s{var}")}
                return terms.Total(f"s{var}", literal(extent), self.term(body, inner))
            case spec.MaxOver(var, extent, body):
                inner = {**values, var: variable(f"s{var}")}
                return terms.Largest(f"s{var}", literal(extent), self.term(body, inner))
            case spec.Where(cond, a, b):
                return terms.Chosen(self._condition(cond, values), self.term(a, values), self.term(b, values))

    def _flat(self, name: str, at: tuple[spec.Ix, ...], values: dict[str, Linear]) -> Linear:
        shape = self.inputs[name]
        index = literal(0)
        for one, extent in zip(at, shape, strict=True):
            index = index.scale(extent) + self._index(one, values)
        return index

    def _index(self, e: spec.Ix, values: dict[str, Linear]) -> Linear:
        match e:
            case spec.IxLit(value):
                return literal(value)
            case spec.IxVar(name):
                return values[name]
            case spec.IxBin(op, a, b):
                x, y = self._index(a, values), self._index(b, values)
                match op:
                    case spec.IxOp.ADD:
                        return x + y
                    case spec.IxOp.SUB:
                        return x - y
                    case spec.IxOp.MUL if y.is_constant:
                        return x.scale(y.constant)
                    case spec.IxOp.MUL if x.is_constant:
                        return y.scale(x.constant)
                    case spec.IxOp.DIV | spec.IxOp.MOD if y.is_constant and y.constant > 0:
                        return quotient(x, y.constant, op is spec.IxOp.MOD)
                raise Unsupported("index arithmetic of two unknowns in the spec")

    def _condition(self, c: spec.IxCond, values: dict[str, Linear]) -> Condition:
        match c:
            case spec.IxCmp(op, a, b):
                return terms.Compare(core.CmpOp(op), self._index(a, values), self._index(b, values))
            case spec.IxAll(parts):
                result: Condition = terms.Truth(True)
                for at, part in enumerate(parts):
                    one = self._condition(part, values)
                    result = one if at == 0 else terms.Both(result, one)
                return result
