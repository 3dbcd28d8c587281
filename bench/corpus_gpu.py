"""Does a GPU compute what the interpreter computes? Three steps, the middle one on the GPU host:

    python bench/corpus_gpu.py prepare FOLDER    # here: requests, inputs, the interpreter's outputs
    python bench/corpus_gpu.py run FOLDER        # there: needs cupy and numpy only
    python bench/corpus_gpu.py compare FOLDER --out bench/results/corpus_gpu.json

The kernels: the language corpus, the correct kernels of the bug corpus, kernels generated at random, and a
kernel of each family of each task. Both sides compute in float32; sums are ordered alike, but a GPU fuses
multiplications into additions and has its own exp, so the comparison allows 2e-5 of the value and 4e-6
of the largest value."""

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

if TYPE_CHECKING:
    from semantics.task import Task, Workload

RTOL, SCALE = 2e-5, 4e-6
SMALL = {"rows": 3, "n": 333, "M": 37, "N": 45, "K": 50, "b": 2, "batch": 2, "hin": 50, "hout": 37, "H": 9}
FEW = {"cin": 3, "cout": 4, "c": 5}

Case = tuple[str, str, "Task", "Workload", dict[str, Any]]


def cases() -> Iterator[Case]:
    """Name, source, task, workload and inputs of every kernel."""
    from agents import synthesis
    from kshell import tasks
    from kshell.bench import bugs, mutants
    from tests.semantics import corpus_tasks, random_kernels

    for path in corpus_tasks.kernels():
        task = corpus_tasks.task_of(path)
        inputs = corpus_tasks.inputs_of(task)
        yield f"corpus {path.stem}", path.read_text(encoding="utf-8"), task, task.workload(), inputs
    for seed in range(24):
        task = random_kernels.TASK
        inputs = random_kernels.inputs_of_seed(seed)
        yield f"random {seed}", random_kernels.random_kernel(seed), task, task.workload(), inputs
    for sample in bugs.samples():
        if sample.fault is None:
            task = tasks.load(sample.task)
            large = max(sample.axes.values()) > 5000
            workload = task.workload() if large else task.workload(**sample.axes)
            yield sample.name, sample.source, task, workload, synthesis.draw(task, workload, "normal", 1)
    for original in mutants.originals([], 100):
        task = original.task
        axes = {a: {**SMALL, **FEW}.get(a, n) for a, n in task.axes.items()}
        workload = task.workload(**axes)
        inputs = synthesis.draw(task, workload, "normal", 2)
        yield f"{task.name} {original.variant}", original.source, task, workload, inputs


def prepare(folder: Path) -> int:
    """Write a request for each kernel, its inputs, and what the interpreter computes in float32."""
    from scaffolds.cuda.device import device_text, plan_json
    from semantics.interp import run
    from semantics.program import load

    folder.mkdir(parents=True, exist_ok=True)
    requests = []
    for number, (name, source, task, workload, inputs) in enumerate(cases()):
        program = load(source)
        plan = program.plan(task, workload)
        result = run(plan, inputs, precision="float32")
        if result.faults:
            raise SystemExit(f"{name}: {result.faults[0]}")
        device = device_text(program.module)
        files: dict[str, dict[str, str]] = {"inputs": {}, "outputs": {}}
        for tensor in task.inputs:
            if tensor.name in plan.buffers:
                files["inputs"][tensor.name] = f"{number}-{tensor.name}.npy"
                np.save(folder / f"{number}-{tensor.name}.npy", np.asarray(inputs[tensor.name], np.float32))
        for tensor in task.outputs:
            files["outputs"][tensor.name] = f"{number}-{tensor.name}.out.npy"
            np.save(folder / f"{number}-{tensor.name}.expected.npy", result.outputs[tensor.name])
        requests.append(
            {
                "name": name,
                "hash": hashlib.sha256(source.encode()).hexdigest()[:16],
                "axes": workload.axes,
                "load": {
                    "text": device.text,
                    "kernels": list(device.kernels),
                    "plan": json.loads(plan_json(plan, task, device)),
                },
                "files": files,
            }
        )
    (folder / "requests.json").write_text(json.dumps(requests), encoding="utf-8")
    print(f"{len(requests)} kernels in {folder}")
    return 0


