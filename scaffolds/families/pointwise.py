"""Elementwise functions as C text over the elements of a task's inputs."""

from dataclasses import dataclass
from fractions import Fraction

from semantics.core import RealFn, RealOp
from semantics.spec import Bin, Const, IxVar, Read, SExpr, Spec, Un
from semantics.task import Task


@dataclass(frozen=True, slots=True)
class Pointwise:
    """One output element. `inputs` are the tensors read, in order; `template` is a C expression in
    which `{name}` stands for the element of that tensor. `inputs` may repeat none."""

    inputs: tuple[str, ...]
    template: str

    def text(self, **elements: str) -> str:
        """The expression with each element replaced by C text."""
        return self.template.format(**elements)


_UNARY = {
    "relu": "fmaxf({x}, 0.0f)",
    "silu": "{x} / (1.0f + expf(-{x}))",
    "gelu": "0.5f * {x} * (1.0f + erff({x} * 0.7071067812f))",
    "gelu_tanh": ("0.5f * {x} * (1.0f + tanhf(0.7978845608f * ({x} + 0.044715f * {x} * {x} * {x})))"),
    "scale": "0.5f * {x}",
}
_BINARY = {"add": "{a} + {b}"}


def _renamed(template: str, **tensors: str) -> str:
    return template.format(**{short: "{" + name + "}" for short, name in tensors.items()})


def pointwise_of_task(task: Task) -> Pointwise | None:
    """The function of a built-in elementwise task; None when the name or the tensors differ."""
    names = tuple(t.name for t in task.inputs)
    same = all(t.shape == task.outputs[0].shape for t in (*task.inputs, *task.outputs))
    if task.family != "elementwise" or not same or len(task.outputs) != 1:
        return None
    if task.name in _UNARY and len(names) == 1:
        return Pointwise(names, _renamed(_UNARY[task.name], x=names[0]))
    if task.name in _BINARY and len(names) == 2:
        return Pointwise(names, _renamed(_BINARY[task.name], a=names[0], b=names[1]))
    return None


_FUNCTIONS = {
    RealFn.ABS: "fabsf",
    RealFn.EXP: "expf",
    RealFn.LOG: "logf",
    RealFn.SQRT: "sqrtf",
    RealFn.RSQRT: "rsqrtf",
    RealFn.TANH: "tanhf",
    RealFn.ERF: "erff",
    RealFn.SIN: "sinf",
    RealFn.COS: "cosf",
}
_OPERATORS = {RealOp.ADD: ("+", 1), RealOp.SUB: ("-", 1), RealOp.MUL: ("*", 2), RealOp.DIV: ("/", 2)}


def literal(value: Fraction) -> str:
    """A float literal of the value, which must be a finite decimal. Raises ValueError otherwise."""
    digits = repr(float(value))
    if Fraction(digits) != value:
        raise ValueError(f"{value} has no short decimal")
    return f"{digits}f"


def _write(expr: SExpr, variables: tuple[str, ...], reads: list[str]) -> tuple[str, int]:
    """C text and its binding strength: 1 sum, 2 product, 3 prefix or atom."""
    match expr:
        case Const(value=value):
            return literal(value), 3 if value >= 0 else 0
        case Read(input=name, at=at):
            if at != tuple(IxVar(v) for v in variables):
                raise ValueError(f"{name} is not read at the output's own index")
            if name not in reads:
                reads.append(name)
            return "{" + name + "}", 3
        case Un(fn=RealFn.NEG, a=a):
            text, strength = _write(a, variables, reads)
            return f"-{text}" if strength == 3 and not text.startswith("-") else f"-({text})", 3
        case Un(fn=fn, a=a):
            return f"{_FUNCTIONS[fn]}({_write(a, variables, reads)[0]})", 3
        case Bin(op=RealOp.MAX | RealOp.MIN as op, a=a, b=b):
            left, right = _write(a, variables, reads)[0], _write(b, variables, reads)[0]
            return f"f{op.value}f({left}, {right})", 3
        case Bin(op=op, a=a, b=b):
            sign, strength = _OPERATORS[op]
            left, left_strength = _write(a, variables, reads)
            right, right_strength = _write(b, variables, reads)
            left = left if left_strength >= strength else f"({left})"
            right = right if right_strength > strength else f"({right})"
            return f"{left} {sign} {right}", strength
    raise ValueError(f"{type(expr).__name__} is not elementwise")


def pointwise_of_spec(spec: Spec) -> Pointwise | None:
    """The function of a spec with one output in which every input of the output's shape is read at the
    output's own index (fused chains); None for any other spec."""
    if len(spec.outputs) != 1:
        return None
    output = spec.outputs[0]
    reads: list[str] = []
    try:
        template = _write(output.body, output.vars, reads)[0]
    except ValueError:
        return None
    if not reads or any(spec.inputs[name] != output.extents for name in reads):
        return None
    return Pointwise(tuple(reads), template)
