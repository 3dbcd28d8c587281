"""Loops with barriers: one round, and the whole loop."""

from typing import TYPE_CHECKING

from semantics import core
from semantics.lean.lemmas import Goal, bullet
from semantics.lean.pieces import Env, Piece
from semantics.lean.syntax import bexpr
from semantics.lean.trees import Carrier, loop_test
from semantics.symbolic.pieces import Loop, Tree

if TYPE_CHECKING:
    from semantics.lean.blocks import Blocks, Target


def loop(self: "Blocks", loop: Tree | Loop, open_: dict[int, bool], names: dict[str, tuple[int, int]]) -> "Target":
    """Emit the pieces of a loop and the theorem about one round; returns how it starts."""
    name = loop.name
    head = self.first(loop.body[0])
    inside, start_arrays, next_arrays = dict(open_), {}, {}
    if isinstance(loop, Tree):
        for one_fold in loop.folds:
            array, carrier = one_fold.array, Carrier.of(one_fold)
            inside[array] = carrier.infinite
            x = f"X{array}"
            next_arrays[array] = f"(fun i => {carrier.joined(f'{x} i', f'{x} (i + {name})')})"
            start_arrays[array] = f"(fun i : Int => {self.emit.located(carrier.shown(one_fold.first))})"
        start, following, bounds = str(loop.width), f"({name} / 2)", (1, loop.width + 1)
        what = "a round of the loop halves the stride and keeps the total"
    else:
        start, following, bounds = "0", f"({name} + 1)", (0, loop.count)
        what = "a round of the loop leads from its invariant to the next"
    again = Piece(f"P{self.emit.count + 1}", head, self.emit.blank(head), inside)
    round_ = Env({name: following}, next_arrays)
    self.swapped = isinstance(loop, Tree) and any(fold.swapped for fold in loop.folds)
    target, code, lines = self.chain(loop.body, inside, {**names, name: bounds}, (again, round_))
    self.swapped = False
    self.loops += 1
    space, one = f"L{self.loops}", target[0]
    self.emit.items.append(
        [
            "",
            "/-- The test, one round and the whole of a loop. -/",
            f"def {space}.cond : BExpr := {bexpr(loop.stmt.cond)}",
            f"def {space}.body : Stmt := {self.emit.printer.block(loop.stmt.body)}",
            f"def {space}.code : Stmt := .while {space}.cond {space}.body",
        ]
    )
    text = [
        f"theorem {space}.round {self.emit.binders(one)} {{β : BSt R}}",
        f"    (h : Each launch {self.emit.start(one)} β) :",
        f"    blockWp launch gown b {space}.body (Each launch {self.emit.start(one, round_)}) β := by",
        f"  show blockWp launch gown b {code} _ β",
        *(f"  {line}" for line in lines),
    ]
    self.emit.items.append(Goal(f"{space}.round", what, loop.line, "\n".join(text)))
    return one, Env({name: start}, start_arrays)

def loop_block(self: "Blocks",
    loop: Loop,
    name: str,
    start: "Target",
    following: "Target",
    open_: dict[int, bool],
    names: dict[str, tuple[int, int]],
) -> None:
    """The theorem about a whole loop that counts."""
    one = start[0]
    binders = " ".join([*self.emit.functions_binders(open_), *self.emit.place_binders(names)])
    given = self.emit.given(names)
    last = Env({loop.name: str(loop.count)})
    lines = [
        f"theorem {name}.done {binders} {{β : BSt R}}",
        f"    (h : Each launch {self.emit.start(one, last)} β) :",
        f"    Each launch {self.emit.start(*following)} β := by",
        "  intro t ht",
        f"  have ht : t < {self.emit.threads} := ht",
        f"  obtain ⟨{', '.join([*(n + 'e' for n in self.names_of(one)), '_'])}⟩ := h t ht",
    ]
    wanted = self.names_of(following[0])
    lines.append(f"  refine ⟨{', '.join(['?_'] * len(wanted) + ['trivial'])}⟩")
    for part in wanted:
        lines += [f"  {line}" for line in bullet(self.part(one, following[0], part, False))]
    self.emit.items.append(
        Goal(f"{name}.done", "what is known when the loop has ended", loop.line, "\n".join(lines))
    )
    lines = [
        f"theorem {name}.block {binders} {{β : BSt R}} (h : Each launch {self.emit.start(*start)} β) :",
        f"    blockWp launch gown b {name}.code (Each launch {self.emit.start(*following)}) β := by",
        f"  refine count_loop {loop.count} (fun {loop.name} => {self.emit.start(one)}) h ?_ ?_ ?_",
        f"  · intro {loop.name} β low high h t ht",
        *(f"    {line}" for line in loop_test(self, loop, one)),
        f"  · intro {loop.name} β low high h",
        f"    exact {name}.round {given} low high h",
        "  · intro β h",
        f"    exact {name}.done {given} h",
    ]
    self.emit.items.append(
        Goal(f"{name}.block", "the loop runs to what follows it", loop.line, "\n".join(lines))
    )
