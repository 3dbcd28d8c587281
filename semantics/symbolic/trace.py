"""Symbolic execution of one thread into a tree of points: each node carries the state before and after
it, which are the assertions of the proof. Loops get a counter `k` and an invariant in terms of it."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from semantics import core
from semantics.symbolic import liveness, terms
from semantics.symbolic.linear import Linear, literal, recombined, variable
from semantics.symbolic.state import Context, State, Unsupported, condition, integer, real
from semantics.symbolic.terms import Condition, Term

_ZERO = Fraction(0)


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
    `before`, when there are none) implies under `scope`."""

    nodes: tuple[Node, ...]
    scope: Scope
    before: State
    goal: State

    @property
    def end(self) -> State:
        return self.nodes[-1].after if self.nodes else self.before

    def stores(self, buffer: int) -> list[Linear]:
        """Indices of the stores to a buffer in textual order, in terms of the counters in scope."""
        return [index for where, index, _ in self.all_stores() if where == buffer]

    def all_stores(self) -> list[tuple[int, Linear, Scope]]:
        """Every store: buffer, index, scope."""
        found: list[tuple[int, Linear, Scope]] = []
        for node in self.nodes:
            match node:
                case Point(core.Store()) if node.index is not None:
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
                after = state.with_real(var, real(expression, state, self.context))
                return Point(stmt, scope, state, after.only(*live))
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
        then = self._block(stmt.then, state, scope.under(cond), live)
        other = self._block(stmt.other, state, scope.under(terms.Negation(cond)), live)
        ints = {v: x for v, x in then.end.ints.items() if other.end.ints.get(v) == x}
        reals: dict[int, Term] = {}
        for v, x in then.end.reals.items():
            y = other.end.reals.get(v)
            if y is not None:
                reals[v] = x if x == y else _merged(cond, x, y)
        done: dict[int, Linear] = {}
        for buffer in self.outputs:
            side = then if then.stores(buffer) or not other.stores(buffer) else other
            if buffer in side.end.done:
                done[buffer] = side.end.done[buffer]
        after = State(ints, reals, done, state.limits).only(*live)
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
        """Twice through the body: with unknowns to see how registers change, then with a counter."""
        counter = f"k{next(self._numbers)}"
        k = variable(counter)
        needed = liveness.before_one(stmt, live)
        ints, reals = liveness.assigned(stmt.body)
        entry = state.only(*needed)
        steps = self._steps(stmt, entry, scope, ints, reals, needed)
        head = entry
        for var in ints & entry.ints.keys():
            step = steps.get(var)
            head = head.with_int(var, None if step is None else entry.ints[var] + k.scale(step))
        for var in reals & entry.reals.keys():
            head = head.with_real(var, terms.Named(f"${var}", "before"))
        cond = condition(stmt.cond, head, self.context)
        inner = scope.inside(counter).under(cond)
        once = self._block(stmt.body, head, inner, needed)
        count = self._rounds(cond, counter, reals & live[1])
        head = self._accumulated(head, entry, once, counter, reals)
        for buffer in self.outputs:
            indices = once.stores(buffer)
            if indices:
                first = indices[0]
                inner_counters = first.names() - {counter, *scope.counters}
                first = first.substitute(
                    {name: literal(0) for name in inner_counters if name.startswith("k")}
                )
                head = head.with_done(buffer, first)
        if count is not None:
            head = State(head.ints, head.reals, head.done, (*head.limits, (k, count)))
        body = self._block(stmt.body, head, inner, needed)
        goal = substituted(head, {counter: k.plus(1)})
        after = self._after(head, cond, counter, count, body).only(*live)
        after = State(after.ints, after.reals, after.done, state.limits)
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

    def _rounds(self, cond: Condition, counter: str, accumulated: frozenset[int]) -> Linear | None:
        """The number of rounds where the proof needs it; `accumulated` are the real registers that the
        loop changes and that are read afterwards."""
        del accumulated
        return trip_count(cond, counter)

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
        end = self._block(stmt.body, probe, scope, needed).end
        self._numbers = numbers
        steps: dict[int, int] = {}
        for var in ints & entry.ints.keys():
            change = end.ints.get(var)
            if change is not None and (change - variable(f"${var}")).is_constant:
                steps[var] = (change - variable(f"${var}")).constant
        return steps

    def _accumulated(
        self, head: State, entry: State, once: Block, counter: str, reals: frozenset[int]
    ) -> State:
        """Closed forms of real registers that a loop changes: sums and maxima of what a round adds."""
        for var in reals & entry.reals.keys():
            before = terms.Named(f"${var}", "before")
            after = once.end.reals.get(var)
            if after == before:
                head = head.with_real(var, entry.reals[var])
                continue
            total = None if after is None else accumulated_total(entry.reals[var], before, after, counter)
            head = head.with_real(var, total)
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
        else:
            for var, value in head.ints.items():
                if counter in value.names():
                    after = after.with_int(var, None)
            for var, term in head.reals.items():
                if counter in terms.names(term):
                    after = after.with_real(var, None)
        for buffer in self.outputs:
            if body.stores(buffer):
                after = after.with_done(
                    buffer, _boundary(head.done[buffer], cond, counter, count, self.outputs[buffer])
                )
        return after


