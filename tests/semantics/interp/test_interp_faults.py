"""Every fault kind is found, at the right line, with the right threads; correct twins are clean."""

import numpy as np
import pytest

from semantics import core
from semantics.faults import FaultKind
from semantics.interp import run
from tests.semantics.interp.interp_kernels import (
    BDIM,
    I32,
    SHARED,
    TID,
    Array,
    Barrier,
    CmpOp,
    ICmp,
    If,
    Load,
    RVar,
    S,
    SetI,
    SetR,
    Space,
    Stmt,
    Store,
    While,
    X,
    Y,
    elementwise,
    iv,
    kernel,
    less,
    line,
    lines,
    lit,
    only,
    op,
    plan,
    plus,
    real,
    run_shared,
    tree_sum,
)

# ---------------------------------------------------------------- races


def test_a_correct_tree_reduction_is_clean_and_exact() -> None:
    x = np.random.default_rng(0).integers(-9, 9, 16384).astype(np.float32)
    p = plan(kernel(tree_sum(16384), arrays=SHARED), {"x": 16384, "y": 1}, block=256)
    r = run(p, {"x": x})
    assert (r.faults, r.notes, r.outputs["y"].tolist()) == ((), (), [float(x.sum())])


@pytest.mark.parametrize(("missing", "at"), [("barrier_in_loop", 9), ("barrier_first", 6)])
def test_a_tree_reduction_without_a_barrier_races(missing: str, at: int) -> None:
    body = tree_sum(64, block=64, **{missing: False})
    f = next(f for f in run_shared(body).faults)
    assert f.kind is FaultKind.RACE
    assert lines(f) == (at, 9)
    assert f.array == "s"
    assert f.what == ("write", "read")
    assert f.threads[0] != f.threads[1]
    assert f.message.endswith("`__syncthreads()` between")


def test_a_broadcast_slot_reused_without_a_barrier_is_a_read_write_race() -> None:
    body = (
        If(ICmp(CmpOp.EQ, TID, lit(0)), (Store(S, lit(0), real(1), line(2)),), (), line(2)),
        Barrier(line(3)),
        Load(0, S, lit(0), line(4)),
        Store(Y, TID, RVar(0), line(4)),
        If(ICmp(CmpOp.EQ, TID, lit(5)), (Store(S, lit(0), real(2), line(5)),), (), line(5)),
    )
    f = only(run_shared(body))
    assert (f.kind, lines(f), f.what) == (FaultKind.RACE, (4, 5), ("read", "write"))
    assert (f.threads[1], f.index, f.values) == ((5, 0, 0), 0, (1.0, 2.0))


def test_blocks_that_store_to_one_element_race() -> None:
    body = (Store(Y, TID, real(1), line(1)),)
    f = next(iter(run_shared(body, grid=3).faults))
    assert f.kind is FaultKind.RACE
    assert f.blocks[0] != f.blocks[1]
    assert "nothing orders the blocks" in f.message


def test_a_barrier_does_not_order_blocks() -> None:
    first = ICmp(CmpOp.EQ, core.ISpecial(core.Special.BID, core.Dim.X, I32), lit(0))
    body = (
        If(first, (Store(Y, TID, real(1), line(1)),), (), line(1)),
        Barrier(line(2)),
        If(first, (), (Load(0, Y, TID, line(3)),), line(3)),
    )
    f = only(run_shared(body, grid=2))
    assert (f.kind, lines(f)) == (FaultKind.RACE, (1, 3))


def test_lanes_of_a_warp_that_store_equal_values_are_a_note() -> None:
    body = (Store(S, lit(0), real(3), line(1)), Barrier(line(2)), Load(0, S, lit(0), line(3)))
    r = run_shared(body, block=32)
    assert r.faults == ()
    assert [(n.kind, lines(n)) for n in r.notes] == [(FaultKind.RACE, (1, 1))]


def test_lanes_of_a_warp_that_store_different_values_race() -> None:
    body = (SetR(0, core.ROfInt(TID), line(1)), Store(S, lit(0), RVar(0), line(2)))
    f = only(run_shared(body, block=32))
    assert (f.kind, f.what, f.values) == (FaultKind.RACE, ("write", "write"), (0.0, 1.0))


def test_warps_that_store_equal_values_race() -> None:
    assert only(run_shared((Store(S, lit(0), real(3), line(1)),))).kind is FaultKind.RACE


def neighbour(between: tuple[Stmt, ...], block: int = 32) -> tuple[Stmt, ...]:
    """Store the own slot, read the neighbour's."""
    other = op("mod", plus(TID, lit(1)), lit(block))
    return (
        SetR(1, real(0), line(1)),
        Store(S, TID, core.ROfInt(TID), line(1)),
        *between,
        Load(0, S, other, line(3)),
        Store(Y, TID, RVar(0), line(4)),
    )


