"""A plain evaluator of integer core programs, one thread at a time, that faults at the first value
outside the range of its type: slow, short, and independent of the interpreter."""

from semantics.core import (
    BAnd,
    BExpr,
    BLit,
    BNot,
    BOr,
    CmpOp,
    IBin,
    ICast,
    ICmp,
    IExpr,
    If,
    ILit,
    IntOp,
    IntType,
    IParam,
    ISelect,
    ISpecial,
    IVar,
    KernelCall,
    Load,
    SetI,
    Special,
    Stmt,
    Store,
    While,
)


class Fault(Exception):
    """The program leaves what is defined."""


def fit(value: int, kind: IntType) -> int:
    if not kind.low <= value <= kind.high:
        raise Fault(f"{value} in {kind}")
    return value


class Thread:
    """One thread of a call; `memory` maps (array name, index) to a value."""

    def __init__(
        self, call: KernelCall, thread: int, memory: dict[tuple[str, int], int], fuel: int = 20_000
    ) -> None:
        self.call, self.thread, self.memory, self.fuel = call, thread, memory, 20_000
        self.ints: dict[int, int] = {}
        arrays = [a for a, (kind, _) in zip(call.args, call.kernel.params, strict=True) if kind == "array"]
        scalars = [a for a, (kind, _) in zip(call.args, call.kernel.params, strict=True) if kind == "scalar"]
        self.names = [*map(str, arrays), *(f"{a.name}@{thread}" for a in call.kernel.arrays[len(arrays) :])]
        self.scalars = scalars

    def int(self, e: IExpr) -> int:
        match e:
            case ILit(value):
                return value
            case IVar(var):
                if var not in self.ints:
                    raise Fault(f"register {var} is read before it is set")
                return self.ints[var]
            case IParam(param):
                return int(self.scalars[param])
            case ISpecial(Special.TID):
                return self.thread
            case ICast(kind, a):
                return fit(self.int(a), kind)
            case ISelect(cond, a, b):
                return self.int(a if self.bool(cond) else b)
            case IBin(op, kind, a, b):
                return fit(self.apply(op, self.int(a), self.int(b), kind), kind)
        raise Fault(f"{e} is outside this machine")

    @staticmethod
    def apply(op: IntOp, a: int, b: int, kind: IntType) -> int:
        match op:
            case IntOp.ADD:
                return a + b
            case IntOp.SUB:
                return a - b
            case IntOp.MUL:
                return a * b
            case IntOp.MIN:
                return min(a, b)
            case IntOp.MAX:
                return max(a, b)
            case IntOp.DIV | IntOp.MOD:
                if b == 0:
                    raise Fault("division by zero")
                quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
                fit(quotient, kind)
                return quotient if op is IntOp.DIV else a - b * quotient
        if a < 0 or b < 0:
            raise Fault("a bit operation on a negative number")
        match op:
            case IntOp.SHL | IntOp.SHR:
                if b >= kind.bits:
                    raise Fault("shift by the width or more")
                return a << b if op is IntOp.SHL else a >> b
            case IntOp.AND:
                return a & b
            case IntOp.OR:
                return a | b
            case _:
                return a ^ b

    def bool(self, e: BExpr) -> bool:
        match e:
            case BLit(value):
                return value
            case BAnd(a, b):
                return self.bool(a) and self.bool(b)
            case BOr(a, b):
                return self.bool(a) or self.bool(b)
            case BNot(a):
                return not self.bool(a)
            case ICmp(op, a, b):
                x, y = self.int(a), self.int(b)
                return x < y if op is CmpOp.LT else x <= y if op is CmpOp.LE else x == y
        raise Fault(f"{e} is outside this machine")

    def run(self, body: tuple[Stmt, ...]) -> None:
        for s in body:
            self.fuel -= 1
            if self.fuel < 0:
                raise Fault("no end in sight")
            match s:
                case SetI(var, value):
                    self.ints[var] = self.int(value)
                case Load(var, array, index):
                    place = (self.names[array], self.int(index))
                    if place not in self.memory:
                        raise Fault(f"{place} is read before it is written")
                    self.ints[var] = self.memory[place]
                case Store(array, index, value):
                    self.memory[self.names[array], self.int(index)] = self.int(value)  # type: ignore[arg-type]
                case If(cond, then, other):
                    self.run(then if self.bool(cond) else other)
                case While(cond, inner):
                    while self.bool(cond):
                        self.run(inner)
                        self.fuel -= 1
                        if self.fuel < 0:
                            raise Fault("no end in sight")
                case _:
                    raise Fault(f"{s} is outside this machine")


def run_strictly(call: KernelCall, inputs: dict[str, list[int]], threads: int) -> dict[tuple[str, int], int]:
    """Memory after all threads ran in order. Raises Fault."""
    memory = {(name, k): v for name, values in inputs.items() for k, v in enumerate(values)}
    for thread in range(threads):
        Thread(call, thread, memory).run(call.kernel.body)
    return memory
