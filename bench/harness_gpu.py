"""The harness itself on a GPU host, in one call: does it refuse what it must, and does it agree with itself?

    python bench/harness_gpu.py --out FOLDER [--steps facts,checks,...] [--seconds 400]

Steps: `facts` (device, driver, tools, measured ceilings), `checks` (at the same time: the known cheats on
device cuda, the nvcc program against the worker, compute-sanitizer on right and on wrong kernels), `faults`
(an illegal access, an endless kernel, and what comes after), `session` (the command line on device cuda),
`times` (registers, occupancy, share of the roofline, eager, compiled torch and the vendor library in one
run), `counters` (ncu), `validator` (its score on the labelled set). Needs torch, cupy, numpy, lark, pydantic,
sqlite-utils and the CUDA toolkit. The JSON is written after every item: a run cut off loses one."""

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from agents import synthesis
from agents.protocols import Verifier
from insights_db.records import Candidate
from kshell import tasks
from kshell.bench import bugs, cheats, mutants, verifier
from kshell.engine.promotion import digest
from kshell.harness import cuda
from kshell.harness.cuda import CudaEvaluator, Timer
from kshell.harness.exported import build_program, counters, run_program
from kshell.harness.sanitizers import AgreementVerifier, SanitizerVerifier
from kshell.tasks import reference
from semantics.task import Task, Workload

ROOT = Path(__file__).resolve().parent.parent
STEPS = {
    "facts": 60.0,
    "checks": 120.0,
    "faults": 45.0,
    "session": 90.0,
    "times": 110.0,
    "counters": 60.0,
    "validator": 50.0,
}
"""Seconds each step may take."""
AT_ONCE = 7
"""Programs under the sanitizer, or built by nvcc, at the same time."""
TIMED: dict[str, dict[str, int]] = {
    "relu": {"n": 67108864},
    "softmax": {"rows": 4096, "n": 16384},
    "layernorm": {"rows": 4096, "n": 16384},
    "gemv": {"M": 16384, "N": 8192},
    "gemm": {"M": 4096, "K": 4096, "N": 4096},
    "linear": {"batch": 4096, "hin": 2048, "hout": 4096},
    "batch_matmul": {"b": 32, "M": 512, "K": 512, "N": 512},
    "conv2d": {"batch": 16, "cin": 64, "cout": 64, "H": 64},
}
SANITIZED_TASKS = ("relu", "softmax", "layernorm", "gemm", "gemv", "conv2d")
SANITIZED_FAULTS = ("RACE", "OUT OF BOUNDS", "UNINITIALISED READ", "DIVERGENT BARRIER", "MISALIGNED")
OUT_OF_BOUNDS = """\
__global__ void relu(const float* __restrict__ x, float* __restrict__ y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaxf(x[i + 2000000000], 0.0f);
}
void launch(const float* x, float* y, int n) { relu<<<(n + 255) / 256, 256>>>(x, y, n); }
"""
ENDLESS = """\
__global__ void relu(const float* __restrict__ x, float* __restrict__ y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = x[0];
    for (int j = 0; j < 1000000; j++) {
        for (int k = 0; k < 1000000; k++) a = a * 0.999f + 0.001f;
    }
    if (i < n) y[i] = fmaxf(x[i], 0.0f) * a;
}
void launch(const float* x, float* y, int n) { relu<<<(n + 255) / 256, 256>>>(x, y, n); }
"""


class Record:
    """What was found, kept in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data: dict[str, Any] = {"started_at": _now()}

    def put(self, step: str, item: dict[str, Any]) -> None:
        """Add an item to a step's list and write everything."""
        self.data.setdefault(step, []).append(item)
        self.write()

    def write(self) -> None:
        """The file, with the time of writing."""
        text = json.dumps(self.data | {"measured_at": _now()}, indent=1, default=str)
        self.path.write_text(text + "\n", encoding="utf-8")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def candidate_of(source: str, task: str, family: str = "") -> Candidate:
    """The record of a source."""
    return Candidate(
        id=digest(source)[:12], source=source, task=task, round=0, index=0, proposer="bench", family=family
    )


def said_by(*command: str) -> str:
    """What a program of the host prints, or why it does not."""
    if shutil.which(command[0]) is None:
        return "not on PATH"
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    return (done.stdout or done.stderr).strip()[-400:]


