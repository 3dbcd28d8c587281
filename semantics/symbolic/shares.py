"""How the threads of a team share out the elements of a sum or maximum.

Each thread folds some of the elements, and the results of all threads are folded. Three ways to share:
every `T`-th element, every `T`-th group of adjacent elements, and one chunk of adjacent elements."""

from collections.abc import Iterator
from dataclasses import dataclass

from semantics import core
from semantics.symbolic import terms
from semantics.symbolic.linear import Choice, Linear, Quotient, choice, literal, quotient, variable
from semantics.symbolic.terms import Term

Fold = terms.Total | terms.Largest


@dataclass(frozen=True, slots=True)
class Strided:
    """Thread `i` folds the groups `i, i + threads, ...` below `groups`, of `width` adjacent elements each."""

    groups: int
    width: int


@dataclass(frozen=True, slots=True)
class Chunked:
    """Thread `i` folds the `each` elements from `i * each` on, as far as there are so many."""

    each: int


@dataclass(frozen=True, slots=True)
class Shares:
    """The partial results `part` (of thread `i`) of `threads` threads, and the one fold `whole` over `bound`
    elements that they make up. `how` says which elements a thread takes."""

    op: core.RealOp
    part: Fold
    threads: int
    how: Strided | Chunked
    whole: Fold
    bound: int


def shares(op: core.RealOp, part: Term, threads: int, name: str) -> Shares | None:
    """The one fold, over counter `name`, that partial results in `i` make up; None when they do not."""
    match op, part:
        case core.RealOp.ADD, terms.Total(counter, count, body):
            pass
        case core.RealOp.MAX, terms.Largest(counter, count, body):
            pass
        case _:
            return None
    guesses = (*_strided(op, counter, count, body, threads, name), *_chunked(part, threads, name))
    for found, bound, element in guesses:
        if element is not None and not {"i", counter} & terms.names(element):
            fold = terms.Total if op is core.RealOp.ADD else terms.Largest
            return Shares(op, part, threads, found, fold(name, literal(bound), element), bound)
    return None


def addends(t: Term) -> list[Term]:
    """What a sum written `((a + b) + c) + ...` adds."""
    match t:
        case terms.Binary(core.RealOp.ADD, a, b):
            return [*addends(a), b]
        case _:
            return [t]


Guess = tuple[Strided | Chunked, int, Term | None]


def _strided(
    op: core.RealOp, counter: str, count: Linear, body: Term, threads: int, name: str
) -> Iterator[Guess]:
    """Groups `threads` apart; the widest first that the count and the body allow."""
    i = variable("i")
    match count:
        case Linear(0, ((Quotient(False, numerator, apart), 1),)) if apart % threads == 0:
            width = apart // threads
            bound = (numerator + i.scale(width)).plus(1 - apart)
        case _:
            return
    if not bound.is_constant or bound.constant < 0:
        return
    groups = -(-bound.constant // width)
    group = terms.substitute(body, {"i": variable("group") - variable(counter).scale(threads)})
    if counter in terms.names(group):
        return
    how = Strided(groups, width)
    if width == 1:
        yield how, groups, terms.substitute(group, {"group": variable(name)})
        return
    parts = addends(group)
    if op is not core.RealOp.ADD or len(parts) != width:
        return
    element = _divided(parts[0], "group", width, name)
    if element is None:
        return
    for at, part in enumerate(parts):
        if terms.substitute(element, {name: variable("group").scale(width).plus(at)}) != part:
            return
    yield how, groups * width, element


def _divided(t: Term, name: str, by: int, new: str) -> Term | None:
    """The term with `by * name` replaced by `new`; None when `name` stands there in another way."""
    marked = terms.mapped(t, lambda x: _divided_index(x, name, by, new))
    return None if name in terms.names(marked) else marked


def _divided_index(x: Linear, name: str, by: int, new: str) -> Linear:
    result = literal(x.constant)
    for atom, n in x.terms:
        match atom:
            case str() if atom == name and n % by == 0:
                result = result + variable(new).scale(n // by)
            case Quotient(remainder, a, c):
                result = result + quotient(_divided_index(a, name, by, new), c, remainder).scale(n)
            case Choice(larger, a, b):
                first, second = (_divided_index(one, name, by, new) for one in (a, b))
                result = result + choice(first, second, larger).scale(n)
            case _:
                result = result + Linear(0, ((atom, n),))
    return result


def _chunked(part: Fold, threads: int, name: str) -> Iterator[Guess]:
    """One chunk for each thread: the count is what is left of `each` elements below a bound."""
    i = variable("i")
    ends = [atom for atom, n in part.count.terms if isinstance(atom, Choice) and not atom.larger and n == 1]
    for end in ends:
        for upto, bound in ((end.a, end.b), (end.b, end.a)):
            if not bound.is_constant:
                continue
            first = Linear(0, ((end, 1),)) - part.count
            each = (upto - first).constant
            starts = (i.scale(each), choice(i.scale(each), bound, False))
            if first not in starts or upto != first.plus(each) or each * threads < bound.constant or each < 1:
                continue
            element = terms.substitute(part.body, {part.counter: variable(name) - first})
            yield Chunked(each), bound.constant, element
