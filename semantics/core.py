"""Core IR: the small typed language every kernel is lowered to.

It mirrors the deep AST of `lean/KShell/Syntax.lean` constructor by constructor (what that has no meaning
for stands in `semantics.beyond`), and it is what the interpreter runs, the symbolic executor analyses and
the Lean emitter prints. Real-valued expressions are memory-free: every access is a statement of its own,
so an access is atomic. `for`, `do`, `break`, compound assignment, helpers, macros and templates are gone
at this level.

Integers are mathematical with a type tag; leaving the range of the tag is a fault. Reals are
exact. A float literal denotes the shortest decimal that rounds to the same float32.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from semantics.beyond import IOfReal as IOfReal
from semantics.beyond import RCall as RCall
from semantics.beyond import RPosInf as RPosInf
from semantics.beyond import ShflI as ShflI
from semantics.beyond import Vote as Vote
from semantics.span import NOWHERE, Span


class IntType(StrEnum):
    """C integer types of the subset; `size_t` and `unsigned long long` are `U64`, `bool` is `I32`."""

    I32 = "i32"
    U32 = "u32"
    I64 = "i64"
    U64 = "u64"

    @property
    def signed(self) -> bool:
        return self in (IntType.I32, IntType.I64)

    @property
    def bits(self) -> int:
        return 32 if self in (IntType.I32, IntType.U32) else 64

    @property
    def low(self) -> int:
        """Least value."""
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def high(self) -> int:
        """Greatest value."""
        return (1 << (self.bits - (1 if self.signed else 0))) - 1


class Special(StrEnum):
    """Built-in index variables."""

    TID = "tid"
    BID = "bid"
    BDIM = "bdim"
    GDIM = "gdim"


class Dim(StrEnum):
    """Component of a built-in index variable."""

    X = "x"
    Y = "y"
    Z = "z"


class IntOp(StrEnum):
    """Integer operations; `DIV` and `MOD` truncate toward zero as C does; shifts and bit operations
    are defined on non-negative operands only."""

    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
    MOD = "mod"
    MIN = "min"
    MAX = "max"
    SHL = "shl"
    SHR = "shr"
    AND = "land"
    OR = "lor"
    XOR = "lxor"


class CmpOp(StrEnum):
    """Comparisons; `>`, `>=` and `!=` are lowered to these with swapped or negated operands."""

    LT = "lt"
    LE = "le"
    EQ = "eq"


class RealOp(StrEnum):
    """Binary real operations."""

    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
    MAX = "max"
    MIN = "min"


class RealFn(StrEnum):
    """Unary real functions."""

    NEG = "neg"
    ABS = "abs"
    EXP = "exp"
    LOG = "log"
    SQRT = "sqrt"
    RSQRT = "rsqrt"
    TANH = "tanh"
    ERF = "erf"
    SIN = "sin"
    COS = "cos"


# ---------------------------------------------------------------- integer expressions


@dataclass(frozen=True, slots=True)
class ILit:
    """Integer literal of a type."""

    value: int
    type: IntType = IntType.I32


@dataclass(frozen=True, slots=True)
class IVar:
    """Integer register."""

    var: int
    type: IntType = IntType.I32


@dataclass(frozen=True, slots=True)
class IParam:
    """Integer kernel parameter, by its index among the kernel's scalar parameters."""

    param: int
    type: IntType = IntType.I32


@dataclass(frozen=True, slots=True)
class ISpecial:
    """`threadIdx`, `blockIdx`, `blockDim`, `gridDim`; of type U32 in CUDA, here I32 when the source
    converts it at once (`int i = blockIdx.x ...`), which keeps C's usual conversions explicit."""

    what: Special
    dim: Dim
    type: IntType = IntType.U32


@dataclass(frozen=True, slots=True)
class IBin:
    """Binary operation carried out in `type`; both operands have that type."""

    op: IntOp
    type: IntType
    a: "IExpr"
    b: "IExpr"


@dataclass(frozen=True, slots=True)
class ICast:
    """Conversion to `type`; a value outside its range is a fault (INT OVERFLOW)."""

    type: IntType
    a: "IExpr"


@dataclass(frozen=True, slots=True)
class ISelect:
    """`c ? a : b` on integers; only the chosen side is evaluated."""

    cond: "BExpr"
    a: "IExpr"
    b: "IExpr"


IExpr = ILit | IVar | IParam | ISpecial | IBin | ICast | ISelect | IOfReal


# ---------------------------------------------------------------- conditions


@dataclass(frozen=True, slots=True)
class BLit:
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True, slots=True)
class ICmp:
    """Comparison of integers of one type."""

    op: CmpOp
    a: IExpr
    b: IExpr


@dataclass(frozen=True, slots=True)
class RCmp:
    """Comparison of reals; -infinity is below every real and equal to itself."""

    op: CmpOp
    a: "RExpr"
    b: "RExpr"


@dataclass(frozen=True, slots=True)
class BAnd:
    """Short-circuit `&&`."""

    a: "BExpr"
    b: "BExpr"


@dataclass(frozen=True, slots=True)
class BOr:
    """Short-circuit `||`."""

    a: "BExpr"
    b: "BExpr"


@dataclass(frozen=True, slots=True)
class BNot:
    """`!`."""

    a: "BExpr"


BExpr = BLit | ICmp | RCmp | BAnd | BOr | BNot


