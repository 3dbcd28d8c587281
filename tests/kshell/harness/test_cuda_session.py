"""A whole session on device cuda, two simulated GPUs: every candidate measured, each GPU one at a time."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agents.builtin import BuiltinGenerator
from insights_db.store import Store
from kshell import events as ev
from kshell import tasks
from kshell.engine.session import Session, drain
from kshell.engine.settings import Settings
from kshell.errors import UserError
from kshell.harness.cuda import CudaEvaluator, Timer
from kshell.harness.cuda_link import WorkerLink
from kshell.tasks import reference
from tests.kshell.engine import fakes


def session(store: Store, folder: Path, *gpus: str) -> tuple[Session, list[WorkerLink]]:
    fake = Path(__file__).with_name("fake_worker.py")
    links = [WorkerLink(gpu, (sys.executable, str(fake), str(folder / "log"))) for gpu in gpus]
    task = tasks.get("relu")
    parts = replace(
        fakes.parts(fakes.Journal()),
        evaluator=CudaEvaluator(reference.compute, links=links, timer=Timer(samples=20)),
        generator=BuiltinGenerator(tasks.spec_of),
        verifiers=(),
    )
    made = Session(
        store=store,
        name="s",
        task=task,
        workload=task.workload(n=5000),
        settings=Settings(rounds=2, group=3, device="cuda", prove="never"),
        parts=parts,
        exports=folder,
    )
    return made, links


async def test_a_session_uses_both_gpus_and_leaves_no_worker(tmp_path: Path) -> None:
    with Store(tmp_path / "kshell.db") as store:
        made, links = session(store, tmp_path, "0", "1")
        events = await drain(made)
    started = next(e for e in events if isinstance(e, ev.SessionStarted))
    assert started.device == "cuda"
    measured = made.state.ranked()
    assert len(measured) == len(made.state.candidates) == 6
    assert all(k.profile and k.profile.device.startswith("Fake GPU") for k in measured)
    assert {row.split()[0] for row in (tmp_path / "log").read_text().splitlines()} == {"0", "1"}
    assert all(link._process is None for link in links), "the session ended its workers"


async def test_a_host_without_a_working_gpu_ends_the_session_with_the_reason(tmp_path: Path) -> None:
    with Store(tmp_path / "kshell.db") as store:
        made, _ = session(store, tmp_path, "lost")
        with pytest.raises(UserError, match="the cuda device failed on every candidate of round 1"):
            await drain(made)
