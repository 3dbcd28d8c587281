"""Loops with barriers: one round, and the whole loop."""

from typing import TYPE_CHECKING

from semantics import core
from semantics.lean import terms as show
from semantics.lean.equality import equality_proof
from semantics.lean.kernel import context_facts
from semantics.lean.lemmas import BOOL, Goal, bullet
from semantics.lean.pieces import Env, Piece
from semantics.lean.syntax import bexpr
from semantics.symbolic import pieces as cut
from semantics.symbolic import terms
from semantics.symbolic.linear import variable
from semantics.symbolic.pieces import Loop, Tree
from semantics.symbolic.reductions import strided_parts

if TYPE_CHECKING:
    from semantics.lean.blocks import Blocks, Target


def loop(self: "Blocks", loop: Tree | Loop, open_: dict[int, bool], names: dict[str, tuple[int, int]]) -> "Target":
    """Emit the pieces of a loop and the theorem about one round; returns how it starts."""
    name = loop.name
    head = self.first(loop.body[0])
    inside, start_arrays, next_arrays = dict(open_), {}, {}
    if isinstance(loop, Tree):
        infinite = cut.may_be_infinite(loop.first)
        inside[loop.array] = infinite
        step = "Ext.max ({0}) ({1})" if infinite else "{0} + {1}"
        x = f"X{loop.array}"
        next_arrays[loop.array] = f"(fun i => {step.format(f'{x} i', f'{x} (i + {name})')})"
        first = show.extended(loop.first) if infinite else show.scalar(loop.first)
        start_arrays[loop.array] = f"(fun i : Int => {self.emit.located(first)})"
        start, following, bounds = str(loop.width), f"({name} / 2)", (1, loop.width + 1)
        what = "a round of the loop halves the stride and keeps the total"
    else:
        start, following, bounds = "0", f"({name} + 1)", (0, loop.count)
        what = "a round of the loop leads from its invariant to the next"
    again = Piece(f"P{self.emit.count + 1}", head, self.emit.blank(head), inside)
    round_ = Env({name: following}, next_arrays)
    self.swapped = isinstance(loop, Tree) and loop.swapped
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

def test(self: "Blocks", loop: Tree | Loop, one: Piece) -> list[str]:
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
        *(f"    {line}" for line in test(self, loop, one)),
        f"  · intro {loop.name} β low high h",
        f"    exact {name}.round {given} low high h",
        "  · intro β h",
        f"    exact {name}.done {given} h",
    ]
    self.emit.items.append(
        Goal(f"{name}.block", "the loop runs to what follows it", loop.line, "\n".join(lines))
    )

