"""From pieces to the block: what holds at each barrier, loops, and the theorem about the whole kernel."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from semantics import core
from semantics.lean import terms as show
from semantics.lean.equality import equality_proof
from semantics.lean.kernel import context_facts
from semantics.lean.lemmas import BOOL, Goal, bullet
from semantics.lean.pieces import SELF, Env, Piece, Pieces
from semantics.lean.segments import Made, Segments
from semantics.lean.syntax import bexpr
from semantics.symbolic import pieces as cut, terms
from semantics.symbolic.linear import variable
from semantics.symbolic.pieces import Kind, Loop, Phase, Segment, Tree
from semantics.symbolic.reductions import Warps, strided_parts, fold_of_slots

Target = tuple[Piece, Env]
"""A piece and how it is applied: block code leads to its start."""


@dataclass(slots=True)
class Blocks:
    """Joins pieces. `emit` holds the items in order."""

    emit: Pieces
    segments: Segments = field(init=False)
    _loops: int = 0

    def __post_init__(self) -> None:
        self.segments = Segments(self.emit)

    # ------------------------------------------------------------ chains of pieces

    def first(self, piece: cut.Piece) -> Phase:
        """The phase that a piece begins with."""
        match piece:
            case Phase():
                return piece
            case Segment():
                return self.first(piece.parts[0])  # type: ignore[arg-type]
            case _:
                return self.first(piece.body[0])

    def chain(
        self,
        pieces: Sequence[cut.Piece],
        open_: dict[int, bool],
        names: dict[str, tuple[int, int]],
        goal: Target | None,
    ) -> tuple[Target, str, list[str]]:
        """Emit pieces that run one after the other up to `goal` (None: the end of the kernel). Returns where
        they start, their code, and tactic lines from `h : Each launch start β` to the end."""
        made: list[tuple[Target, cut.Piece, str]] = []
        warps: dict[int, Made] = {}
        for at, piece in enumerate(pieces):
            match piece:
                case Phase():
                    one = self.emit.piece(piece, open_)
                    made.append(((one, SELF), piece, one.space))
                case Segment():
                    warps[at] = self.segments.segment(piece, open_, names)
                    made.append(((warps[at].first, SELF), piece, warps[at].last.space))
                case _:
                    start = self.loop(piece, open_, names)
                    made.append((start, piece, f"L{self._loops}"))
        code, lines = "", []
        given = self.emit.given(names)
        for at, (target, piece, space) in enumerate(made):
            last = at == len(made) - 1
            following = goal if last else made[at + 1][0]
            h, kind = f"h{at}" if at else "h", "kernel" if goal is None else "block"
            n = at + 1
            if isinstance(piece, Tree | Loop):
                assert following is not None
                make = self._tree_block if isinstance(piece, Tree) else self._loop_block
                make(piece, space, target, following, open_, names)  # type: ignore[arg-type]
                step = f"{space}.block {given} {h}"
                lines.append(
                    f"exact {step}" if last else f"refine {kind}_loop_then ({step}) (fun β{n} h{n} => ?_)"
                )
                continue
            one, end, suffix, runs = target[0], target[0], "", f"({space}.runs {given})"
            if at in warps:
                end, suffix = warps[at].last, "_warps"
                runs = f"(fun w hw σ hσ => {warps[at].theorem} {given} hw hσ)"
            match piece.kind:
                case Kind.BARRIER:
                    assert following is not None
                    self.emit.items.append(self._after(one, following, end))
                    after = f"(fun _ ha => {space}.after {given} {h} ha)"
                    phase = f"(each_phase{suffix} hb (by decide) {h} {runs} {after})"
                    rule = f"{kind}_phase_then"
                    lines.append(f"refine {rule} {phase} (fun β{n} h{n} => ?_)")
                case Kind.LAST:
                    self.emit.items.append(self._last(end))
                    post = f"(fun _ ha => {space}.post {given} ha)"
                    lines.append(f"exact each_last{suffix} hb {h} {runs} {post}")
                case _:
                    assert following is not None
                    self.emit.items.append(self._after(one, following))
                    silent = f"(each_silent (by simp [{space}.code, silent]) {h} {runs})"
                    moved = f"(blockWp_mono (fun _ ha => {space}.after {given} ha) {silent})"
                    lines.append(
                        f"exact {moved}" if last else f"refine {kind}_then {moved} (fun β{n} h{n} => ?_)"
                    )
        for at, (_, piece, space) in reversed(list(enumerate(made))):
            last = at == len(made) - 1
            own = warps[at].code if at in warps else f"{space}.code"
            if isinstance(piece, Tree | Loop):
                code = own if last else f"(.seq {own} {code})"
            elif piece.kind is Kind.BARRIER:
                code = f"(app {own} (.seq .barrier {code}))"
            else:
                code = own if last else f"(app {own} {code})"
        return made[0][0], code, lines

    # ------------------------------------------------------------ at a barrier

    def _after(self, first: Piece, target: Target, piece: Piece | None = None) -> Goal:
        """What holds at the barrier, or after silent code, is what the next piece starts from. `piece` ends
        the phase that `first` begins."""
        piece = piece or first
        barrier = piece.phase.kind is Kind.BARRIER
        begin = self.emit.start(*target)
        lines = [f"theorem {piece.space}.after {self.emit.binders(piece)} {{β β' : BSt R}}"]
        if barrier:
            lines += [
                f"    (h0 : Each launch {self.emit.start(first)} β)",
                f"    (h : AfterPhase launch {self.emit.own(piece)} {self.emit.end(piece)} β β') :",
                f"    Each launch {begin} β' := by",
            ]
        else:
            lines[0] = lines[0].replace("{β β' : BSt R}", "{β : BSt R}")
            lines += [f"    (h : Each launch {self.emit.end(piece)} β) : Each launch {begin} β := by"]
        proof = ["intro t ht", f"have ht : t < {self.emit.threads} := ht"]
        end = self._names(piece, end=True)
        if barrier:
            proof += [
                f"obtain ⟨{', '.join([*self._names(first), '_'])}⟩ := h0 t ht",
                "obtain ⟨σ, hB, hr, _⟩ := h.1 t ht",
                f"obtain ⟨{', '.join([*(n + 'e' for n in end), '_'])}⟩ := hB",
            ]
        else:
            proof.append(f"obtain ⟨{', '.join([*(n + 'e' for n in end), '_'])}⟩ := h t ht")
        wanted = self._names(target[0])
        proof.append(f"refine ⟨{', '.join(['?_'] * len(wanted) + ['trivial'])}⟩")
        for name in wanted:
            proof += bullet(self._part(piece, target[0], name, barrier))
        what = "what is known at the barrier" if barrier else "what is known before the loop"
        text = "\n".join([*lines, *(f"  {one}" for one in proof)])
        return Goal(f"{piece.space}.after", what, piece.phase.line, text)

    @staticmethod
    def _names(piece: Piece, end: bool = False) -> list[str]:
        block = piece.phase.block
        return [name for name, _ in piece.proof.parts(block.goal if end else block.before)]

    def _part(self, piece: Piece, target: Piece, name: str, barrier: bool) -> list[str]:
        number = name[1:]
        kept = f"(by simp [{piece.space}.own])"
        unfold = f"{self._equal(piece, target)}"
        if name[0] == "H":
            return [f"exact {name}.same (fun i => h.kept {kept})" if barrier else f"exact {name}e"]
        if name[0] == "Z":
            b = int(number)
            if b in piece.phase.written:
                return ["intro i hi", *self._written(piece, b), f"· {unfold}"]
            source = f"({name}.same (fun i _ => h.kept {kept}))" if barrier else f"{name}e"
            return [f"exact {source}.value (fun i hi => by first | exact hi | omega) (fun i _ => by {unfold})"]
        register = "iv" if name[0] == "n" else "rv"
        via = f"(congrArg (fun r : Reg R => r.{register} {number}) hr).trans " if barrier else ""
        if name[0] == "n":
            return [f"exact {via}({name}e.trans (by omega))"]
        have = piece.phase.block.goal.reals[int(number)]
        whole = target.phase.block.before.reals[int(number)]
        slots = fold_of_slots(have, {b: c.value for b, c in piece.phase.shared.items()})
        if slots is not None and isinstance(whole, terms.Total | terms.Largest):
            inside = "(congrArg Ext.fin ?_)" if isinstance(whole, terms.Total) else "?_"
            return [f"refine {via}({name}e.trans {inside})", *self._slots(slots, whole)]
        return [f"refine {via}({name}e.trans ?_)", unfold]

    def _slots(self, slots: Warps, whole: terms.Total | terms.Largest) -> list[str]:
        """The fold over the slots that warps filled is the fold over all elements."""
        inner, part, located = slots.lanes.body, slots.part, self.emit.located
        assert isinstance(inner, terms.Total | terms.Largest)
        lane, k, n, threads = slots.lanes.counter, inner.counter, slots.bound, 32 * slots.count
        counts = terms.substitute(inner, {lane: variable("l")}), terms.substitute(part, {"i": variable("th")})
        fold = terms.Total | terms.Largest
        assert isinstance(counts[0], fold) and isinstance(counts[1], fold)
        rule, extra = ("sum_slots", "") if slots.op is core.RealOp.ADD else ("max_slots", " (by omega)")
        mine = terms.substitute(terms.substitute(inner.body, {lane: variable("l")}), {k: variable("k")})
        other = terms.substitute(part.body, {part.counter: variable("k")})
        thread = terms.substitute(other, {"i": variable("th")})
        element = terms.substitute(whole.body, {whole.counter: variable("j")})
        return [
            f"refine {rule} _ (fun i {lane} {k} : Int => {located(show.scalar(inner.body))}) "
            f"(fun i {lane} : Int => {show.natural(inner.count)}) "
            f"(fun {whole.counter} : Int => {located(show.scalar(whole.body))}) "
            f"(fun i {part.counter} : Int => {located(show.scalar(part.body))}) {slots.count} {n} {threads} (by omega) "
            f"(by omega){extra} (fun i : Int => {show.natural(part.count)}) (fun i i0 i1 => ?_) (fun i k j hj => ?_) "
            "(fun i i0 i1 => rfl) (fun i l th i0 i1 l0 l1 ht => ?_) (fun i l k th ht => ?_)",
            f"· show {show.natural(part.count)} = Int.toNat (({n} - i + ({threads} - 1)) / {threads})",
            "  congr 1; omega",
            *bullet([f"show {located(show.scalar(other))} = {located(show.scalar(element))}"]),
            *(f"  {located(line)}" for line in equality_proof(other, element)),
            f"· show {show.natural(counts[0].count)} = {show.natural(counts[1].count)}",
            "  congr 1; omega",
            *bullet([f"show {located(show.scalar(mine))} = {located(show.scalar(thread))}"]),
            *(f"  {located(line)}" for line in equality_proof(mine, thread)),
        ]

    def _equal(self, piece: Piece, target: Piece) -> str:
        """Tactics for two forms of one value."""
        return (
            f"first | rfl | (simp only [{self._unfolded(piece, target)}]; ks_spec; done) | "
            "ks_fold | exact congrArg Ext.fin (Lean.Grind.Semiring.add_comm _ _) | exact Std.Commutative.comm _ _"
        )

    @staticmethod
    def _unfolded(piece: Piece, target: Piece) -> str:
        """Definitions of contents on both sides."""
        names = [f"{p.space}.C{b}" for p in (piece, target) for b in p.phase.shared if not p.is_open(b)]
        names += [f"{piece.space}.Y{b}" for b in piece.phase.written]
        return ", ".join(dict.fromkeys(names)) or "Int.add_zero"

    def _written(self, piece: Piece, b: int) -> list[str]:
        """Lines that reduce `β'.mem b i = some v` to an equation of values; `hi` says what `i` is."""
        slot, who = f"{piece.space}.slot{b}", self.emit.who(piece, b)
        end = self._names(piece, end=True)
        return [
            f"have hs : {slot} {self.emit.outer(piece)} i := by unfold {slot}; omega",
            "have hs' := hs",
            f"simp only [{slot}] at hs'",
            f"refine h.written (t := {who}.toNat) (show {who}.toNat < {self.emit.threads} by omega) "
            f"(by {self.emit.owned(piece, b)}) (fun σ' hσ => ?_)",
            f"obtain ⟨{', '.join([*(n + 'w' for n in end), '_'])}⟩ := hσ",
            f"refine (W{b}w i ⟨?_, ?_⟩).trans (congrArg some ?_)",
            f"· unfold {piece.space}.mine{b}; omega",
            "· omega",
        ]

    def _last(self, piece: Piece) -> Goal:
        """What the outputs hold when the block has ended."""
        (b,) = piece.phase.written
        lines = [
            f"theorem {piece.space}.post {self.emit.binders(piece)} {{β β' : BSt R}}",
            f"    (h : AfterPhase launch {self.emit.own(piece)} {self.emit.end(piece)} β β') (i : Int) (i0 : 0 ≤ i)",
            f"    (i1 : i < {self.emit.sizes[b]}) (ib : gown {b} i = some b) : "
            f"β'.mem {b} i = some (.fin (Out{b} {self.emit.functions} i)) := by",
            "  unfold gown at ib; rw [if_pos rfl] at ib",
            "  have ib := Option.some.inj ib",
            *self._place(piece, b),
            *(f"  {one}" for one in self._written(piece, b)),
            f"  · simp only [{piece.space}.Y{b}, Out{b}]",
        ]
        return Goal(f"{piece.space}.post", "what the block leaves in the output", piece.phase.line, "\n".join(lines))

    def _place(self, piece: Piece, b: int) -> list[str]:
        """The block coordinates, from the digits of cell `i`."""
        names = self.emit.block_names
        if len(names) < 2:
            return []
        digits = piece.phase.written[b].digits
        forms = " ".join(f"({n} := {show.integer(digits[n])})" for n in names)
        return [f"  have g := grid_coordinates (b := b) {forms}{' (by omega)' * (1 + 2 * len(names))}"]

    # ------------------------------------------------------------ loops

    def loop(self, loop: Tree | Loop, open_: dict[int, bool], names: dict[str, tuple[int, int]]) -> Target:
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
        target, code, lines = self.chain(loop.body, inside, {**names, name: bounds}, (again, round_))
        self._loops += 1
        space, one = f"L{self._loops}", target[0]
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

    def _test(self, loop: Tree | Loop, one: Piece) -> list[str]:
        """Tactics for `the test is defined and says that the loop goes on`, from `h`, for thread `t`."""
        cond = bexpr(loop.stmt.cond)
        facts = context_facts(self.emit.context, cond)
        known = {n: f for n, f in facts.items() if n[:5] in ("param", "bdim_", "gdim_")}
        names = self._names(one)
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

    def _loop_block(
        self,
        loop: Loop,
        name: str,
        start: Target,
        following: Target,
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
            f"  obtain ⟨{', '.join([*(n + 'e' for n in self._names(one)), '_'])}⟩ := h t ht",
        ]
        wanted = self._names(following[0])
        lines.append(f"  refine ⟨{', '.join(['?_'] * len(wanted) + ['trivial'])}⟩")
        for part in wanted:
            lines += [f"  {line}" for line in bullet(self._part(one, following[0], part, False))]
        self.emit.items.append(
            Goal(f"{name}.done", "what is known when the loop has ended", loop.line, "\n".join(lines))
        )
        lines = [
            f"theorem {name}.block {binders} {{β : BSt R}} (h : Each launch {self.emit.start(*start)} β) :",
            f"    blockWp launch gown b {name}.code (Each launch {self.emit.start(*following)}) β := by",
            f"  refine count_loop {loop.count} (fun {loop.name} => {self.emit.start(one)}) h ?_ ?_ ?_",
            f"  · intro {loop.name} β low high h t ht",
            *(f"    {line}" for line in self._test(loop, one)),
            f"  · intro {loop.name} β low high h",
            f"    exact {name}.round {given} low high h",
            "  · intro β h",
            f"    exact {name}.done {given} h",
        ]
        self.emit.items.append(
            Goal(f"{name}.block", "the loop runs to what follows it", loop.line, "\n".join(lines))
        )

    def _tree_block(
        self,
        tree: Tree,
        name: str,
        start: Target,
        following: Target,
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
        self._total(tree, name, one, op, unit, binders, total)
        at_zero = Env({tree.name: "0"})
        lines = [
            f"theorem {name}.done {binders} {{{x} : Int → {'Ext R' if infinite else 'R'}}} {{β : BSt R}}",
            f"    (hx : {x} 0 = {total}) (h : Each launch {self.emit.start(one, at_zero)} β) :",
            f"    Each launch {self.emit.start(*following)} β := by",
            "  intro t ht",
            f"  have ht : t < {self.emit.threads} := ht",
            f"  obtain ⟨{', '.join([*self._names(one), '_'])}⟩ := h t ht",
        ]
        wanted = self._names(following[0])
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
                    f"(simp only [{self._unfolded(one, following[0])}]; ks_spec; done))"
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
            *(f"    {line}" for line in self._test(tree, one)),
            f"  · intro {tree.name} {x} β low high h",
            f"    exact {name}.round {given} low (by omega) h",
            f"  · intro {x} β hx h",
            f"    exact {name}.done {given} hx h",
        ]
        self.emit.items.append(
            Goal(f"{name}.block", "the halving loop leaves the whole in cell 0", tree.line, "\n".join(lines))
        )

    def _total(
        self, tree: Tree, name: str, one: Piece, op: str, unit: str, binders: str, total: str
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
