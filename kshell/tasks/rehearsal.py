"""A rehearsal of a task's data synthesis: inputs of every distribution are drawn and given to the reference,
in a process of its own, under limits. It never sees a candidate."""

import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kshell.errors import UserError
from kshell.harness import sandbox
from semantics.task import Task

_WORK = 2_000_000
_LIMITS = sandbox.Limits(wall_s=120.0, cpu_s=240)


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What the inputs and outputs of one distribution look like, one line; `doubt` says what is odd."""

    distribution: str
    line: str
    doubt: str = ""


async def rehearse(task: Task) -> list[Rehearsed]:
    """Run the rehearsal of a task. Raises UserError when the reference does not run on its inputs."""
    with tempfile.TemporaryDirectory(prefix="kshell-") as folder:
        manifest = Path(folder) / "task.json"
        manifest.write_text(task.model_dump_json(), encoding="utf-8")
        done = await sandbox.run(
            [sys.executable, "-m", "kshell.tasks.rehearsal", str(manifest)],
            cwd=Path(folder),
            limits=_LIMITS,
            env={"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "KSHELL_HOME": folder},
        )
    if not done.ok:
        said = done.stderr.strip().splitlines()
        why = said[-1] if said and done.code == 2 else done.reason(_LIMITS)
        raise UserError(f"task {task.name}: the rehearsal of its data failed: {why[:300]}")
    return [Rehearsed(**line) for line in json.loads(done.stdout)]


def _run(path: str) -> int:
    """The process: prints a JSON list, one entry a distribution. 2: the task is at fault."""
    import numpy as np

    from agents import synthesis
    from kshell.harness.cases import shrunk
    from kshell.tasks.reference import ReferenceFailure, compute

    task = Task.model_validate_json(Path(path).read_text(encoding="utf-8"))
    workload = shrunk(task, task.workload(), _WORK)
    found = []
    try:
        for name in synthesis.distributions(task):
            arrays = synthesis.draw(task, workload, name, 0)
            outputs = compute(task, workload, arrays)
            parts, doubts = [], []
            for output, values in outputs.items():
                low, high = float(np.min(values)), float(np.max(values))
                parts.append(f"{output} {low:.3g} to {high:.3g}")
                if not np.isfinite(values).all():
                    doubts.append(f"{output} is not finite")
            found.append({"distribution": name, "line": ", ".join(parts), "doubt": ", ".join(doubts)})
    except (ReferenceFailure, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(_run(sys.argv[1]))
