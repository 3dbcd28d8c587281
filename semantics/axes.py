"""Integer expressions and conditions over named axes, such as `"H + 2*pad"` and `"n % 4 == 0"`."""

import ast
import operator
from collections.abc import Callable, Mapping

_BINARY: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def _parse(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"not an expression of axes: {text!r}") from error


def _value(node: ast.expr, axes: Mapping[str, int], text: str) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            if name not in axes:
                raise ValueError(f"unknown axis {name!r} in {text!r}; known: {', '.join(axes)}")
            return axes[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            a, b = _value(left, axes, text), _value(right, axes, text)
            if b == 0 and isinstance(op, ast.FloorDiv | ast.Mod):
                raise ValueError(f"division by zero in {text!r}")
            return _BINARY[type(op)](a, b)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, axes, text)
    raise ValueError(f"not an expression of axes: {text!r} (use names, integers, + - * // %)")


def evaluate(expression: str | int, axes: Mapping[str, int]) -> int:
    """Value of an axis expression. Raises ValueError for an unknown axis or another construct."""
    if isinstance(expression, int):
        return expression
    return _value(_parse(expression), axes, expression)


def holds(condition: str, axes: Mapping[str, int]) -> bool:
    """Whether a (chained) comparison of axis expressions holds. Raises ValueError as `evaluate`."""
    node = _parse(condition)
    if not isinstance(node, ast.Compare) or any(type(op) not in _COMPARE for op in node.ops):
        raise ValueError(f"not a condition on axes: {condition!r} (use < <= > >= == !=)")
    values = [_value(n, axes, condition) for n in (node.left, *node.comparators)]
    return all(_COMPARE[type(op)](a, b) for op, a, b in zip(node.ops, values[:-1], values[1:], strict=True))