SHUFFLE = core.Shfl(core.ShflKind.XOR, 1, 1, lit(1), 32, line(2))
SYNCWARP = core.SyncWarp(line(2))


def test_syncwarp_orders_a_warp() -> None:
    r = run_shared(neighbour((SYNCWARP,)), block=32)
    assert r.faults == ()
    assert r.outputs["y"][:3].tolist() == [1.0, 2.0, 3.0]


def test_syncwarp_does_not_order_two_warps() -> None:
    f = only(run_shared(neighbour((SYNCWARP,), 64)))
    assert (f.kind, lines(f)) == (FaultKind.RACE, (1, 3))
    assert "`__syncwarp()` orders one warp only" in f.message


def test_a_shuffle_does_not_order_a_store_and_a_read() -> None:
    f = only(run_shared(neighbour((SHUFFLE,)), block=32))
    assert (f.kind, lines(f)) == (FaultKind.RACE, (1, 3))
    assert f.message.endswith("a shuffle orders no memory, `__syncwarp()` does")


@pytest.mark.parametrize(("between", "faults"), [((SHUFFLE,), 0), ((SYNCWARP,), 0), ((), 1)])
def test_a_read_is_complete_before_a_shuffle(between: tuple[Stmt, ...], faults: int) -> None:
    other = op("mod", plus(TID, lit(1)), lit(32))
    body = (
        SetR(1, real(0), line(1)),
        Store(S, TID, real(0), line(1)),
        SYNCWARP,
        Load(0, S, other, line(2)),
        *between,
        Store(S, TID, RVar(0), line(3)),
    )
    assert len(run_shared(body, block=32).faults) == faults


def test_atomic_additions_do_not_race_but_a_plain_read_beside_them_does() -> None:
    add = core.AtomicAdd(S, lit(0), real(1), line(2))
    zero = If(ICmp(CmpOp.EQ, TID, lit(0)), (Store(S, lit(0), real(0), line(1)),), (), line(1))
    read = Load(0, S, lit(0), line(4))
    clean = run_shared((zero, Barrier(), add, Barrier(), read, Store(Y, TID, RVar(0), line(5))))
    assert clean.faults == ()
    assert set(clean.outputs["y"].tolist()) == {64.0}
    f = only(run_shared((zero, Barrier(), add, read)))
    assert (f.kind, f.what) == (FaultKind.RACE, ("atomic add", "read"))


# ---------------------------------------------------------------- divergence


def test_a_barrier_that_some_threads_skip_names_the_missing_ones() -> None:
    body = (If(less(TID, lit(40)), (Barrier(line(2)),), (), line(1)),)
    f = only(run_shared(body))
    assert (f.kind, lines(f)) == (FaultKind.DIVERGENT_BARRIER, (2, 1))
    assert "threads 0..39" in f.message
    assert "threads 40..63 are missing" in f.message


def test_a_barrier_in_a_branch_that_whole_blocks_take_is_fine() -> None:
    first = ICmp(CmpOp.EQ, core.ISpecial(core.Special.BID, core.Dim.X, I32), lit(0))
    assert run_shared((If(first, (Barrier(line(2)),), (), line(1)),), grid=3).faults == ()


def test_a_barrier_in_a_loop_that_threads_leave_early_diverges() -> None:
    loop = While(less(iv(0), lit(100)), (Barrier(line(3)), SetI(0, plus(iv(0), BDIM))), line(2))
    body = (SetI(0, TID, line(1)), loop)
    f = only(run_shared(body))
    assert f.kind is FaultKind.DIVERGENT_BARRIER
    assert "threads 36..63 are missing" in f.message


def test_a_shuffle_with_lanes_missing_is_a_bad_mask() -> None:
    body = (SetR(1, real(1), line(1)), If(less(TID, lit(7)), (SHUFFLE,), (), line(1)))
    f = only(run_shared(body, block=32))
    assert f.kind is FaultKind.BAD_MASK
    assert "threads 7..31 are missing" in f.message


def test_a_full_mask_shuffle_in_a_block_smaller_than_a_warp_is_a_bad_mask() -> None:
    f = only(run_shared((SetR(1, real(1), line(1)), SHUFFLE), block=8))
    assert (f.kind, lines(f)) == (FaultKind.BAD_MASK, (2,))
    assert "has 8" in f.message


