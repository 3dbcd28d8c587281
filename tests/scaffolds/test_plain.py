"""The plain kernel of a spec computes what the reference computes."""

from pathlib import Path

import pytest

from kshell import tasks
from kshell.harness.build import build
from kshell.harness.cases import CaseMaker
from kshell.harness.runs import RunRequest, execute
from kshell.harness.toolchain import find
from kshell.harness.validate import check_run
from kshell.tasks import reference
from scaffolds.plain import plain_source
from scaffolds.program import cpu_program
from semantics.program import load

SMALL = {
    "relu": {"n": 100},
    "gelu": {"n": 100},
    "softmax": {"rows": 5, "n": 37},
    "layernorm": {"rows": 3, "n": 50},
    "rmsnorm": {"rows": 3, "n": 50},
    "gemv": {"M": 9, "N": 33},
    "gemm": {"M": 5, "K": 33, "N": 7},
    "linear": {"batch": 5, "hin": 9, "hout": 11},
    "batch_matmul": {"b": 2, "M": 3, "K": 9, "N": 4},
    "conv2d": {"cin": 3, "cout": 2, "H": 9, "k": 3, "pad": 2},
    "depthwise_conv": {"c": 3, "H": 7, "k": 3, "pad": 1},
}


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plain")


@pytest.mark.parametrize("name", SMALL)
async def test_the_plain_kernel_is_right(name: str, folder: Path) -> None:
    task = tasks.get(name)
    workload = task.workload(**SMALL[name])
    program = load(plain_source(task, tasks.spec_of(task, workload)))
    plan = program.plan(task, workload)
    built = await build(find(), cpu_program(program.module), folder)
    assert built.ok, built.diagnostics
    maker = CaseMaker(reference.compute, secret=3)
    cases = [maker.make(task, workload, d, d, 1) for d in ("normal", "shifted")]
    for order in ("fast", "random"):
        run = await execute(
            RunRequest(Path(built.artifact), task, plan, [c.inputs for c in cases], order, repeats=2)
        )
        assert check_run(task, plan, cases, run).reason == ""


def test_a_reduction_of_the_row_is_computed_once_a_row() -> None:
    task = tasks.get("softmax")
    source = plain_source(task, tasks.spec_of(task, task.workload(rows=4, n=8)))
    assert source.count("expf") == 2
    assert source.count("= -INFINITY") == 1
    assert "if (p < 4)" in source
