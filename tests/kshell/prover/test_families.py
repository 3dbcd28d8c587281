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
    ],
    ids=["register-block", "one-pass-variance", "partial-sums-of-squares"],
)
def test_a_family_is_proven(name: str, family: str, choices: dict[str, Value], axes: dict[str, int]) -> None:
    task = tasks.get(name)
    found = family_named(families_of(task), family)
    assert found is not None
    workload = task.workload(**axes)
    source = found.source(task, workload, {**conservative_schedule(found, task, workload), **choices})
    proof, _, _, _ = prove(source, name, **axes)
    assert proof.reason == ""
    assert proof.status is ProofStatus.PROVEN
