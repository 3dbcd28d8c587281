"""A model's kernel and a model's proof, from the first prompt to the audit. Only the model is a double.

The kernel computes relu as (x + sqrt(x * x)) / 2, which the automatic prover does not see; the prove agent
hands in two lemmas and the two theorems that stayed open."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from insights_db.store import Store
from kshell import events as ev
from tests.agents.llm.server import Behaviour, FakeProvider, Say, serving

pytestmark = [
    pytest.mark.lean,
    pytest.mark.slow,
    pytest.mark.xdist_group("lean"),
    pytest.mark.filterwarnings("ignore"),
]

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent / "proofs"
KERNEL = (HERE / "relu_by_root.cu").read_text() + f"// {uuid4()}, so that no proof of it is kept\n"
THEOREMS = (HERE / "relu_by_root.lean").read_text()
WRONG = THEOREMS.replace("rw [root_of_square]", "rw [square_of_root]")


def answer(request: dict[str, Any]) -> Behaviour:
    """The generator submits the kernel, the segmenter a plan; the prover first errs, then does not."""
    tools = {tool["function"]["name"] for tool in request["tools"]}
    if "plan" in tools:
        plan = {"segments": [{"lines": "2-4", "holds_after": "y[i] is max(x[i], 0)"}]}
        return Say(calls=(("plan", plan),), usage=(1000, 50))
    if "give_up" in tools:
        refused = any(message["role"] == "tool" for message in request["messages"])
        return Say(
            calls=(("submit", {"theorems": THEOREMS if refused else WRONG}),), usage=(9000, 900), chunk=400
        )
    return Say(calls=(("submit", {"source": KERNEL}),), usage=(2000, 200), chunk=400)


def kshell(folder: Path, provider: FakeProvider, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "KSHELL_HOME": str(folder / "home"),
        "KSHELL_CONFIG": str(folder / "config.toml"),
        "KSHELL_API_BASE": provider.url,
        "KSHELL_MODEL": "openai/fake",
        "OPENAI_API_KEY": "sk-secret",
    }
    return subprocess.run(
        [sys.executable, "-m", "kshell", *words],
        cwd=ROOT, env=environment, text=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=550,
    )  # fmt: skip


def test_a_models_kernel_is_proven_by_a_model_promoted_and_audited(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[prices."openai/fake"]\ninput = 1.0\noutput = 10.0\n')
    with serving(answer=answer) as provider:
        ran = kshell(
            tmp_path, provider, "run", "relu", "--session", "s", "--rounds", "1", "--group", "1",
            "--generator", "llm", "--agents", "prover", "--max-usd", "1", "--headless",
        )  # fmt: skip
        prompts = [request["messages"][0]["content"] for request in provider.requests]
    assert ran.returncode == 0, ran.stdout + ran.stderr
    with Store(tmp_path / "home" / "kshell.db") as store:
        events = [ev.parse(line) for line in store.events("s")]
    [proof] = [event.proof for event in events if isinstance(event, ev.ProofFinished)]
    assert proof.prover == "llm:openai/fake"
    assert "PROMOTED" in ran.stdout
    asked = next(prompt for prompt in prompts if "# The draft" in prompt)
    assert "theorem o7 " in asked and "`grind` failed" in asked
    told = [m["content"] for m in provider.requests[-1]["messages"] if m["role"] == "tool"]
    assert any("in o7, at `rw [square_of_root]`" in text and "square_of_root" in text for text in told)
    [promoted] = [event for event in events if isinstance(event, ev.CandidatePromoted)]
    file = Path(promoted.export) / "certificate.json"
    assert json.loads(file.read_text())["theorem"] == "KShellVerdict.verified"
    with serving() as nobody:
        audited = kshell(tmp_path, nobody, "audit", str(file))
    assert audited.returncode == 0, audited.stdout + audited.stderr
    assert "ok   Lean accepts the proof again" in audited.stdout
