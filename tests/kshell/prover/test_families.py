"""Families of the generator whose proofs need more than index arithmetic."""

import pytest

from insights_db.records import ProofStatus
from kshell import tasks
from scaffolds.families import Value, families_of, family_named
from scaffolds.families.space import conservative_schedule

from .proving import prove

pytestmark = [pytest.mark.lean, pytest.mark.slow, pytest.mark.xdist_group("lean")]


@pytest.mark.parametrize(
    ("name", "family", "choices", "axes"),
    [
        ("gemm", "matmul-patch", {"block_x": 4, "block_y": 2}, {"M": 13, "K": 8, "N": 32}),
        ("layernorm", "layernorm-thread", {"variance": "one-pass"}, {"rows": 3, "n": 40}),
        ("layernorm", "layernorm-thread", {"accumulators": 4}, {"rows": 3, "n": 42}),
        ("layernorm", "layernorm-block-tree", {"variance": "one-pass", "block": 32}, {"rows": 3, "n": 40}),
        ("layernorm", "layernorm-warp", {"variance": "one-pass", "block": 64}, {"rows": 4, "n": 40}),
        ("layernorm", "layernorm-block-warps", {"variance": "one-pass", "block": 64}, {"rows": 3, "n": 72}),
        ("softmax", "softmax-thread", {"passes": "online"}, {"rows": 3, "n": 40}),
    ],
    ids=[
        "register-block",
        "one-pass-variance",
        "partial-sums-of-squares",
        "two-arrays-in-a-tree",
        "two-registers-in-shuffles",
        "two-registers-by-warps-of-a-block",
        "online-softmax",
    ],
)
def test_a_family_is_proven(name: str, family: str, choices: dict[str, Value], axes: dict[str, int]) -> None:
    proof, _, _, _ = prove(source(name, family, choices, axes), name, **axes)
    assert proof.reason == ""
    assert proof.status is ProofStatus.PROVEN


@pytest.mark.parametrize(
    ("name", "family", "choices", "axes", "old", "new", "line", "title"),
    [
        (
            *("softmax", "softmax-thread", {"passes": "online"}, {"rows": 3, "n": 40}),
            *(
                "for (int j = 0; j < n; ++j) {\n            float v",
                "for (int j = 1; j < n; ++j) {\n            float v",
            ),
            *(13, "the value stored into y"),
        ),
        (
            *(
                "layernorm",
                "layernorm-block-tree",
                {"variance": "one-pass", "block": 32},
                {"rows": 3, "n": 40},
            ),
            *("square += v * v;", "square += v;", 29, "the value stored into y"),
        ),
        (
            *("layernorm", "layernorm-warp", {"variance": "one-pass", "block": 32}, {"rows": 3, "n": 40}),
            *("square += v * v;", "square += v;", 22, "the value stored into y"),
        ),
    ],
    ids=["online-softmax-misses-an-element", "tree-sums-no-squares", "warp-sums-no-squares"],
)
def test_a_wrong_kernel_of_a_family_is_not_proven(
    name: str,
    family: str,
    choices: dict[str, Value],
    axes: dict[str, int],
    old: str,
    new: str,
    line: int,
    title: str,
) -> None:
    right = source(name, family, choices, axes)
    assert old in right
    proof, _, _, _ = prove(right.replace(old, new), name, **axes)
    assert proof.status is ProofStatus.UNPROVEN
    still_open = [one for one in proof.obligations if one.status is not ProofStatus.PROVEN]
    assert any(one.line == line and one.title.startswith(title) for one in still_open), proof.reason


def source(name: str, family: str, choices: dict[str, Value], axes: dict[str, int]) -> str:
    """The text that a family emits for a schedule."""
    task = tasks.get(name)
    found = family_named(families_of(task), family)
    assert found is not None
    workload = task.workload(**axes)
    return found.source(task, workload, {**conservative_schedule(found, task, workload), **choices})
