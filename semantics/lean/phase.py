"""The obligations about one symbolic thread of a phase. Arrays that the phase writes, and shared arrays
whose contents are known, are described by `On` facts: `Zb` for what array `b` held at first and still
holds where this thread has not written, `Wb` for what this thread has written."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from semantics import core
from semantics.lean import terms as show
from semantics.lean.equality import equality_proof
from semantics.lean.lemmas import REAL, bullet
from semantics.lean.locals import local_parts
from semantics.lean.thread import ThreadProof
from semantics.lean.tiles import tiled_proof
from semantics.symbolic import terms
from semantics.symbolic.linear import Linear, Quotient, variable
from semantics.symbolic.pieces import Contents, Written
from semantics.symbolic.state import State
from semantics.symbolic.terms import Condition, Term
from semantics.symbolic.trace import Point


def all_of(conditions: Sequence[Condition], cell: str = "i") -> str:
    """Conditions in `i` as one proposition about cell `cell`."""
    values = {"i": variable(cell)}
    return " ∧ ".join(show.condition(terms.substitute_condition(c, values)) for c in conditions) or "True"


@dataclass(slots=True)
class PhaseProof(ThreadProof):
    """`shared` is what shared arrays hold at first, `written` what the phase writes; `least` gives the
    least value of a coordinate where it is not 0; `infinite` are arrays of `Ext R`."""

    shared: dict[int, Contents] = field(default_factory=dict)
    written: dict[int, Written] = field(default_factory=dict)
    least: dict[str, int] = field(default_factory=dict)
    infinite: frozenset[int] = frozenset()
    threads: tuple[str, ...] = ()
    lanes: tuple[int, ...] = ()

    @property
    def outer(self) -> str:
        """The coordinates that are the same for all threads of the block."""
        return " ".join(name for name in self.coordinates if name not in self.threads)

    def initial(self, left: str, right: str) -> list[str]:
        finite = [f"X{b}" for b in self.inputs if b not in self.infinite]
        others = [f"X{b}" for b in self.inputs if b in self.infinite]
        parts = [f"{left}{' '.join(finite)} : Int → R{right}"] if finite else []
        return [*parts, *([f"{left}{' '.join(others)} : Int → Ext R{right}"] if others else [])]

    def context_parts(self) -> list[str]:
        """The binders of a definition that is the same for all threads of the block."""
        return [*self.initial("(", ")"), *([f"({self.outer} : Int)"] if self.outer else [])]

    def stored(self, b: int) -> str:
        """The function of what array `b` gets, applied to its context."""
        return f"Y{b} {self.functions} {self.outer}".rstrip()

    def held(self, b: int) -> str:
        """What shared array `b` holds at first, as a function to `Ext R`."""
        name = f"X{b}" if b in self.inputs else f"C{b} {self.functions} {self.outer}".rstrip()
        return f"({name})" if b in self.infinite else f"(fun i => .fin ({name} i))"

    def facts_of(self, name: str) -> str:
        return f"{self.least.get(name, 0)} ≤ {name}"

    def fields(self) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        for name, extent in self.coordinates.items():
            found += [(f"{name}_low", self.facts_of(name)), (f"{name}_high", f"{name} < {extent}")]
        found += [(name, text) for name, text in self.facts.items()]
        found += [(f"size{b}", f"E.size {b} = {n}") for b, n in self.sizes.items()]
        for b in self.sizes:
            if b in self.written:
                if b in self.shared:
                    free = f"free{b} {self.outer} i".replace("  ", " ")
                    found.append((f"rd{b}", f"∀ i, mine{b} {self.names} i ∨ {free} → P.rd {b} i"))
                found.append((f"wr{b}", f"∀ i v, mine{b} {self.names} i → P.wr {b} i v"))
            elif b in self.inputs or b in self.shared:
                found.append((f"rd{b}", f"∀ i, P.rd {b} i"))
        return found

    def parts(self, state: State) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        for b in self.inputs:
            if b not in self.shared and b not in self.lanes:
                found.append((f"H{b}", f"Holds σ.mem {b} {self.sizes[b]} X{b}"))
        for b, contents in self.shared.items():
            where = all_of(contents.where)
            if b in state.done:
                below = show.integer(state.done[b])
                where = f"({where}) ∧ ¬ (mine{b} {self.names} i ∧ i < {below})"
            found.append((f"Z{b}", f"On σ.mem {b} (fun i => {where}) {self.held(b)}"))
        for b, below_ in state.done.items():
            where = f"mine{b} {self.names} i ∧ i < {show.integer(below_)}"
            found.append((f"W{b}", f"On σ.mem {b} (fun i => {where}) ({self.stored(b)})"))
        found += [
            (f"K{at}", f"{show.integer(k)} ≤ {show.integer(most)}") for at, (k, most) in enumerate(state.limits)
        ]
        found += local_parts(state, self.printer.numbers)
        found += [(f"n{v}", f"σ.reg.iv {v} = {show.integer(x)}") for v, x in sorted(state.ints.items())]
        found += [(f"r{v}", f"σ.reg.rv {v} = {show.extended(x)}") for v, x in sorted(state.reals.items())]
        return found

    def cells(self) -> list[str]:
        """Who writes which cell, and what."""
        lines: list[str] = []
        outer = f"({self.outer} : Int) " if self.outer else ""
        names = f"({self.names} : Int) " if self.names else ""
        for b, w in self.written.items():
            blocks = [(n, x) for n, x in w.digits.items() if n not in self.threads]
            threads = [(n, x) for n, x in w.digits.items() if n in self.threads]
            own = " ∧ ".join([all_of(w.where), *(f"{show.integer(x)} = {n}" for n, x in blocks)])
            lines += [
                f"/-- The cells of array {b} that some thread of the block writes. -/",
                f"def slot{b} {outer}(i : Int) : Prop := {own}",
                f"/-- Those that this thread writes. -/",
                f"def mine{b} {names}(i : Int) : Prop := "
                + " ∧ ".join([own, *(f"{show.integer(x)} = {n}" for n, x in threads)]),
            ]
            if b in self.shared:
                lines += [
                    f"/-- Those that no thread writes. -/",
                    f"def free{b} {outer}(i : Int) : Prop := ¬ ({own})",
                ]
            lines += [
                f"/-- What cell `i` of array {b} gets. -/",
                f"def Y{b} {' '.join(self.context_parts())} (i : Int) : Ext R := {show.extended(self.values[b])}",
            ]
        return lines

    def _inside(self, b: int) -> str:
        return f"first | omega | (unfold mine{b}; omega)"

    def _moved(self, name: str, known: bool) -> str:
        b = int(name[1:])
        inside = f"have hm := hi.1; simp only [mine{b}] at hm; omega"
        if name[0] == "Z":
            if b not in self.written:
                return name
            later = f"have hm := h.1; simp only [mine{b}] at hm; omega"
            shrunk = f"exact ⟨hi.1, fun h => hi.2 ⟨h.1, by {later}⟩⟩"
            return f"({name}.weaken (by intro i hi; first | exact hi | exact hi.1 | {shrunk}))"
        if known:
            return f"({name}.weaken (by intro i hi; exact ⟨hi.1, by {inside}⟩))"
        return f"(On.none (by intro i hi; {inside}))"

    def _load(self, node: Point, var: int, array: int, integer: str) -> tuple[str, list[str]]:
        assert node.index is not None
        b = node.buffer
        if b not in self.shared:
            return ThreadProof._load(self, node, var, array, integer)
        j = show.integer(node.index)
        after = node.after.reals.get(var)
        if b in self.inputs:
            value, equal = f"(X{b} {j})" if b in self.infinite else f"(.fin (X{b} {j}))", "rfl"
        else:
            value = f"({show.extended(after)})" if after is not None else "_"
            equal = f"(by first | rfl | (simp only [C{b}]; ks_spec; done))"
        name = self.printer.kernel.arrays[array].name
        permission = f"rd{b} _"
        if b in self.written:
            permission = (
                f"rd{b} _ (by first | (apply Or.inl; unfold mine{b}; omega) | "
                f"(apply Or.inr; unfold free{b}; omega))"
            )
        return f"the read of {name} is in bounds, initialised and free of races", [
            f"refine wp_load_at (j := {j}) (x := {value}) ?_ ?_ (by omega) "
            f"({permission}) (Z{b}.read (by {self._inside(b)}) {equal}) ?_",
            f"· {integer}",
            f"· {integer}",
            f"· exact {self._after_real(node, var)}",
        ]

    def _store(self, node: Point, array: int, integer: str) -> tuple[str, list[str]]:
        assert node.index is not None and node.value is not None
        b, j = node.buffer, show.integer(node.index)
        name = self.printer.kernel.arrays[array].name
        wanted = terms.substitute(self.values[b], {"i": node.index})
        value = self.theorem(
            f"the value stored into {name} is what the proof expects"
            if b in self.shared_arrays
            else f"the value stored into {name} is what the spec says",
            node.stmt.span.line,
            node.scope,
            f"{_typed(node.value)} = {self.stored(b)} {j}",
            [
                f"obtain ⟨{', '.join(n for n, _ in self.fields())}⟩ := T",
                f"have hw : {self.stored(b)} {j} = {show.extended(wanted)} := by",
                f"  simp only [Y{b}]",
                "  all_goals ks_spec",
                "refine Eq.trans ?_ hw.symm",
                "clear hw",
                *extended_proof(node.value, wanted),
            ],
        )
        hv = f"({self.call(value, node.scope).replace(' T', ' hT', 1)})"
        moved = []
        for part, _text in self.parts(node.after):
            inside = f"have hm := hi.1; simp only [mine{b}] at hm; omega"
            if part == f"W{b}":
                if b in node.before.done:
                    moved.append(
                        f"(W{b}.put {hv} (by intro i hi; by_cases e : i = {j}; exact .inr e; "
                        f"exact .inl ⟨hi.1, by {inside}⟩))"
                    )
                else:
                    moved.append(f"(On.first {hv} (by intro i hi; {inside}))")
            elif part == f"Z{b}":
                moved.append(f"(Z{b}.keep ({self._kept(b, j, b in node.before.done)}))")
            elif part[0] == "H":
                moved.append(f"({part}.set (by decide))")
            elif part[0] in "WZ":
                moved.append(f"({part}.other (by decide))")
            else:
                moved.append(part)
        registers = self.registers(node.before)
        digits = [x.substitute({"i": node.index}) for x in self.written[b].digits.values()]
        return f"the store into {name} is in bounds, owned and in order", [
            *quotient_facts(digits),
            f"have hm : mine{b} {self.names} {j} := by unfold mine{b}; omega",
            f"refine wp_store_at (j := {j}) (v := {show.extended(node.value)}) ?_ ?_ (by "
            f"omega) ?_ ?_ (wr{b} _ _ hm) ?_",
            f"· {integer}",
            f"· {integer}",
            *self._defined(node.value, registers),
            f"· simp (disch := omega) only [{REAL}, {registers}]",
            f"· exact ⟨{', '.join([*moved, 'trivial'])}⟩",
        ]

    @staticmethod
    def _kept(b: int, j: str, known: bool) -> str:
        """Cells that this thread has not written before or now keep their contents."""
        other = "fun e => hi.2 ⟨e ▸ hm, by omega⟩"
        before = f", fun h => hi.2 ⟨h.1, by have hm := h.1; simp only [mine{b}] at hm; omega⟩" if known else ""
        first = f"⟨hi.1{before}⟩" if known else "hi.1"
        return f"by intro i hi; exact ⟨{first}, {other}⟩"

    @property
    def shared_arrays(self) -> set[int]:
        """Numbers of the shared arrays."""
        kernel = self.printer.kernel
        return {
            self.printer.numbers[at] for at, one in enumerate(kernel.arrays) if one.space is core.Space.SHARED
        }


def quotient_facts(forms: Sequence[Linear]) -> list[str]:
    """What the quotients in index forms are, innermost first, where it can be seen from their terms: omega
    does not find it when they are nested. A guess that fails is left out."""
    found: dict[str, None] = {}

    def walk(x: Linear) -> None:
        for atom, _ in x.terms:
            if isinstance(atom, Quotient):
                walk(atom.a)
                c = atom.c
                whole = Linear(0, tuple((part, n // c) for part, n in atom.a.terms if n % c == 0))
                rest = atom.a - whole.scale(c)
                text, value = show.integer(atom.a), show.integer(rest if atom.remainder else whole)
                if whole.terms:
                    found[f"try have : ({text} {'%' if atom.remainder else '/'} {c}) = {value} := by omega"] = None

    for form in forms:
        walk(form)
    return list(found)


def _typed(t: Term) -> str:
    """A value in `Ext R` whose type is plain."""
    return f"({show.extended(t)} : Ext R)"


def extended_proof(have: Term, want: Term) -> list[str]:
    """Tactic lines for `have = want` in `Ext R`."""
    if have == want:
        return ["rfl"]
    match have, want:
        case terms.Slot(b, _), terms.Slot():
            return [f"exact congrArg X{b} (by omega)"]
        case terms.Binary(core.RealOp.MAX, a, b), terms.Binary(core.RealOp.MAX, c, d) if _infinite(have):
            return [
                "refine congr2 (f := Ext.max) ?_ ?_",
                *bullet(extended_proof(a, c)),
                *bullet(extended_proof(b, d)),
            ]
        case terms.Largest(_, n, _), terms.Largest() if not n.is_constant:
            return ["ks_spec"]
        case _:
            tiled = tiled_proof(have, want)
            return ["refine congrArg Ext.fin ?_", *(equality_proof(have, want) if tiled is None else tiled)]


def _infinite(t: Term) -> bool:
    match t:
        case terms.Binary(core.RealOp.MAX, a, b):
            return terms.may_be_infinite(a) or terms.may_be_infinite(b)
        case _:
            return terms.may_be_infinite(t)