class Run:
    """One run of the bench on one evaluator."""

    def __init__(self, record: Record, gpu: CudaEvaluator) -> None:
        self.record = record
        self.gpu = gpu

    async def step(self, name: str, limit: float) -> None:
        """A step under its limit; what goes wrong is recorded and the next step goes on."""
        started = time.monotonic()
        trouble = ""
        try:
            async with asyncio.timeout(limit):
                await getattr(self, name)()
        except TimeoutError:
            trouble = f"cut off after {limit:g} s"
        except Exception as error:
            trouble = f"{type(error).__name__}: {error}"
        seconds = round(time.monotonic() - started, 1)
        self.record.put("steps", {"step": name, "seconds": seconds, "trouble": trouble})
        print(f"== {name}: {seconds} s {trouble}", flush=True)

    async def facts(self) -> None:
        """The device, the driver, the tools."""
        query = "name,driver_version,memory.total,clocks.sm,clocks.mem,clocks.max.sm"
        self.record.data["nvidia_smi"] = said_by(
            "nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"
        )
        self.record.data["tools"] = {
            "nvcc": said_by("nvcc", "--version"),
            "ncu": said_by("ncu", "--version"),
            "compute-sanitizer": said_by("compute-sanitizer", "--version"),
        }
        self.record.data["ceilings"] = await self.gpu.ceilings()
        self.record.data["device"] = self.gpu.facts
        self.record.write()
        print(self.record.data["nvidia_smi"], self.record.data["ceilings"], flush=True)

    async def checks(self) -> None:
        """Cheats through the worker; meanwhile nvcc and the sanitizer on the processor's cores."""
        turns = asyncio.Semaphore(AT_ONCE)
        jobs = [self._cheats()]
        for task, workload, name, source in originals():
            if name.endswith("(plainest)"):
                it: Verifier = AgreementVerifier(self.gpu.outputs)
                jobs.append(self._attacked(turns, "program", it, task, workload, name, source, False))
        for task, workload, name, source in originals():
            if task.name in SANITIZED_TASKS and name.endswith("(plainest)"):
                it = SanitizerVerifier()
                jobs.append(self._attacked(turns, "sanitizer", it, task, workload, name, source, False))
        for bug in sanitized_bugs():
            task = tasks.load(bug.task)
            it = SanitizerVerifier()
            axes = task.workload(**bug.axes)
            wrong = bug.fault is not None
            jobs.append(
                self._attacked(turns, "sanitizer", it, task, axes, bug.name, bug.source, wrong, bug.fault)
            )
        await asyncio.gather(*jobs)

    async def _cheats(self) -> None:
        for sample in cheats.samples():
            outcome = await cheats.attempt(sample, self.gpu)
            item = cheats.summary([outcome], "cuda")["results"][0]
            self.record.put("cheats", item)
            if not outcome.right:
                print(f"BAD cheat {sample.name}: {outcome.layer}: {outcome.reason}", flush=True)

    async def _attacked(
        self,
        turns: asyncio.Semaphore,
        step: str,
        it: Verifier,
        task: Task,
        workload: Workload,
        name: str,
        source: str,
        wrong: bool,
        fault: str | None = None,
    ) -> None:
        async with turns:
            item: dict[str, Any] = {"name": name, "task": task.name, "wrong": wrong, "fault": fault or ""}
            try:
                verdict = await it.attack(candidate_of(source, task.name), task, workload)
            except Exception as error:
                item["trouble"] = f"{type(error).__name__}: {error}"
            else:
                found = verdict.counterexample
                item |= {"seconds": round(verdict.seconds, 1), "effort": verdict.effort}
                item["found"] = "" if found is None else f"{found.fault}: {found.message}"
                item["lines"] = [p.line for p in found.points] if found else []
                item["right"] = (found is not None) == wrong
        self.record.put(step, item)
        if not item.get("right") and not wrong:
            print(f"BAD {step} {name}: {item}", flush=True)

    async def faults(self) -> None:
        """Kernels that take the device down, and an honest one after each."""
        task = tasks.get("relu")
        honest = next(s for s in cheats.samples() if s.layer == "none").source
        cuda.RUN_LIMIT_S, kept = 5.0, cuda.RUN_LIMIT_S
        try:
            kernels = (("illegal access", OUT_OF_BOUNDS), ("endless", ENDLESS), ("honest", honest))
            for name, source in (kernels[0], kernels[2], kernels[1], kernels[2]):
                started = time.monotonic()
                candidate = candidate_of(source, task.name)
                compiled = await self.gpu.compile(candidate, task, task.workload())
                result = await self.gpu.validate(candidate, task, task.workload(), compiled)
                fault = result.counterexample.fault if result.counterexample else ""
                seconds = round(time.monotonic() - started, 1)
                item = {"kernel": name, "ok": result.ok, "fault": fault, "reason": result.reason}
                self.record.put("faults", item | {"seconds": seconds})
                print(item, seconds, flush=True)
            work = asyncio.create_task(
                self.gpu.outputs(ENDLESS, task, task.workload(), {"x": np.ones(16384, np.float32)})
            )
            await asyncio.sleep(3)
            started = time.monotonic()
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            item = {"kernel": "endless, cancelled", "seconds": round(time.monotonic() - started, 3)}
            self.record.put("faults", item)
            print(item, flush=True)
        finally:
            cuda.RUN_LIMIT_S = kept

    async def session(self) -> None:
        """The commands a person types, on device cuda: the cheats, and a session without proofs."""
        caps = ("--rounds", "2", "--group", "3", "--seed", "1", "--device", "cuda", "--prove", "never")
        commands = (
            ("bench", "cheats", "--device", "cuda", "--only", "0", "--json"),
            ("run", "relu", "softmax", "gemm", *caps, "--headless"),
        )
        for words in commands:
            started = time.monotonic()
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "kshell", *words),
                cwd=ROOT,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            said = b""
            try:
                said, _ = await process.communicate()
            finally:
                if process.returncode is None:
                    process.kill()
                seconds = round(time.monotonic() - started, 1)
                item = {"command": " ".join(words), "status": process.returncode, "seconds": seconds}
                self.record.put("session", item | {"said": said.decode("utf-8", "replace")[-6000:]})
                print(item, said.decode("utf-8", "replace")[-1500:], flush=True)

    async def times(self) -> None:
        """The best kernel known of each task, or the plainest, against every baseline."""
        self.gpu.timer = Timer(samples=40, baselines=("eager", "compile", "vendor"), compile_mode="default")
        for name, axes in TIMED.items():
            task = tasks.get(name)
            workload = task.workload(**axes)
            family, source = best_known(task, workload)
            candidate = candidate_of(source, name, family)
            compiled = await self.gpu.compile(candidate, task, workload)
            item = {"task": name, "axes": workload.axes, "family": family, "source": source}
            item |= {"report": compiled.report, "diagnostics": compiled.diagnostics}
            if compiled.ok:
                profile = await self.gpu.profile(candidate, task, workload, compiled)
                item["profile"] = profile.model_dump()
                print(time_line(name, item), flush=True)
            self.record.put("times", item)

    async def counters(self) -> None:
        """ncu and ptxas on the exported program of some kernels, and the program's own times."""
        for name in ("relu", "softmax", "gemv", "gemm"):
            task = tasks.get(name)
            workload = task.workload(**TIMED[name])
            family, source = best_known(task, workload)
            item: dict[str, Any] = {"task": name, "axes": workload.axes, "family": family}
            try:
                with tempfile.TemporaryDirectory() as temporary:
                    built = await build_program(source, task, workload, Path(temporary))
                    drawn = await asyncio.to_thread(synthesis.draw, task, workload, "normal", 1)
                    item["ptxas"] = built.report
                    _, item["program_ms"] = await run_program(built, drawn, 20)
                    item["ncu"] = await counters(built, drawn)
                    flops, moved = task.work(workload)
                    item["counted"] = {"flops": flops, "bytes": moved}
            except Exception as error:
                item["trouble"] = f"{type(error).__name__}: {error}"
            self.record.put("counters", item)
            print(item, flush=True)

    async def validator(self) -> None:
        """The validator alone, on this device, over the bugs, their twins and the right kernels."""
        for kernel in verifier.labelled():
            if kernel.task.work(kernel.workload)[1] > 1 << 26:
                continue
            candidate = candidate_of(kernel.source, kernel.task.name)
            compiled = await self.gpu.compile(candidate, kernel.task, kernel.workload)
            reason = compiled.diagnostics
            if compiled.ok:
                result = await self.gpu.validate(candidate, kernel.task, kernel.workload, compiled)
                reason = result.reason
            self.record.put("validator", {"name": kernel.name, "wrong": kernel.wrong, "said": reason[:200]})


