"""Executes one phase: thread code of which shared arrays are known."""

from collections.abc import Iterator, Sequence

from semantics import core
from semantics.symbolic import liveness, terms
from semantics.symbolic.linear import Linear, literal
from semantics.symbolic.state import Context, State, Unsupported
from semantics.symbolic.terms import Term
from semantics.symbolic.trace import (
    Block,
    Executor,
    Fork,
    Node,
    Point,
    Repeat,
    Scope,
)


class PhaseExecutor(Executor):
    """Executes one phase. `infinite` are the shared arrays that may hold -infinity, `known` the arrays whose
    contents are known, `values` what some of them hold, as terms in `i`; others are read as cells."""

    def __init__(
        self,
        context: Context,
        outputs: dict[int, int],
        infinite: frozenset[int],
        known: frozenset[int],
        values: dict[int, Term],
    ) -> None:
        super().__init__(context, outputs, frozenset())
        self.values = values
        self.infinite = infinite
        self.known = known

    def trace(self, stmts: Sequence[core.Stmt], state: State, live: liveness.Live) -> Block:
        """From `state` to a state that knows the registers of `live` and the local arrays, and that
        everything is written."""
        block = self._block(stmts, state, Scope(), live)
        end = block.end.only(*live)
        done = {b: literal(n) for b, n in self.outputs.items()}
        goal = State(end.ints, end.reals, done, end.limits, end.locals)
        return Block(block.nodes, block.scope, block.before, goal)

    def _node(self, stmt: core.Stmt, state: State, scope: Scope, live: liveness.Live) -> Node:
        if isinstance(stmt, core.Load) and self.context.buffers.get(stmt.array) in state.done:
            raise Unsupported("a read of an array that the same phase wrote before")
        return super()._node(stmt, state, scope, live)

    def _loaded(self, buffer: int, index: Linear) -> Term:
        if buffer not in self.known:
            raise Unsupported("a read of an array whose contents are not known here")
        if buffer in self.values:
            return terms.substitute(self.values[buffer], {"i": index})
        return terms.Slot(buffer, index) if buffer in self.infinite else terms.Cell(buffer, index)


def stores_to(nodes: Sequence[Node], b: int) -> Iterator[Point]:
    """The stores to array number `b`, in textual order."""
    for node in nodes:
        match node:
            case Point(core.Store()) if node.buffer == b:
                yield node
            case Fork():
                yield from stores_to(node.then.nodes, b)
                yield from stores_to(node.other.nodes, b)
            case Repeat():
                yield from stores_to(node.body.nodes, b)
            case _:
                pass


def halved_register(stmt: core.While) -> int | None:
    """The register that the last statement of a loop halves."""
    match stmt.body[-1] if stmt.body else None:
        case core.SetI(var, core.IBin(core.IntOp.DIV, _, core.IVar(same), core.ILit(2))) if same == var:
            return var
        case core.SetI(var, core.IBin(core.IntOp.SHR, _, core.IVar(same), core.ILit(1))) if same == var:
            return var
        case core.SetI(
            var,
            core.ICast(
                _,
                core.IBin(
                    core.IntOp.DIV | core.IntOp.SHR as op, _, core.ICast(_, core.IVar(same)), core.ILit(n)
                ),
            ),
        ) if same == var and n == (2 if op is core.IntOp.DIV else 1):
            return var
        case _:
            return None