@pytest.mark.parametrize(
    ("kind", "argument", "width", "expected"),
    [
        (core.ShflKind.IDX, 3, 32, [3] * 32),
        (core.ShflKind.IDX, 1, 8, [k // 8 * 8 + 1 for k in range(32)]),
        (core.ShflKind.UP, 1, 16, [k if k % 16 == 0 else k - 1 for k in range(32)]),
        (core.ShflKind.DOWN, 4, 32, [k + 4 if k < 28 else k for k in range(32)]),
        (core.ShflKind.XOR, 5, 32, [k ^ 5 for k in range(32)]),
    ],
)
def test_shuffles_exchange_registers(
    kind: core.ShflKind, argument: int, width: int, expected: list[int]
) -> None:
    body = (
        SetR(1, core.ROfInt(TID), line(1)),
        core.Shfl(kind, 0, 1, lit(argument), width, line(2)),
        Store(Y, TID, RVar(0), line(3)),
    )
    r = run_shared(body, block=32, y=32)
    assert r.outputs["y"].astype(int).tolist() == expected


# ---------------------------------------------------------------- memory


def test_a_missing_guard_is_out_of_bounds_at_the_first_element_past_the_end() -> None:
    p = plan(kernel(elementwise(100, guard=False)), {"x": 100, "y": 100}, grid=4)
    faults = run(p, {"x": np.zeros(100)}).faults
    assert [(f.kind, lines(f), f.array, f.index) for f in faults] == [
        (FaultKind.OUT_OF_BOUNDS, (3,), "x", 100),
        (FaultKind.OUT_OF_BOUNDS, (4,), "y", 100),
    ]
    assert (faults[0].threads, faults[0].blocks) == (((4, 0, 0),), ((3, 0, 0),))


def test_a_negative_index_is_out_of_bounds() -> None:
    f = only(run_shared((Load(0, X, op("sub", TID, lit(1)), line(1)),)))
    assert (f.kind, f.index) == (FaultKind.OUT_OF_BOUNDS, -1)


def test_shared_memory_is_uninitialised() -> None:
    body = (
        If(less(TID, lit(10)), (Store(S, TID, real(1), line(1)),), (), line(1)),
        Barrier(line(2)),
        Load(0, S, TID, line(3)),
    )
    f = only(run_shared(body))
    assert (f.kind, lines(f), f.threads, f.index) == (FaultKind.UNINITIALISED_READ, (3,), ((10, 0, 0),), 10)


def test_registers_and_local_arrays_are_uninitialised() -> None:
    arrays = (*SHARED, Array("t", Space.LOCAL, size=4))
    body = (
        If(less(TID, lit(3)), (SetR(0, real(1), line(1)), Store(3, lit(2), real(1), line(1))), (), line(1)),
        Store(Y, TID, RVar(0), line(2)),
        Load(1, 3, lit(2), line(3)),
    )
    p = plan(kernel(body, arrays=arrays), {"x": 4, "y": 32})
    faults = run(p, {"x": np.zeros(4)}).faults
    assert [(f.kind, lines(f), f.array, f.threads[0]) for f in faults] == [
        (FaultKind.UNINITIALISED_READ, (2,), "r0", (3, 0, 0)),
        (FaultKind.UNINITIALISED_READ, (3,), "t", (3, 0, 0)),
    ]


def test_dynamic_shared_memory_has_the_size_of_the_launch() -> None:
    arrays = (*SHARED[:2], Array("s", Space.SHARED, size=None))
    p = plan(kernel((Store(2, TID, real(1), line(1)),), arrays=arrays), {"x": 1, "y": 1}, shared_bytes=64)
    f = only(run(p, {"x": np.zeros(1)}))
    assert (f.kind, f.index) == (FaultKind.OUT_OF_BOUNDS, 16)


def test_a_failed_check_is_its_fault() -> None:
    aligned = ICmp(CmpOp.EQ, op("mod", TID, lit(4)), lit(0))
    f = only(run_shared((core.Check(aligned, "MISALIGNED", line(7)),)))
    assert (f.kind, lines(f), f.threads) == (FaultKind.MISALIGNED, (7,), ((1, 0, 0),))


@pytest.mark.parametrize(("restrict", "faults"), [(True, 1), (False, 0)])
def test_one_buffer_for_two_restrict_parameters_is_an_alias(restrict: bool, faults: int) -> None:
    arrays = (Array("x", Space.GLOBAL, const=True, restrict=restrict), Array("y", Space.GLOBAL))
    body = elementwise(32)
    p = plan(kernel(body, arrays=arrays), {"x": 32}, args=("x", "x"))
    r = run(p, {"x": np.zeros(32)})
    assert [f.kind for f in r.faults] == [FaultKind.ALIAS] * faults


def test_an_output_element_that_nothing_stores_is_reported() -> None:
    r = run(plan(kernel(elementwise(30)), {"x": 32, "y": 32}), {"x": np.zeros(32)})
    assert r.unwritten == {"y": 30}
    assert np.isnan(r.outputs["y"][30:]).all()
