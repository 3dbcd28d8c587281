"""Every corpus kernel loads, lowers, computes the right values in the interpreter, and compiles."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from semantics.interp import run
from semantics.parser import parse
from semantics.printer import print_module
from semantics.program import load
from tests.semantics.corpus_tasks import REFERENCES, inputs_of, kernels, task_of
from tests.semantics.differential.test_more_language import BODIES, CONSTANTS, source_of
from tests.semantics.random_kernels import random_kernel

PRELUDE = "#define KSHELL_WORKSPACE(T, n) ((T*)0)\n"


def identity(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", kernels(), ids=identity)
def test_corpus_kernel_computes_the_reference_without_a_fault(path: Path) -> None:
    task = task_of(path)
    plan = load(path.read_text()).plan(task, task.workload())
    inputs = inputs_of(task)
    result = run(plan, inputs)
    assert result.faults == ()
    (output,) = (t.name for t in task.outputs)
    expected = REFERENCES[task.name](inputs)
    np.testing.assert_allclose(
        result.outputs[output].reshape(expected.shape), expected, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("path", kernels(), ids=identity)
def test_printed_corpus_kernel_parses_to_the_same_module(path: Path) -> None:
    module = parse(path.read_text())
    assert parse(print_module(module)) == module


@pytest.mark.parametrize("path", kernels(), ids=identity)
def test_printed_corpus_kernel_lowers_to_the_same_kernels(path: Path) -> None:
    program = load(path.read_text())
    again = load(print_module(program.module))
    assert list(again.lowered.values()) == list(program.lowered.values())


def test_every_construct_compiles_with_nvcc_where_it_is_installed(tmp_path: Path) -> None:
    nvcc = shutil.which("nvcc")
    assert len(BODIES) >= 20
    if nvcc is None:
        return
    files = []
    for k, text in enumerate([CONSTANTS, source_of("\n".join(f"{{ {body} }}" for body in BODIES.values()))]):
        files.append(tmp_path / f"constructs_{k}.cu")
        files[-1].write_text(text)
    for file in files:
        done = subprocess.run(
            [nvcc, "-std=c++17", *_ARCHITECTURES, "-fatbin", "-o", str(file.with_suffix(".o")), str(file)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


_ARCHITECTURES = [f"-gencode=arch=compute_{number},code=sm_{number}" for number in (80, 90)]


def test_corpus_compiles_with_nvcc_where_it_is_installed(tmp_path: Path) -> None:
    sources = [(p, text) for p in kernels() for text in [p.read_text(), print_module(parse(p.read_text()))]]
    sources += [(Path(f"random_{seed}.cu"), random_kernel(seed, more=True)) for seed in range(8)]
    assert len(sources) >= 50
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        return
    unit = []
    for k, (path, text) in enumerate(sources):
        body = "\n".join(line for line in text.splitlines() if not line.startswith("#include"))
        names = [line.split()[1].split("(")[0] for line in body.splitlines() if line.startswith("#define")]
        undefine = "\n".join(f"#undef {name}" for name in names)
        unit.append(f"// {path.name}\nnamespace candidate_{k} {{\n{body}\n{undefine}\n}}")
    file = tmp_path / "corpus.cu"
    file.write_text(PRELUDE + "\n".join(unit))
    done = subprocess.run(
        [nvcc, "-std=c++17", *_ARCHITECTURES, "-fatbin", "-o", str(tmp_path / "corpus.fatbin"), str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