def tree_block(self: "Blocks",
    tree: Tree,
    name: str,
    start: "Target",
    following: "Target",
    open_: dict[int, bool],
    names: dict[str, tuple[int, int]],
) -> None:
    """The theorem about a whole halving loop."""
    one, x = start[0], f"X{tree.array}"
    infinite = cut.may_be_infinite(tree.first)
    op, unit = ("Ext.max", "(.ninf : Ext R)") if infinite else ("(· + ·)", "(0 : R)")
    kind = "Ext R" if infinite else "R"
    binders = " ".join([*self.emit.functions_binders(open_), *self.emit.place_binders(names)])
    given = self.emit.given(names)
    final = show.extended(tree.total) if infinite else show.scalar(tree.total)
    total = self.emit.located(final)
    total_theorem(self, tree, name, one, op, unit, binders, total)
    at_zero = Env({tree.name: "0"})
    lines = [
        f"theorem {name}.done {binders} {{{x} : Int → {'Ext R' if infinite else 'R'}}} {{β : BSt R}}",
        f"    (hx : {x} 0 = {total}) (h : Each launch {self.emit.start(one, at_zero)} β) :",
        f"    Each launch {self.emit.start(*following)} β := by",
        "  intro t ht",
        f"  have ht : t < {self.emit.threads} := ht",
        f"  obtain ⟨{', '.join([*self.names_of(one), '_'])}⟩ := h t ht",
    ]
    wanted = self.names_of(following[0])
    lines.append(f"  refine ⟨{', '.join(['?_'] * len(wanted) + ['trivial'])}⟩")
    for part in wanted:
        if part == f"Z{tree.array}":
            value = "hx" if infinite else "(congrArg Ext.fin hx)"
            lines += [
                "  · intro i hi",
                "    have e : i = 0 := by omega",
                "    subst e",
                f"    exact ({part} 0 (by omega)).trans (congrArg some {value})",
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
    m = tree.width.bit_length() - 1
    named = "".join(f"(X{b} := X{b}) " for b in (*self.emit.inputs, *open_))
    family = f"(fun {tree.name} {x} => {self.emit.start(one)})"
    lines = [
        f"theorem {name}.block {binders} {{β : BSt R}} (h : Each launch {self.emit.start(*start)} β) :",
        f"    blockWp launch gown b {name}.code (Each launch {self.emit.start(*following)}) β := by",
        f"  refine tree_loop (α := {kind}) (op := {op}) (e := {unit}) {m} {family} (by decide) h ({name}.total {named}{given}) ?_ ?_ ?_",
        f"  · intro {tree.name} {x} β low high h t ht",
        *(f"    {line}" for line in test(self, tree, one)),
        f"  · intro {tree.name} {x} β low high h",
        f"    exact {name}.round {given} low (by omega) h",
        f"  · intro {x} β hx h",
        f"    exact {name}.done {given} hx h",
    ]
    self.emit.items.append(
        Goal(f"{name}.block", "the halving loop leaves the whole in cell 0", tree.line, "\n".join(lines))
    )

def total_theorem(self: "Blocks", tree: Tree, name: str, one: Piece, op: str, unit: str, binders: str, total: str
) -> None:
    """The partial results of the threads make up the whole."""
    m = tree.width.bit_length() - 1
    infinite = cut.may_be_infinite(tree.first)
    first = show.extended(tree.first) if infinite else show.scalar(tree.first)
    lines = [
        f"theorem {name}.total {binders} :",
        f"    foldZ {op} {unit} (fun i : Int => {self.emit.located(first)}) (2 * 2 ^ {m}) = {total} := by",
    ]
    parts = strided_parts(tree.op, tree.first, 2 * tree.width)
    if parts is None:
        lines.append("  first | rfl | exact sumI_foldZ.symm | exact maxE_foldZ.symm.trans (maxE_fin (by omega))")
    else:
        counter, count, body, bound = parts
        whole = tree.total
        assert isinstance(whole, terms.Total | terms.Largest)
        lemma = "max_strided" if tree.op is core.RealOp.MAX else "sum_strided"
        extra = " (by omega)" if tree.op is core.RealOp.MAX else ""
        f = f"(fun {whole.counter} : Int => {self.emit.located(show.scalar(whole.body))})"
        g = f"(fun i {counter} : Int => {self.emit.located(show.scalar(body))})"
        n = f"(fun i : Int => {show.natural(count)})"
        have = terms.substitute(body, {counter: variable("k")})
        want = terms.substitute(whole.body, {whole.counter: variable("j")})
        lines += [
            f"  refine {lemma} {f} {g} {2 * tree.width} {bound} (by omega){extra} {n} (fun i i0 i1 => ?_) "
            f"(fun i k j hj => ?_)",
            f"  · show {show.natural(count)} = Int.toNat (({bound} - i + ({2 * tree.width} - 1)) / {2 * tree.width})",
            "    congr 1; omega",
            f"  · show {self.emit.located(show.scalar(have))} = {self.emit.located(show.scalar(want))}",
            *(f"    {self.emit.located(line)}" for line in equality_proof(have, want)),
        ]
    what = "the partial results of the threads make up the whole"
    self.emit.items.append(Goal(f"{name}.total", what, tree.line, "\n".join(lines)))
