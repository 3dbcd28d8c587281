"""The tensor spec language: what a task's outputs are, as index functions over exact scalars.

An output is a comprehension `out[i, j] = body`, its body built from reads of inputs at index
expressions, constants, scalar functions, and sums and maxima over bounded index variables. It
mirrors `lean/KShell/Spec.lean`. Shapes are literal (one spec per workload).
"""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from semantics.core import CmpOp, RealFn, RealOp


class IxOp(StrEnum):
    """Index arithmetic on non-negative results; `DIV` and `MOD` round toward minus infinity."""

    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
    MOD = "mod"


@dataclass(frozen=True, slots=True)
class IxLit:
    """Index literal."""

    value: int


@dataclass(frozen=True, slots=True)
class IxVar:
    """Bound index variable, by name; names are unique in an output."""

    name: str


@dataclass(frozen=True, slots=True)
class IxBin:
    """Binary index operation."""

    op: IxOp
    a: "Ix"
    b: "Ix"


Ix = IxLit | IxVar | IxBin


@dataclass(frozen=True, slots=True)
class IxCmp:
    """Comparison of indices."""

    op: CmpOp
    a: Ix
    b: Ix


@dataclass(frozen=True, slots=True)
class IxAll:
    """Conjunction."""

    parts: tuple["IxCond", ...]


IxCond = IxCmp | IxAll


@dataclass(frozen=True, slots=True)
class Const:
    """Rational constant: the shortest decimal that rounds to the same float32."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Read:
    """`input[at...]`, one index per dimension; row-major in memory."""

    input: str
    at: tuple[Ix, ...]


@dataclass(frozen=True, slots=True)
class Un:
    """Unary function."""

    fn: RealFn
    a: "SExpr"


@dataclass(frozen=True, slots=True)
class Bin:
    """Binary operation."""

    op: RealOp
    a: "SExpr"
    b: "SExpr"


@dataclass(frozen=True, slots=True)
class Sum:
    """Sum of `body` for 0 <= var < extent."""

    var: str
    extent: int
    body: "SExpr"


@dataclass(frozen=True, slots=True)
class MaxOver:
    """Maximum of `body` for 0 <= var < extent, extent > 0."""

    var: str
    extent: int
    body: "SExpr"


@dataclass(frozen=True, slots=True)
class Where:
    """`a` where the index condition holds, else `b` (padding)."""

    cond: IxCond
    a: "SExpr"
    b: "SExpr"


SExpr = Const | Read | Un | Bin | Sum | MaxOver | Where


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """One output: `name[vars...] = body` for every var below its extent."""

    name: str
    vars: tuple[str, ...]
    extents: tuple[int, ...]
    body: SExpr


@dataclass(frozen=True, slots=True)
class Spec:
    """All outputs of a task for one workload, and the shapes of the inputs."""

    inputs: dict[str, tuple[int, ...]]
    outputs: tuple[OutputSpec, ...]