def substituted(state: State, values: dict[str, Linear]) -> State:
    """The state for other values of counters."""
    return State(
        {v: x.substitute(values) for v, x in state.ints.items()},
        {v: terms.substitute(x, values) for v, x in state.reals.items()},
        {b: x.substitute(values) for b, x in state.done.items()},
        tuple((k.substitute(values), most.substitute(values)) for k, most in state.limits),
    )


def _merged(cond: Condition, x: Term, y: Term) -> Term:
    """`acc + (c ? e : 0)` for an addition under a condition, else `c ? x : y`."""
    match x:
        case terms.Binary(core.RealOp.ADD, a, e) if a == y:
            return terms.Binary(core.RealOp.ADD, y, terms.Chosen(cond, e, terms.Number(_ZERO)))
        case _:
            return terms.Chosen(cond, x, y)


def accumulated_total(start: Term, before: Term, after: Term, counter: str) -> Term | None:
    """`start + sum` or `max start ...` when a round adds to, or takes the maximum with, `before`."""
    inner = counter + "s"
    swap = {counter: variable(inner)}
    match after:
        case terms.Binary(core.RealOp.ADD, a, e) if a == before and not _mentions(e, before):
            total = terms.Total(inner, variable(counter), terms.substitute(e, swap))
            if start == terms.Number(_ZERO):
                return total
            return terms.Binary(core.RealOp.ADD, start, total)
        case terms.Binary(core.RealOp.ADD, e, a) if a == before and not _mentions(e, before):
            return accumulated_total(start, before, terms.Binary(core.RealOp.ADD, a, e), counter)
        case terms.Binary(core.RealOp.MAX, a, e) if a == before and not _mentions(e, before):
            if start == terms.NegInf():
                return terms.Largest(inner, variable(counter), terms.substitute(e, swap))
            return None
        case _:
            return None


def _mentions(term: Term, part: Term) -> bool:
    if term == part:
        return True
    match term:
        case terms.Binary(_, a, b) | terms.Chosen(_, a, b):
            return _mentions(a, part) or _mentions(b, part)
        case terms.Unary(_, a) | terms.Total(_, _, a) | terms.Largest(_, _, a):
            return _mentions(a, part)
        case _:
            return False


def loop_bounds(cond: Condition) -> tuple[Linear, Linear] | None:
    """`a < b` of a loop condition, the first conjunct counts."""
    match cond:
        case terms.Compare(core.CmpOp.LT, a, b):
            return a, b
        case terms.Compare(core.CmpOp.LE, a, b):
            return a, b.plus(1)
        case _:
            return None


def trip_count(cond: Condition, counter: str) -> Linear | None:
    """The number of rounds where it is a literal."""
    bounds = loop_bounds(cond)
    if bounds is None:
        return None
    low, high = bounds
    step = low.coefficient(counter)
    rest = high - (low - variable(counter).scale(step))
    if step <= 0 or not rest.is_constant:
        return None
    return literal(max(0, -(-rest.constant // step)))


def _boundary(first: Linear, cond: Condition, counter: str, count: Linear | None, size: int) -> Linear:
    """Below which cells everything is written when a loop with first store `first` has ended."""
    if count is not None:
        return first.substitute({counter: count})
    bounds = loop_bounds(cond)
    if bounds is not None:
        low, high = bounds
        step, stride = low.coefficient(counter), first.coefficient(counter)
        if step > 0 and stride > 0 and stride % step == 0:
            found = first + (high - low).scale(stride // step)
            if counter not in found.names():
                return found
    return literal(size)
