"""The demo, end to end: the command of `make demo`, on this machine, with nothing replaced."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kshell import events as ev
from kshell.engine.state import SessionState

ROOT = Path(__file__).parent.parent


def demo_words() -> list[str]:
    """The words after `kshell` in the Makefile's demo."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    found = re.search(r"^demo:.*\n\t@\$\(BIN\)/kshell (.*)$", text, flags=re.MULTILINE)
    assert found is not None
    return shlex.split(found[1])


@pytest.mark.slow
@pytest.mark.lean
@pytest.mark.timeout(1200)
@pytest.mark.xdist_group("lean")
def test_the_demo_evolves_proves_promotes_and_exports(tmp_path: Path) -> None:
    environment = {**os.environ, "KSHELL_HOME": str(tmp_path), "KSHELL_CONFIG": str(tmp_path / "none.toml")}

    def kshell(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "kshell", *words]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )

    done = kshell(*demo_words(), "--json")
    assert done.returncode == 0, done.stderr
    sessions: list[SessionState] = []
    for line in done.stdout.splitlines():
        event = ev.parse(line)
        if isinstance(event, ev.SessionStarted):
            sessions.append(SessionState())
        sessions[-1].apply(event)

    assert [state.task for state in sessions] == ["relu", "softmax", "gemm"]
    assert all(state.finished and not state.finished.interrupted for state in sessions)
    assert all(state.best is not None for state in sessions)
    assert not any(problem.fatal for state in sessions for problem in state.problems)

    promoted = [known for state in sessions for known in state.promoted]
    assert promoted
    for known in promoted:
        assert known.proof is not None and known.proof.obligations
        certificate = json.loads((Path(known.export) / "certificate.json").read_text())
        assert certificate["source"] == known.candidate.source
        assert {"kernel.cu", "proof.lean", "README.txt"} <= {p.name for p in Path(known.export).iterdir()}

    gains = [
        state.rounds[1].best_ms / last.best_ms
        for state in sessions
        if (last := state.rounds[max(state.rounds)]).best_ms and state.rounds[1].best_ms
    ]
    assert len(gains) == 3 and max(gains) > 1.05

    told = kshell("replay", sessions[-1].session, "--headless").stdout
    for known in sessions[-1].ranked()[:3]:
        if not known.promoted:
            assert re.search(rf"{known.id} .*: validated, unproven: \S", told)
    audited = kshell("audit", str(Path(promoted[0].export) / "certificate.json"))
    assert audited.returncode == 0, audited.stdout + audited.stderr
