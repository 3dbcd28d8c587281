"""Families whose threads share out one sum or maximum, and slips in how they do."""

import pytest

from insights_db.records import ProofStatus
from kshell import tasks
from scaffolds.families import Value, families_of, family_named
from scaffolds.families.space import conservative_schedule

from .proving import prove

pytestmark = [pytest.mark.lean, pytest.mark.slow, pytest.mark.xdist_group("lean-rows")]

GEMV = {"M": 4, "N": 512}
CHUNKS: dict[str, Value] = {"block": 64, "access": "chunk"}


def source(name: str, family: str, choices: dict[str, Value], axes: dict[str, int]) -> str:
    task = tasks.get(name)
    found = family_named(families_of(task), family)
    assert found is not None
    workload = task.workload(**axes)
    return found.source(task, workload, {**conservative_schedule(found, task, workload), **choices})


@pytest.mark.parametrize(
    ("name", "family", "choices", "axes"),
    [
        ("gemv", "gemv-float4", {"block": 64, "team": "warp"}, GEMV),
        ("gemv", "gemv-float4", {"block": 64, "team": "block"}, GEMV),
        ("gemv", "gemv-block-tree", CHUNKS, {"M": 3, "N": 500}),
        ("softmax", "softmax-block-warps", CHUNKS, {"rows": 3, "n": 500}),
    ],
    ids=["four-by-a-warp", "four-by-a-block", "chunks-in-a-tree", "chunks-with-shuffles"],
)
def test_what_threads_share_out_is_one_fold(
    name: str, family: str, choices: dict[str, Value], axes: dict[str, int]
) -> None:
    proof, _, _, _ = prove(source(name, family, choices, axes), name, **axes)
    assert proof.reason == ""
    assert proof.status is ProofStatus.PROVEN


@pytest.mark.parametrize(
    ("family", "choices", "old", "new", "axes"),
    [
        ("gemv-float4", {"block": 64, "team": "block"}, "a.w * b.w", "a.w * b.z", GEMV),
        ("gemv-float4", {"block": 64, "team": "block"}, "j += 256", "j += 512", GEMV),
        ("gemv-block-tree", CHUNKS, "min(first + each, N)", "min(first + each, N - 1)", {"M": 3, "N": 500}),
        ("gemv-block-tree", CHUNKS, "min(t * each, N)", "min(t * each + 1, N)", {"M": 3, "N": 500}),
    ],
    ids=["lane-twice", "groups-left-out", "last-element-left-out", "first-elements-left-out"],
)
def test_what_leaves_out_an_element_is_not_proven(
    family: str, choices: dict[str, Value], old: str, new: str, axes: dict[str, int]
) -> None:
    kernel = source("gemv", family, choices, axes)
    assert old in kernel
    proof, _, _, _ = prove(kernel.replace(old, new), "gemv", **axes)
    assert proof.status is ProofStatus.UNPROVEN