# ---------------------------------------------------------------- real expressions


@dataclass(frozen=True, slots=True)
class RLit:
    """Rational literal."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class RNegInf:
    """`-INFINITY`."""


@dataclass(frozen=True, slots=True)
class RVar:
    """Real register."""

    var: int


@dataclass(frozen=True, slots=True)
class RParam:
    """Real kernel parameter, by its index among the kernel's scalar parameters."""

    param: int


@dataclass(frozen=True, slots=True)
class RBin:
    """Binary real operation. Undefined (a fault) for x/0, -inf - -inf, 0 * -inf, -inf / x."""

    op: RealOp
    a: "RExpr"
    b: "RExpr"


@dataclass(frozen=True, slots=True)
class RFn:
    """Unary real function. A fault outside the domain (log of x <= 0, sqrt of x < 0, rsqrt of
    x <= 0); exp(-inf) is 0, every other function of -inf is a fault."""

    fn: RealFn
    a: "RExpr"


@dataclass(frozen=True, slots=True)
class ROfInt:
    """Exact conversion of an integer."""

    a: IExpr


@dataclass(frozen=True, slots=True)
class RSelect:
    """`c ? a : b` on reals; only the chosen side is evaluated."""

    cond: BExpr
    a: "RExpr"
    b: "RExpr"


RExpr = RLit | RNegInf | RVar | RParam | RBin | RFn | ROfInt | RSelect | RCall | RPosInf


# ---------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class SetI:
    """Assign an integer register."""

    var: int
    value: IExpr
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class SetR:
    """Assign a real register."""

    var: int
    value: RExpr
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Load:
    """`register var := array[index]`, an atomic read; `var` is an integer register when the array's
    elements are integers. The index has type I64 semantics: any integer in the array's bounds."""

    var: int
    array: int
    index: IExpr
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Store:
    """`array[index] := value`, an atomic write; the value is an IExpr when elements are integers."""

    array: int
    index: IExpr
    value: RExpr | IExpr
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class AtomicAdd:
    """`atomicAdd(&array[index], value)` whose old value is not used."""

    array: int
    index: IExpr
    value: RExpr | IExpr
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class If:
    """Conditional."""

    cond: BExpr
    then: tuple["Stmt", ...]
    other: tuple["Stmt", ...] = ()
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class While:
    """The only loop."""

    cond: BExpr
    body: tuple["Stmt", ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Barrier:
    """`__syncthreads()`."""

    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class SyncWarp:
    """`__syncwarp()` with the full mask: orders memory inside a warp."""

    span: Span = field(default=NOWHERE, compare=False)


class ShflKind(StrEnum):
    """Warp shuffles; UP, DOWN and XOR keep the own value where the source lane is outside the
    segment of `width` lanes, as CUDA does."""

    IDX = "idx"
    UP = "up"
    DOWN = "down"
    XOR = "xor"


@dataclass(frozen=True, slots=True)
class Shfl:
    """`dst := __shfl_*_sync(mask, src, arg, width)` on real registers; orders no memory. Without a
    mask all 32 lanes take part."""

    kind: ShflKind
    dst: int
    src: int
    arg: IExpr
    width: int = 32
    span: Span = field(default=NOWHERE, compare=False)
    mask: IExpr | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """Fault with `reason` (one of the fault names of `semantics.faults`) unless `cond` holds; made by
    the lowering for alignment of vector accesses."""

    cond: BExpr
    reason: str
    span: Span = field(default=NOWHERE, compare=False)


Stmt = SetI | SetR | Load | Store | AtomicAdd | If | While | Barrier | SyncWarp | Shfl | ShflI | Vote | Check


# ---------------------------------------------------------------- kernels and launches


class Space(StrEnum):
    """Where an array lives. A LOCAL array belongs to one thread."""

    GLOBAL = "global"
    SHARED = "shared"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Array:
    """An array of a kernel. Index in `Kernel.arrays` is its id.

    `elem` is the C element type as written (`float`, `int`, `__half`, ...); `size` counts elements:
    None for a GLOBAL pointer parameter (the launch decides) and for `extern __shared__`."""

    name: str
    space: Space
    elem: str = "float"
    size: int | None = None
    const: bool = False
    restrict: bool = False


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar kernel parameter: an integer of a type, or a real (`type is None`)."""

    name: str
    type: IntType | None


@dataclass(frozen=True, slots=True)
class Kernel:
    """One `__global__` function after lowering.

    `params` lists the parameters in source order: ("array", id) or ("scalar", id)."""

    name: str
    params: tuple[tuple[str, int], ...]
    arrays: tuple[Array, ...]
    scalars: tuple[Scalar, ...]
    int_vars: tuple[tuple[str, IntType], ...]
    real_vars: tuple[str, ...]
    body: tuple[Stmt, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class KernelCall:
    """One launch of one kernel with everything known: `args` follows `Kernel.params` and holds the
    name of a tensor or workspace for an array, an int or a Fraction for a scalar."""

    kernel: Kernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    args: tuple[str | int | Fraction, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Plan:
    """The launches of a candidate for one workload, in order. `buffers` gives the element count and C
    element type of every tensor and workspace named in the calls."""

    calls: tuple[KernelCall, ...]
    buffers: dict[str, tuple[int, str]]
    workspaces: tuple[str, ...] = ()