def run_there(folder: Path, out: Path) -> int:
    """Run every request on the GPU of this host; two files go to `out`: outputs and answers."""
    from kshell.harness.cuda_worker import Refused, Worker

    out.mkdir(parents=True, exist_ok=True)
    worker = Worker()
    outputs: dict[str, Any] = {}
    answers: list[dict[str, Any]] = []
    started = time.monotonic()
    for request in json.loads((folder / "requests.json").read_text(encoding="utf-8")):
        files = request["files"]
        placed = {
            "inputs": {n: str(folder / f) for n, f in files["inputs"].items()},
            "outputs": {n: str(folder / f) for n, f in files["outputs"].items()},
        }
        try:
            loaded = worker.load(request["load"])
            answer = worker.run({"sets": [placed]})["sets"][0]
            answers.append({"name": request["name"], **answer, "report": loaded["report"]})
            outputs |= {f: np.load(folder / f) for f in files["outputs"].values()}
        except Refused as refused:
            answers.append({"name": request["name"], "refused": str(refused)})
    facts = {"device": worker.hello({}), "seconds": time.monotonic() - started, "answers": answers}
    np.savez(out / "outputs.npz", **outputs)
    (out / "answers.json").write_text(json.dumps(facts), encoding="utf-8")
    print(f"{len(answers)} kernels ran on {facts['device']['name']} in {facts['seconds']:.1f} s")
    return 0


def compare(folder: Path, there: Path, out: Path) -> int:
    """Compare and write the record. Exit code 1 when any kernel differs."""
    facts = json.loads((there / "answers.json").read_text(encoding="utf-8"))
    requests = json.loads((folder / "requests.json").read_text(encoding="utf-8"))
    with np.load(there / "outputs.npz") as outputs:
        rows = [_compared(r, a, folder, outputs) for r, a in zip(requests, facts["answers"], strict=True)]
    wrong = [row for row in rows if not row["agrees"]]
    record = {
        "device": facts["device"],
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "rtol": RTOL,
        "atol_of_largest": SCALE,
        "kernels": len(rows),
        "agree": len(rows) - len(wrong),
        "results": rows,
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    for row in wrong:
        print(f"differs: {row['name']}: {row}")
    print(f"{record['agree']} of {len(rows)} kernels agree on {facts['device']['name']}")
    return 1 if wrong else 0


def _compared(request: dict[str, Any], answer: dict[str, Any], folder: Path, outputs: Any) -> dict[str, Any]:
    row = {"name": request["name"], "source_hash": request["hash"], "axes": request["axes"]}
    if "refused" in answer:
        return {**row, "agrees": False, "refused": answer["refused"]}
    worst, agrees = 0.0, answer["inputs_intact"] and all(answer["guards"].values())
    for file in request["files"]["outputs"].values():
        got = outputs[file].astype(np.float64)
        want = np.load(folder / file.replace(".out.", ".expected.")).astype(np.float64)
        scale = float(np.abs(want).max(initial=0.0))
        error = np.abs(got - want)
        agrees &= bool((error <= RTOL * np.abs(want) + SCALE * scale).all())
        worst = max(worst, float(error.max(initial=0.0)) / max(scale, 1e-30))
    return {**row, "agrees": agrees, "largest_error_of_largest_value": worst}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("prepare", "run", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--there", type=Path, help="where `run` puts what the GPU computed (default: FOLDER)")
    parser.add_argument("--out", type=Path, default=Path("bench/results/corpus_gpu.json"))
    args = parser.parse_args()
    there = args.there or args.folder
    if args.step == "prepare":
        return prepare(args.folder)
    if args.step == "run":
        return run_there(args.folder, there)
    return compare(args.folder, there, args.out)


if __name__ == "__main__":
    raise SystemExit(main())
