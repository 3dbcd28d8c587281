"""Records the session that the pictures and the snapshot tests show: `python docs/record.py FILE.jsonl`.

A real session of softmax on device cpu: the built-in generator, the real compiler, validator, profiler,
falsifier and Lean prover. One place of its second round is given to `RACY`, a kernel whose threads
all store one value to one place: no run of it gives a wrong result, and the falsifier finds the race. A
person's note and pin are in the record too. Paths of the machine that recorded it are shortened."""

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from agents.protocols import GenerationContext, Generator, Proposal
from kshell import events as ev
from kshell.engine.session import Session
from kshell.engine.settings import Settings

ROOT = Path(__file__).parents[1]
NAME = "softmax-1"
SETTINGS = Settings(rounds=3, group=4, seed=1, attack_top=4, proof_seconds=600)
SIZES = {"rows": 1, "n": 8192}
NOTE = "softmax-block-warps"
RACY = """\
__global__ void softmax(const float* x, float* y, int n) {
    __shared__ float s[128];
    __shared__ float top;
    __shared__ float scale;
    int t = threadIdx.x;
    int row = blockIdx.x * n;
    float m = -INFINITY;
    for (int i = t; i < n; i += 128) m = fmaxf(m, x[row + i]);
    s[t] = m;
    __syncthreads();
    for (int k = 64; k > 0; k /= 2) {
        if (t < k) s[t] = fmaxf(s[t], s[t + k]);
        __syncthreads();
    }
    if (t == 0) top = s[0];
    __syncthreads();
    float sum = 0.0f;
    for (int i = t; i < n; i += 128) sum += expf(x[row + i] - top);
    s[t] = sum;
    __syncthreads();
    for (int k = 64; k > 0; k /= 2) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    scale = 1.0f / s[0];
    for (int i = t; i < n; i += 128) y[row + i] = expf(x[row + i] - top) * scale;
}

void launch(const float* x, float* y, int rows, int n) {
    softmax<<<rows, 128>>>(x, y, n);
}
"""


class WithRacy:
    """A generator whose last proposal of the second round is `RACY`."""

    def __init__(self, inner: Generator) -> None:
        self.name = inner.name
        self._inner = inner

    async def propose(self, context: GenerationContext) -> list[Proposal]:
        """As the inner one, but for that one place."""
        made = await self._inner.propose(context)
        if context.round == 2:
            told = "broadcast the scale through shared memory"
            made[-1] = Proposal(source=RACY, proposer="by hand", family="by hand", strategy=told)
        return made


async def recorded(folder: Path) -> list[ev.Event]:
    """The events of the session, run in a data folder of its own."""
    from insights_db.store import Store
    from kshell import wiring

    parts = wiring.parts(SETTINGS)
    task = wiring.task("softmax")
    with Store(folder / "kshell.db") as store:
        session = Session(
            store=store,
            name=NAME,
            task=task,
            workload=task.workload(SETTINGS.seed, **SIZES),
            settings=SETTINGS,
            parts=replace(parts, generator=WithRacy(parts.generator)),
            exports=folder / "exports" / NAME,
        )
        out: list[ev.Event] = []
        async with aclosing(session.run()) as stream:
            async for event in stream:
                out.append(event)
                print(f"{event.elapsed:8.1f} {event.kind}", file=sys.stderr)
                if isinstance(event, ev.RoundFinished) and event.round == 1 and event.best:
                    session.control.act("note", NOTE)
                    session.control.act("pin", event.best)
        return out


def shortener(folder: Path) -> Callable[[str], str]:
    """Replaces paths of this machine in an event's JSON: the data folder, the checkout, the compiler."""

    def shorten(text: str) -> str:
        for path, name in ((folder, "~/.local/share/kshell"), (ROOT, "."), (Path.home(), "~")):
            text = text.replace(str(path), name)
        return re.sub(r"/usr/(local/)?bin/", "", text)

    return shorten


def main(target: Path) -> None:
    """Record, and write one event a line."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["KSHELL_HOME"] = name
        events = asyncio.run(recorded(folder))
        shorten = shortener(folder)
        lines = [ev.parse(shorten(event.model_dump_json())).model_dump_json() for event in events]
    target.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    print(target)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
