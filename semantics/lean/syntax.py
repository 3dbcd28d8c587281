"""Prints core programs as terms of `lean/KShell/Syntax.lean`, in Lean's own notation."""

from collections.abc import Sequence
from fractions import Fraction

from semantics import core
from semantics.beyond import IOfReal, RCall, RPosInf, ShflI, Vote, beyond
from semantics.symbolic.state import Unsupported


def check_provable(kernel: core.Kernel) -> None:
    """Raises Unsupported at the first construct that the Lean syntax has no constructor for."""
    found = beyond(kernel)
    if found is not None:
        raise Unsupported(*found)


def number(n: int) -> str:
    """An integer literal that may follow a function name."""
    return str(n) if n >= 0 else f"({n})"


def iexpr(e: core.IExpr) -> str:
    """An `IExpr` in parentheses."""
    match e:
        case core.ILit(value, type_):
            return f"(.lit {number(value)} .{type_.value})"
        case core.IVar(var, _):
            return f"(.var {var})"
        case core.IParam(param, _):
            return f"(.param {param})"
        case core.ISpecial(what, dim, _):
            return f"(.special .{what.value} .{dim.value})"
        case core.IBin(op, type_, a, b):
            return f"(.bin .{op.value} .{type_.value} {iexpr(a)} {iexpr(b)})"
        case core.ICast(type_, a):
            return f"(.cast .{type_.value} {iexpr(a)})"
        case core.ISelect(cond, a, b):
            return f"(.select {bexpr(cond)} {iexpr(a)} {iexpr(b)})"
        case IOfReal():
            raise Unsupported("a conversion of a float to an integer")


def bexpr(e: core.BExpr) -> str:
    """A `BExpr` in parentheses."""
    match e:
        case core.BLit(value):
            return f"(.lit {'true' if value else 'false'})"
        case core.ICmp(op, a, b):
            return f"(.icmp .{op.value} {iexpr(a)} {iexpr(b)})"
        case core.RCmp(op, c, d):
            return f"(.rcmp .{op.value} {rexpr(c)} {rexpr(d)})"
        case core.BAnd(f, g):
            return f"(.and {bexpr(f)} {bexpr(g)})"
        case core.BOr(f, g):
            return f"(.or {bexpr(f)} {bexpr(g)})"
        case core.BNot(f):
            return f"(.not {bexpr(f)})"


def rational(value: Fraction) -> str:
    """Numerator and denominator."""
    return f"{number(value.numerator)} {value.denominator}"


def rexpr(e: core.RExpr) -> str:
    """An `RExpr` in parentheses."""
    match e:
        case core.RLit(value):
            return f"(.lit {rational(value)})"
        case core.RNegInf():
            return "(.ninf)"
        case core.RVar(var):
            return f"(.var {var})"
        case core.RParam(param):
            return f"(.param {param})"
        case core.RBin(op, a, b):
            return f"(.bin .{op.value} {rexpr(a)} {rexpr(b)})"
        case core.RFn(fn, a):
            return f"(.fn .{fn.value} {rexpr(a)})"
        case core.ROfInt(a):
            return f"(.ofInt {iexpr(a)})"
        case core.RSelect(cond, a, b):
            return f"(.select {bexpr(cond)} {rexpr(a)} {rexpr(b)})"
        case RCall(fn):
            raise Unsupported(f"the function {fn}")
        case RPosInf():
            raise Unsupported("+INFINITY")


class Printer:
    """Prints statements; `numbers` maps an array of the kernel to its number in the Lean kernel."""

    def __init__(self, kernel: core.Kernel, numbers: dict[int, int]) -> None:
        check_provable(kernel)
        self.kernel = kernel
        self.numbers = numbers

    def stmt(self, s: core.Stmt) -> str:
        """A `Stmt` on one line, in parentheses."""
        match s:
            case core.SetI(var, value):
                return f"(.seti {var} {iexpr(value)})"
            case core.SetR(var, expression):
                return f"(.setr {var} {rexpr(expression)})"
            case core.Load(var, array, index):
                return f"(.{self._local(array)}load {var} {self.numbers[array]} {iexpr(index)})"
            case core.Store(array, index, stored):
                value_text = rexpr(stored)  # type: ignore[arg-type]
                return f"(.{self._local(array)}store {self.numbers[array]} {iexpr(index)} {value_text})"
            case core.If(cond, then, other):
                return f"(.ite {bexpr(cond)} {self.block(then)} {self.block(other)})"
            case core.While(cond, body):
                return f"(.while {bexpr(cond)} {self.block(body)})"
            case core.Check(cond):
                return f"(.check {bexpr(cond)})"
            case core.Barrier():
                return "(.barrier)"
            case core.SyncWarp():
                return "(.syncwarp)"
            case core.Shfl(kind, dst, src, arg, width):
                return f"(.shfl .{kind.value} {dst} {src} {iexpr(arg)} {width})"
            case core.AtomicAdd():
                raise Unsupported("atomicAdd", s.span.line)
            case ShflI() | Vote():
                raise Unsupported("votes and shuffles of integers", s.span.line)

    def block(self, stmts: Sequence[core.Stmt]) -> str:
        """Statements in sequence, nested to the right."""
        if not stmts:
            return "(.skip)"
        text = self.stmt(stmts[-1])
        for s in reversed(stmts[:-1]):
            text = f"(.seq {self.stmt(s)} {text})"
        return text

    def pretty(self, stmts: Sequence[core.Stmt], source: Sequence[str], indent: str = "  ") -> str:
        """The same term over several lines, the source lines as comments beside it."""
        lines = self._lines(stmts, source, indent, [0])
        return "\n".join(lines)

    def _lines(
        self, stmts: Sequence[core.Stmt], source: Sequence[str], indent: str, said: list[int]
    ) -> list[str]:
        if not stmts:
            return [f"{indent}(.skip)"]
        lines: list[str] = []
        for at, s in enumerate(stmts):
            last = at == len(stmts) - 1
            line = s.span.line
            if 0 < line <= len(source) and line != said[0]:
                said[0] = line
                lines.append(f"{indent}-- {line}: {source[line - 1].strip()}")
            open_, close = ("", "") if last else ("(.seq ", "")
            match s:
                case core.If(cond, then, other):
                    lines.append(f"{indent}{open_}(.ite {bexpr(cond)}")
                    lines += self._lines(then, source, indent + "    ", said)
                    lines += self._lines(other, source, indent + "    ", said)
                    lines[-1] += ")"
                case core.While(cond, body):
                    lines.append(f"{indent}{open_}(.while {bexpr(cond)}")
                    lines += self._lines(body, source, indent + "    ", said)
                    lines[-1] += ")"
                case _:
                    lines.append(f"{indent}{open_}{self.stmt(s)}{close}")
        lines[-1] += ")" * (len(stmts) - 1)
        return lines

    def _local(self, array: int) -> str:
        return "l" if self.kernel.arrays[array].space is core.Space.LOCAL else ""
