"""Halving loops over shared arrays: what they leave in cell 0 of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from semantics.lean import terms as show
from semantics.lean.equality import equality_proof
from semantics.lean.kernel import context_facts
from semantics.lean.lemmas import BOOL, Goal
from semantics.lean.pieces import Env, Piece
from semantics.lean.shares import made_up
from semantics.lean.syntax import bexpr
from semantics.symbolic import terms
from semantics.symbolic.linear import variable
from semantics.symbolic.pieces import Fold, Loop, Tree
from semantics.symbolic.shares import shares
from semantics.symbolic.terms import Term

if TYPE_CHECKING:
    from semantics.lean.blocks import Blocks, Target


@dataclass(frozen=True, slots=True)
class Carrier:
    """What a fold computes with: maxima in `Ext R` where -infinity may occur, sums in `R`."""

    infinite: bool

    @classmethod
    def of(cls, fold: Fold) -> "Carrier":
        return cls(terms.may_be_infinite(fold.first))

    @property
    def kind(self) -> str:
        return "Ext R" if self.infinite else "R"

    @property
    def op(self) -> str:
        return "Ext.max" if self.infinite else "(· + ·)"

    @property
    def unit(self) -> str:
        return "(.ninf : Ext R)" if self.infinite else "(0 : R)"

    def shown(self, t: Term) -> str:
        """A value in it."""
        return show.extended(t) if self.infinite else show.scalar(t)

    def joined(self, a: str, b: str) -> str:
        return f"Ext.max ({a}) ({b})" if self.infinite else f"{a} + {b}"

    def stored(self, proof: str) -> str:
        """An equation of cells from one in it."""
        return proof if self.infinite else f"(congrArg Ext.fin {proof})"


def nested(parts: Sequence[str], join: str) -> str:
    """`join` of two, of the first and `join` of the rest, and so on."""
    *before, last = parts
    for part in reversed(before):
        last = join.format(part, last)
    return last


def projections(count: int) -> list[str]:
    """The parts of a value that `nested` makes of so many."""
    return [".2" * at + (".1" if at < count - 1 else "") for at in range(count)]


def loop_test(self: "Blocks", loop: Tree | Loop, one: Piece) -> list[str]:
    """Tactics for `the test is defined and says that the loop goes on`, from `h`, for thread `t`."""
    cond = bexpr(loop.stmt.cond)
    facts = context_facts(self.emit.context, cond)
    known = {n: f for n, f in facts.items() if n[:5] in ("param", "bdim_", "gdim_")}
    names = self.names_of(one)
    integers = [n for n in names if n[0] == "n"]
    registers = ", ".join([*integers, *known])
    return [
        f"obtain ⟨{', '.join([*names, '_'])}⟩ := h t ht",
        *(f"have {n} : (β.thread t).iv {n[1:]} = _ := {n}" for n in integers),
        *(f"have {n} : {f.replace('E.', '(launch.env b t : Env R).')} := rfl" for n, f in known.items()),
        f"show ({cond} : BExpr).ok (launch.env b t) (β.thread t) ∧ "
        f"(({cond} : BExpr).val (launch.env b t) (β.thread t) ↔ _)",
        f"(simp (disch := omega) only [{BOOL}, {registers}]) <;> omega",
    ]


def tree_block(
    self: "Blocks",
    tree: Tree,
    name: str,
    start: "Target",
    following: "Target",
    open_: dict[int, bool],
    names: dict[str, tuple[int, int]],
) -> None:
    """The theorem about a whole halving loop."""
    one, carriers = start[0], [Carrier.of(fold) for fold in tree.folds]
    binders = " ".join([*self.emit.functions_binders(open_), *self.emit.place_binders(names)])
    given = self.emit.given(names)
    named = "".join(f"(X{b} := X{b}) " for b in (*self.emit.inputs, *open_))
    several = len(tree.folds) > 1
    totals = [f"{name}.total{fold.array}" if several else f"{name}.total" for fold in tree.folds]
    for fold, carrier, theorem in zip(tree.folds, carriers, totals, strict=True):
        _total(self, tree, fold, carrier, theorem, binders)
    _done(self, tree, name, start, following, binders)
    m = tree.width.bit_length() - 1
    kind = nested([c.kind for c in carriers], "({0} × {1})")
    op = nested([c.op for c in carriers], "(both {0} {1})")
    unit = nested([c.unit for c in carriers], "({0}, {1})")
    total = nested([f"({theorem} {named}{given})" for theorem in totals], "(fold_both {0} {1})")
    x = "C" if several else f"X{tree.folds[0].array}"
    parts = projections(len(tree.folds))
    inside: dict[int, str] = {}
    contents = ""
    if several:
        inside = {fold.array: f"(fun i => (C i){part})" for fold, part in zip(tree.folds, parts, strict=True)}
        firsts = [self.emit.located(c.shown(f.first)) for f, c in zip(tree.folds, carriers, strict=True)]
        contents = f" (C0 := fun i : Int => {nested([f'({t} : {c.kind})' for t, c in zip(firsts, carriers, strict=True)], '({0}, {1})')})"
    family = f"(fun {tree.name} {x} => {self.emit.start(one, Env(arrays=inside))})"
    found = [f"(congrArg (fun z => z{part}) hx)" if several else "hx" for part in parts]
    lines = [
        f"theorem {name}.block {binders} {{β : BSt R}} (h : Each launch {self.emit.start(*start)} β) :",
        f"    blockWp launch gown b {name}.code (Each launch {self.emit.start(*following)}) β := by",
        f"  refine tree_loop (α := {kind}) (op := {op}) (e := {unit}){contents} {m} {family} (by decide) h "
        f"{total} ?_ ?_ ?_",
        f"  · intro {tree.name} {x} β low high h t ht",
        *(f"    {line}" for line in loop_test(self, tree, one)),
        f"  · intro {tree.name} {x} β low high h",
        f"    exact {name}.round {given} low (by omega) h",
        f"  · intro {x} β hx h",
        f"    exact {name}.done {given} {' '.join(found)} h",
    ]
    what = f"the halving loop leaves the whole in cell 0{' of each array' if several else ''}"
    self.emit.items.append(Goal(f"{name}.block", what, tree.line, "\n".join(lines)))


def _done(self: "Blocks", tree: Tree, name: str, start: "Target", following: "Target", binders: str) -> None:
    """What is known when the stride is 0 and cell 0 of each array holds its whole."""
    one = start[0]
    contents, wholes, values = [], [], {}
    several = len(tree.folds) > 1
    for fold in tree.folds:
        carrier, x = Carrier.of(fold), f"X{fold.array}"
        h = f"hx{fold.array}" if several else "hx"
        contents.append(f"{{{x} : Int → {carrier.kind}}}")
        wholes.append(f"({h} : {x} 0 = {self.emit.located(carrier.shown(fold.total))})")
        values[f"Z{fold.array}"] = carrier.stored(h)
    lines = [
        f"theorem {name}.done {binders} {' '.join(contents)} {{β : BSt R}}",
        f"    {' '.join(wholes)} (h : Each launch {self.emit.start(one, Env({tree.name: '0'}))} β) :",
        f"    Each launch {self.emit.start(*following)} β := by",
        "  intro t ht",
        f"  have ht : t < {self.emit.threads} := ht",
        f"  obtain ⟨{', '.join([*self.names_of(one), '_'])}⟩ := h t ht",
    ]
    wanted = self.names_of(following[0])
    lines.append(f"  refine ⟨{', '.join(['?_'] * len(wanted) + ['trivial'])}⟩")
    for part in wanted:
        if part in values:
            lines += [
                "  · intro i hi",
                "    have e : i = 0 := by omega",
                "    subst e",
                f"    exact ({part} 0 (by omega)).trans (congrArg some {values[part]})",
            ]
        elif part[0] == "Z":
            lines.append(
                f"  · exact {part}.value (fun i hi => by first | exact hi | omega) (fun i _ => by first | rfl | "
                f"(simp only [{self.unfolded(one, following[0])}]; ks_spec; done))"
            )
        else:
            lines.append(f"  · exact {part}")
    what = "cell 0 holds the whole when the loop has ended"
    self.emit.items.append(Goal(f"{name}.done", what, tree.line, "\n".join(lines)))


def _total(self: "Blocks", tree: Tree, fold: Fold, carrier: Carrier, theorem: str, binders: str) -> None:
    """The partial results of the threads make up the whole."""
    m, located = tree.width.bit_length() - 1, self.emit.located
    first, total = located(carrier.shown(fold.first)), located(carrier.shown(fold.total))
    lines = [
        f"theorem {theorem} {binders} :",
        f"    foldZ {carrier.op} {carrier.unit} (fun i : Int => {first}) (2 * 2 ^ {m}) = {total} := by",
    ]
    counter = fold.total.counter if isinstance(fold.total, terms.Total | terms.Largest) else ""
    found = shares(fold.op, fold.first, 2 * tree.width, counter)
    if found is None:
        lines.append(
            "  first | rfl | exact sumI_foldZ.symm | exact maxE_foldZ.symm.trans (maxE_fin (by omega))"
        )
    else:
        lines += [f"  {line}" for line in made_up(found, located)]
    what = "the partial results of the threads make up the whole"
    self.emit.items.append(Goal(theorem, what, tree.line, "\n".join(lines)))
