"""The pieces of a kernel with barriers in Lean: a namespace for each phase with its obligations, and the
texts by which the theorems about blocks speak of it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from semantics import core
from semantics.lean import terms as show
from semantics.lean.kernel import context_facts
from semantics.lean.launch import block_coordinate, linear_number, special_is_coordinate
from semantics.lean.lemmas import Goal
from semantics.lean.phase import PhaseProof
from semantics.lean.syntax import Printer
from semantics.symbolic import terms
from semantics.symbolic.linear import variable
from semantics.symbolic.owners import Owner
from semantics.symbolic.pieces import CELL, Kind, Phase
from semantics.symbolic.state import Context, State
from semantics.symbolic.terms import Term
from semantics.symbolic.trace import Scope

Item = list[str] | Goal
"""Lines without a claim, or a theorem."""


@dataclass(frozen=True, slots=True)
class Env:
    """How a piece is applied in a theorem: texts for its integer names and for the contents of the arrays
    that a loop around leaves open. A name that is absent stands for itself."""

    names: dict[str, str] = field(default_factory=dict)
    arrays: dict[int, str] = field(default_factory=dict)


SELF = Env()


@dataclass(slots=True)
class Piece:
    """A phase with its namespace and its proof. `open_` are the arrays whose contents a loop around leaves
    open, and whether they are of `Ext R`."""

    space: str
    phase: Phase
    proof: PhaseProof
    open_: dict[int, bool]
    owner: "Piece | None" = None

    @property
    def owners(self) -> "Piece":
        """The piece whose owner map holds here: the last one of a phase with shuffles."""
        return self.owner or self

    def is_open(self, b: int) -> bool:
        """Whether a loop around leaves the contents of array `b` open at the start."""
        return b in self.open_ and self.phase.shared[b].value in (terms.Cell(b, CELL), terms.Slot(b, CELL))


def described(phase: Phase) -> str:
    """A phase in words."""
    match phase.kind:
        case Kind.BARRIER:
            return f"the phase up to the barrier in line {phase.line}"
        case Kind.SILENT:
            return f"the assignments in line {phase.line}"
        case Kind.READ:
            return f"the code before a shuffle, from line {phase.line}"
        case Kind.LAST:
            return "the last phase"


@dataclass(slots=True)
class Pieces:
    """Emits pieces. `values` are the outputs from the spec, `inputs` the input buffers."""

    context: Context
    printer: Printer
    coordinates: dict[str, int]
    sizes: dict[int, int]
    inputs: tuple[int, ...]
    values: dict[int, Term]
    items: list[Item] = field(default_factory=list)
    proofs: list[PhaseProof] = field(default_factory=list)
    count: int = 0

    # ------------------------------------------------------------ texts

    @property
    def functions(self) -> str:
        """`X0 X1`: the initial contents of the inputs."""
        return " ".join(f"X{b}" for b in self.inputs)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        x, y, z = self.context.call.block
        return x * y * z

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        x, y, z = self.context.call.grid
        return x * y * z

    def coordinate(self, name: str) -> str:
        """A coordinate of block `b` or thread `t`, natural numbers."""
        text = block_coordinate(name, self.context.call)
        return text.replace("(b ", "((b : Int) ").replace("(t ", "((t : Int) ")

    def value_of(self, name: str, env: Env) -> str:
        """The text of a coordinate or of an integer name."""
        return self.coordinate(name) if name in self.coordinates else env.names.get(name, name)

    def outer(self, piece: Piece, env: Env = SELF) -> str:
        """The coordinates that all threads of the block share."""
        return " ".join(self.value_of(n, env) for n in piece.proof.outer.split())

    def contents(self, piece: Piece, b: int, env: Env) -> str:
        """What shared array `b` holds when the piece starts, as a function."""
        if piece.is_open(b):
            return env.arrays.get(b, f"X{b}")
        arrays = " ".join(env.arrays.get(a, f"X{a}") for a in piece.open_)
        parts = [f"{piece.space}.C{b}", self.functions, arrays, self.outer(piece, env)]
        return f"({' '.join(p for p in parts if p)})"

    def arguments(self, piece: Piece, env: Env) -> str:
        """The functions and coordinates of a piece, for thread `t` of block `b`."""
        shared = piece.phase.shared
        functions = [
            self.contents(piece, b, env) if b in shared else env.arrays.get(b, f"X{b}")
            for b in piece.proof.inputs
        ]
        return " ".join([*functions, *(self.value_of(n, env) for n in piece.proof.coordinates)])

    def start(self, piece: Piece, env: Env = SELF) -> str:
        """The assertion at the start of a piece, a function of thread and state."""
        return f"(fun (t : Nat) (σ : St R) => {piece.space}.A1 {self.arguments(piece, env)} σ)"

    def end(self, piece: Piece, env: Env = SELF) -> str:
        """The assertion at its end."""
        return f"(fun (t : Nat) (σ : St R) => {piece.space}.A2 {self.arguments(piece, env)} σ)"

    def own(self, piece: Piece, env: Env = SELF) -> str:
        """The owner map of a piece."""
        names = "".join(f" {env.names.get(n, n)}" for n in piece.owners.phase.names)
        return f"({piece.owners.space}.own b{names})"

    def functions_binders(self, open_: dict[int, bool], left: str = "{", right: str = "}") -> list[str]:
        """Binders of the inputs and of the open contents."""
        parts = [f"{left}{self.functions} : Int → R{right}"] if self.inputs else []
        return parts + [f"{left}X{b} : Int → {'Ext R' if e else 'R'}{right}" for b, e in open_.items()]

    def place_binders(self, names: dict[str, tuple[int, int]]) -> list[str]:
        """Binders of the block and of integer names."""
        parts = [f"{{b : Nat}} (hb : b < {self.blocks})"]
        for name, (low, high) in names.items():
            parts.append(f"{{{name} : Int}} ({name}_low : {low} ≤ {name}) ({name}_high : {name} < {high})")
        return parts

    def binders(self, piece: Piece) -> str:
        """What every theorem about a piece is about."""
        return " ".join([*self.functions_binders(piece.open_), *self.place_binders(piece.phase.names)])

    @staticmethod
    def given(names: dict[str, tuple[int, int]]) -> str:
        """The hypotheses of `place_binders`."""
        return " ".join(["hb", *(f"{n}_low {n}_high" for n in names)])

    def names_of(self, prefix: str) -> list[str]:
        """The coordinates of blocks (`b`) or threads (`t`) with more than one value."""
        return [name for name in self.coordinates if name[0] == prefix]

    def places(self) -> list[Goal]:
        """Numbers and coordinates of blocks and threads, where there are several coordinates: omega needs
        them apart from the digits of cells."""
        found: list[Goal] = []
        line = self.context.call.span.line
        sides = (("b", "block", self.context.call.grid), ("t", "thread", self.context.call.block))
        for prefix, word, extents in sides:
            names = self.names_of(prefix)
            if len(names) < 2:
                continue
            forms = {n: variable(n) for n in names}
            number = show.integer(linear_number(forms, prefix, extents))
            numbered = number
            for n in names:
                numbered = re.sub(rf"\b{n}\b", self.coordinate(n), numbered)
            bounds = " ".join(f"({n}0 : 0 ≤ {n}) ({n}1 : {n} < {self.coordinates[n]})" for n in names)
            equal = " ∧ ".join(f"{n} = {self.coordinate(n)}" for n in names)
            if prefix == "b":
                text = f"theorem block_number {{b : Nat}} (h : b < {self.blocks}) : {numbered} = (b : Int) := by omega"
                found.append(Goal("block_number", "a block's coordinates make up its number", line, text))
            text = (
                f"theorem {word}_place {{{prefix} : Nat}} {{{' '.join(names)} : Int}} "
                f"(h : {number} = ({prefix} : Int)) {bounds} :\n    {equal} := by omega"
            )
            found.append(Goal(f"{word}_place", f"a {word}'s number makes up its coordinates", line, text))
        return found

    def place(self, piece: Piece, b: int, prefix: str, number: str) -> list[str]:
        """The tactic that names the coordinates of a block or thread, from the digits of cell `i` of array
        `b`."""
        names, digits = self.names_of(prefix), piece.phase.written[b].digits
        if len(names) < 2:
            return []
        word = "block" if prefix == "b" else "thread"
        forms = " ".join(f"({n} := {show.integer(digits[n])})" for n in names)
        bounds = " (by omega)" * (1 + 2 * len(names))
        return [f"have g{prefix} := {word}_place ({prefix} := {number}) {forms}{bounds}"]

    def who(self, piece: Piece, b: int) -> str:
        """The number of the thread that writes cell `i`."""
        return f"({show.integer(linear_number(piece.phase.written[b].digits, 't', self.context.call.block))} : Int)"

    # ------------------------------------------------------------ a piece

    def blank(self, phase: Phase) -> PhaseProof:
        """The proof of a phase before its theorems are made; enough to speak of its assertions."""
        names = {**self.coordinates, **{n: high for n, (_, high) in phase.names.items()}}
        infinite = frozenset(b for b, c in phase.shared.items() if terms.may_be_infinite(c.value))
        infinite |= phase.unbounded
        shared = [] if phase.kind is Kind.LAST else phase.shared
        sources = [*self.inputs, *shared, *phase.lanes]
        ordered = [b for b in sources if b not in infinite] + [b for b in sources if b in infinite]
        return PhaseProof(
            self.printer,
            phase.block,
            names,
            Owner({}),
            dict(self.sizes),
            tuple(ordered),
            {b: self.values.get(b, w.value) for b, w in phase.written.items()},
            context_facts(self.context, self.printer.block(phase.stmts)),
            "code",
            shared=dict(phase.shared),
            written=dict(phase.written),
            least={n: low for n, (low, _) in phase.names.items()},
            infinite=infinite,
            threads=tuple(n for n in self.coordinates if n[0] == "t"),
            lanes=phase.lanes,
        )

    def located(self, text: str) -> str:
        """A text over coordinates, in terms of block `b`."""
        for name in self.coordinates:
            if name[0] == "b":
                text = re.sub(rf"\b{name}\b", self.coordinate(name), text)
        return text

    def piece(
        self, phase: Phase, open_: dict[int, bool], owner: Piece | None = None, head: State | None = None
    ) -> Piece:
        """Emit the thread obligations of a phase in a namespace of its own. `head` is one more assertion,
        `A0`."""
        self.count += 1
        space = f"P{self.count}"
        proof = self.blank(phase)
        piece = Piece(space, phase, proof, dict(open_), owner)
        theorem = proof.build()
        if head is not None:
            name = proof.assertion(head, Scope()).split()[0]
            proof.definitions[-1] = proof.definitions[-1].replace(f"def {name} ", "def A0 ", 1)
        self.proofs.append(proof)
        names_text = f"({proof.names} : Int) " if proof.names else ""
        what = described(phase)
        self.items.append(
            [
                "",
                f"namespace {space}",
                f"/-- The code of {what}. -/",
                f"def code : Stmt := {self.printer.block(phase.stmts)}",
                *proof.cells(),
                *self._contents(piece),
                "/-- What is known of a thread: coordinates, parameters, sizes, permission. -/",
                f"structure Thread (E : Env R) (P : Perm R) {names_text}: Prop where",
                *(f"  {name} : {text}" for name, text in proof.fields()),
                *proof.definitions,
            ]
        )
        self.items += [Goal(f"{space}.{g.name}", g.title, g.line, g.text) for g in proof.goals]
        title = f"{what}: a thread runs to its post"
        self.items.append(Goal(f"{space}.thread_ok", title, phase.line, "\n".join(theorem)))
        self.items.append([*([] if owner else self._owners(piece)), f"end {space}"])
        self.items.append(self._thread_of(piece))
        self.items.append(self._runs(piece))
        return piece

    def _contents(self, piece: Piece) -> Iterator[str]:
        """Definitions of what the shared arrays hold when the piece starts."""
        for b, contents in piece.phase.shared.items():
            if piece.is_open(b):
                continue
            infinite = b in piece.proof.infinite
            parts = self.functions_binders(piece.open_, "(", ")")
            parts += [f"({piece.proof.outer} : Int)"] if piece.proof.outer else []
            value = show.extended(contents.value) if infinite else show.scalar(contents.value)
            yield f"/-- What array {b} holds at first. -/"
            yield f"def C{b} {' '.join(parts)} (i : Int) : {'Ext R' if infinite else 'R'} := {value}"

    def _owners(self, piece: Piece) -> list[str]:
        names = "".join(f" ({n} : Int)" for n in piece.phase.names)
        body = "none"
        for b in reversed(piece.phase.written):
            slot = f"slot{b} {self.outer(piece)} i".replace("  ", " ")
            body = f"if a = {b} then (if {slot} then some {self.who(piece, b)}.toNat else none) else {body}"
        return [
            "/-- The thread that owns a cell. -/",
            f"def own (b : Nat){names} (a : Nat) (i : Int) : Option Nat := {body}",
        ]

    def owned(self, piece: Piece, b: int) -> str:
        """Tactics that reduce `own b i = some t` by `hs : slot i`."""
        others = "if_neg (by decide), " * list(piece.phase.written).index(b)
        return f"unfold {piece.space}.own; rw [{others}if_pos rfl, if_pos hs]"

    def _thread_of(self, piece: Piece) -> Goal:
        space, proof = piece.space, piece.proof
        names = " ".join(self.value_of(n, SELF) for n in proof.coordinates)
        binders = " ".join(self.place_binders(piece.phase.names))
        own = self.own(piece)
        lines = [
            f"theorem {space}.thread_of {binders} {{t : Nat}} (ht : t < {self.threads}) :",
            f"    {space}.Thread (launch.env b t : Env R) (threadPerm launch gown b {own} t) {names} := by",
        ]
        for b in piece.phase.written:
            slot, mine = f"{space}.slot{b}", f"{space}.mine{b}"
            lines += [
                f"  have own{b} : ∀ i, {mine} {names} i → {own} {b} i = some t := by",
                "    intro i h",
                f"    have hs : {slot} {self.outer(piece)} i := by simp only [{mine}, {slot}] at h ⊢; omega",
                f"    have hw : {self.who(piece, b)} = (t : Int) := by simp only [{mine}] at h; omega",
                f"    {self.owned(piece, b)}",
                "    exact congrArg some (by omega)",
            ]
        lines.append("  constructor")
        for name, _ in proof.fields():
            lines.append(f"  · {self._field(piece, name)}")
        title = f"{described(piece.phase)}: each thread is as assumed"
        return Goal(f"{space}.thread_of", title, piece.phase.line, "\n".join(lines))

    def _field(self, piece: Piece, name: str) -> str:
        space = piece.space
        if name.endswith(("_low", "_high")):
            return "omega"
        if name.startswith(("rd", "wr")):
            b = int(name[2:])
            shared = b in piece.proof.shared_arrays
            none = f"(by simp [{piece.owners.space}.own])"
            if b not in piece.phase.written:
                return f"exact fun i => rd_free ({'.inl rfl' if shared else '.inr (by simp [gown])'}) {none}"
            if not shared:
                grid = "have g := block_number hb; " if len(self.names_of("b")) > 1 else ""
                mine = f"{grid}simp only [{space}.mine{b}] at h; unfold gown; rw [if_pos rfl]"
                close = "exact congrArg some (by omega)"
                names = self.names_of("b")
                if len(names) > 2:
                    equal = [f"e{at}" for at in range(len(names))]
                    skipped = ["_"] * len(piece.phase.written[b].where)
                    mine = mine.replace("; unfold", f"; obtain ⟨{', '.join([*skipped, *equal, '_'])}⟩ := h; unfold")
                    close = f"exact congrArg some (by rw [{', '.join(equal)}, g, Int.toNat_natCast])"
                return f"exact fun i v h => wr_own (.inr (by {mine}; {close})) (own{b} i h)"
            if name.startswith("wr"):
                return f"exact fun i v h => wr_own (.inl rfl) (own{b} i h)"
            others = "if_neg (by decide), " * list(piece.phase.written).index(b)
            free = f"(by unfold {space}.own; rw [{others}if_pos rfl]; exact if_neg h)"
            return (
                f"exact fun i h => h.elim (fun h => rd_own (.inl rfl) (own{b} i h)) "
                f"(fun h => rd_free (.inl rfl) {free})"
            )
        if name.startswith(("tid", "bid")):
            proof = special_is_coordinate(name, self.context.call)
            return proof.replace("show b", "show (b : Int)").replace("show t", "show (t : Int)")
        return "rfl"

    def _runs(self, piece: Piece) -> Goal:
        """One symbolic thread of the launch runs the piece from its start to its end."""
        space = piece.space
        text = (
            f"theorem {space}.runs {self.binders(piece)} :\n"
            f"    Runs launch gown b {self.own(piece)} {self.start(piece)} {space}.code {self.end(piece)} :=\n"
            f"  fun t ht σ h => {space}.thread_ok ({space}.thread_of {self.given(piece.phase.names)} ht) σ h"
        )
        title = f"{described(piece.phase)}: every thread of the launch runs to its post"
        return Goal(f"{space}.runs", title, piece.phase.line, text)
