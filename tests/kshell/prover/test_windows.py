"""Convolutions that bound their loops, or stage their window, instead of testing each tap."""

import pytest

from insights_db.records import ProofStatus
from scaffolds.families import Value

from .proving import prove
from .test_shared_out import source

pytestmark = [pytest.mark.lean, pytest.mark.slow, pytest.mark.xdist_group("lean")]

DEPTHWISE = {"batch": 2, "c": 3, "H": 8, "k": 3, "pad": 1}
PLAIN = {"batch": 2, "cin": 3, "cout": 2, "H": 8, "k": 3, "pad": 1}
BOUNDS: dict[str, Value] = {"block_x": 4, "block_y": 2, "padding": "bounds"}


@pytest.mark.parametrize(
    ("name", "axes"), [("depthwise_conv", DEPTHWISE), ("conv2d", PLAIN)], ids=["depthwise", "plain"]
)
def test_bounded_loops_make_up_the_padded_sum(name: str, axes: dict[str, int]) -> None:
    proof, _, _, _ = prove(source(name, "conv-planes", BOUNDS, axes), name, **axes)
    assert proof.reason == ""
    assert proof.status is ProofStatus.PROVEN


def test_bounded_loops_in_the_other_order_make_up_the_same_sum() -> None:
    kernel = source("depthwise_conv", "conv-planes", BOUNDS, DEPTHWISE)
    rows, columns = "for (int ky = ky0; ky < ky1; ++ky)", "for (int kx = kx0; kx < kx1; ++kx)"
    assert rows in kernel and columns in kernel
    swapped = kernel.replace(rows, "@").replace(columns, rows).replace("@", columns)
    proof, _, _, _ = prove(swapped, "depthwise_conv", **DEPTHWISE)
    assert proof.reason == ""
    assert proof.status is ProofStatus.PROVEN


@pytest.mark.parametrize(
    ("old", "new"),
    [("min(k, H + pad - ox)", "min(k, H + pad - ox - 1)"), ("max(0, pad - oy)", "max(1, pad - oy)")],
    ids=["last-column", "first-row"],
)
def test_bounds_that_leave_out_a_tap_are_not_proven(old: str, new: str) -> None:
    kernel = source("depthwise_conv", "conv-planes", BOUNDS, DEPTHWISE)
    assert old in kernel
    proof, _, _, _ = prove(kernel.replace(old, new), "depthwise_conv", **DEPTHWISE)
    assert proof.status is ProofStatus.UNPROVEN


HALO: dict[str, Value] = {"block_x": 4, "block_y": 2}


def test_a_window_in_shared_memory_holds_what_the_taps_need() -> None:
    proof, _, _, _ = prove(
        source("depthwise_conv", "conv-halo", HALO, DEPTHWISE), "depthwise_conv", **DEPTHWISE
    )
    assert proof.reason == ""
    assert proof.status is ProofStatus.PROVEN


def test_a_window_that_is_padded_one_column_late_is_not_proven() -> None:
    kernel = source("depthwise_conv", "conv-halo", HALO, DEPTHWISE)
    assert "ix < H" in kernel
    proof, _, _, _ = prove(kernel.replace("ix < H", "ix < H - 1"), "depthwise_conv", **DEPTHWISE)
    assert proof.status is ProofStatus.UNPROVEN
