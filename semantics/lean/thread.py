"""The obligations about one symbolic thread, as Lean theorems, and the proof that joins them."""

from collections.abc import Callable
from dataclasses import dataclass, field

from semantics import core
from semantics.lean import running
from semantics.lean import terms as show
from semantics.lean.equality import equality, positivity_hints
from semantics.lean.lemmas import BOOL, INT, REAL, Goal, assigned, bullet, loop, moved as moved_registers
from semantics.lean.locals import accessed, local_parts, weakened
from semantics.lean.syntax import Printer, bexpr
from semantics.symbolic import normal, terms
from semantics.symbolic.linear import literal
from semantics.symbolic.owners import Owner
from semantics.symbolic.running import stepped
from semantics.symbolic.state import State
from semantics.symbolic.terms import Term
from semantics.symbolic.trace import Block, Fork, Node, Point, Repeat, Scope


@dataclass(slots=True)
class ThreadProof:
    """Emits the theorems for a traced kernel.

    `buffers` maps buffer number to its size; `inputs` are those with initial contents; `values` is the
    final value of a cell `i` of each output."""

    printer: Printer
    block: Block
    coordinates: dict[str, int]
    owner: Owner
    sizes: dict[int, int]
    inputs: tuple[int, ...]
    values: dict[int, Term]
    facts: dict[str, str]
    code: str = "body"
    goals: list[Goal] = field(default_factory=list)
    definitions: list[str] = field(default_factory=list)
    _count: int = 0

    @property
    def functions(self) -> str:
        """`X0 X1`: the initial contents of the inputs."""
        return " ".join(f"X{b}" for b in self.inputs)

    @property
    def names(self) -> str:
        """`bx tx`: the thread coordinates."""
        return " ".join(self.coordinates)

    def initial(self, left: str, right: str) -> list[str]:
        """Binders of the initial contents, in these brackets."""
        return [f"{left}{self.functions} : Int → R{right}"] if self.inputs else []

    def binders(self) -> str:
        """The explicit parameters of every definition."""
        parts = self.initial("(", ")")
        return " ".join([*parts, *([f"({self.names} : Int)"] if self.names else [])])

    def arguments(self) -> str:
        return f"{self.functions} {self.names}".strip()

    def context(self, scope: Scope) -> str:
        """The binders of a theorem."""
        parts = ["{E : Env R} {P : Perm R}"]
        parts += self.initial("{", "}")
        if self.names:
            parts.append(f"{{{self.names} : Int}}")
        parts.append(f"(T : Thread E P {self.names})".replace(" )", ")"))
        parts += [f"({k} : Int) (h{k} : 0 ≤ {k})" for k in scope.counters]
        parts += [f"(g{at} : {show.condition(g)})" for at, g in enumerate(scope.guards)]
        return " ".join(parts)

    def call(self, name: str, scope: Scope) -> str:
        """A theorem applied to its context, up to the state."""
        functions = "".join(f" (X{b} := X{b})" for b in self.inputs)
        parts = [f"{name}{functions}", "T"]
        parts += [f"{k} h{k}" for k in scope.counters]
        parts += [f"g{at}" for at in range(len(scope.guards))]
        return " ".join(parts)

    def fields(self) -> list[tuple[str, str]]:
        """The facts about a thread: name and proposition."""
        found: list[tuple[str, str]] = []
        for name, extent in self.coordinates.items():
            found += [(f"{name}_low", f"0 ≤ {name}"), (f"{name}_high", f"{name} < {extent}")]
        found += [(name, text) for name, text in self.facts.items()]
        found += [(f"size{b}", f"E.size {b} = {n}") for b, n in self.sizes.items()]
        outputs = set(self.values)
        found += [(f"rd{b}", f"∀ i, P.rd {b} i") for b in self.inputs if b not in outputs]
        for b in outputs:
            found.append((f"rd{b}", f"∀ i, mine {self.names} i → P.rd {b} i"))
            found.append((f"wr{b}", f"∀ i v, mine {self.names} i → P.wr {b} i v"))
        return found

    def assertion(self, state: State, scope: Scope) -> str:
        """Define the assertion of a state; returns its name applied to the context."""
        self._count += 1
        name = f"A{self._count}"
        counters = f" ({' '.join(scope.counters)} : Int)" if scope.counters else ""
        parts = [text for _, text in self.parts(state)]
        self.definitions.append(
            f"def {name} {self.binders()}{counters} (σ : St R) : Prop :=\n  {' ∧ '.join([*parts, 'True'])}"
        )
        return f"{name} {' '.join((self.arguments(), *scope.counters))}".rstrip()

    def parts(self, state: State) -> list[tuple[str, str]]:
        """The conjuncts of an assertion: a name for each, and the proposition."""
        found: list[tuple[str, str]] = []
        for b in self.inputs:
            if b not in self.values:
                found.append((f"H{b}", f"Holds σ.mem {b} {self.sizes[b]} X{b}"))
        for b, below in state.done.items():
            function = f"Y{b} {self.functions}".strip()
            mine = f"(mine {self.names})" if self.names else "mine"
            n, c = self.sizes[b], show.integer(below)
            found.append((f"D{b}", f"Done σ.mem {b} {n} {c} {mine} ({function})"))
            if b in self.inputs:
                found.append((f"U{b}", f"Pending σ.mem {b} {n} {c} {mine} X{b}"))
        found += [(f"K{at}", f"{show.integer(k)} ≤ {show.integer(most)}") for at, (k, most) in enumerate(state.limits)]
        found += local_parts(state, self.printer.numbers)
        found += [(f"n{v}", f"σ.reg.iv {v} = {show.integer(x)}") for v, x in sorted(state.ints.items())]
        found += [(f"r{v}", f"σ.reg.rv {v} = {show.extended(x)}") for v, x in sorted(state.reals.items())]
        return found

    def opened(self, state: State) -> list[str]:
        """Tactic lines that name the conjuncts of `h` and the facts of the thread."""
        names = [name for name, _ in self.parts(state)]
        facts = [name for name, _ in self.fields()]
        return [
            f"obtain ⟨{', '.join([*names, '_'])}⟩ := h",
            "have hT := T",
            f"obtain ⟨{', '.join(facts)}⟩ := T",
        ]

    def registers(self, state: State) -> str:
        """The register values and parameters as simp lemmas."""
        names = [f"n{v}" for v in sorted(state.ints)] + [f"r{v}" for v in sorted(state.reals)]
        return ", ".join([*names, *self.facts])

    def theorem(self, title: str, line: int, scope: Scope, statement: str, proof: list[str]) -> str:
        """Add a theorem; returns its name."""
        name = f"o{len(self.goals) + 1}"
        text = f"theorem {name} {self.context(scope)} :\n    {statement} := by\n"
        self.goals.append(Goal(name, title, line, text + "\n".join(f"  {one}" for one in proof)))
        return name

    def build(self) -> list[str]:
        """Emit everything; returns the tactic lines that prove the thread theorem from `h0`."""
        start = self.assertion(self.block.before, self.block.scope)
        post = self.assertion(self.block.goal, self.block.scope)
        lines = self.sequence(self.block, start, post, "σ", "h", 0)
        functions = "".join(f"{one} " for one in self.initial("{", "}"))
        names = f"{{{self.names} : Int}} " if self.names else ""
        thread = f"(T : Thread E P {self.names})".replace(" )", ")")
        return [
            f"theorem thread_ok {{E : Env R}} {{P : Perm R}} {functions}{names}{thread}",
            f"    (σ : St R) (h : {start} σ) : {self.code}.wp E P ({post}) σ := by",
            f"  unfold {self.code}",
            *(f"  {line}" for line in lines),
        ]

    def sequence(
        self, block: Block, start: str, goal: str, sigma: str, h: str, depth: int, shifted: bool = False
    ) -> list[str]:
        """Tactic lines proving `block.wp E P goal sigma` from `h : start sigma`. `shifted` says that the
        goal is an assertion for another counter value, so that equal states differ in their text."""
        if block.unreached:
            facts = ", ".join(name for name, _ in self.fields())
            title = "no thread comes to the code under this condition"
            never = self.theorem(title, block.unreached, block.scope, "False", [f"obtain ⟨{facts}⟩ := T", "omega"])
            return [f"exact ({self.call(never, block.scope)}).elim"]
        last = block.nodes[-1] if block.nodes else None
        line = last.stmt.span.line if last is not None else 0
        lines: list[str] = []
        current, scope = start, block.scope
        if last is None:
            weak = self.weaken(block.before, block.goal, start, goal, scope, line)
            return ["rw [wp_skip]", f"exact {self.call(weak, scope)} {sigma} {h}"]
        end = goal
        if shifted or last.after != block.goal:
            end = self.assertion(last.after, scope)
            weak = self.weaken(
                last.after, block.goal, end, goal, scope, line, shift=scope.counters[-1] if shifted else ""
            )
            lines.append(
                f"refine Stmt.wp_mono _ _ _ _ (fun σ h => {self.call(weak, scope)} σ h) (Q := {end}) ?_"
            )
        for at, node in enumerate(block.nodes):
            final = at == len(block.nodes) - 1
            after = end if final else self.assertion(node.after, scope)
            inner = self.node(node, current, after, sigma, h, depth)
            if final:
                lines += inner
            else:
                lines.append(f"refine vc_seq ({after}) ?_ ?_")
                lines += bullet(inner)
                sigma, h = f"σ{depth}_{at}", f"h{depth}_{at}"
                lines.append(f"intro {sigma} {h}")
            current = after
        return lines

    def node(self, node: Node, before: str, after: str, sigma: str, h: str, depth: int) -> list[str]:
        """Tactic lines for one node."""
        match node:
            case Point():
                return [f"exact {self.call(self.point(node, before, after), node.scope)} {sigma} {h}"]
            case Fork():
                return self.fork(node, before, after, sigma, h, depth)
            case Repeat():
                return self.repeat(node, before, after, sigma, h, depth)

    def fork(self, node: Fork, before: str, after: str, sigma: str, h: str, depth: int) -> list[str]:
        test = self.test(node.stmt.cond, show.condition(node.cond), node.before, before, node)
        call = f"({self.call(test, node.scope)} {sigma} {h})"
        guard = f"g{len(node.scope.guards)}"
        then = self.sequence(node.then, before, after, sigma, h, depth + 1)
        other = self.sequence(node.other, before, after, sigma, h, depth + 1)
        return [
            f"refine vc_ite {call}.1 (fun hc => ?_) (fun hc => ?_)",
            *bullet([f"have {guard} := {call}.2.mp hc", *then]),
            *bullet([f"have {guard} := fun hg => hc ({call}.2.mpr hg)", *other]),
        ]

    def repeat(self, node: Repeat, before: str, after: str, sigma: str, h: str, depth: int) -> list[str]:
        k, scope = node.counter, node.scope
        inside = scope.inside(k)
        line = node.stmt.span.line
        head = self.assertion(node.head, inside)
        stem = head.removesuffix(f" {k}")
        first = self.weaken(
            node.before,
            node.round(literal(0)),
            before,
            f"{stem} 0",
            scope,
            line,
            "the loop invariant holds at first",
            "0",
        )
        test = self.test(node.stmt.cond, show.condition(node.cond), node.head, head, node, inside)
        bounded = self.theorem(
            "the loop ends",
            line,
            inside.under(node.cond),
            f"{k} < 4294967296",
            [f"obtain ⟨{', '.join(name for name, _ in self.fields())}⟩ := T", "omega"],
        )
        body = self.sequence(node.body, head, f"{stem} ({k} + 1)", f"σ{k}", f"i{k}", depth + 1, True)
        out = inside.under(terms.Negation(node.cond))
        count = node.count
        ended = () if count is None else (f"have hk : {k} = {show.integer(count)} := by omega", "subst hk")
        leave = self.weaken(
            node.head,
            node.after,
            head,
            after,
            out,
            line,
            "what holds after the loop",
            "0" if ended else "",
            ended,
        )
        guard = f"g{len(scope.guards)}"
        call = f"({self.call(test, inside)} σ{k} i{k})"
        ended_call, leave_call = self.call(bounded, inside.under(node.cond)), self.call(leave, out)
        return loop(k, guard, head, call, f"{self.call(first, scope)} {sigma} {h}", ended_call, body, leave_call)

    def test(
        self,
        cond: core.BExpr,
        meaning: str,
        state: State,
        before: str,
        node: Fork | Repeat,
        scope: Scope | None = None,
    ) -> str:
        """A condition is defined and means what the trace says."""
        scope = scope or node.scope
        text = bexpr(cond)
        registers = self.registers(state)
        real = ".rcmp" in text
        lemmas, close = (REAL, "first | omega | trivial | grind") if real else (BOOL, "omega")
        if not terms.condition_names(node.cond):
            close = "first | omega | trivial | simp"
        return self.theorem(
            "the condition is defined",
            node.stmt.span.line,
            scope,
            f"∀ σ : St R, {before} σ → ({text} : BExpr).ok E σ.reg ∧ (({text} : BExpr).val E "
            f"σ.reg ↔ {meaning})",
            [
                "intro σ h",
                *self.opened(state),
                "refine ⟨?_, ?_⟩",
                f"· (simp (disch := omega) only [{lemmas}, {registers}]) <;> {close}",
                f"· (simp (disch := omega) only [{lemmas}, iff_true, {registers}]) <;> {close}",
            ],
        )

    def weaken(
        self,
        given: State,
        wanted: State,
        before: str,
        after: str,
        scope: Scope,
        line: int,
        title: str = "what is known here suffices for what follows",
        shift: str = "",
        exact: tuple[str, ...] = (),
    ) -> str:
        """`before` implies `after`: boundaries of written cells move, counters change. `shift` is the counter
        that `after` has one more of."""
        proofs = []
        known = dict(self.parts(given))
        for name, _ in self.parts(wanted):
            if name[0] == "H":
                proofs.append(name)
            elif name[0] in "DUWZ":
                proofs.append(self._moved(name, name in known))
            elif name[0] in "nK":
                proofs.append("(by omega)")
            elif name[0] in "FG":
                proofs.append(weakened(name, given, wanted, shift))
            else:
                var = int(name[1:])
                proofs.append(self._same_real(name, given.reals.get(var), wanted.reals[var], scope, shift))
        return self.theorem(
            title,
            line,
            scope,
            f"∀ σ : St R, {before} σ → {after} σ",
            ["intro σ h", *self.opened(given), *exact, f"exact ⟨{', '.join([*proofs, 'trivial'])}⟩"],
        )

    def _same_real(self, name: str, have: Term | None, want: Term, scope: Scope, shift: str) -> str:
        """A register keeps its value, which another counter value shows in another form."""
        if have is None:
            return "(by trivial)"
        if have == want and not shift:
            return name
        if stepped(have, want):
            return f"({name}.trans {running.STEP})"
        return f"({name}.trans (by ks_fold))"

    def _moved(self, name: str, known: bool) -> str:
        """A boundary moves: what `mine` says of the cells between the two settles it."""
        if name[0] == "U" or known:
            return f"({name}.weaken (by intro i i0 i1 im ic; simp only [mine] at im; omega))"
        return "(Done.none (by intro i i0 i1 im; simp only [mine] at im; omega))"

    def point(self, node: Point, before: str, after: str) -> str:
        """The theorem of one statement."""
        stmt = node.stmt
        title, lines = self._statement(node)
        return self.theorem(
            title,
            stmt.span.line,
            node.scope,
            f"∀ σ : St R, {before} σ → ({self.printer.stmt(stmt)} : Stmt).wp E P ({after}) σ",
            ["intro σ h", *self.opened(node.before), *lines],
        )

    def _statement(self, node: Point) -> tuple[str, list[str]]:
        registers = self.registers(node.before)
        selects = isinstance(node.stmt, core.SetI) and isinstance(node.stmt.value, core.ISelect)
        integer = f"(simp (disch := omega) only [{BOOL if selects else INT}, {registers}]) <;> omega"
        match node.stmt:
            case core.SetI(var):
                new = node.after.ints.get(var)
                shown = show.integer(new) if new is not None else "_"
                after = self._after(node, lambda w: assigned("I", w, var), lambda _: "setI_rv.trans ")
                name = self.printer.kernel.int_vars[var][0]
                return f"{name} is computed in range", [
                    f"refine wp_seti_at (n := {shown}) ?_ ?_ ?_",
                    f"· {integer}",
                    f"· {integer}",
                    f"· exact {after}",
                ]
            case core.SetR(var):
                term = node.after.reals.get(var)
                registers += running.lemmas(term)
                return f"{self.printer.kernel.real_vars[var]} is defined", [
                    f"refine wp_setr_at (x := {show.extended(term) if term else '_'}) ?_ ?_ ?_",
                    *self._defined(term, registers),
                    *running.value_lines(term, f"simp (disch := omega) only [{REAL}, {registers}]"),
                    f"· exact {self._after_real(node, var)}",
                ]
            case core.Load(_, array) | core.Store(array) if node.local >= 0:
                defined = self._defined(node.value, registers) if node.value is not None else []
                value = f"simp (disch := omega) only [{REAL}, {registers}]"
                ranges = normal.known(self.coordinates, node.scope.counters, node.scope.guards)
                return f"the access to {self.printer.kernel.arrays[array].name} is in bounds", accessed(
                    node, self.printer.numbers[array], integer, defined, value, self.parts(node.after), ranges
                )
            case core.Load(var, array, _):
                return self._load(node, var, array, integer)
            case core.Store(array, _, _):
                return self._store(node, array, integer)
            case core.Check(_, reason):
                condition = f"(simp (disch := omega) only [{BOOL}, {registers}]) <;> omega"
                return f"the access is not {reason}", [
                    "rw [wp_check]",
                    "refine ⟨?_, ?_, ?_⟩",
                    f"· {condition}",
                    f"· {condition}",
                    f"· exact {self._after(node, lambda _: '', lambda _: '')}",
                ]
        raise AssertionError(node.stmt)

    def _defined(self, term: Term | None, registers: str) -> list[str]:
        """The scalar expression is defined: denominators, domains."""
        hints = positivity_hints(term) if term is not None else []
        return [
            "· have hd : True := trivial",
            *(f"  have := {hint}" for hint in hints),
            f"  (simp (disch := omega) only [{REAL}, {registers}]) <;> ks_defined",
        ]

    def _load(self, node: Point, var: int, array: int, integer: str) -> tuple[str, list[str]]:
        assert node.index is not None
        b, j = node.buffer, show.integer(node.index)
        name = self.printer.kernel.arrays[array].name
        if b in self.values:
            own = f"(by simp only [mine]; omega : mine {self.names} {j})"
            permission, cell = f"rd{b} _ {own}", f"U{b}.read (by omega) (by omega) {own} (by omega)"
        else:
            permission, cell = f"rd{b} _", f"H{b}.read (by omega) (by omega)"
        return f"the read of {name} is in bounds and initialised", [
            f"refine wp_load_at (j := {j}) (x := .fin (X{b} {j})) ?_ ?_ (by omega) "
            f"({permission}) ({cell}) ?_",
            f"· {integer}",
            f"· {integer}",
            f"· exact {self._after_real(node, var)}",
        ]

    def _store(self, node: Point, array: int, integer: str) -> tuple[str, list[str]]:
        assert node.index is not None and node.value is not None
        assert isinstance(node.stmt, core.Store)
        b, j = node.buffer, show.integer(node.index)
        name = self.printer.kernel.arrays[array].name
        wanted = terms.substitute(self.values[b], {"i": node.index})
        function = f"Y{b} {self.functions}".strip()
        proof = equality(node.value, wanted, normal.known(self.coordinates, node.scope.counters, node.scope.guards))
        value = self.theorem(
            f"the value stored into {name} is what the spec says",
            node.stmt.span.line,
            node.scope,
            f"{show.scalar(node.value)} = {function} {j}",
            [
                *proof.keys,
                f"obtain ⟨{', '.join(n for n, _ in self.fields())}⟩ := T",
                f"have hw : {function} {j} = {show.scalar(wanted)} := by",
                f"  simp only [Y{b}]",
                "  all_goals ks_spec",
                "refine Eq.trans ?_ hw.symm",
                "clear hw",
                *proof.lines,
            ],
        )
        moved = []
        for part, _text in self.parts(node.after):
            if part == f"D{b}":
                order = "(by intro i i0 i1 im ic; simp only [mine] at im; omega)"
                known = b in node.before.done
                hv = f"(congrArg Ext.fin ({self.call(value, node.scope).replace(' T', ' hT', 1)}))"
                moved.append(f"(D{b}.set {hv} {order})" if known else f"(Done.first {hv} {order})")
            elif part == f"U{b}":
                moved.append(f"(U{b}.set (by intro i i0 i1 im ic; simp only [mine] at im; omega))")
            elif part[0] == "H":
                moved.append(f"({part}.set (by decide))")
            elif part[0] in "DU":
                moved.append(f"({part}.other (by decide))")
            else:
                moved.append(part)
        registers = self.registers(node.before)
        return f"the store into {name} is in bounds, owned and in order", [
            f"have hm : mine {self.names} {j} := by simp only [mine]; omega",
            f"refine wp_store_at (j := {j}) (v := {show.extended(node.value)}) ?_ ?_ (by "
            f"omega) ?_ ?_ (wr{b} _ _ hm) ?_",
            f"· {integer}",
            f"· {integer}",
            *self._defined(node.value, registers),
            f"· simp (disch := omega) only [{REAL}, {registers}]",
            f"· exact ⟨{', '.join([*moved, 'trivial'])}⟩",
        ]

    def _after_real(self, node: Point, var: int) -> str:
        """The conjuncts after real register `var` was assigned."""
        return self._after(node, lambda _: "setR_iv.trans ", lambda w: assigned("R", w, var))

    def _after(self, node: Point, ints: Callable[[int], str], reals: Callable[[int], str]) -> str:
        """The conjuncts after a statement that changes registers only."""
        return moved_registers((name for name, _ in self.parts(node.after)), ints, reals)
