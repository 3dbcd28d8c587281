from fractions import Fraction

from kshell import tasks
from scaffolds.families import families_of, family_named
from scaffolds.families.space import conservative_schedule
from semantics.symbolic import terms
from semantics.symbolic.arrays import Local, fresh, inverse, of_row, placeholder, read, store
from semantics.symbolic.linear import Linear, literal, variable
from semantics.symbolic.trace import Block, Point, Repeat

from .test_trace import traced

ZERO = terms.Number(Fraction(0))


def value(cell: int) -> terms.Term:
    return terms.Cell(0, variable("i").plus(cell))


def test_the_counters_of_a_sweep_are_the_digits_of_the_cell() -> None:
    digits = inverse(variable("r").scale(4) + variable("c"))
    assert digits is not None
    at = {name: x.substitute({"i": literal(7)}).constant for name, x in digits.items()}
    assert at == {"r": 1, "c": 3}


def test_an_index_with_gaps_has_no_inverse() -> None:
    assert inverse(variable("c").scale(2)) is None
    assert inverse(variable("c").plus(1)) is None


def test_a_store_moves_the_boundary_and_a_read_looks_at_its_side() -> None:
    local = Local(8, variable("c"), value(0), value(100))
    ranges = {"c": (0, 7)}
    assert read(local, variable("c"), ranges) == terms.Cell(0, variable("c").plus(100))
    moved = store(local, variable("c"), terms.Cell(0, variable("c")), ranges)
    assert moved is not None and moved.below == variable("c").plus(1)
    assert read(moved, variable("c"), ranges) == terms.Cell(0, variable("c"))
    assert read(moved, variable("d"), ranges) is None


def test_a_second_value_in_one_sweep_is_refused() -> None:
    local = Local(8, variable("c"), value(0), None)
    assert store(local, variable("c"), ZERO, {}) is None


def row(*cells: int) -> list[tuple[Linear, terms.Term]]:
    """Stores of elements `8 k + cell` into cells `4 k + 0, 1, ...`."""
    k = variable("k")
    return [(k.scale(4).plus(at), terms.Cell(0, k.scale(8).plus(cell))) for at, cell in enumerate(cells)]


def test_stores_to_cells_in_a_row_make_one_function_of_the_cell() -> None:
    found = of_row(row(0, 2, 4, 6))
    assert found is not None
    at = {"i": literal(7)}
    assert terms.substitute(found, at) == terms.Cell(0, literal(14))


def test_stores_that_leave_cells_out_or_differ_unevenly_make_none() -> None:
    assert of_row(row(0, 2, 4)) is None
    assert of_row(row(0, 2, 4, 7)) is None
    assert of_row([*row(0, 2, 4, 6)[:3], (variable("k").scale(4), ZERO)]) is None


def test_a_row_of_stores_is_gathered_at_first_and_checked_afterwards() -> None:
    ranges = {"k": (0, 7)}
    local: Local | None = Local(32, literal(0), None, placeholder(5))
    for index, given in row(0, 2, 4, 6):
        assert local is not None
        local = store(local, index, given, ranges)
    assert local is not None and local.row == tuple(row(0, 2, 4, 6))
    assert read(local, literal(0), ranges) is None
    known = Local(32, variable("k").scale(4), of_row(local.row), None)
    moved = store(known, *row(0)[0], ranges)
    assert moved is not None and moved.below == variable("k").scale(4).plus(1)
    assert store(known, *row(1)[0], ranges) is None


def test_nothing_is_known_of_a_fresh_array() -> None:
    assert read(fresh(4), literal(0), {}) is None


def test_a_register_block_accumulates_sums_cell_by_cell() -> None:
    task = tasks.get("gemm")
    family = family_named(families_of(task), "matmul-patch")
    assert family is not None
    workload = task.workload(M=16, K=24, N=64)
    block = traced(
        family.emit(task, workload, conservative_schedule(family, task, workload)), "gemm", M=16, K=24, N=64
    )
    sums = [local.old for node in _points(block) for local in node.after.locals.values()]
    whole = [s for s in sums if isinstance(s, terms.Total) and s.count == literal(24)]
    assert whole and "i" in terms.names(whole[0])


def _points(block: Block) -> list[Point]:
    found: list[Point] = []
    for node in block.nodes:
        if isinstance(node, Point):
            found.append(node)
        elif isinstance(node, Repeat):
            found += _points(node.body)
        else:
            found += _points(node.then) + _points(node.other)
    return found
