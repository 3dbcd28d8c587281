"""The self-contained CUDA program of a candidate: built with nvcc, run, and watched by ncu.

This is the form that is archived and exported; the worker drives the same source through NVRTC, and both
must agree."""

import csv
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kshell.harness import sandbox
from kshell.harness.nvrtc import ptxas_report
from scaffolds.cuda.host import host_program
from scaffolds.program import POISON, RED_ZONE
from semantics.program import Program, load
from semantics.task import Task, Workload

Array = npt.NDArray[Any]
FIRST = "// ---- the candidate, verbatim"
# A CUDA context maps far more address space than it uses.
LIMITS = sandbox.Limits(wall_s=120, cpu_s=240, memory_bytes=1 << 44)
_ERROR = re.compile(r"(?:error|fatal)\b.*")

_OPERATIONS = {"ffma": 2.0, "fadd": 1.0, "fmul": 1.0}
METRICS = ",".join(
    [
        "dram__bytes_read.sum",
        "dram__bytes_write.sum",
        *(f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum" for op in _OPERATIONS),
        "sm__warps_active.avg.pct_of_peak_sustained_active",
        "sm__throughput.avg.pct_of_peak_sustained_elapsed",
        "gpu__time_duration.sum",
    ]
)


class ToolsMissing(Exception):
    """A program of the CUDA toolkit is not on PATH; the message says which."""


class ProgramFailure(Exception):
    """The program did not build or run; the message is one line."""


@dataclass(frozen=True, slots=True)
class BuiltProgram:
    """A program in `folder` for one workload. `offset` lines of its text stand before the candidate's
    first; `report` is what ptxas said of the largest kernel."""

    folder: Path
    task: Task
    workload: Workload
    kernels: tuple[str, ...]
    offset: int
    report: dict[str, float]
    seconds: float

    @property
    def command(self) -> tuple[str, ...]:
        """How to run it in its folder, without inputs."""
        return ("./program",)


def needed(*tools: str) -> None:
    """Raises ToolsMissing for the first that is not on PATH."""
    for tool in tools:
        if shutil.which(tool) is None:
            raise ToolsMissing(f"{tool} is not on PATH; it comes with the CUDA toolkit")


async def build_program(
    source: str, task: Task, workload: Workload, folder: Path, arch: str = "native", *, watched: bool = False
) -> BuiltProgram:
    """Compile with nvcc. A `watched` program is for compute-sanitizer: every buffer ends where its allocation
    does, outputs are not filled beforehand (its output files have no guards and mean nothing), and nothing
    is optimised, since a load that the optimiser moves behind a test is no longer seen to go astray.

    Raises Refusal, ToolsMissing, ProgramFailure (with the compiler's first error)."""
    needed("nvcc")
    program: Program = load(source)
    text = host_program(program, source, task, workload)
    (folder / "program.cu").write_text(text, encoding="utf-8")
    command = ["nvcc", "-std=c++17", "-Xptxas", "-v", f"-arch={arch}", "-o", "program"]
    command += ["-G", "-DKSHELL_GUARD=0", "-DKSHELL_FILL=0"] if watched else ["-lineinfo"]
    built = await sandbox.run([*command, "program.cu"], cwd=folder, limits=LIMITS)
    said = built.stdout + built.stderr
    if not built.ok:
        found = _ERROR.search(said)
        raise ProgramFailure(
            f"nvcc {built.reason(LIMITS)}: {found.group(0) if found else said[-200:].strip()}"
        )
    kernels = tuple(f.name for f in program.module.functions("global"))
    offset = text[: text.index(FIRST)].count("\n") + 1
    return BuiltProgram(folder, task, workload, kernels, offset, ptxas_report(said), built.seconds)


def put_inputs(built: BuiltProgram, inputs: Mapping[str, Array]) -> list[str]:
    """Write the inputs beside the program; the arguments that name them."""
    arguments = []
    for tensor in built.task.inputs:
        np.ascontiguousarray(inputs[tensor.name]).tofile(built.folder / f"{tensor.name}.in")
        arguments += ["--in", f"{tensor.name}={tensor.name}.in"]
    return arguments


async def run_program(
    built: BuiltProgram, inputs: Mapping[str, Array], repeats: int = 1
) -> tuple[dict[str, Array], list[float]]:
    """Outputs as flat float32 arrays, and the milliseconds of each repetition. Raises ProgramFailure, also
    for a damaged guard."""
    arguments = [*put_inputs(built, inputs), "--repeats", str(repeats), "--times", "times"]
    for tensor in built.task.outputs:
        arguments += ["--out", f"{tensor.name}={tensor.name}.out"]
    run = await sandbox.run([*built.command, *arguments], cwd=built.folder, limits=LIMITS)
    if not run.ok:
        tail = (run.stderr.strip().splitlines() or [""])[-1][:200]
        raise ProgramFailure(f"the program {run.reason(LIMITS)}: {tail}")
    outputs = {}
    for tensor in built.task.outputs:
        words = np.fromfile(built.folder / f"{tensor.name}.out", np.uint32)
        edge = RED_ZONE // 4
        if not (np.all(words[:edge] == POISON) and np.all(words[-edge:] == POISON)):
            raise ProgramFailure(f"OUT OF BOUNDS: a write outside {tensor.name} damaged its guard")
        outputs[tensor.name] = words[edge:-edge].view(np.float32)
    times = [float(t) for t in (built.folder / "times").read_text(encoding="ascii").split()]
    return outputs, times


async def counters(built: BuiltProgram, inputs: Mapping[str, Array]) -> dict[str, float]:
    """What the hardware counted in one call: bytes of device memory, floating-point operations, warps
    resident, share of the peak. Raises ToolsMissing, and ProgramFailure where counters are not permitted."""
    needed("ncu")
    command = [
        "ncu",
        "--clock-control",
        "none",
        "--csv",
        "--page",
        "raw",
        "--print-units",
        "base",
        "--metrics",
        METRICS,
    ]
    arguments = [*put_inputs(built, inputs), "--warmup", "0", "--repeats", "1"]
    run = await sandbox.run([*command, *built.command, *arguments], cwd=built.folder, limits=LIMITS)
    said = run.stdout + run.stderr
    if "ERR_NVGPUCTRPERM" in said:
        raise ProgramFailure("ncu may not read the counters of this GPU (ERR_NVGPUCTRPERM)")
    found = read_counters(run.stdout, built.kernels)
    if not run.ok or not found:
        tail = next((x for x in said.splitlines() if "==ERROR==" in x), said.strip()[-200:])
        raise ProgramFailure(f"ncu {run.reason(LIMITS) if not run.ok else 'counted nothing'}: {tail}")
    return found


def read_counters(text: str, kernels: Sequence[str]) -> dict[str, float]:
    """The sums over the launches of `kernels` in ncu's raw CSV; empty when there are none."""
    lines = text.splitlines()
    start = next((k for k, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return {}
    head, _units, *rows = list(csv.reader(lines[start:]))
    name = head.index("Kernel Name")
    mine = [
        r
        for r in rows
        if len(r) == len(head) and re.split(r"[(<]", r[name].removeprefix("void "))[0] in kernels
    ]
    if not mine:
        return {}

    def total(metric: str) -> float:
        place = head.index(metric)
        return sum(float(r[place].replace(",", "") or 0) for r in mine)

    flops = sum(
        weight * total(f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum")
        for op, weight in _OPERATIONS.items()
    )
    return {
        "ncu_dram_bytes": total("dram__bytes_read.sum") + total("dram__bytes_write.sum"),
        "ncu_flops": flops,
        "ncu_warps_active_pct": total("sm__warps_active.avg.pct_of_peak_sustained_active") / len(mine),
        "ncu_sm_throughput_pct": total("sm__throughput.avg.pct_of_peak_sustained_elapsed") / len(mine),
        "ncu_kernel_ms": total("gpu__time_duration.sum") / 1e6,
        "ncu_launches": float(len(mine)),
    }
