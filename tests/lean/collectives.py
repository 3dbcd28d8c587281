"""Where shuffles read and which coordinates threads have: what the interpreter does, and what Lean must say."""

from collections.abc import Iterator

from semantics import core
from semantics.core import Dim, IntType, ShflKind, Space, Special
from semantics.interp import Run, run

WIDTHS, ARGUMENTS = (1, 2, 8, 32), (0, 1, 3, 7, 16, 31)
BLOCK, GRID = (5, 3, 2), (2, 2, 3)
I32 = IntType.I32


def _run(body: tuple[core.Stmt, ...], grid: tuple[int, int, int], block: tuple[int, int, int], size: int) -> Run:
    kernel = core.Kernel(
        "probe", (("array", 0),), (core.Array("y", Space.GLOBAL),), (), (), ("a", "b"), body
    )
    return run(core.Plan((core.KernelCall(kernel, grid, block, 0, ("y",)),), {"y": (size, "float")}), {}, exact=True)


def sources(kind: ShflKind, width: int, argument: int) -> list[int] | None:
    """The lane that each of 32 lanes reads, or None when the interpreter reports a fault."""
    lane = core.ISpecial(Special.TID, Dim.X, I32)
    body = (
        core.SetR(0, core.ROfInt(lane)),
        core.Shfl(kind, 1, 0, core.ILit(argument), width),
        core.Store(0, lane, core.RVar(1)),
    )
    done = _run(body, (1, 1, 1), (32, 1, 1), 32)
    return None if done.faults else [int(v) for v in done.outputs["y"]]


def shuffle_checks() -> Iterator[str]:
    """`example`s that say the same of `ShflKind.source`, which refuses an xor that leaves its segment."""
    for kind in ShflKind:
        for width in WIDTHS:
            for argument in ARGUMENTS:
                found = sources(kind, width, argument)
                term = f"((List.range 32).map fun l => ShflKind.{kind.value}.source {width} l {argument})"
                assert found is not None
                beyond = kind is ShflKind.XOR and argument >= width
                listed = ", ".join("none" if beyond else f"some {n}" for n in found)
                yield f"example : {term} = [{listed}] := by decide +kernel"


def coordinate_checks() -> Iterator[str]:
    """`example`s about `Dim3.coord` for the threads of a block and the blocks of a grid."""

    def flat(what: Special, extents: tuple[int, int, int]) -> core.IExpr:
        def times(a: core.IExpr, n: int) -> core.IExpr:
            return core.IBin(core.IntOp.MUL, I32, a, core.ILit(n))

        def plus(a: core.IExpr, b: core.IExpr) -> core.IExpr:
            return core.IBin(core.IntOp.ADD, I32, a, b)

        x, y, z = (core.ISpecial(what, d, I32) for d in Dim)
        return plus(x, plus(times(y, extents[0]), times(z, extents[0] * extents[1])))

    for what, extents in ((Special.TID, BLOCK), (Special.BID, GRID)):
        count = extents[0] * extents[1] * extents[2]
        grid, block = ((1, 1, 1), extents) if what is Special.TID else (extents, (1, 1, 1))
        for dim in Dim:
            body = (core.Store(0, flat(what, extents), core.ROfInt(core.ISpecial(what, dim, I32))),)
            done = _run(body, grid, block, count)
            assert not done.faults
            listed = ", ".join(str(int(v)) for v in done.outputs["y"])
            shape = ", ".join(map(str, extents))
            yield (
                f"example : ((List.range {count}).map fun n : Nat => (⟨{shape}⟩ : Dim3).coord n .{dim.value}) "
                f"= [{listed}] := by decide +kernel"
            )
