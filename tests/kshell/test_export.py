"""The exported folder: it compiles, it runs, and it holds what an audit needs."""

import ast
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from insights_db.records import Candidate
from kshell import tasks
from kshell.engine.promotion import digest
from kshell.export import Parameter, export, parameters
from tests.kshell.engine.fakes import certificate

SOURCE = """__global__ void twice(const float* __restrict__ x, float* __restrict__ y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

// void launch(int wrong) { is a comment
void launch(float* y, const float * __restrict__ x,
            int n) {
    float* spare = KSHELL_WORKSPACE(float, n);
    twice<<<(n + 255) / 256, 256>>>(x, y, n);
}
"""

# What the CUDA runtime offers the example, on the host.
RUNTIME = """#pragma once
#include <cstdlib>
#include <cstring>
typedef int cudaError_t;
enum { cudaSuccess = 0, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
template <class T> int cudaMalloc(T** p, size_t n) { *p = (T*)malloc(n); return cudaSuccess; }
inline int cudaFree(void* p) { free(p); return cudaSuccess; }
inline int cudaMemcpy(void* to, const void* from, size_t n, int) { memcpy(to, from, n); return cudaSuccess; }
inline int cudaDeviceSynchronize() { return cudaSuccess; }
inline const char* cudaGetErrorString(int) { return "error"; }
"""


def exported(folder: Path, source: str = SOURCE) -> Path:
    task = tasks.get("relu")
    workload = task.workload(n=100)
    candidate = Candidate(id=digest(source)[:12], source=source, task="relu", round=1, index=0, proposer="p")
    return export(candidate, certificate(candidate, task, workload), task, workload, folder / "out")


def test_the_launcher_is_read_by_name_and_type() -> None:
    assert parameters(SOURCE) == (
        Parameter("float*", "y"),
        Parameter("const float*", "x"),
        Parameter("int", "n"),
    )


def test_a_source_without_launcher_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no launcher"):
        exported(tmp_path, "__global__ void f() {}")


def test_the_folder_holds_source_certificate_proof_and_instructions(tmp_path: Path) -> None:
    folder = exported(tmp_path)
    assert (folder / "source.cu").read_text() == SOURCE
    assert SOURCE.rstrip() in (folder / "kernel.cu").read_text()
    kept = json.loads((folder / "certificate.json").read_text())
    assert kept["source_hash"] == digest((folder / "source.cu").read_text())
    assert (folder / "proof.lean").read_text() == kept["lean_file"]
    readme = (folder / "README.txt").read_text()
    assert "n=100" in readme and "kshell audit certificate.json" in readme and "real numbers" in readme
    names = {path.name for path in folder.iterdir()}
    assert all(name in readme for name in names - {"README.txt"})


def test_an_export_may_be_repeated(tmp_path: Path) -> None:
    assert exported(tmp_path) == exported(tmp_path)


def test_the_loader_is_python_that_calls_the_launcher_in_its_order(tmp_path: Path) -> None:
    text = (exported(tmp_path) / "load.py").read_text()
    ast.parse(text)
    assert "def relu(x):" in text and "_module.bound(y, x, 100)" in text
    assert "launch(y.data_ptr<float>(), x.data_ptr<float>(), n);" in text


def test_the_example_compiles_and_runs_against_the_header(tmp_path: Path) -> None:
    """The host side, with a loop for the kernel and the host's memory for the CUDA runtime."""
    folder = exported(tmp_path)
    (folder / "cuda_runtime.h").write_text(RUNTIME)
    on_host = SOURCE[SOURCE.index("void launch(float") :].replace(
        "twice<<<(n + 255) / 256, 256>>>(x, y, n);",
        "for (int i = 0; i < n; i++) { spare[i] = x[i]; y[i] = 2 * spare[i]; }",
    )
    (folder / "kernel.cpp").write_text('#include "kshell_launch.h"\n' + on_host)
    compiler = shutil.which("g++")
    assert compiler is not None
    command = [compiler, "-std=c++17", "-Wall", "-Werror", "-I.", "-x", "c++", "example.cu", "kernel.cpp"]
    subprocess.run([*command, "-o", "example"], cwd=folder, check=True)
    ran = subprocess.run([folder / "example"], capture_output=True, text=True, check=True)
    assert ran.stdout == "y[0] = 1\n"
