"""Proofs of kernels whose threads hold a row in local arrays across barriers."""

import pytest

from insights_db.records import ProofStatus
from kshell import tasks
from scaffolds.families import Value, families_of, family_named
from scaffolds.families.space import conservative_schedule

from .proving import prove

pytestmark = [pytest.mark.lean, pytest.mark.slow, pytest.mark.xdist_group("lean-rows")]

SINGLE: dict[str, Value] = {"block": 64, "steps": 4, "access": "single"}
FOUR: dict[str, Value] = {"block": 64, "steps": 2, "access": "float4", "exponentials": "recompute"}


def held(name: str, choices: dict[str, Value], axes: dict[str, int]) -> str:
    """The kernel of the family that keeps a row in registers."""
    task = tasks.get(name)
    family = family_named(families_of(task), f"{name}-registers")
    assert family is not None
    workload = task.workload(**axes)
    return family.source(task, workload, {**conservative_schedule(family, task, workload), **choices})


@pytest.mark.parametrize(
    ("name", "choices", "axes"),
    [
        ("rmsnorm", SINGLE, {"rows": 4, "n": 256}),
        ("softmax", FOUR, {"rows": 4, "n": 512}),
    ],
    ids=["a-sum-of-single-elements", "a-maximum-and-a-sum-of-groups-of-four"],
)
def test_a_row_held_in_registers_is_proven(
    name: str, choices: dict[str, Value], axes: dict[str, int]
) -> None:
    proof, _, _, _ = prove(held(name, choices, axes), name, **axes)
    assert proof.reason == ""
    assert proof.status is ProofStatus.PROVEN


def test_a_row_that_is_written_from_other_registers_is_not_proven() -> None:
    axes = {"rows": 4, "n": 256}
    source = held("rmsnorm", SINGLE, axes)
    right = "= held[k] * scale"
    assert source.count(right) == 1
    proof, _, _, _ = prove(source.replace(right, "= held[3 - k] * scale"), "rmsnorm", **axes)
    assert proof.status is ProofStatus.UNPROVEN
    titles = {one.title for one in proof.obligations if one.status is not ProofStatus.PROVEN}
    assert "the value stored into y is what the spec says" in titles
