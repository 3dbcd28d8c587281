"""Expressions of C: indices as polynomials, floats as terms."""

import math
from typing import TYPE_CHECKING

from kshell.tasks.c.shapes import beyond
from kshell.tasks.c.terms import Bin, Num, Poly, Size, Term, Un
from semantics import ast
from semantics.literals import int_literal

if TYPE_CHECKING:
    from kshell.tasks.c.nest import Nest

FUNCTIONS = {
    "exp": "exp", "log": "log", "sqrt": "sqrt", "rsqrt": "rsqrt", "tanh": "tanh", "erf": "erf",
    "sin": "sin", "cos": "cos", "fabs": "abs", "abs": "abs",
}  # fmt: skip
CONSTANTS = {
    "INFINITY": float("inf"),
    "HUGE_VALF": float("inf"),
    "FLT_MAX": 3.4028234663852886e38,
    "M_PI": 3.141592653589793,
    "M_SQRT2": 1.4142135623730951,
    "M_SQRT1_2": 0.7071067811865476,
    "M_2_SQRTPI": 1.1283791670955126,
    "M_E": 2.718281828459045,
}
_ARITHMETIC = ("+", "-", "*", "/")


def literal(text: str) -> int:
    """The value of an integer literal."""
    return int_literal(text)[0]


def _slope(above: Term, below: Term, value: Term) -> Term | None:
    """`c` when the choice is `value` above zero and `c * value` below."""
    if above != value:
        return None
    match below:
        case Bin(op="*", a=a, b=b) if b == value and isinstance(a, Num | Size):
            return a
        case Bin(op="*", a=a, b=b) if a == value and isinstance(b, Num | Size):
            return b
        case _:
            return None


