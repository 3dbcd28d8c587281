"""The pieces of a kernel with barriers, as `semantics.symbolic.phases` cuts it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from semantics import core
from semantics.symbolic.linear import Linear, variable
from semantics.symbolic.state import State
from semantics.symbolic.terms import Condition, Term
from semantics.symbolic.trace import Block

CELL = variable("i")


@dataclass(frozen=True, slots=True)
class Contents:
    """A shared array holds `value`, a term in `i`, in the cells `i` where all of `where` holds."""

    where: tuple[Condition, ...]
    value: Term


@dataclass(frozen=True, slots=True)
class Written:
    """An array that a phase writes: cell `i` where `where` holds belongs to the thread with coordinates
    `digits` (forms in `i`) and gets `value`."""

    digits: dict[str, Linear]
    where: tuple[Condition, ...]
    value: Term


class Kind(StrEnum):
    """How a piece of thread code ends; READ goes before a shuffle."""

    BARRIER = "barrier"
    READ = "read"
    SILENT = "silent"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class Phase:
    """Thread code without barriers. `names` are its integer parameters beside the thread coordinates, with
    their least value and the bound above; `shared` is what the shared arrays hold at first. `lanes` are
    values by thread number, given as arrays; those in `unbounded` may be -infinity."""

    kind: Kind
    stmts: tuple[core.Stmt, ...]
    line: int
    names: dict[str, tuple[int, int]]
    shared: dict[int, Contents]
    block: Block
    written: dict[int, Written]
    lanes: tuple[int, ...] = ()
    unbounded: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Shuffled:
    """Register `source` in a loop of shuffles that folds it by `op`; `dest` receives. `first` is what it
    holds at the start, a term in `i`, the thread number; `total` what it holds in the end. `part` is the
    partial sum of lane `i` when the lanes take the elements of a sum in strides of 32."""

    op: core.RealOp
    source: int
    dest: int
    first: Term
    total: Term
    part: Term | None = None


@dataclass(frozen=True, slots=True)
class Butterfly:
    """A loop of xor shuffles with strides 16, 8, 4, 2, 1 (`name`) of one or two registers. `rest` is the code
    of a round behind the shuffles: the source of register number `n` holds `lanes[2 * n]` by thread number,
    its destination has received `lanes[2 * n + 1]`. `head` is the state before the test of the loop."""

    stmt: core.While
    line: int
    name: str
    registers: tuple[Shuffled, ...]
    head: State
    rest: Phase


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition around the rest of a phase or of a kernel that every thread of the launch meets, or, unless
    `holds`, that none does."""

    stmt: core.If
    line: int
    holds: bool

    @property
    def rest(self) -> tuple[core.Stmt, ...]:
        """The code inside."""
        return self.stmt.then if self.holds else self.stmt.other


def guard(stmt: core.Stmt) -> Guard | None:
    """A conditional with one empty side."""
    match stmt:
        case core.If(_, _, ()):
            return Guard(stmt, stmt.span.line, True)
        case core.If(_, (), _):
            return Guard(stmt, stmt.span.line, False)
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Segment:
    """A phase with shuffles: code that stores nothing, and reductions, and at last the phase that ends it."""

    line: int
    parts: tuple[Phase | Butterfly | Guard, ...]
    last: Phase

    @property
    def kind(self) -> Kind:
        return self.last.kind


@dataclass(frozen=True, slots=True)
class Fold:
    """Shared array `array` in a halving loop that combines its cells by `op`: `first` are the contents at
    the start, `total` is what cell 0 holds in the end; `swapped` when a round has its operands in the other
    order."""

    array: int
    op: core.RealOp
    first: Term
    total: Term
    swapped: bool


@dataclass(frozen=True, slots=True)
class Tree:
    """A halving loop over shared arrays: stride `name` starts at `width`, cell `i` of each takes in cell
    `i + stride`."""

    stmt: core.While
    line: int
    name: str
    width: int
    folds: tuple[Fold, ...]
    body: tuple["Piece", ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of `count` rounds that all threads make together; `name` counts them."""

    stmt: core.While
    line: int
    name: str
    count: int
    body: tuple["Piece", ...]


Piece = Phase | Segment | Tree | Loop | Guard


def has_barrier(stmts: Sequence[core.Stmt]) -> bool:
    """Whether there is a barrier in there."""
    for stmt in stmts:
        match stmt:
            case core.Barrier():
                return True
            case core.If(_, then, other):
                if has_barrier(then) or has_barrier(other):
                    return True
            case core.While(_, body):
                if has_barrier(body):
                    return True
            case _:
                pass
    return False


def has_shuffle(stmts: Sequence[core.Stmt]) -> bool:
    """Whether there is a shuffle in there."""
    for stmt in stmts:
        match stmt:
            case core.Shfl():
                return True
            case core.If(_, then, other):
                if has_shuffle(then) or has_shuffle(other):
                    return True
            case core.While(_, body):
                if has_shuffle(body):
                    return True
            case _:
                pass
    return False


def accesses(stmts: Sequence[core.Stmt]) -> Iterator[tuple[bool, int]]:
    """Every access in the text: whether it stores, and the array of the kernel."""
    for stmt in stmts:
        match stmt:
            case core.Load(_, array, _):
                yield False, array
            case core.Store(array, _, _) | core.AtomicAdd(array, _, _):
                yield True, array
            case core.If(_, then, other):
                yield from accesses(then)
                yield from accesses(other)
            case core.While(_, body):
                yield from accesses(body)
            case _:
                pass
