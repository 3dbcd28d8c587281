"""Convolutions that bound their loops, or stage their window, instead of testing each tap."""

import pytest

from insights_db.records import ProofStatus
from scaffolds.families import Value

from .proving import prove
from .test_shared_out import source

pytestmark = [pytest.mark.lean, pytest.mark.slow, pytest.mark.xdist_group("lean-rows")]

DEPTHWISE = {"batch": 2, "c": 3, "H": 8, "k": 3, "pad": 1}
BOUNDS: dict[str, Value] = {"block_x": 4, "block_y": 2, "padding": "bounds"}


def test_bounded_loops_make_up_the_padded_sum() -> None:
    kernel = source("depthwise_conv", "conv-planes", BOUNDS, DEPTHWISE)
    proof, _, _, _ = prove(kernel, "depthwise_conv", **DEPTHWISE)
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
