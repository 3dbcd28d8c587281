from fractions import Fraction

import pytest

from kshell import tasks
from kshell.prover.keys import subject
from semantics import core
from semantics.lean.barriers import cut
from semantics.lean.file import emit
from semantics.symbolic import reductions, terms
from semantics.symbolic.linear import literal, variable
from semantics.symbolic.pieces import Butterfly, Kind, Loop, Phase, Piece, Segment, Tree
from semantics.symbolic.state import Unsupported

from ...kshell.prover import sources


def pieces(source: str, name: str, **axes: int) -> tuple[Piece, ...]:
    task = tasks.get(name)
    plan = subject(source, task, task.workload(**axes)).plan
    return cut(plan, plan.calls[0], [tensor.name for tensor in task.inputs], [task.outputs[0].name])


def shapes(found: tuple[Piece, ...]) -> list[str]:
    return [piece.kind.value if isinstance(piece, Phase) else type(piece).__name__ for piece in found]


def test_a_tree_reduction_is_a_phase_a_halving_loop_and_a_last_phase() -> None:
    found = pieces(sources.TREE, "gemv", M=3, N=40)
    assert shapes(found) == ["barrier", "silent", "Tree", "last"]
    first, _, tree, _ = found
    assert isinstance(first, Phase) and isinstance(tree, Tree)
    (written,) = first.written.values()
    assert written.digits == {"tX": variable("i")}
    assert (tree.width, tree.op) == (16, core.RealOp.ADD)


def test_the_partial_sums_of_a_ragged_row_make_up_the_whole_row() -> None:
    (tree,) = [piece for piece in pieces(sources.TREE, "gemv", M=3, N=41) if isinstance(piece, Tree)]
    assert isinstance(tree.total, terms.Total) and tree.total.count == literal(41)
    cells = [tree.total.body.a, tree.total.body.b]  # type: ignore[union-attr]
    at = variable(tree.total.counter)
    assert cells == [terms.Cell(0, variable("bX").scale(41) + at), terms.Cell(1, at)]


def test_partial_sums_that_start_elsewhere_are_no_sum_of_the_row() -> None:
    found = pieces(sources.TREE.replace("sum = 0.0f", "sum = 1.0f"), "gemv", M=3, N=40)
    (tree,) = [piece for piece in found if isinstance(piece, Tree)]
    assert isinstance(tree.total, terms.Total) and tree.total.count == literal(32)
    assert isinstance(tree.total.body, terms.Binary) and tree.total.body.a == terms.Number(Fraction(1))


def test_a_loop_over_tiles_counts_its_rounds_and_forgets_the_tiles_at_its_head() -> None:
    found = pieces(sources.TILES, "gemm", M=32, K=64, N=48)
    assert shapes(found) == ["silent", "Loop", "last"]
    loop = found[1]
    assert isinstance(loop, Loop) and loop.count == 4
    load, add, step = loop.body
    assert isinstance(load, Phase) and isinstance(add, Phase) and isinstance(step, Phase)
    assert [load.kind, add.kind, step.kind] == [Kind.BARRIER, Kind.BARRIER, Kind.SILENT]
    assert not load.shared and len(load.written) == len(add.shared) == 2


def test_a_reduction_by_shuffles_leaves_the_sum_of_the_warp() -> None:
    (found,) = pieces(sources.WARP, "gemv", M=8, N=32)
    assert isinstance(found, Segment) and found.kind is Kind.LAST
    read, butterfly = found.parts
    assert isinstance(read, Phase) and isinstance(butterfly, Butterfly)
    assert isinstance(butterfly.total, terms.Total) and butterfly.total.count == literal(32)
    (written,) = found.last.written.values()
    assert written.digits["tX"] == literal(0)


def test_a_tree_over_half_of_the_partial_sums_makes_up_no_sum() -> None:
    with pytest.raises(Unsupported, match="do not make up one sum") as refused:
        pieces(sources.TREE.replace("blockDim.x / 2", "blockDim.x / 4"), "gemv", M=3, N=41)
    assert refused.value.line == 10


@pytest.mark.parametrize(
    ("source", "name", "axes", "old", "why", "line"),
    [
        (
            sources.TREE,
            "gemv",
            {"M": 3, "N": 40},
            "    part[threadIdx.x] = sum;\n    __syncthreads();",
            "between",
            5,
        ),
        (
            sources.TREE,
            "gemv",
            {"M": 3, "N": 40},
            "        }\n        __syncthreads();",
            "value of .s. is not known",
            10,
        ),
        (
            sources.TILES,
            "gemm",
            {"M": 32, "K": 64, "N": 48},
            "col];\n        __syncthreads();",
            "wrote before",
            14,
        ),
    ],
    ids=["before-the-tree", "in-the-tree", "after-the-tiles"],
)
def test_a_missing_barrier_leaves_nothing_to_prove(
    source: str, name: str, axes: dict[str, int], old: str, why: str, line: int
) -> None:
    assert old in source
    broken = source.replace(old, old.replace("__syncthreads();", ""))
    task = tasks.get(name)
    known = subject(broken, task, task.workload(**axes))
    with pytest.raises(Unsupported, match=why) as refused:
        emit(broken, known.plan, known.meaning, [tensor.name for tensor in task.inputs])
    assert refused.value.line == line


def test_two_partial_results_join_in_either_order_by_a_sum_or_a_maximum_only() -> None:
    mine, other = terms.Cell(3, variable("i")), terms.Cell(3, variable("i").plus(4))
    for op in (core.RealOp.ADD, core.RealOp.MAX):
        assert reductions.joining(terms.Binary(op, mine, other), mine, other) is op
        assert reductions.joining(terms.Binary(op, other, mine), mine, other) is op
    wrong = [
        terms.Binary(core.RealOp.SUB, mine, other),
        terms.Binary(core.RealOp.ADD, mine, mine),
        mine,
        None,
    ]
    assert [reductions.joining(one, mine, other) for one in wrong] == [None] * 4
