"""Kernels with barriers: the body as a sequence of pieces (phases between barriers, silent code, loops on
which all threads agree), what the shared arrays hold between them, and which thread writes what."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from semantics import core
from semantics.symbolic import folds, liveness, reductions, terms
from semantics.symbolic.arrays import Local
from semantics.symbolic.butterflies import butterfly
from semantics.symbolic.linear import Linear, Quotient, literal, quotient, variable
from semantics.symbolic.loops import accumulated_total, trip_count
from semantics.symbolic.owners import filled, invert
from semantics.symbolic.phase import PhaseExecutor, halved_register, stores_to
from semantics.symbolic.pieces import (
    CELL,
    Butterfly,
    Contents,
    Guard,
    Kind,
    Loop,
    Phase,
    Piece,
    Segment,
    Tree,
    Written,
    accesses,
    guard,
    has_barrier,
    has_shuffle,
)
from semantics.symbolic.state import Context, State, Unsupported, condition
from semantics.symbolic.terms import Condition, Term, may_be_infinite
from semantics.symbolic.trace import (
    Block,
    substituted,
)


def own(array: int) -> int:
    """How a local array of the kernel appears among the numbers of arrays."""
    return -1 - array


@dataclass(slots=True)
class Walker:
    """Cuts a kernel into pieces. `context` numbers global and shared arrays; `threads` are the thread
    coordinates of a block; `shared` and `outputs` are numbers with sizes; `inputs` are numbers."""

    context: Context
    threads: dict[str, int]
    blocks: dict[str, int]
    shared: dict[int, int]
    outputs: dict[int, int]
    inputs: frozenset[int]
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def kernel(self) -> tuple[Piece, ...]:
        """The pieces of the whole body. Raises Unsupported."""
        pieces, _, _ = self._pieces(
            self.context.call.kernel.body, State(), {}, liveness.NOTHING, frozenset(), {}, True
        )
        return tuple(pieces)

    def _pieces(
        self,
        stmts: Sequence[core.Stmt],
        state: State,
        shared: dict[int, Contents],
        after: liveness.Live,
        read_after: frozenset[int],
        names: dict[str, tuple[int, int]],
        whole: bool,
    ) -> tuple[list[Piece], State, dict[int, Contents]]:
        """Pieces of `stmts`, and what holds after them. `after` and `read_after` are the registers and
        arrays that are read later."""
        found: list[Piece] = []
        pending: list[core.Stmt] = []
        for at, stmt in enumerate(stmts):
            rest = stmts[at + 1 :]
            live = liveness.before(rest, after)
            reads = self._read(rest) | read_after
            if isinstance(stmt, core.Barrier):
                phase, state, shared = self._segment(
                    Kind.BARRIER, pending, stmt.span.line, state, shared, live, reads, names
                )
                found.append(phase)
                pending = []
            elif has_barrier([stmt]):
                if pending:
                    before = liveness.before(stmts[at:], after)
                    reads_now = self._read(stmts[at:]) | read_after
                    phase, state, shared = self._silent(pending, state, shared, before, reads_now, names)
                    found.append(phase)
                    pending = []
                around = guard(stmt)
                if around is not None and whole and not rest:
                    inner, state, shared = self._pieces(
                        around.rest, state, shared, after, read_after, names, True
                    )
                    return [*found, around, *inner], state, shared
                if not isinstance(stmt, core.While):
                    raise Unsupported("a barrier under a condition", stmt.span.line)
                loop, state, shared = self._loop(stmt, state, shared, live, reads, names)
                found.append(loop)
            else:
                pending.append(stmt)
        if whole:
            line = pending[0].span.line if pending else 0
            phase, state, shared = self._segment(
                Kind.LAST, pending, line, state, shared, after, read_after, names
            )
            found.append(phase)
        elif pending:
            phase, state, shared = self._silent(pending, state, shared, after, read_after, names)
            found.append(phase)
        return found, state, shared

    def _read(self, stmts: Sequence[core.Stmt]) -> frozenset[int]:
        """The arrays (numbers) that are read in there."""
        return self._touched(stmts, False)

    def _touched(self, stmts: Sequence[core.Stmt], stored: bool) -> frozenset[int]:
        """The arrays that are stored to, or read, in there: numbers, and `own` of local arrays."""
        numbers = self.context.buffers
        return frozenset(numbers.get(a, own(a)) for store, a in accesses(stmts) if store is stored)

    def _silent(
        self,
        stmts: Sequence[core.Stmt],
        state: State,
        shared: dict[int, Contents],
        live: liveness.Live,
        reads: frozenset[int],
        names: dict[str, tuple[int, int]],
    ) -> tuple[Phase, State, dict[int, Contents]]:
        for stmt in stmts:
            if not isinstance(stmt, core.SetI | core.SetR):
                raise Unsupported(
                    "memory accesses or branches between a barrier and a loop with barriers", stmt.span.line
                )
        return self._phase(Kind.SILENT, stmts, stmts[0].span.line, state, shared, live, reads, names)

    def _segment(
        self,
        kind: Kind,
        stmts: Sequence[core.Stmt],
        line: int,
        state: State,
        shared: dict[int, Contents],
        live: liveness.Live,
        reads: frozenset[int],
        names: dict[str, tuple[int, int]],
    ) -> tuple[Phase | Segment, State, dict[int, Contents]]:
        """A phase, cut at the loops with shuffles in it."""
        parts: list[Phase | Butterfly | Guard] = []
        run: list[core.Stmt] = []
        queue = list(stmts)
        at = -1
        while at + 1 < len(queue):
            at += 1
            stmts, stmt = queue, queue[at]
            if not has_shuffle([stmt]):
                run.append(stmt)
                continue
            here = liveness.before(stmts[at:], live)
            later = self._read(stmts[at:]) | reads
            if any(store and array in self.context.buffers for store, array in accesses(run)):
                raise Unsupported("a store before a shuffle", stmt.span.line)
            first = run[0].span.line if run else stmt.span.line
            read, state, shared = self._phase(Kind.READ, run, first, state, shared, here, later, names)
            parts.append(read)
            run = []
            around = guard(stmt)
            if around is not None and at == len(queue) - 1 and kind is Kind.LAST:
                parts.append(around)
                queue += around.rest
                continue
            after = liveness.before(stmts[at + 1 :], live)
            loop, state = butterfly(
                self, stmt, state, shared, after, self._read(stmts[at + 1 :]) | reads, names
            )
            parts.append(loop)
        last, state, shared = self._phase(kind, run, line, state, shared, live, reads, names)
        if not parts:
            return last, state, shared
        if set(last.written) & {b for part in parts if isinstance(part, Phase) for b in part.shared}:
            raise Unsupported("a shuffle between a read and a store of one shared array", line)
        return Segment(line, tuple(parts), last), state, shared

    def _phase(
        self,
        kind: Kind,
        stmts: Sequence[core.Stmt],
        line: int,
        state: State,
        shared: dict[int, Contents],
        live: liveness.Live,
        reads: frozenset[int],
        names: dict[str, tuple[int, int]],
    ) -> tuple[Phase, State, dict[int, Contents]]:
        held = {b: c for b, c in shared.items() if b in self._read(stmts) | reads}
        infinite = frozenset(b for b, c in held.items() if may_be_infinite(c.value))
        known = self.inputs | frozenset(held)
        values = {b: c.value for b, c in held.items()} if kind is Kind.LAST else {}
        before = State(state.ints, state.reals, locals=state.locals)
        stores = frozenset(b for b in self._touched(stmts, True) if b >= 0)
        while True:
            sizes = {b: (self.outputs | self.shared).get(b, 0) for b in sorted(stores)}
            executor = PhaseExecutor(self.context, sizes, infinite, known, values)
            executor._numbers = self._numbers
            block = executor.trace(stmts, before, live)
            reached = frozenset(b for b, _, _ in block.all_stores())
            if reached == stores:
                break
            stores = reached
        for b in stores:
            if b in self.outputs and kind is not Kind.LAST:
                raise Unsupported("a store into an output before the last barrier", line)
            if b not in self.outputs and b not in self.shared:
                raise Unsupported("a store into an array that is not an output", line)
        kept = {a: x for a, x in block.goal.locals.items() if own(a) in reads}
        block = replace(block, goal=replace(block.goal, locals=kept))
        written = {b: self._written(b, n, block) for b, n in sizes.items()}
        phase = Phase(kind, tuple(stmts), line, dict(names), held, block, written)
        after = State(
            block.goal.ints,
            {v: self._concrete(t, held, line) for v, t in block.goal.reals.items()},
            locals={a: self._kept(x, held, line) for a, x in kept.items()},
        )
        then = {b: c for b, c in held.items() if b in reads and b not in written}
        for b, w in written.items():
            if b in self.shared and b in reads:
                then[b] = Contents(w.where, self._concrete(w.value, held, line))
        return phase, after, then

    def _concrete(self, term: Term, shared: dict[int, Contents], line: int) -> Term:
        """A term with the cells of shared arrays replaced by what they hold."""
        whole = reductions.whole_of_warps(term, shared, f"q{next(self._numbers)}")
        return whole or reductions.instantiated(term, {b: c.value for b, c in shared.items()})

    def _kept(self, local: Local, shared: dict[int, Contents], line: int) -> Local:
        """What a local array holds between two phases."""
        if local.row or local.new is not None or local.old is None:
            raise Unsupported("a local array that a phase leaves half written", line)
        return replace(local, old=self._concrete(local.old, shared, line))

    def _written(self, b: int, size: int, block: Block) -> Written:
        """Who writes array `b` in a phase, and what."""
        points = list(stores_to(block.nodes, b))
        ranges = self.threads if b in self.shared else {**self.blocks, **self.threads}
        digits = invert(
            [reductions.pulled_index(p.index) for p in points if p.index is not None], ranges
        ).digits
        where: list[Condition] = [
            terms.Compare(core.CmpOp.LE, literal(0), CELL),
            terms.Compare(core.CmpOp.LT, CELL, literal(size)),
        ]
        for name, extent in ranges.items():
            form = digits[name]
            match form:
                case Linear(0, ((Quotient(True, _, c), 1),)) if c <= extent:
                    pass
                case _ if form.is_constant or (form == CELL and extent >= size):
                    pass
                case _:
                    where += [
                        terms.Compare(core.CmpOp.LE, literal(0), form),
                        terms.Compare(core.CmpOp.LT, form, literal(extent)),
                    ]
        threads = dict(digits)
        if b not in self.shared:
            return Written(threads, tuple(where), terms.Number(reductions.ZERO))
        value: Term | None = None
        guards: list[tuple[Condition, ...]] = []
        for point in reversed(points):
            assert point.value is not None and point.index is not None
            names: dict[str, Linear] | None = threads
            if point.scope.counters:
                names = filled(point.index, {*threads, *point.scope.counters}, point.value)
            if names is None:
                raise Unsupported("a store into a shared array inside a loop", point.stmt.span.line)
            given = reductions.pulled(terms.substitute(point.value, names))
            conditions = tuple(terms.substitute_condition(g, names) for g in point.scope.guards)
            guards.append(conditions)
            value = given if value is None else terms.Chosen(reductions.conjunction(conditions), given, value)
        assert value is not None
        if len(guards) == 1:
            where += guards[0]
        elif not reductions.exhaustive(guards):
            raise Unsupported("several stores into one shared array in a phase", points[0].stmt.span.line)
        return Written(threads, tuple(where), value)

    def _loop(
        self,
        stmt: core.While,
        state: State,
        shared: dict[int, Contents],
        live: liveness.Live,
        reads: frozenset[int],
        names: dict[str, tuple[int, int]],
    ) -> tuple[Piece, State, dict[int, Contents]]:
        line = stmt.span.line
        stride = halved_register(stmt)
        if stride is None:
            return self._counted(stmt, state, shared, live, reads, names)
        start = state.ints.get(stride)
        if (
            start is None
            or not start.is_constant
            or start.constant < 1
            or start.constant & (start.constant - 1)
        ):
            raise Unsupported("a halving loop whose stride does not start at a power of two", line)
        width = start.constant
        written = sorted(self._touched(stmt.body, True))
        if not written or not self.shared.keys() >= set(written):
            raise Unsupported("a halving loop that writes other than shared arrays", line)
        if not shared.keys() >= set(written):
            raise Unsupported("a halving loop over an array whose contents are not known", line)
        name = f"w{next(self._numbers)}"
        w = variable(name)
        needed = liveness.before_one(stmt, live)
        head = state.only(*needed).with_int(stride, w)
        where = (
            terms.Compare(core.CmpOp.LE, literal(0), CELL),
            terms.Either(
                terms.Compare(core.CmpOp.LT, CELL, w.scale(2)), terms.Compare(core.CmpOp.EQ, CELL, literal(0))
            ),
        )
        cells = {b: Contents(where, folds.cell_of(b, shared[b].value)) for b in written}
        other = {b: c for b, c in shared.items() if b not in cells}
        body, end, holds = self._pieces(
            stmt.body,
            head,
            {**other, **cells},
            needed,
            reads | self._read([stmt]),
            {**names, name: (1, width + 1)},
            False,
        )
        if end != head.with_int(stride, quotient(w, 2, False)):
            raise Unsupported("a halving loop that changes other registers", line)
        found = [
            folds.halved(b, shared[b].value, holds.get(b), w, 2 * width, f"q{next(self._numbers)}", line)
            for b in written
        ]
        after = state.only(*live)
        if stride in live[0]:
            after = after.with_int(stride, literal(0))
        only = (terms.Compare(core.CmpOp.EQ, CELL, literal(0)),)
        then = {b: c for b, c in other.items() if b in reads}
        then |= {fold.array: Contents(only, fold.total) for fold in found if fold.array in reads}
        return Tree(stmt, line, name, width, tuple(found), tuple(body)), after, then

    def _counted(
        self,
        stmt: core.While,
        state: State,
        shared: dict[int, Contents],
        live: liveness.Live,
        reads: frozenset[int],
        names: dict[str, tuple[int, int]],
    ) -> tuple[Piece, State, dict[int, Contents]]:
        """A loop whose counters grow by constants: once to see how registers change, then with closed
        forms. Shared arrays that it writes are not known at its head."""
        line = stmt.span.line
        counter = f"w{next(self._numbers)}"
        k = variable(counter)
        needed = liveness.before_one(stmt, live)
        ints, reals = liveness.assigned(stmt.body)
        entry = state.only(*needed)
        written = self._touched(stmt.body, True)
        if any(own(a) in written for a in entry.locals):
            raise Unsupported("a local array that a loop with barriers changes", line)
        kept = {b: c for b, c in shared.items() if b not in written}
        later = reads | self._read([stmt])

        def body(head: State, inner: dict[str, tuple[int, int]]) -> tuple[list[Piece], State]:
            pieces, end, _ = self._pieces(stmt.body, head, kept, needed, later, inner, False)
            return pieces, end

        probe = entry
        for var in ints & entry.ints.keys():
            probe = probe.with_int(var, variable(f"${var}"))
        for var in reals & entry.reals.keys():
            probe = probe.with_real(var, terms.Named(f"${var}", "before"))
        _, end = body(probe, names)
        head = entry
        for var in ints & entry.ints.keys():
            change = end.ints[var] - variable(f"${var}")
            head = head.with_int(
                var, entry.ints[var] + k.scale(change.constant) if change.is_constant else None
            )
        for var in reals & entry.reals.keys():
            head = head.with_real(var, terms.Named(f"${var}", "before"))
        count = trip_count(condition(stmt.cond, head, self.context), counter)
        if count is None:
            raise Unsupported("a loop with barriers whose number of rounds is not a literal", line)
        _, end = body(head, {**names, counter: (0, count.constant)})
        for var in reals & entry.reals.keys():
            before = terms.Named(f"${var}", "before")
            after = end.reals.get(var)
            if after == before:
                head = head.with_real(var, entry.reals[var])
            elif after is not None:
                head = head.with_real(var, accumulated_total(entry.reals[var], before, after, counter))
        pieces, _ = body(head, {**names, counter: (0, count.constant)})
        done = substituted(head, {counter: count}).only(*live)
        loop = Loop(stmt, line, counter, count.constant, tuple(pieces))
        return loop, done, {b: c for b, c in kept.items() if b in reads}
