"""Phases with shuffles: what each warp does between two barriers."""

import re
from dataclasses import dataclass

from semantics import core
from semantics.lean import terms as show
from semantics.lean.equality import equality_proof
from semantics.lean.kernel import context_facts
from semantics.lean.lemmas import BOOL, INT, Goal, bullet
from semantics.lean.pieces import Env, Piece, Pieces
from semantics.lean.syntax import bexpr, iexpr
from semantics.symbolic import terms
from semantics.symbolic.linear import variable
from semantics.symbolic.pieces import Butterfly, Guard, Phase, Segment, may_be_infinite
from semantics.symbolic.reductions import strided_parts

CLOSE = "first | rfl | (ks_spec; done)"


def guarded(guard: Guard, code: str) -> str:
    """The conditional around a piece of code."""
    cond = bexpr(guard.stmt.cond)
    return f"(.ite {cond} {code} .skip)" if guard.holds else f"(.ite {cond} .skip {code})"


@dataclass(slots=True)
class Made:
    """An emitted segment: its first and last piece, its code, and the theorem about a warp."""

    first: Piece
    last: Piece
    code: str
    theorem: str


@dataclass(slots=True)
class Segments:
    """Emits the segments of a kernel."""

    emit: Pieces
    _segments: int = 0

    def segment(self, segment: Segment, open_: dict[int, bool], names: dict[str, tuple[int, int]]) -> Made:
        """Emit the pieces of a segment and the theorem about a warp that runs it."""
        self._segments += 1
        space = f"S{self._segments}"
        last = self.emit.piece(segment.last, open_)
        steps: list[tuple[Phase | Butterfly | Guard, Piece]] = []
        for part in segment.parts:
            if isinstance(part, Phase):
                steps.append((part, self.emit.piece(part, open_, last)))
            elif isinstance(part, Guard):
                steps.append((part, steps[-1][1]))
            else:
                mine, received = part.rest.lanes
                infinite = may_be_infinite(part.first)
                inside = {**open_, mine: infinite, received: infinite}
                steps.append((part, self.emit.piece(part.rest, inside, last, part.head)))
        code, given = f"{last.space}.code", self.emit.given(names)
        for part, piece in reversed(steps):
            if isinstance(part, Phase):
                code = f"(app {piece.space}.code {code})"
            elif isinstance(part, Guard):
                code = guarded(part, code)
            else:
                code = f"(.seq {piece.space}.loop {code})"
        lines: list[str] = []
        for at, (part, piece) in enumerate(steps):
            h, n = f"h{at}" if at else "h", at + 1
            if isinstance(part, Guard):
                lines += self._guard(part, piece, steps[n][1], f"h{at}", f"h{n}", open_, names)
                continue
            if isinstance(part, Phase):
                rule = f"lanes_then (by simp [{piece.space}.code, storeless]) {h} ({piece.space}.runs {given})"
            else:
                before, after = steps[at - 1][1], steps[at + 1][1] if n < len(steps) else last
                self._butterfly(part, piece, before, after, open_, names)
                into = f"({h}.imp (fun t ht _ s hs => {piece.space}.into {given} ht hs))"
                rule = f"{piece.space}.step {given} hw {into}"
            lines.append(f"refine {rule} (fun σ{n} h{n} => ?_)")
        lines.append(f"exact lanes_end h{len(steps)} ({last.space}.runs {given})")
        own, first = self.emit.own(last), steps[0][1]
        binders = " ".join([*self.emit.functions_binders(open_), *self.emit.place_binders(names)])
        text = [
            f"theorem {space}.warp {binders} {{M : Mem R}} {{w : Nat}} (hw : w < {self.emit.threads // 32}) {{σ : WSt R}}",
            f"    (h : Lanes launch {own} w M {self.emit.start(first)} σ) :",
            f"    warpWp (warpOf launch gown b {own} w) {code} (Ended launch {own} w {self.emit.end(last)}) σ := by",
            *(f"  {line}" for line in lines),
        ]
        self.emit.items.append(
            Goal(f"{space}.warp", "a warp runs the phase with its shuffles", segment.line, "\n".join(text))
        )
        return Made(first, last, code, f"{space}.warp")

    def _guard(
        self,
        part: Guard,
        piece: Piece,
        after: Piece,
        h: str,
        new: str,
        open_: dict[int, bool],
        names: dict[str, tuple[int, int]],
    ) -> list[str]:
        """The theorem that a condition holds for every thread, and tactics that go inside."""
        cond, space, given = bexpr(part.stmt.cond), piece.space, self.emit.given(names)
        sign = "" if part.holds else "¬ "
        binders = " ".join([*self.emit.functions_binders(open_), *self.emit.place_binders(names)])
        end = [name for name, _ in piece.proof.parts(piece.phase.block.goal)]
        integers = [n for n in end if n[0] == "n"]
        facts = context_facts(self.emit.context, cond)
        known = {n: f for n, f in facts.items() if n[:5] in ("param", "bdim_", "gdim_")}
        at = "{t : Nat} (ht : t < " + str(self.emit.threads) + ") {s : St R}"
        text = [
            f"theorem {space}.guard {binders} {at} (hs : {self.emit.end(piece)} t s) :",
            f"    ({cond} : BExpr).ok (launch.env b t) s.reg ∧ {sign}({cond} : BExpr).val (launch.env b t) s.reg ∧ "
            f"{self.emit.start(after)} t s := by",
            f"  obtain ⟨{', '.join([*end, '_'])}⟩ := hs",
            *(f"  have {n} : {f.replace('E.', '(launch.env b t : Env R).')} := rfl" for n, f in known.items()),
            "  refine ⟨?_, ?_, ?_⟩",
            *[f"  · (simp (disch := omega) only [{BOOL}, {', '.join([*integers, *known])}]) <;> omega"] * 2,
            f"  · exact ⟨{', '.join([*(n for n, _ in after.proof.parts(after.phase.block.before)), 'trivial'])}⟩",
        ]
        what = "every thread meets the condition"
        self.emit.items.append(Goal(f"{space}.guard", what, part.line, "\n".join(text)))
        side = ".inl" if part.holds else ".inr"
        use = f"{space}.guard {given} hv ({h}.lane l hl hv)"
        return [
            f"refine warp_ite (fun l hl hv => ({use}).1) ({side} ⟨fun l hl hv => ({use}).2.1, ?_⟩)",
            f"have {new} := {h}.imp (fun t ht _ s hs => ({space}.guard {given} ht hs).2.2)",
        ]

    def head(self, piece: Piece, name: str, stride: str, mine: int, value: str) -> str:
        """The assertion before the test of a loop of shuffles."""
        zero = "(.ninf : Ext R)" if piece.phase.lanes[0] in piece.proof.infinite else "(0 : R)"
        nothing = {b: f"(fun _ : Int => {zero})" for b in piece.phase.lanes}
        arguments = self.emit.arguments(piece, Env({name: stride}, {**nothing, mine: value}))
        return f"(fun (t : Nat) (σ : St R) => {piece.space}.A0 {arguments} σ)"

    @staticmethod
    def _parts(part: Butterfly, piece: Piece) -> list[str]:
        return [name for name, _ in piece.proof.parts(part.head)]

    def _butterfly(
        self,
        part: Butterfly,
        piece: Piece,
        before: Piece,
        after: Piece,
        open_: dict[int, bool],
        names: dict[str, tuple[int, int]],
    ) -> None:
        """The theorems about a loop of shuffles: how it starts, and what it leaves."""
        space, k = piece.space, part.name
        mine, received = part.rest.lanes
        v, u = f"X{mine}", f"X{received}"
        infinite = may_be_infinite(part.first)
        first = self.emit.located(show.extended(part.first) if infinite else show.scalar(part.first))
        first = f"(fun i : Int => {first})"
        kind, op, unit, wrap = (
            ("Ext R", "Ext.max", "(.ninf : Ext R)", "(fun z : Ext R => z)")
            if infinite
            else ("R", "(· + ·)", "(0 : R)", "Ext.fin")
        )
        binders = " ".join([*self.emit.functions_binders(open_), *self.emit.place_binders(names)])
        threads, own = self.emit.threads, self.emit.own(piece)
        cond, arg = bexpr(part.stmt.cond), iexpr(part.stmt.body[0].arg)  # type: ignore[union-attr]
        self.emit.items.append(
            [
                "",
                "/-- The loop of shuffles. -/",
                f"def {space}.loop : Stmt := .while {cond} (.seq (.shfl .xor {part.dest} {part.source} {arg} 32) "
                f"{space}.code)",
            ]
        )
        end = [name for name, _ in before.proof.parts(before.phase.block.goal)]
        wanted = self._parts(part, piece)
        at = "{t : Nat} (ht : t < " + str(threads) + ") {s : St R}"
        text = [
            f"theorem {space}.into {binders} {at} (hs : {self.emit.end(before)} t s) :",
            f"    {self.head(piece, k, '16', mine, first)} t s := by",
            f"  obtain ⟨{', '.join([*(n + 'e' for n in end), '_'])}⟩ := hs",
            f"  refine ⟨{', '.join(['?_'] * len(wanted) + ['trivial'])}⟩",
            *(f"  · {self._kept(name)}" for name in wanted),
        ]
        self.emit.items.append(Goal(f"{space}.into", "what is known before the shuffles", part.line, "\n".join(text)))
        state = f"(fun {k} {v} => {self.head(piece, k, k, mine, v)})"
        inside = f"(fun {k} {v} {u} => {self.emit.start(piece)})"
        opened = f"obtain ⟨{', '.join([*wanted, '_'])}⟩ := h"
        integers = [n for n in wanted if n[0] == "n"]
        known = [f"have {n} : r.iv {n[1:]} = _ := {n}" for n in integers]
        registers = ", ".join(integers)
        held = "{0} z" if infinite else "Ext.fin ({0} z)"
        value = f"(congrArg (fun z : Int => {held}) (by omega))"
        begun = [name for name, _ in piece.proof.parts(piece.phase.block.before)]
        begin = []
        for name in begun:
            if name == f"r{part.dest}":
                begin.append(f"exact setR_same.trans {value.format(u)}")
            elif name[0] == "n":
                begin.append(f"exact setR_iv.trans {name}")
            elif name[0] == "r":
                begin.append(f"exact (setR_ne (by decide)).trans {name}")
            else:
                begin.append(f"exact {name}")
        left = [name for name, _ in after.proof.parts(after.phase.block.before)]
        there = []
        for name in left:
            if name == f"r{part.source}":
                there += bullet(
                    [
                        f"refine {name}.trans {'?_' if infinite else '(congrArg Ext.fin ?_)'}",
                        f"have e : (t : Int) % {threads} = t := by omega",
                        "rw [e]",
                        "refine (hx t htw).trans ?_",
                        *self._warp_sum(part),
                    ]
                )
            elif name[0] == "r":
                there += bullet([f"refine {name}.trans ?_", CLOSE])
            elif name[0] == "Z":
                there.append(f"· exact {name}.value (fun i hi => by first | exact hi | omega) (fun i _ => by {CLOSE})")
            else:
                there.append(f"· exact {name}")
        goal = [name + "e" for name, _ in piece.proof.parts(piece.phase.block.goal)]
        again = []
        for name in wanted:
            if name == f"r{part.source}":
                again.append(
                    f"first | exact {name}e | exact {name}e.trans (congrArg Ext.fin (Lean.Grind.Semiring.add_comm _ _)) "
                    f"| exact {name}e.trans (Std.Commutative.comm _ _)"
                )
            else:
                again.append(f"exact {name}e")
        given = self.emit.given(part.rest.names)
        text = [
            f"theorem {space}.step {binders} {{M : Mem R}} {{w : Nat}} (hw : w < {threads // 32}) {{σ : WSt R}} "
            f"{{q : Stmt}} {{Q : WSt R → Prop}}",
            f"    (h : Lanes launch {own} w M {self.head(piece, k, '16', mine, first)} σ)",
            f"    (next : ∀ σ', Lanes launch {own} w M {self.emit.start(after)} σ' → "
            f"warpWp (warpOf launch gown b {own} w) q Q σ') :",
            f"    warpWp (warpOf launch gown b {own} w) (.seq {space}.loop q) Q σ := by",
            f"  refine warp_seq (lanes_xor (α := {kind}) (op := {op}) (e := {unit}) {wrap} "
            f"(show 32 * w + 32 ≤ {threads} by omega)",
            f"    {state} {inside} h ?_ ?_ ?_ (by simp [{space}.code, storeless]) ?_ ?_)",
            f"  · intro {k} {v} t r low high ht h",
            *(f"    {line}" for line in [opened, *known]),
            f"    show ({cond} : BExpr).ok (launch.env b t) r ∧ (({cond} : BExpr).val (launch.env b t) r ↔ _)",
            f"    (simp (disch := omega) only [{BOOL}, {registers}]) <;> omega",
            f"  · intro {k} {v} t r low high ht h",
            f"    have ht : t < {threads} := ht",
            *(f"    {line}" for line in [opened, *known]),
            "    refine ⟨?_, ?_, ?_⟩",
            f"    · show ({arg} : IExpr).ok (launch.env b t) r",
            f"      (simp (disch := omega) only [{INT}, {registers}]) <;> omega",
            f"    · show ({arg} : IExpr).val (launch.env b t) r = _",
            f"      (simp (disch := omega) only [{INT}, {registers}]) <;> omega",
            f"    · exact r{part.source}.trans {value.format(v)}",
            f"  · intro {k} {v} {u} t r low high ht h",
            f"    have ht : t < {threads} := ht",
            f"    {opened}",
            f"    refine ⟨{', '.join(['?_'] * len(begun) + ['trivial'])}⟩",
            *(f"    · {line}" for line in begin),
            f"  · intro {k} {v} {u} low high t ht s hs",
            f"    have high : {k} < 17 := by omega",
            f"    have low : 1 ≤ {k} := low",
            "    refine Stmt.wp_mono _ _ _ _ (fun s' h' => ?_) "
            f"({space}.runs {given.replace(f'{k}_low', 'low').replace(f'{k}_high', 'high')} t ht s hs)",
            f"    obtain ⟨{', '.join([*goal, '_'])}⟩ := h'",
            f"    refine ⟨{', '.join(['?_'] * len(wanted) + ['trivial'])}⟩",
            *(f"    · {line}" for line in again),
            f"  · intro {v} σ' hx h",
            "    refine next σ' (h.imp (fun t ht htw s hs => ?_))",
            f"    have ht : t < {threads} := ht",
            f"    {opened.replace(':= h', ':= hs')}",
            f"    refine ⟨{', '.join(['?_'] * len(left) + ['trivial'])}⟩",
            *(f"    {line}" for line in there),
        ]
        what = "the shuffles leave the sum of the warp in every lane"
        self.emit.items.append(Goal(f"{space}.step", what, part.line, "\n".join(text)))

    def _warp_sum(self, part: Butterfly) -> list[str]:
        """Tactics for `the fold over the lanes is the total`."""
        top = part.op is core.RealOp.MAX
        same = (
            f"first | (refine {'maxE' if top else 'sumI'}_congr2 (by (try dsimp only); omega) (fun k k0 k1 => ?_); "
            "(try dsimp only); ks_spec; done) | (ks_spec; done)"
        )
        if part.part is None:
            lanes = "foldZ_congr (fun l l0 l1 => ?_)"
            return [f"refine {lanes if top else f'({lanes}).trans sumI_foldZ.symm'}", "try dsimp only", same]
        parts = strided_parts(part.op, part.part, 32)
        assert parts is not None and isinstance(part.total, terms.Total | terms.Largest)
        counter, count, body, n = parts
        whole, place = part.total, self._thread_of_warp
        have = terms.substitute(body, {counter: variable("k")})
        want = terms.substitute(whole.body, {whole.counter: variable("j")})
        return [
            f"refine (foldZ_congr (fun l l0 l1 => ?_)).trans ({'max' if top else 'sum'}_strided "
            f"(fun {whole.counter} : Int => {place(show.scalar(whole.body))}) "
            f"(fun i {counter} : Int => {place(show.scalar(body))}) 32 {n} (by omega){' (by omega)' if top else ''} "
            f"(fun i : Int => {show.natural(count)}) (fun i i0 i1 => ?_) (fun i k j hj => ?_))",
            *bullet(["try dsimp only", same]),
            f"· show {show.natural(count)} = Int.toNat (({n} - i + (32 - 1)) / 32)",
            "  congr 1; omega",
            *bullet([f"show {place(show.scalar(have))} = {place(show.scalar(want))}"]),
            *(f"  {place(line)}" for line in equality_proof(have, want)),
        ]

    def _thread_of_warp(self, text: str) -> str:
        """A text over coordinates, for thread `t` of block `b`."""
        return re.sub(r"\btX\b", "(t : Int)", self.emit.located(text))

    @staticmethod
    def _kept(name: str) -> str:
        """A fact that is said again."""
        if name[0] == "n":
            return f"exact {name}e.trans (by omega)"
        if name[0] == "r":
            return f"exact {name}e.trans (by {CLOSE})"
        if name[0] == "Z":
            return f"exact {name}e.value (fun i hi => by first | exact hi | omega) (fun i _ => by {CLOSE})"
        return f"exact {name}e"

