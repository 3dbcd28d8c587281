"""What loops over partial results make of each shared array or register that they reduce."""

from semantics.symbolic import reductions, terms
from semantics.symbolic.linear import Linear
from semantics.symbolic.pieces import CELL, Contents, Fold
from semantics.symbolic.state import Unsupported
from semantics.symbolic.terms import Term


def cell_of(array: int, first: Term) -> Term:
    """A cell of an array that holds `first` at the start of a halving loop."""
    return terms.Slot(array, CELL) if terms.may_be_infinite(first) else terms.Cell(array, CELL)


def halved(
    array: int, first: Term, after: Contents | None, stride: Linear, width: int, name: str, line: int
) -> Fold:
    """The fold of one array by a halving loop that starts with `first` in `width` cells; a round leaves
    `after`. Raises Unsupported."""
    cell = cell_of(array, first)
    joined = None if after is None else after.value
    op = reductions.joining(joined, cell, terms.substitute(cell, {"i": CELL + stride}))
    if op is None:
        raise Unsupported("a halving loop that neither adds nor takes the maximum", line)
    total = reductions.reduced(op, first, width, name)
    if total is None:
        raise Unsupported("partial results that do not make up one sum or maximum", line)
    swapped = isinstance(joined, terms.Binary) and joined.a != cell
    return Fold(array, op, first, total, swapped)
