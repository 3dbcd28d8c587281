from fractions import Fraction

import pytest

from kshell import tasks
from kshell.prover.keys import subject
from scaffolds.families import families_of, family_named
from scaffolds.families.space import conservative_schedule
from semantics import core
from semantics.lean.barriers import cut
from semantics.lean.file import emit
from semantics.symbolic import reductions, terms
from semantics.symbolic.linear import literal, quotient, variable
from semantics.symbolic.pieces import Butterfly, Kind, Loop, Phase, Piece, Segment, Tree
from semantics.symbolic.state import Unsupported
from semantics.symbolic.trace import Fork, Repeat

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
    assert (tree.width, [fold.op for fold in tree.folds]) == (16, [core.RealOp.ADD])


def test_the_partial_sums_of_a_ragged_row_make_up_the_whole_row() -> None:
    (tree,) = [piece for piece in pieces(sources.TREE, "gemv", M=3, N=41) if isinstance(piece, Tree)]
    (total,) = [fold.total for fold in tree.folds]
    assert isinstance(total, terms.Total) and total.count == literal(41)
    cells = [total.body.a, total.body.b]  # type: ignore[union-attr]
    at = variable(total.counter)
    assert cells == [terms.Cell(0, variable("bX").scale(41) + at), terms.Cell(1, at)]


def test_partial_sums_that_start_elsewhere_are_no_sum_of_the_row() -> None:
    found = pieces(sources.TREE.replace("sum = 0.0f", "sum = 1.0f"), "gemv", M=3, N=40)
    (tree,) = [piece for piece in found if isinstance(piece, Tree)]
    (total,) = [fold.total for fold in tree.folds]
    assert isinstance(total, terms.Total) and total.count == literal(32)
    assert isinstance(total.body, terms.Binary) and total.body.a == terms.Number(Fraction(1))


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
    (register,) = butterfly.registers
    assert isinstance(register.total, terms.Total) and register.total.count == literal(32)
    (written,) = found.last.written.values()
    assert written.digits["tX"] == literal(0)


def variance(family: str, old: str = "", new: str = "") -> tuple[Piece, ...]:
    """The pieces of layernorm with one-pass variance, over 3 rows of 41."""
    task = tasks.get("layernorm")
    workload = task.workload(rows=3, n=41)
    found = family_named(families_of(task), family)
    assert found is not None
    schedule = {**conservative_schedule(found, task, workload), "block": 64, "variance": "one-pass"}
    source = found.source(task, workload, schedule)
    assert old in source
    return pieces(source.replace(old, new), "layernorm", rows=3, n=41)


def test_a_tree_of_two_arrays_has_a_fold_for_each() -> None:
    (tree,) = [piece for piece in variance("layernorm-block-tree") if isinstance(piece, Tree)]
    totals = [fold.total for fold in tree.folds]
    element = terms.Cell(0, variable("bX").scale(41) + variable("j"))
    assert [named(total) for total in totals] == [
        element,
        terms.Binary(core.RealOp.MUL, element, element),
    ]
    assert len({fold.array for fold in tree.folds}) == 2


def test_shuffles_of_two_registers_have_a_sum_for_each() -> None:
    found = variance("layernorm-block-warps")
    (loop,) = [
        part for one in found if isinstance(one, Segment) for part in one.parts if isinstance(part, Butterfly)
    ]
    first, second = loop.registers
    assert {first.op, second.op} == {core.RealOp.ADD}
    assert len({first.source, first.dest, second.source, second.dest}) == 4
    assert len(set(loop.rest.lanes)) == 4 and not loop.rest.unbounded


def named(total: terms.Term) -> terms.Term:
    """The body of a sum over all 41 elements, its counter named `j`."""
    assert isinstance(total, terms.Total) and total.count == literal(41)
    return terms.substitute(total.body, {total.counter: variable("j")})


@pytest.mark.parametrize(
    ("family", "old", "new", "why"),
    [
        (
            "layernorm-block-tree",
            "part_square[threadIdx.x] += part_square[threadIdx.x + s]",
            "part_square[threadIdx.x] += part_square[threadIdx.x] * part_square[threadIdx.x + s]",
            "neither adds nor takes",
        ),
        (
            "layernorm-block-tree",
            "part_square[threadIdx.x] += part_square[threadIdx.x + s]",
            "part_square[threadIdx.x] += part_sum[threadIdx.x + s]",
            "wrote before",
        ),
        ("layernorm-warp", "square += square_other", "square += sum_other", "neither adds nor takes"),
        (
            "layernorm-warp",
            "__shfl_xor_sync(0xffffffff, square",
            "__shfl_xor_sync(0xffffffff, sum",
            "other than",
        ),
        ("layernorm-warp", "square, offset)", "square, offset / 2)", "does not start at 16"),
    ],
    ids=["a-product", "the-other-array", "the-other-register", "one-register-twice", "another-distance"],
)
def test_two_reductions_in_one_loop_that_mix_are_refused(family: str, old: str, new: str, why: str) -> None:
    with pytest.raises(Unsupported, match=why):
        variance(family, old, new)


