"""Proofs of kernels with shared memory and barriers."""

import pytest

from insights_db.records import ProofStatus

from . import sources
from .proving import prove

pytestmark = [pytest.mark.lean, pytest.mark.slow, pytest.mark.xdist_group("lean")]


def test_a_row_that_a_block_adds_up_in_a_tree_is_proven_at_a_ragged_size() -> None:
    proof, seen, _, _ = prove(sources.TREE, "gemv", M=3, N=41)
    assert proof.reason == ""
    assert proof.status is ProofStatus.PROVEN
    assert seen == list(proof.obligations)
    assert any(one.title == "the partial results of the threads make up the whole" for one in seen)


def test_a_sum_by_shuffles_is_proven() -> None:
    proof, seen, _, _ = prove(sources.WARP, "gemv", M=8, N=32)
    assert proof.reason == ""
    assert proof.status is ProofStatus.PROVEN
    assert any(one.title == "the shuffles leave the sum of the warp in every lane" for one in seen)


def test_a_sum_of_something_else_by_shuffles_is_not_proven() -> None:
    proof, _, _, _ = prove(sources.WARP.replace("] * x[", "] + x["), "gemv", M=8, N=32)
    assert proof.status is ProofStatus.UNPROVEN
    (first, *_) = [one for one in proof.obligations if one.status is not ProofStatus.PROVEN]
    assert (first.line, first.title) == (7, "the value stored into y is what the spec says")
