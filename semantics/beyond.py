"""Core constructs that the proofs do not know.

`semantics.core` mirrors the syntax of the Lean package constructor by constructor; what stands here it has
no meaning for. The interpreter and the compiled programs run these; a proof is refused by name."""

from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from semantics.span import NOWHERE, Span

if TYPE_CHECKING:
    from semantics.core import BExpr, IExpr, IntType, Kernel, RExpr, ShflKind


class RealCall(StrEnum):
    """Functions of one or two reals. `ROUND` goes away from zero at halves, `RINT` to even; `FMOD` has
    the sign of the dividend, `POW` needs a positive base or an integer exponent."""

    FLOOR = "floor"
    CEIL = "ceil"
    TRUNC = "trunc"
    ROUND = "round"
    RINT = "rint"
    FMOD = "fmod"
    POW = "pow"
    EXP2 = "exp2"
    EXP10 = "exp10"
    LOG2 = "log2"
    LOG10 = "log10"
    TAN = "tan"
    ASIN = "asin"
    ACOS = "acos"
    ATAN = "atan"
    ATAN2 = "atan2"
    SINH = "sinh"
    COSH = "cosh"
    CBRT = "cbrt"


@dataclass(frozen=True, slots=True)
class RCall:
    """A function of `RealCall`. A fault where it has no finite value."""

    fn: RealCall
    a: "RExpr"
    b: "RExpr | None" = None


@dataclass(frozen=True, slots=True)
class RPosInf:
    """`+INFINITY`; above every real and equal to itself."""


@dataclass(frozen=True, slots=True)
class IOfReal:
    """Conversion of a real to an integer type, toward zero. A value that does not fit is a fault."""

    type: "IntType"
    a: "RExpr"


@dataclass(frozen=True, slots=True)
class ShflI:
    """`core.Shfl` on integer registers."""

    kind: "ShflKind"
    dst: int
    src: int
    arg: "IExpr"
    width: int = 32
    span: Span = field(default=NOWHERE, compare=False)
    mask: "IExpr | None" = None


class VoteKind(StrEnum):
    """Votes of a warp: the lanes for which a condition holds, whether there is one, whether all are."""

    BALLOT = "ballot"
    ANY = "any"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Vote:
    """`dst := __ballot_sync(mask, cond)` or `__any_sync`, `__all_sync` (0 or 1); orders no memory."""

    kind: VoteKind
    dst: int
    cond: "BExpr"
    span: Span = field(default=NOWHERE, compare=False)
    mask: "IExpr | None" = None


_NAMES = {
    RPosInf: "+INFINITY",
    IOfReal: "a conversion of a float to an integer",
    ShflI: "a shuffle of integers",
    Vote: "a vote of a warp",
}


def beyond(kernel: "Kernel") -> tuple[str, int] | None:
    """The first construct of a kernel that proofs do not know, in words, and its line; None if all are."""
    return _first(kernel.body, 0)


def _first(node: Any, line: int) -> tuple[str, int] | None:
    if isinstance(node, tuple):
        return next((found for part in node if (found := _first(part, line)) is not None), None)
    if not is_dataclass(node) or isinstance(node, type):
        return None
    line = getattr(node, "span", NOWHERE).line or line
    if isinstance(node, RCall):
        return f"the function {node.fn}", line
    if type(node) in _NAMES:
        return _NAMES[type(node)], line
    if getattr(node, "mask", None) is not None:
        return "a warp operation with a partial mask", line
    parts = (getattr(node, f.name) for f in fields(node) if f.name != "span")
    return next((found for part in parts if (found := _first(part, line)) is not None), None)
