"""From pieces to the block: what holds at each barrier, loops, and the theorem about the whole kernel."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from semantics import core
from semantics.lean import terms as show
from semantics.lean.equality import equality_proof
from semantics.lean.kernel import context_facts
from semantics.lean.loops import loop, loop_block
from semantics.lean.lemmas import BOOL, Goal, bullet
from semantics.lean.pieces import SELF, Env, Piece, Pieces
from semantics.lean.segments import Made, Segments, guarded
from semantics.lean.shares import made_up, partial
from semantics.lean.syntax import bexpr
from semantics.lean.trees import tree_block
from semantics.symbolic import pieces as cut, terms
from semantics.symbolic.linear import variable
from semantics.symbolic.pieces import Guard, Kind, Loop, Phase, Segment, Tree
from semantics.symbolic.reductions import Rows, Warps, fold_of_slots, rows_of_slots
from semantics.symbolic.shares import Fold

Target = tuple[Piece, Env]
"""A piece and how it is applied: block code leads to its start."""


@dataclass(slots=True)
class Blocks:
    """Joins pieces. `emit` holds the items in order."""

    emit: Pieces
    segments: Segments = field(init=False)
    loops: int = 0
    swapped: bool = False

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
            case Guard():
                raise AssertionError(piece)
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
        made: list[tuple[Target | None, cut.Piece, str]] = []
        warps: dict[int, Made] = {}
        for at, piece in enumerate(pieces):
            match piece:
                case Phase():
                    one = self.emit.piece(piece, open_)
                    made.append(((one, SELF), piece, one.space))
                case Segment():
                    warps[at] = self.segments.segment(piece, open_, names)
                    made.append(((warps[at].first, SELF), piece, warps[at].last.space))
                case Guard():
                    made.append((None, piece, f"G{at}"))
                case _:
                    start = loop(self, piece, open_, names)
                    made.append((start, piece, f"L{self.loops}"))
        code, lines = "", []
        given = self.emit.given(names)
        for at, (target, piece, space) in enumerate(made):
            last = at == len(made) - 1
            following = next((one for one, _, _ in made[at + 1 :] if one is not None), goal)
            h, kind = f"h{at}" if at else "h", "kernel" if goal is None else "block"
            n = at + 1
            if isinstance(piece, Guard):
                assert following is not None and goal is None
                lines += self._guard(piece, space, following, names, h, n)
                continue
            assert target is not None
            if isinstance(piece, Tree | Loop):
                assert following is not None
                make = tree_block if isinstance(piece, Tree) else loop_block
                make(self, piece, space, target, following, open_, names)  # type: ignore[arg-type]
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
            if isinstance(piece, Guard):
                code = guarded(piece, code)
            elif isinstance(piece, Tree | Loop):
                code = own if last else f"(.seq {own} {code})"
            elif piece.kind is Kind.BARRIER:
                code = f"(app {own} (.seq .barrier {code}))"
            else:
                code = own if last else f"(app {own} {code})"
        start = next(one for one, _, _ in made if one is not None)
        return start, code, lines

    def _guard(
        self, piece: Guard, name: str, target: Target, names: dict[str, tuple[int, int]], h: str, n: int
    ) -> list[str]:
        """The theorem that every thread meets a condition, and tactics that go inside."""
        cond, given = bexpr(piece.stmt.cond), self.emit.given(names)
        binders = " ".join([*self.emit.functions_binders({}), *self.emit.place_binders(names)])
        facts = context_facts(self.emit.context, cond)
        known = {k: f for k, f in facts.items() if k[:3] != "tid" and not f.endswith("= 0")}
        parts = self.names_of(target[0])
        integers = [part for part in parts if part[0] == "n"]
        text = [
            f"theorem {name}.holds {binders} {{β : BSt R}} (h : Each launch {self.emit.start(*target)} β) :",
            f"    ∀ t : Nat, t < {self.emit.threads} → ({cond} : BExpr).ok (launch.env b t) (β.thread t) ∧ "
            f"{'' if piece.holds else '¬ '}({cond} : BExpr).val (launch.env b t) (β.thread t) := by",
            "  intro t ht",
            f"  obtain ⟨{', '.join([*parts, '_'])}⟩ := h t ht",
            *(f"  have {k} : (β.thread t).iv {k[1:]} = _ := {k}" for k in integers),
            *(
                f"  have {k} : {self.emit.located(f.replace('E.', '(launch.env b t : Env R).'))} := rfl"
                for k, f in known.items()
            ),
            f"  refine ⟨?_, ?_⟩ <;> (simp (disch := omega) only [{BOOL}, {', '.join([*integers, *known])}]) <;> omega",
        ]
        what = "every thread meets the condition"
        self.emit.items.append(Goal(f"{name}.holds", what, piece.line, "\n".join(text)))
        side = ".inl" if piece.holds else ".inr"
        holds = f"({name}.holds {given} {h} t ht)"
        return [
            f"refine kernel_ite (fun t ht => {holds}.1) ({side} ⟨fun t ht => {holds}.2, ?_⟩)",
            f"have h{n} := {h}",
        ]

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
        end = self.names_of(piece, end=True)
        if barrier:
            proof += [
                f"obtain ⟨{', '.join([*self.names_of(first), '_'])}⟩ := h0 t ht",
                "obtain ⟨σ, hB, hr, _⟩ := h.1 t ht",
                f"obtain ⟨{', '.join([*(n + 'e' for n in end), '_'])}⟩ := hB",
            ]
        else:
            proof.append(f"obtain ⟨{', '.join([*(n + 'e' for n in end), '_'])}⟩ := h t ht")
        wanted = self.names_of(target[0])
        proof.append(f"refine ⟨{', '.join(['?_'] * len(wanted) + ['trivial'])}⟩")
        for name in wanted:
            proof += bullet(self.part(piece, target[0], name, barrier))
        what = "what is known at the barrier" if barrier else "what is known before the loop"
        text = "\n".join([*lines, *(f"  {one}" for one in proof)])
        return Goal(f"{piece.space}.after", what, piece.phase.line, text)

    @staticmethod
    def names_of(piece: Piece, end: bool = False) -> list[str]:
        block = piece.phase.block
        return [name for name, _ in piece.proof.parts(block.goal if end else block.before)]

    def part(self, piece: Piece, target: Piece, name: str, barrier: bool) -> list[str]:
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
        if name[0] == "G":
            array = self.emit.printer.numbers[int(number)]
            moved = f"({name}e.same (congrArg (fun r : Reg R => r.loc {array}) hr))" if barrier else f"{name}e"
            return [f"exact {moved}.part (by intro i i0 i1; omega) (fun i _ _ => by {unfold})"]
        register = "iv" if name[0] == "n" else "rv"
        via = f"(congrArg (fun r : Reg R => r.{register} {number}) hr).trans " if barrier else ""
        if name[0] == "n":
            return [f"exact {via}({name}e.trans (by omega))"]
        have = piece.phase.block.goal.reals[int(number)]
        whole = target.phase.block.before.reals[int(number)]
        counter = whole.counter if isinstance(whole, Fold) else ""
        slots = fold_of_slots(have, {b: c.value for b, c in piece.phase.shared.items()}, counter)
        if slots is not None and isinstance(whole, Fold):
            inside = "(congrArg Ext.fin ?_)" if isinstance(whole, terms.Total) else "?_"
            return [f"refine {via}({name}e.trans {inside})", *self._slots(slots)]
        rows = None
        if isinstance(whole, Fold):
            rows = rows_of_slots(have, {b: c.value for b, c in piece.phase.shared.items()}, whole.counter)
        if rows is not None:
            return [f"refine {via}({name}e.trans (congrArg Ext.fin ?_))", *self._rows(rows)]
        return [f"refine {via}({name}e.trans ?_)", unfold]

    def _rows(self, rows: Rows) -> list[str]:
        """The fold over the slots that warps filled is the fold over a row that all threads share out evenly."""
        inner, whole, located = rows.lanes.body, rows.whole, self.emit.located
        assert isinstance(inner, Fold)
        kind = "sum" if rows.op is core.RealOp.ADD else "max"
        lane, k, threads = rows.lanes.counter, inner.counter, 32 * rows.warps
        mine = terms.substitute(inner.body, {"i": variable("w"), lane: variable("l"), k: variable("k")})
        known = {"w": (0, rows.warps - 1), "l": (0, 31), "k": (0, rows.steps - 1)}
        group = located(show.scalar(rows.group))
        rule = (
            f"{kind}_rows _ (fun i {lane} {k} : Int => {located(show.scalar(inner.body))}) (fun q : Int => {group}) "
            f"{rows.warps} {rows.steps} {threads} {threads * rows.steps} (by omega) (by omega) (by omega) "
            "(fun i i0 i1 => rfl) (fun w l k q w0 w1 l0 l1 k0 k1 hq => ?_)"
        )
        lines = bullet(
            [
                f"show {located(show.scalar(mine))} = {group}",
                *(located(line) for line in equality_proof(mine, rows.group, known)),
            ]
        )
        if rows.element is None:
            return [f"refine {rule}", *lines]
        assert isinstance(rows.group, Fold)
        size, c = rows.group.count.constant, rows.group.counter
        part = terms.substitute(rows.group.body, {c: variable("c")})
        element = located(show.scalar(rows.element))
        return [
            f"refine ({rule}).trans ?_",
            *lines,
            *bullet(
                [
                    f"refine {kind}_groups (fun j : Int => {element}) (fun q {c} : Int => "
                    f"{located(show.scalar(rows.group.body))}) {size} {threads * rows.steps} {whole.count.constant} "
                    "(by omega) (by omega) (fun q c j c0 c1 hj => ?_)",
                    f"show {located(show.scalar(part))} = {element}",
                    *(located(line) for line in equality_proof(part, rows.element, {"c": (0, size - 1)})),
                ]
            ),
        ]

    def _slots(self, slots: Warps) -> list[str]:
        """The fold over the slots that warps filled is the fold over all elements."""
        inner, part, located = slots.lanes.body, slots.shared.part, self.emit.located
        assert isinstance(inner, Fold)
        lane, k, threads = slots.lanes.counter, inner.counter, slots.shared.threads
        counts = terms.substitute(inner, {lane: variable("l")}), terms.substitute(part, {"i": variable("th")})
        assert isinstance(counts[0], Fold) and isinstance(counts[1], Fold)
        rule = "sum_slots" if slots.op is core.RealOp.ADD else "max_slots"
        mine = terms.substitute(terms.substitute(inner.body, {lane: variable("l")}), {k: variable("k")})
        other = terms.substitute(part.body, {part.counter: variable("k")})
        thread = terms.substitute(other, {"i": variable("th")})
        body, count = partial(slots.shared, located)
        return [
            f"refine {rule} (R := R) _ (fun i {lane} {k} : Int => {located(show.scalar(inner.body))}) "
            f"(fun i {lane} : Int => {show.natural(inner.count)}) {body} {count} {slots.count} {threads} (by omega) "
            "?_ (fun i i0 i1 => rfl) (fun i l th i0 i1 l0 l1 ht => ?_) (fun i l k th ht => ?_)",
            *bullet(made_up(slots.shared, located)),
            f"· show {show.natural(counts[0].count)} = {show.natural(counts[1].count)}",
            "  congr 1; omega",
            *bullet([f"show {located(show.scalar(mine))} = {located(show.scalar(thread))}"]),
            *(f"  {located(line)}" for line in equality_proof(mine, thread)),
        ]

    def _equal(self, piece: Piece, target: Piece) -> str:
        """Tactics for two forms of one value."""
        swap = "exact congrArg Ext.fin (Lean.Grind.Semiring.add_comm _ _) | exact Std.Commutative.comm _ _"
        first = f"{swap} | " if self.swapped else ""
        return f"first | {first}rfl | (simp only [{self.unfolded(piece, target)}]; ks_spec; done) | ks_fold"

    @staticmethod
    def unfolded(piece: Piece, target: Piece) -> str:
        """Definitions of contents on both sides."""
        names = [f"{p.space}.C{b}" for p in (piece, target) for b in p.phase.shared if not p.is_open(b)]
        names += [f"{piece.space}.Y{b}" for b in piece.phase.written]
        return ", ".join(dict.fromkeys(names)) or "Int.add_zero"

    def _written(self, piece: Piece, b: int) -> list[str]:
        """Lines that reduce `β'.mem b i = some v` to an equation of values; `hi` says what `i` is."""
        slot, who = f"{piece.space}.slot{b}", self.emit.who(piece, b)
        end = self.names_of(piece, end=True)
        return [
            f"have hs : {slot} {self.emit.outer(piece)} i := by unfold {slot}; omega",
            "have hs' := hs",
            f"simp only [{slot}] at hs'",
            *self.emit.place(piece, b, "t", f"{who}.toNat"),
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
            *(f"  {line}" for line in self.emit.place(piece, b, "b", "b")),
            *(f"  {one}" for one in self._written(piece, b)),
            f"  · simp only [{piece.space}.Y{b}, Out{b}]",
        ]
        return Goal(f"{piece.space}.post", "what the block leaves in the output", piece.phase.line, "\n".join(lines))
