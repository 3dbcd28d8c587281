"""Proofs of kernels with shared memory and barriers."""

import pytest

from insights_db.records import ProofStatus

from . import sources
from .test_proofs import prove

pytestmark = [pytest.mark.lean, pytest.mark.slow, pytest.mark.xdist_group("lean")]


def test_a_row_that_a_block_adds_up_in_a_tree_is_proven_at_a_ragged_size() -> None:
    proof, seen, _, _ = prove(sources.TREE, "gemv", M=3, N=41)
    assert proof.reason == ""
    assert proof.status is ProofStatus.PROVEN
    assert seen == list(proof.obligations)
    assert any(one.title == "the partial results of the threads make up the whole" for one in seen)


def test_a_tree_over_half_of_the_partial_sums_is_not_proven() -> None:
    proof, _, _, _ = prove(sources.TREE.replace("blockDim.x / 2", "blockDim.x / 4"), "gemv", M=3, N=41)
    assert proof.status is ProofStatus.UNPROVEN
    (first, *_) = [one for one in proof.obligations if one.status is not ProofStatus.PROVEN]
    assert first.title == "the value stored into y is what the spec says"
