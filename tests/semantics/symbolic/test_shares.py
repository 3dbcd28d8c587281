"""Which whole the partial results of threads make up; every answer is compared with the sums it speaks of."""

from fractions import Fraction

import pytest

from semantics import core
from semantics.symbolic import terms
from semantics.symbolic.linear import Linear, choice, literal, quotient, variable
from semantics.symbolic.shares import Chunked, Shares, Strided, addends, shares
from semantics.symbolic.terms import Binary, Cell, Term, Total

ADD, MAX = core.RealOp.ADD, core.RealOp.MAX
_i, _k = variable("i"), variable("k")


def elements(t: Term, at: dict[str, int]) -> list[int]:
    """The cells that a sum of cells adds, in order."""
    match t:
        case Cell(_, index):
            found = index.substitute({name: literal(n) for name, n in at.items()})
            assert found.is_constant
            return [found.constant]
        case Binary(op, a, b):
            assert op is ADD
            return elements(a, at) + elements(b, at)
        case Total(counter, count, body) | terms.Largest(counter, count, body):
            rounds = count.substitute({name: literal(n) for name, n in at.items()}).constant
            return [x for k in range(rounds) for x in elements(body, {**at, counter: k})]
        case _:
            raise AssertionError(t)


def whole(part: Term, threads: int, op: core.RealOp = ADD) -> Shares:
    found = shares(op, part, threads, "q")
    assert found is not None
    parts = [x for i in range(threads) for x in elements(part, {"i": i})]
    assert sorted(parts) == elements(found.whole, {}) == sorted(set(parts))
    assert found.bound == len(parts)
    return found


def strided(n: int, threads: int, width: int, offsets: list[int] | None = None) -> Term:
    count = quotient(literal(n) - _i.scale(width).plus(1 - width * threads), width * threads, False)
    first = _i.scale(width) + _k.scale(width * threads)
    cells: list[Term] = [Cell(0, first.plus(at)) for at in (range(width) if offsets is None else offsets)]
    body = cells[0]
    for one in cells[1:]:
        body = Binary(ADD, body, one)
    return Total("k", count, body)


def chunk(n: int, threads: int) -> Term:
    each = -(-n // threads)
    first = choice(_i.scale(each), literal(n), False)
    last = choice(first.plus(each), literal(n), False)
    return Total("k", last - first, Cell(0, first + _k))


@pytest.mark.parametrize("n", [64, 65, 100, 3])
def test_every_so_manyth_element(n: int) -> None:
    assert whole(strided(n, 8, 1), 8).how == Strided(n, 1)


@pytest.mark.parametrize(("n", "width"), [(64, 4), (72, 4), (64, 2), (48, 3)])
def test_groups_of_adjacent_elements(n: int, width: int) -> None:
    assert whole(strided(n, 8, width), 8).how == Strided(n // width, width)


@pytest.mark.parametrize("offsets", [[0, 1, 2, 2], [0, 1, 2, 4], [0, 1, 2], [0, 2, 1, 3]])
def test_other_elements_of_a_group_are_no_whole(offsets: list[int]) -> None:
    assert shares(ADD, strided(64, 8, 4, offsets), 8, "q") is None


def test_groups_that_begin_elsewhere_are_a_whole_from_there_on() -> None:
    found = shares(ADD, strided(64, 8, 4, [1, 2, 3, 4]), 8, "q")
    assert found is not None and elements(found.whole, {}) == list(range(1, 65))


def test_groups_that_are_not_as_far_apart_as_they_are_wide_are_no_whole() -> None:
    count = quotient(literal(64) - _i.scale(4).plus(1 - 32), 32, False)
    assert shares(ADD, Total("k", count, Cell(0, _i.scale(4) + _k.scale(32))), 8, "q") is None


@pytest.mark.parametrize(("n", "threads"), [(64, 8), (65, 8), (5, 8), (100, 32)])
def test_a_chunk_for_each_thread(n: int, threads: int) -> None:
    assert whole(chunk(n, threads), threads).how == Chunked(-(-n // threads))


def test_chunks_without_a_bound_on_their_start() -> None:
    last = choice(_i.scale(5).plus(5), literal(40), False)
    assert whole(Total("k", last - _i.scale(5), Cell(0, _i.scale(5) + _k)), 8).how == Chunked(5)


@pytest.mark.parametrize("shift", [-1, 1])
def test_chunks_that_overlap_or_leave_a_gap_are_no_whole(shift: int) -> None:
    first = choice(_i.scale(5), literal(40), False)
    last = choice(first.plus(5 + shift), literal(40), False)
    assert shares(ADD, Total("k", last - first, Cell(0, first + _k)), 8, "q") is None


def test_chunks_that_do_not_reach_the_end_are_no_whole() -> None:
    assert shares(ADD, chunk(65, 8), 7, "q") is None


def test_maxima_are_shared_out_in_the_same_ways() -> None:
    one = chunk(100, 32)
    assert isinstance(one, Total)
    part = terms.Largest(one.counter, one.count, one.body)
    assert isinstance(whole(part, 32, MAX).whole, terms.Largest)
    assert shares(ADD, part, 32, "q") is None


def test_the_parts_of_a_sum_are_those_of_its_text() -> None:
    a, b, c = (Cell(0, Linear(n)) for n in range(3))
    assert addends(Binary(ADD, Binary(ADD, a, b), c)) == [a, b, c]
    assert addends(terms.Number(Fraction(1))) == [terms.Number(Fraction(1))]
