"""Phases with shuffles: what each warp does between two barriers."""

from dataclasses import dataclass

from semantics.lean.butterflies import butterfly_theorems
from semantics.lean.kernel import context_facts
from semantics.lean.lemmas import BOOL, Goal
from semantics.lean.pieces import Piece, Pieces
from semantics.lean.syntax import bexpr
from semantics.symbolic.pieces import Butterfly, Guard, Phase, Segment


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
                inside = {**open_, **{b: b in part.rest.unbounded for b in part.rest.lanes}}
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
                butterfly_theorems(self.emit, part, piece, before, after, open_, names)
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
