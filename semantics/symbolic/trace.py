"""Symbolic execution of one thread into a tree of points: each node carries the state before and after
it, which are the assertions of the proof. Loops get a counter `k` and an invariant in terms of it."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from semantics import core
from semantics.symbolic import arrays, liveness, normal, running, terms
from semantics.symbolic.linear import Linear, literal, quotient, recombined, variable
from semantics.symbolic.loops import accumulated_total, boundary, loop_bounds, merged, trip_count
from semantics.symbolic.owners import coordinates
from semantics.symbolic.state import Context, State, Unsupported, condition, integer, real
from semantics.symbolic.terms import Condition, Term


@dataclass(frozen=True, slots=True)
class Scope:
    """What holds on the way to a point: loop counters (all at least 0) and conditions."""

    counters: tuple[str, ...] = ()
    guards: tuple[Condition, ...] = ()

    def under(self, guard: Condition) -> "Scope":
        return Scope(self.counters, (*self.guards, guard))

    def inside(self, counter: str) -> "Scope":
        return Scope((*self.counters, counter), self.guards)


@dataclass(frozen=True, slots=True)
class Point:
    """A statement without control flow. An access has the buffer and the index; a store also the value."""

    stmt: core.Stmt
    scope: Scope
    before: State
    after: State
    buffer: int = -1
    index: Linear | None = None
    value: Term | None = None
    local: int = -1


@dataclass(frozen=True, slots=True)
class Fork:
    """A conditional: both blocks lead to `after`."""

    stmt: core.If
    cond: Condition
    scope: Scope
    before: State
    then: "Block"
    other: "Block"
    after: State


@dataclass(frozen=True, slots=True)
class Repeat:
    """A loop: `head` is the invariant in terms of `counter`, `step` is the invariant after a round."""

    stmt: core.While
    counter: str
    cond: Condition
    scope: Scope
    before: State
    head: State
    body: "Block"
    after: State
    count: Linear | None

    def round(self, k: Linear) -> State:
        """The invariant for counter value `k`."""
        return substituted(self.head, {self.counter: k})


Node = Point | Fork | Repeat


@dataclass(frozen=True, slots=True)
class Block:
    """Nodes in order, from the state `before` to the state `goal`, which the last node's `after` (or
    `before`, when there are none) implies under `scope`. `unreached` is the line of a condition that lets
    no thread come here; 0 when some may. Code that no thread reaches has no nodes."""

    nodes: tuple[Node, ...]
    scope: Scope
    before: State
    goal: State
    unreached: int = 0

    @property
    def end(self) -> State:
        return self.nodes[-1].after if self.nodes else self.before

    def stores(self, buffer: int) -> list[Linear]:
        """Indices of the stores to a buffer in textual order, in terms of the counters in scope."""
        return [index for where, index, _ in self.all_stores() if where == buffer]

    def local_stores(self, array: int) -> list[Linear]:
        """Indices of the stores to a local array."""
        found: list[Linear] = []
        for node in self.nodes:
            match node:
                case Point(core.Store()) if node.local == array and node.index is not None:
                    found.append(node.index)
                case Fork():
                    found += node.then.local_stores(array) + node.other.local_stores(array)
                case Repeat():
                    found += node.body.local_stores(array)
                case _:
                    pass
        return found

    def all_stores(self) -> list[tuple[int, Linear, Scope]]:
        """Every store: buffer, index, scope."""
        found: list[tuple[int, Linear, Scope]] = []
        for node in self.nodes:
            match node:
                case Point(core.Store()) if node.index is not None and node.local < 0:
                    found.append((node.buffer, node.index, node.scope))
                case Fork():
                    found += node.then.all_stores() + node.other.all_stores()
                case Repeat():
                    found += node.body.all_stores()
                case _:
                    pass
        return found


class Executor:
    """Executes the body of a kernel. `outputs` gives the number of elements of each output buffer."""

    def __init__(self, context: Context, outputs: dict[int, int], inplace: frozenset[int]) -> None:
        self.context = context
        self.outputs = outputs
        self.inplace = inplace
        self._numbers = itertools.count()
        self._probing = False
        self._running: list[terms.Largest] = []
        self._extents = coordinates(context.call)

    def run(self) -> Block:
        """The whole body: starts knowing nothing of registers, ends with every output written."""
        start = State()
        goal = State(done={buffer: literal(n) for buffer, n in self.outputs.items()})
        for buffer in self.inplace:
            start = start.with_done(buffer, literal(0))
        block = self._block(self.context.call.kernel.body, start, Scope(), liveness.NOTHING)
        return Block(block.nodes, block.scope, block.before, goal)

    def _block(self, stmts: Sequence[core.Stmt], state: State, scope: Scope, after: liveness.Live) -> Block:
        nodes: list[Node] = []
        before = state
        for at, stmt in enumerate(stmts):
            live = liveness.before(stmts[at + 1 :], after)
            try:
                node = self._node(stmt, state, scope, live)
            except Unsupported as reason:
                raise (reason if reason.line else Unsupported(reason.reason, stmt.span.line)) from None
            nodes.append(node)
            state = node.after
        return Block(tuple(nodes), scope, before, state)

    def _node(self, stmt: core.Stmt, state: State, scope: Scope, live: liveness.Live) -> Node:
        match stmt:
            case core.If():
                return self._fork(stmt, state, scope, live)
            case core.While():
                return self._repeat(stmt, state, scope, live)
            case core.SetI(var, value):
                after = state.with_int(var, integer(value, state, self.context))
                return Point(stmt, scope, state, after.only(*live))
            case core.SetR(var, expression):
                held = running.advanced(real(expression, state, self.context), self._running)
                after = state.with_real(var, held)
                return Point(stmt, scope, state, after.only(*live))
            case core.Load(_, array) | core.Store(array) if self._is_local(array):
                return self._local(stmt, array, state, scope, live)
            case core.Load(var, array, at):
                buffer, index = self._access(array, at, state)
                loaded = self._loaded(buffer, index)
                return Point(stmt, scope, state, state.with_real(var, loaded).only(*live), buffer, index)
            case core.Store(array, at, stored):
                buffer, index = self._access(array, at, state)
                if buffer not in self.outputs:
                    raise Unsupported("a store into an array that is not an output")
                given = real(stored, state, self.context)  # type: ignore[arg-type]
                after = state.with_done(buffer, index.plus(1)).only(*live)
                return Point(stmt, scope, state, after, buffer, index, given)
            case core.Check():
                return Point(stmt, scope, state, state.only(*live))
            case core.Barrier() | core.SyncWarp() | core.Shfl() | core.ShflI() | core.Vote():
                raise Unsupported("barriers and warp operations")
            case core.AtomicAdd():
                raise Unsupported("atomicAdd")

    def _is_local(self, array: int) -> bool:
        return self.context.call.kernel.arrays[array].space is core.Space.LOCAL

    def _local(
        self, stmt: core.Load | core.Store, array: int, state: State, scope: Scope, live: liveness.Live
    ) -> Point:
        """An access to a local array."""
        declared = self.context.call.kernel.arrays[array]
        if declared.size is None:
            raise Unsupported(f"the local array {declared.name!r}")
        index = recombined(integer(stmt.index, state, self.context))
        held = state.locals.get(array, arrays.fresh(declared.size))
        if isinstance(stmt, core.Load):
            value = arrays.read(held, index, self._ranges(scope))
            if self._probing:
                value = terms.Named(f"$local{array}", "before")
            if value is None:
                raise Unsupported(f"this order of accesses to the local array {declared.name!r}")
            after = state.with_real(stmt.var, value).only(*live)
            return Point(stmt, scope, state, after, index=index, local=array)
        given = real(stmt.value, state, self.context)  # type: ignore[arg-type]
        stored = held if self._probing else arrays.store(held, index, given, self._ranges(scope))
        if stored is None:
            raise Unsupported(f"this order of stores to the local array {declared.name!r}")
        after = state.with_local(array, stored).only(*live)
        return Point(stmt, scope, state, after, index=index, value=given, local=array)

    def _ranges(self, scope: Scope) -> normal.Ranges:
        """What is known of the integers in a scope."""
        return normal.known(self._extents, scope.counters, scope.guards)

    def _access(self, array: int, at: core.IExpr, state: State) -> tuple[int, Linear]:
        if array not in self.context.buffers:
            raise Unsupported("shared and local arrays")
        return self.context.buffers[array], recombined(integer(at, state, self.context))

    def _loaded(self, buffer: int, index: Linear) -> Term:
        if buffer in self.outputs and buffer not in self.inplace:
            raise Unsupported("a read of an output")
        return terms.Cell(buffer, index)

    def _fork(self, stmt: core.If, state: State, scope: Scope, live: liveness.Live) -> Fork:
        cond = condition(stmt.cond, state, self.context)
        inside, outside = scope.under(cond), scope.under(terms.Negation(cond))
        decided = _decided(cond, self._ranges(scope))
        if decided is not None:
            taken = self._block(
                stmt.then if decided else stmt.other, state, inside if decided else outside, live
            )
            after = taken.end.only(*live)
            taken = replace(taken, goal=after)
            never = Block((), outside if decided else inside, state, after, stmt.span.line)
            then, other = (taken, never) if decided else (never, taken)
            return Fork(stmt, cond, scope, state, then, other, after)
        then = self._block(stmt.then, state, inside, live)
        other = self._block(stmt.other, state, outside, live)
        ints = {v: x for v, x in then.end.ints.items() if other.end.ints.get(v) == x}
        reals: dict[int, Term] = {}
        for v, x in then.end.reals.items():
            y = other.end.reals.get(v)
            if y is not None:
                reals[v] = x if x == y else merged(cond, x, y)
        done: dict[int, Linear] = {}
        for buffer in self.outputs:
            side = then if then.stores(buffer) or not other.stores(buffer) else other
            if buffer in side.end.done:
                done[buffer] = side.end.done[buffer]
        same = {a: x for a, x in then.end.locals.items() if other.end.locals.get(a) == x}
        after = State(ints, reals, done, state.limits, same).only(*live)
        return Fork(
            stmt,
            cond,
            scope,
            state,
            Block(then.nodes, then.scope, state, after),
            Block(other.nodes, other.scope, state, after),
            after,
        )

    def _repeat(self, stmt: core.While, state: State, scope: Scope, live: liveness.Live) -> Repeat:
        """Twice through the body: with unknowns to see how registers change, then with a counter. A loop
        whose test fails at once is left as it was entered."""
        counter = f"k{next(self._numbers)}"
        k = variable(counter)
        needed = liveness.before_one(stmt, live)
        ints, reals = liveness.assigned(stmt.body)
        entry = state.only(*needed)
        if _decided(cond := condition(stmt.cond, entry, self.context), self._ranges(scope)) is False:
            never = Block((), scope.inside(counter).under(cond), entry, entry, stmt.span.line)
            return Repeat(stmt, counter, cond, scope, state, entry, never, entry.only(*live), None)
        steps = self._steps(stmt, entry, scope, ints, reals, needed)
        head = entry
        for var in ints & entry.ints.keys():
            step = steps.get(var)
            head = head.with_int(var, None if step is None else entry.ints[var] + k.scale(step))
        for var in reals & entry.reals.keys():
            head = head.with_real(var, terms.Named(f"${var}", "before"))
        swept = self._stored_locals(stmt.body)
        for array, size in swept.items():
            start = arrays.Local(size, literal(0), None, arrays.placeholder(array))
            head = head.with_local(array, start)
        cond = condition(stmt.cond, head, self.context)
        inner = scope.inside(counter).under(cond)
        once = self._block(stmt.body, head, inner, needed)
        count = self._rounds(cond, counter, reals & live[1])
        head = self._accumulated(head, entry, once, counter, reals)
        for array in swept:
            stored = once.local_stores(array)
            first = _at_start(stored[0], counter, scope) if stored else literal(0)
            head = head.with_local(array, _local_head(array, entry, once, counter, first))
        for buffer in self.outputs:
            indices = once.stores(buffer)
            if indices:
                head = head.with_done(buffer, _at_start(indices[0], counter, scope))
        if count is not None:
            head = replace(head, limits=(*head.limits, (k, count)))
        body = self._block(stmt.body, head, inner, needed)
        goal = substituted(head, {counter: k.plus(1)})
        after = self._after(head, cond, counter, count, body).only(*live)
        after = replace(after, limits=state.limits)
        return Repeat(
            stmt,
            counter,
            cond,
            scope,
            state,
            head,
            Block(body.nodes, inner, head, goal),
            after,
            count,
        )

    def _stored_locals(self, stmts: Sequence[core.Stmt]) -> dict[int, int]:
        """Local arrays that a loop body stores to, with their sizes."""
        found: dict[int, int] = {}
        for stmt in stmts:
            match stmt:
                case core.Store(array) if self._is_local(array):
                    found[array] = self.context.call.kernel.arrays[array].size or 0
                case core.If(_, then, other):
                    found |= self._stored_locals((*then, *other))
                case core.While(_, body):
                    found |= self._stored_locals(body)
                case _:
                    pass
        return found

    def _rounds(self, cond: Condition, counter: str, accumulated: frozenset[int]) -> Linear | None:
        """The number of rounds where it is a literal, and another form of it where the proof needs one;
        `accumulated` are the real registers that the loop changes and that are read afterwards."""
        count = trip_count(cond, counter)
        bounds = loop_bounds(cond)
        if count is not None or bounds is None or not accumulated:
            return count
        low, high = bounds
        step = low.coefficient(counter)
        rest = high - (low - variable(counter).scale(step))
        if step <= 0 or counter in rest.names():
            return None
        return quotient(rest.plus(step - 1), step, False)

    def _steps(
        self,
        stmt: core.While,
        entry: State,
        scope: Scope,
        ints: frozenset[int],
        reals: frozenset[int],
        needed: liveness.Live,
    ) -> dict[int, int]:
        """How much each integer register grows in a round, where that is a constant."""
        probe = entry
        for var in ints & entry.ints.keys():
            probe = probe.with_int(var, variable(f"${var}"))
        for var in reals & entry.reals.keys():
            probe = probe.with_real(var, terms.Named(f"${var}", "before"))
        numbers, self._numbers = self._numbers, itertools.count(1000)
        before, self._probing = self._probing, True
        end = self._block(stmt.body, probe, scope, needed).end
        self._numbers, self._probing = numbers, before
        steps: dict[int, int] = {}
        for var in ints & entry.ints.keys():
            change = end.ints.get(var)
            if change is not None and (change - variable(f"${var}")).is_constant:
                steps[var] = (change - variable(f"${var}")).constant
        return steps

    def _accumulated(
        self, head: State, entry: State, once: Block, counter: str, reals: frozenset[int]
    ) -> State:
        """Closed forms of real registers that a loop changes: sums and maxima of what a round adds, and sums
        relative to such a maximum."""
        tops: list[running.Top] = []
        open_: dict[int, Term] = {}
        for var in reals & entry.reals.keys():
            before = terms.Named(f"${var}", "before")
            after = once.end.reals.get(var)
            if after == before:
                head = head.with_real(var, entry.reals[var])
                continue
            total = None if after is None else accumulated_total(entry.reals[var], before, after, counter)
            head = head.with_real(var, total)
            if total is None and after is not None:
                open_[var] = after
            elif isinstance(total, terms.Largest) and after is not None:
                tops.append(running.Top(before, after, total))
        for var, value in open_.items():
            before = terms.Named(f"${var}", "before")
            total = running.relative_total(entry.reals[var], before, value, tops, counter)
            if total is not None:
                head = head.with_real(var, total)
                self._running += [top.value for top in tops]
        return head

    def _after(
        self,
        head: State,
        cond: Condition,
        counter: str,
        count: Linear | None,
        body: Block,
    ) -> State:
        """What is known when the loop has ended."""
        after = head
        if count is not None:
            after = substituted(head, {counter: count})
            after = replace(after, locals={a: x.whole() for a, x in after.locals.items()})
        else:
            after = replace(after, locals={a: x for a, x in after.locals.items() if not body.local_stores(a)})
            for var, value in head.ints.items():
                if counter in value.names():
                    after = after.with_int(var, None)
            for var, term in head.reals.items():
                if counter in terms.names(term):
                    after = after.with_real(var, None)
        for buffer in self.outputs:
            if body.stores(buffer):
                after = after.with_done(
                    buffer, boundary(head.done[buffer], cond, counter, count, self.outputs[buffer])
                )
        return after


def _decided(cond: Condition, ranges: normal.Ranges) -> bool | None:
    """What a condition is where the ranges decide it."""
    try:
        found = normal.condition(cond, ranges)
    except normal.TooLarge:
        return None
    return found if isinstance(found, bool) else None


def substituted(state: State, values: dict[str, Linear]) -> State:
    """The state for other values of counters."""
    return State(
        {v: x.substitute(values) for v, x in state.ints.items()},
        {v: terms.substitute(x, values) for v, x in state.reals.items()},
        {b: x.substitute(values) for b, x in state.done.items()},
        tuple((k.substitute(values), most.substitute(values)) for k, most in state.limits),
        {a: x.substituted(values) for a, x in state.locals.items()},
    )


def _at_start(index: Linear, counter: str, scope: Scope) -> Linear:
    """A store index in the first round of the loops inside."""
    inner = {name for name in index.names() - {counter, *scope.counters} if name.startswith("k")}
    return index.substitute({name: literal(0) for name in inner})


def _local_head(array: int, entry: State, once: Block, counter: str, first: Linear) -> arrays.Local | None:
    """What a local array holds before a round: part of a sweep where the store index moves with the
    loop, a sum or maximum of what the rounds so far added otherwise; None when neither."""
    end = once.end.locals.get(array)
    if end is None:
        return None
    held = entry.locals.get(array, arrays.fresh(end.size))
    if counter in first.names():
        stored = arrays.of_row(end.row) if end.row else end.new
        new = arrays.refilled(stored, array, held.old)
        within = held.below != literal(0)
        if new is None or (within and held.new != new):
            return None
        return arrays.Local(end.size, first, new, held.old)
    before = arrays.placeholder(array)
    if end.row or end.old is None or end.new is not None or held.old is None or held.below != literal(0):
        return None
    if end.old == before:
        return held
    total = accumulated_total(held.old, before, end.old, counter)
    return None if total is None else arrays.Local(end.size, literal(0), None, total)