def originals() -> list[tuple[Task, Workload, str, str]]:
    """The families of every task at their conservative schedule; the first of a task is marked."""
    found = []
    seen: set[str] = set()
    for original in mutants.originals([], 2):
        mark = "" if original.task.name in seen else " (plainest)"
        seen.add(original.task.name)
        name = f"{original.task.name} {original.variant}{mark}"
        found.append((original.task, original.workload, name, original.source))
    return found


def sanitized_bugs() -> list[bugs.Sample]:
    """Bugs of the kinds the tools look for, at most six a kind, and the twins of some. Not all are in the
    tools' reach: racecheck and initcheck look at one kind of memory each."""
    chosen: list[bugs.Sample] = []
    for kind in SANITIZED_FAULTS:
        chosen += [s for s in bugs.samples() if s.fault == kind][:6]
    stems = {s.name.split(".")[0] for s in chosen[::3]}
    return chosen + [s for s in bugs.samples() if s.fault is None and s.name.split(".")[0] in stems]


def best_known(task: Task, workload: Workload) -> tuple[str, str]:
    """Family and source of the fastest kernel in the recorded search, else the last family's plain one."""
    recorded = json.loads((ROOT / "bench" / "results" / "gpu_h200.json").read_text(encoding="utf-8"))
    for result in recorded["results"]:
        timed = [t for t in result["timed"] if t["profile"] and t["profile"]["ok"]]
        if result["task"] == task.name and timed:
            return str(timed[-1]["family"]), str(timed[-1]["source"])
    *_, last = mutants.originals([task.name], 100)
    return last.variant, last.source