class Values:
    """Evaluates the expressions of one function for a `Nest`."""

    def __init__(self, nest: "Nest") -> None:
        self._nest = nest

    # ------------------------------------------------------------ effects

    def effect(self, expr: ast.Expr) -> None:
        """An expression for its effect: an assignment."""
        match expr:
            case ast.Assign(op=op, target=target, value=value):
                self._assign(op, target, value)
            case ast.Binary(op=",", left=left, right=right):
                self.effect(left)
                self.effect(right)
            case _:
                raise beyond("an expression that is no assignment", expr.span)

    def _assign(self, op: str, target: ast.Expr, written: ast.Expr) -> None:
        nest = self._nest
        if isinstance(target, ast.Name) and nest.integer(target.name) is not None:
            raise beyond(f"the integer {target.name} changes", target.span)
        if isinstance(written, ast.Assign):
            self._assign(written.op, written.target, written.value)
            written = written.target
        value = self.value(written)
        if op != "=":
            if op[:-1] not in _ARITHMETIC:
                raise beyond(f"the assignment {op}", target.span)
            value = self.binary(op[:-1], self.value(target), value)
        match target:
            case ast.Name(name=name):
                nest.real(name, target.span)
                nest.bind(name, value)
            case _:
                array, parts = self.element(target)
                nest.store(array, parts, value, target.span)

    # ------------------------------------------------------------ indices

    def index(self, expr: ast.Expr) -> Poly:
        """An integer expression."""
        match expr:
            case ast.IntLit(text=text):
                return Poly.of(literal(text))
            case ast.Name(name=name):
                found = self._nest.integer(name)
                if found is None:
                    raise beyond(f"{name} is no size and no loop variable", expr.span)
                return found
            case ast.Binary(op="+", left=left, right=right):
                return self.index(left) + self.index(right)
            case ast.Binary(op="-", left=left, right=right):
                return self.index(left) - self.index(right)
            case ast.Binary(op="*", left=left, right=right):
                return self.index(left) * self.index(right)
            case ast.Unary(op="-", operand=operand):
                return -self.index(operand)
            case ast.Unary(op="+", operand=operand):
                return self.index(operand)
            case ast.Cast(args=(inner,)):
                return self.index(inner)
            case _:
                raise beyond("this index is not made of sizes and loop variables", expr.span)

    def element(self, expr: ast.Expr) -> tuple[str, tuple[Poly, ...]]:
        """The array and the indices of `a[i]`, `a[i][j]`, `*a`, `*(a + i)`."""
        parts: list[Poly] = []
        base = expr
        while isinstance(base, ast.Index):
            parts.insert(0, self.index(base.index))
            base = base.base
        if isinstance(base, ast.Unary) and base.op == "*" and not parts:
            array, offset = self.place(base.operand)
            return array, (offset,)
        if isinstance(base, ast.Name) and parts:
            found = self._nest.pointer(base.name)
            if found is not None and found[1] == Poly():
                return found[0], tuple(parts)
            if found is not None and len(parts) == 1:
                return found[0], (found[1] + parts[0],)
        raise beyond("this is no element of an array parameter", expr.span)

    def place(self, expr: ast.Expr) -> tuple[str, Poly]:
        """The array and the offset of a pointer expression: `a`, `a + i`, `&a[i]`."""
        match expr:
            case ast.Name(name=name):
                found = self._nest.pointer(name)
                if found is not None:
                    return found
            case ast.Binary(op="+", left=left, right=right):
                array, offset = self.place(left)
                return array, offset + self.index(right)
            case ast.Unary(op="&", operand=ast.Index(base=base, index=index)):
                array, offset = self.place(base)
                return array, offset + self.index(index)
            case ast.Cast(args=(inner,)):
                return self.place(inner)
            case _:
                pass
        raise beyond("this pointer is no place in an array parameter", expr.span)

    # ------------------------------------------------------------ floats

    def value(self, expr: ast.Expr) -> Term:
        """A float expression."""
        match expr:
            case ast.FloatLit(text=text):
                return Num(float(text.rstrip("fFlL")))
            case ast.IntLit(text=text):
                return Num(float(literal(text)))
            case ast.Name(name=name) if name in CONSTANTS:
                return Num(CONSTANTS[name])
            case ast.Name(name=name):
                return self._nest.real(name, expr.span)
            case ast.Index():
                array, parts = self.element(expr)
                return self._nest.read(array, parts, expr.span)
            case ast.Unary(op="*"):
                array, parts = self.element(expr)
                return self._nest.read(array, parts, expr.span)
            case ast.Unary(op="-", operand=operand):
                inner = self.value(operand)
                return Num(-inner.value) if isinstance(inner, Num) else Un("neg", inner)
            case ast.Unary(op="+", operand=operand):
                return self.value(operand)
            case ast.Binary(op=op, left=left, right=right) if op in _ARITHMETIC:
                return self._binary(op, left, right, expr)
            case ast.Cast(type=kind, args=(inner,)) if kind.base in ("float", "double"):
                return self.value(inner)
            case ast.Ternary():
                return self._choice(expr)
            case ast.Call():
                return self._call(expr)
            case _:
                raise beyond("this expression is not read", expr.span)

    def _binary(self, op: str, left: ast.Expr, right: ast.Expr, whole: ast.Binary) -> Term:
        a, b = self.value(left), self.value(right)
        if isinstance(a, Size) and isinstance(b, Size) and op == "/":
            raise beyond("a quotient of two integers", whole.span)
        return self.binary(op, a, b)

    def binary(self, op: str, a: Term, b: Term) -> Term:
        """An operation with the constant cases folded."""
        if isinstance(a, Num) and isinstance(b, Num) and (op != "/" or b.value):
            x, y = a.value, b.value
            return Num({"+": x + y, "-": x - y, "*": x * y, "/": x / y if y else 0.0}[op])
        if isinstance(a, Size) and isinstance(b, Size) and op in ("+", "-", "*"):
            p, q = a.poly, b.poly
            return Size({"+": p + q, "-": p - q, "*": p * q}[op])
        return Bin(op, a, b)

    def _choice(self, expr: ast.Ternary) -> Term:
        """`a > b ? a : b` and its like."""
        cond = expr.cond
        if isinstance(cond, ast.Binary) and cond.op in ("<", "<=", ">", ">="):
            left, right = self.value(cond.left), self.value(cond.right)
            then, other = self.value(expr.then), self.value(expr.other)
            larger = cond.op.startswith(">")
            if (then, other) == (left, right):
                return Bin("max" if larger else "min", left, right)
            if (then, other) == (right, left):
                return Bin("min" if larger else "max", left, right)
            slope = _slope(then if larger else other, other if larger else then, left)
            if right == Num(0.0) and slope is not None:
                below = Bin("*", slope, Bin("min", left, right))
                return Bin("+", Bin("max", left, right), below)
        raise beyond("a choice that is not a maximum or a minimum", expr.span)

    def _call(self, expr: ast.Call) -> Term:
        name = expr.name
        plain = name.removeprefix("__").removesuffix("f") if name != "erf" else name
        plain = "erf" if name == "erff" else plain
        if name in self._nest.helpers:
            return self._helper(self._nest.helpers[name], expr)
        args = [self.value(arg) for arg in expr.args]
        if plain in ("fmax", "fmin", "max", "min") and len(args) == 2:
            return Bin("max" if "max" in plain else "min", args[0], args[1])
        if plain == "sqrt" and len(args) == 1 and isinstance(args[0], Num) and args[0].value >= 0:
            return Num(math.sqrt(args[0].value))
        if plain in FUNCTIONS and len(args) == 1:
            return Un(FUNCTIONS[plain], args[0])
        if plain == "fma" and len(args) == 3:
            return Bin("+", Bin("*", args[0], args[1]), args[2])
        if plain == "pow" and len(args) == 2 and isinstance(args[1], Num):
            return self._power(args[0], args[1].value, expr)
        raise beyond(f"the function {name} is not known", expr.span)

    def _power(self, base: Term, exponent: float, expr: ast.Call) -> Term:
        if exponent in (0.5, -0.5):
            return Un("sqrt" if exponent > 0 else "rsqrt", base)
        if exponent != int(exponent) or not 1 <= exponent <= 8:
            raise beyond("a power other than 1 to 8, 0.5 or -0.5", expr.span)
        result = base
        for _ in range(int(exponent) - 1):
            result = Bin("*", result, base)
        return result

    def _helper(self, function: ast.Function, expr: ast.Call) -> Term:
        """The value of a call of a function of floats, inlined."""
        nest = self._nest
        args = [self.value(arg) for arg in expr.args]
        if len(args) != len(function.params) or any(p.type.pointer for p in function.params):
            raise beyond(f"the helper {function.name} takes more than floats", expr.span)
        scope = nest.scopes[-1]
        kept = dict(scope.scalars)
        kept_local = set(scope.local)
        scope.scalars.update({p.name: a for p, a in zip(function.params, args, strict=True)})
        try:
            return nest.declare_all(function.body)
        finally:
            scope.scalars, scope.local = kept, kept_local
