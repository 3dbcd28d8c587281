"""The folder a promoted kernel leaves in: source, how to call it, certificate, Lean file, instructions."""

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from insights_db.records import Candidate, Certificate
from semantics.task import Task, Workload

_LAUNCHER = re.compile(r"\bvoid\s+launch\s*\(([^)]*)\)\s*\{")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the launcher: its C type (`const float*`, `float*`, `int`, `float`) and name."""

    type: str
    name: str


def parameters(source: str) -> tuple[Parameter, ...]:
    """The launcher's parameters in order. Raises ValueError when the source has no launcher."""
    code = re.sub(r"//[^\n]*|/\*.*?\*/", " ", source, flags=re.DOTALL)
    found = _LAUNCHER.search(code)
    if found is None:
        raise ValueError("the source has no launcher `void launch(...)`")
    declared = [" ".join(part.replace("__restrict__", " ").split()) for part in found[1].split(",")]
    split = [re.fullmatch(r"(.+?)\s*(\*?)\s*(\w+)", text) for text in declared if text]
    return tuple(Parameter((m[1] + m[2]).strip(), m[3]) for m in split if m is not None)


def export(
    candidate: Candidate, certificate: Certificate, task: Task, workload: Workload, folder: Path
) -> Path:
    """Write everything to `folder` (made when missing, files of an earlier export are replaced) and
    return it. Raises ValueError for a source without launcher, OSError when a file cannot be written."""
    launch = parameters(candidate.source)
    files = {
        "kernel.cu": f'#include "kshell_launch.h"\n#include <math.h>\n\n{candidate.source.rstrip()}\n',
        "source.cu": candidate.source,
        "kshell_launch.h": _header(launch),
        "example.cu": _example(launch, task, workload),
        "load.py": _loader(candidate, launch, task, workload),
        "certificate.json": certificate.model_dump_json(indent=2) + "\n",
        "proof.lean": certificate.lean_file,
        "README.txt": _readme(candidate, certificate, task, workload),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def _header(launch: tuple[Parameter, ...]) -> str:
    signature = ", ".join(f"{p.type} {p.name}" for p in launch)
    return f"""// How to call the kernel, and the workspace that a launcher may ask for.
#pragma once
#include <cstddef>
#include <cuda_runtime.h>

// Pointers are device memory: row-major, contiguous float32. Runs on the default stream.
void launch({signature});

// Device memory that grows and stays until the program ends; one buffer a place in the source.
class KshellBuffer {{
    void* data = nullptr;
    size_t size = 0;

public:
    void* reserve(size_t bytes) {{
        if (bytes > size) {{
            cudaFree(data);
            size = cudaMalloc(&data, bytes) == cudaSuccess ? bytes : 0;
        }}
        return data;
    }}
}};

#define KSHELL_WORKSPACE(type, count)                                        \\
    ([&]() -> type* {{                                                        \\
        static KshellBuffer buffer;                                          \\
        return static_cast<type*>(buffer.reserve(sizeof(type) * (size_t)(count))); \\
    }}())
"""


def _size(task: Task, workload: Workload, name: str) -> int:
    count = 1
    for extent in task.shapes(workload)[name]:
        count *= extent
    return count


def _value(parameter: Parameter, task: Task, workload: Workload) -> str:
    """A number for an axis or scalar of the launcher."""
    if parameter.name in workload.axes:
        return str(workload.axes[parameter.name])
    return f"{task.scalars[parameter.name]!r}f" if parameter.name in task.scalars else "0"


def _example(launch: tuple[Parameter, ...], task: Task, workload: Workload) -> str:
    tensors = [p for p in launch if p.type.endswith("*")]
    lines = [
        "// nvcc -O3 -o example example.cu kernel.cu && ./example",
        "#include <cstdio>",
        "#include <vector>",
        '#include "kshell_launch.h"',
        "",
        "int main() {",
    ]
    for p in tensors:
        count = _size(task, workload, p.name)
        lines += [
            f"    float* {p.name} = nullptr;",
            f"    cudaMalloc(&{p.name}, sizeof(float) * {count}ull);",
        ]
        if p.type.startswith("const"):
            lines += [
                f"    std::vector<float> host_{p.name}({count}ull, 0.5f);",
                f"    cudaMemcpy({p.name}, host_{p.name}.data(), sizeof(float) * {count}ull, "
                "cudaMemcpyHostToDevice);",
            ]
    values = [p.name if p.type.endswith("*") else _value(p, task, workload) for p in launch]
    lines.append(f"    launch({', '.join(values)});")
    for p in (p for p in tensors if not p.type.startswith("const")):
        lines += [
            f"    float first_{p.name} = 0;",
            f"    cudaMemcpy(&first_{p.name}, {p.name}, sizeof(float), cudaMemcpyDeviceToHost);",
            f'    std::printf("{p.name}[0] = %g\\n", first_{p.name});',
        ]
    lines += ["    cudaError_t error = cudaDeviceSynchronize();"]
    lines += ['    if (error != cudaSuccess) std::printf("%s\\n", cudaGetErrorString(error));']
    lines += ["    return error != cudaSuccess;", "}", ""]
    return "\n".join(lines)


def _loader(candidate: Candidate, launch: tuple[Parameter, ...], task: Task, workload: Workload) -> str:
    inputs = [t.name for t in task.inputs]
    shapes = task.shapes(workload)
    passed = [f"{p.name}.data_ptr<float>()" if p.type.endswith("*") else p.name for p in launch]
    scalars = [p for p in launch if not p.type.endswith("*")]
    kinds = {"int": "int64_t", "float": "double"}
    bound = [f"torch::Tensor {p.name}" for p in launch if p.type.endswith("*")]
    bound += [f"{kinds.get(p.type, 'int64_t')} {p.name}" for p in scalars]
    outputs = "".join(
        f"    {t.name} = torch.empty({shapes[t.name]!r}, device={inputs[0]}.device)\n" for t in task.outputs
    )
    arguments = [p.name for p in launch if p.type.endswith("*")]
    arguments += [_value(p, task, workload).removesuffix("f") for p in scalars]
    result = ", ".join(t.name for t in task.outputs)
    return f'''"""Load the kernel into PyTorch: `from load import {_identifier(task.name)}`.

Needs torch with CUDA and nvcc. Certified for {_sizes(workload)}.
Inputs are contiguous float32 tensors on the GPU."""

from pathlib import Path

import torch
from torch.utils.cpp_extension import load_inline

_here = Path(__file__).resolve().parent
_binding = """
void bound({", ".join(bound)}) {{
    launch({", ".join(passed)});
}}
"""
_source = (_here / "kshell_launch.h").read_text() + (_here / "source.cu").read_text() + _binding
_module = load_inline(
    name="kshell_{_identifier(task.name)}_{candidate.id}",
    cpp_sources="void bound({", ".join(bound)});",
    cuda_sources=_source,
    functions=["bound"],
)


def {_identifier(task.name)}({", ".join(inputs)}):
{outputs}    _module.bound({", ".join(arguments)})
    return {result}
'''


def _identifier(text: str) -> str:
    return re.sub(r"\W", "_", text)


def _sizes(workload: Workload) -> str:
    return ", ".join(f"{name}={value}" for name, value in workload.axes.items())


def _wrapped(kind: str, text: str) -> str:
    return textwrap.fill(text, 96, initial_indent=f"  {kind:<10} ", subsequent_indent=" " * 13)


def _readme(candidate: Candidate, certificate: Certificate, task: Task, workload: Workload) -> str:
    trusted = "\n".join(_wrapped(a.kind, f"{a.part}: {a.why}") for a in certificate.assumptions)
    return f"""{task.title} ({task.name}), candidate {candidate.id}
{"=" * 72}

Proven equal to the task's specification for {_sizes(workload)} by the theorem

  {certificate.theorem}

kernel.cu          the kernel and its launcher, ready to compile
source.cu          the exact source the certificate is about (SHA-256 {certificate.source_hash[:16]}...)
kshell_launch.h    the launcher's signature and the workspace macro
example.cu         a program that calls it
load.py            load it into PyTorch
certificate.json   hashes, statement, axioms, assumptions
proof.lean         the Lean file that was checked

Compile
  nvcc -O3 -c kernel.cu
  nvcc -O3 -o example example.cu kernel.cu && ./example

Audit: check the certificate again from nothing, on any machine with kshell
  kshell audit certificate.json

What the proof rests on
{trusted}
  axioms     {", ".join(certificate.axioms) or "none"}
"""