def time_line(name: str, item: dict[str, Any]) -> str:
    """A row a person can read."""
    profile = item["profile"]
    if not profile["ok"]:
        return f"{name}: {profile['reason']}"
    rest = {k: round(v, 4) for k, v in profile["counters"].items() if k.endswith("_ms")}
    return (
        f"{name:13} {item['family']:24} {profile['median_ms']:.4f} ms, roofline {profile['roofline']:.2f}, "
        f"occupancy {item['report']['occupancy']:.2f}, {rest}"
    )


def summary(data: dict[str, Any]) -> dict[str, Any]:
    """Counts of what was right, a step."""
    found = {}
    for step in ("cheats", "program"):
        items = data.get(step, [])
        found[step] = {"right": sum(bool(i.get("right")) for i in items), "total": len(items)}
    items = data.get("sanitizer", [])
    found["sanitizer"] = {
        "wrong": sum(i["wrong"] for i in items),
        "wrong_found": sum(i["wrong"] and bool(i.get("found")) for i in items),
        "right": sum(not i["wrong"] for i in items),
        "right_accused": sum(not i["wrong"] and bool(i.get("found")) for i in items),
        "not_found": [f"{i['name']} ({i['fault']})" for i in items if i["wrong"] and not i.get("found")],
    }
    judged = data.get("validator", [])
    hits = sum(i["wrong"] and bool(i["said"]) for i in judged)
    found["validator"] = {
        "total": len(judged),
        "wrong": sum(i["wrong"] for i in judged),
        "wrong_refused": hits,
        "right_refused": sum(not i["wrong"] and bool(i["said"]) for i in judged),
    }
    return found


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the JSON file")
    parser.add_argument("--steps", default=",".join(STEPS))
    parser.add_argument("--seconds", type=float, default=400.0, help="time for everything")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    record = Record(options.out / "harness_gpu.json")
    end = time.monotonic() + options.seconds
    gpu = CudaEvaluator(partial(reference.compute, device="cuda"))
    run = Run(record, gpu)
    for name in options.steps.split(","):
        left = end - time.monotonic()
        if left > 5:
            await run.step(name, min(STEPS[name], left))
    record.data["summary"] = summary(record.data)
    record.write()
    print(json.dumps(record.data["summary"]), flush=True)
    await gpu.close()
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