def test_a_tree_over_half_of_the_partial_sums_makes_up_no_sum() -> None:
    with pytest.raises(Unsupported, match="do not make up one sum") as refused:
        pieces(sources.TREE.replace("blockDim.x / 2", "blockDim.x / 4"), "gemv", M=3, N=41)
    assert refused.value.line == 10


def test_a_window_that_threads_fill_together_holds_the_padded_input() -> None:
    task = tasks.get("depthwise_conv")
    family = family_named(families_of(task), "conv-halo")
    assert family is not None
    axes = {"batch": 1, "c": 2, "H": 8, "k": 3, "pad": 1}
    workload = task.workload(**axes)
    schedule = {**conservative_schedule(family, task, workload), "block_x": 4, "block_y": 2}
    fill, last = pieces(family.source(task, workload, schedule), "depthwise_conv", **axes)
    assert isinstance(fill, Phase) and isinstance(last, Phase)
    (written,) = fill.written.values()
    assert isinstance(written.value, terms.Chosen) and "i" in terms.names(written.value)
    assert not {"tX", "tY", "k0"} & terms.names(written.value)
    assert written.digits["tX"] == quotient(variable("i"), 4, True)
    assert list(last.shared) == list(fill.written)


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


def held(name: str, old: str = "", new: str = "", **choices: str | int) -> tuple[Piece, ...]:
    """The pieces of the kernel that keeps rows of 512 in registers, with a part of its text replaced."""
    task = tasks.get(name)
    family = family_named(families_of(task), f"{name}-registers")
    assert family is not None
    workload = task.workload(rows=4, n=512)
    chosen = {**conservative_schedule(family, task, workload), "block": 64, "steps": 2, **choices}
    source = family.source(task, workload, {**chosen, "access": "float4"})
    assert old in source
    return pieces(source.replace(old, new), name, rows=4, n=512)


def test_a_local_array_keeps_what_it_holds_across_barriers() -> None:
    first, second, last = held("rmsnorm")
    assert isinstance(first, Segment) and isinstance(second, Phase) and isinstance(last, Phase)
    (before,) = second.block.before.locals.values()
    assert before.old is not None and before.below == literal(0)
    (after,) = last.block.before.locals.values()
    assert after == before and not last.block.goal.locals
    cell = variable("bX").scale(512) + variable("tX").scale(4)
    assert terms.substitute(before.old, {"i": literal(6)}) == terms.Cell(0, cell.plus(258))


def test_the_groups_that_threads_hold_make_up_the_row() -> None:
    *_, last = held("softmax", exponentials="recompute")
    assert isinstance(last, Phase)
    found = [t for t in last.block.before.reals.values() if isinstance(t, terms.Total | terms.Largest)]
    assert sorted(type(t).__name__ for t in found) == ["Largest", "Total"]
    assert {t.count for t in found} == {literal(512)}


def test_groups_of_another_stride_make_up_no_row() -> None:
    *_, last = held("rmsnorm", "int q = t + k * 64;", "int q = 2 * t + k;")
    assert isinstance(last, Phase)
    totals = [t for t in last.block.before.reals.values() if isinstance(t, terms.Total)]
    assert [t.count for t in totals] == [literal(2)]


def test_code_that_no_thread_reaches_is_left_out() -> None:
    first, *_, last = held("softmax", exponentials="recompute")
    assert isinstance(first, Segment) and isinstance(last, Phase)
    forks = [node for node in last.block.nodes if isinstance(node, Fork)]
    assert [bool(fork.other.unreached) for fork in forks] == [True]
    loops = [node for node in last.block.nodes if isinstance(node, Repeat)]
    assert loops[-1].body.unreached and loops[-1].after == loops[-1].head.only(frozenset(), frozenset())


def test_a_store_before_a_shuffle_is_refused() -> None:
    with pytest.raises(Unsupported, match="a store before a shuffle"):
        held("softmax", exponentials="keep")
