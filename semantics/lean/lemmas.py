"""Lemma lists for the tactics of emitted theorems, and small helpers to write them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

INT = (
    "IExpr.val, IExpr.ok, IntOp.fn, IntOp.defined, IntTy.inRange, IntTy.low, IntTy.high, IntTy.bits, "
    "true_and, and_true, not_false_eq_true, Int.reduceToNat, Int.reducePow, "
    "Int.tdiv_eq_ediv_of_nonneg, Int.tmod_eq_emod_of_nonneg"
)
BOOL = f"BExpr.val, BExpr.ok, implies_true, CmpOp.intProp, CmpOp.ext, Ext.lt_fin, Ext.le_fin, {INT}"
REAL = (
    "RExpr.val, RExpr.ok, RealOp.fn, RealOp.defined, RealFn.fn, RealFn.real, RealFn.defined, "
    "Ext.add_fin, Ext.sub_fin, Ext.mul_fin, Ext.div_fin, Ext.max_fin, Ext.min_fin, Ext.map_fin, Ext.exp_fin, "
    f"Ext.isFin_fin, Nat.reduceEqDiff, {BOOL}"
)


@dataclass(frozen=True, slots=True)
class Goal:
    """One theorem: `title` says in words what it states, `line` is the source line."""

    name: str
    title: str
    line: int
    text: str


def assigned(kind: str, w: int, var: int) -> str:
    """Register `w` after the assignment of `var`."""
    return f"set{kind}_same" if w == var else f"(set{kind}_ne (by decide)).trans "


def bullet(lines: list[str]) -> list[str]:
    """The lines as one focused block."""
    return [f"{'· ' if at == 0 else '  '}{line}" for at, line in enumerate(lines)]


def loop(
    k: str, guard: str, head: str, test: str, first: str, bounded: str, body: list[str], leave: str
) -> list[str]:
    """The loop rule for counter `k` with invariant `head`: `test` says when the loop goes on, `first` that
    the invariant holds at the start, `bounded` that the loop ends, `leave` what holds afterwards."""
    opened = f"intro {k} σ{k} h{k} i{k}"
    return [
        f"refine vc_loop 4294967296 (fun {k} => {head}) ({first}) ?_ ?_ ?_ ?_",
        *bullet([opened, f"exact {test}.1"]),
        *bullet([f"{opened} hc", f"have {guard} := {test}.2.mp hc", f"exact {bounded}"]),
        *bullet([f"{opened} hc", f"have {guard} := {test}.2.mp hc", *body]),
        *bullet(
            [f"{opened} hc", f"have {guard} := fun hg => hc ({test}.2.mpr hg)", f"exact {leave} σ{k} i{k}"]
        ),
    ]


def moved(names: Iterable[str], ints: Callable[[int], str], reals: Callable[[int], str]) -> str:
    """The conjuncts `names` after a statement that changes registers only: `ints` and `reals` are what stands
    before the conjunct of a register, or a proof of it, whose name ends in `_same`."""
    proofs = []
    for name in names:
        if name[0] == "n":
            prefix = ints(int(name[1:]))
        elif name[0] == "r":
            prefix = reals(int(name[1:]))
        else:
            prefix = ""
        if prefix.endswith("_same"):
            proofs.append(prefix)
        else:
            proofs.append(f"({prefix}{name})" if prefix else name)
    return f"⟨{', '.join([*proofs, 'trivial'])}⟩"
