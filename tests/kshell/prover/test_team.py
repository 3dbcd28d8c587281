"""The prover with agents: what the automatic prover leaves open goes to them, what they hand in to the judge.
The checker is a double here; `tests/attacks` shows that the real one refuses what is no proof."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agents.llm.failures import Kind, LLMFailure
from agents.llm.memory import Memory
from agents.llm.proving import Case, Found, Judge, Probe
from insights_db.records import Candidate, Certificate, Counterexample, Obligation, Proof, ProofStatus
from kshell import tasks
from kshell.engine.promotion import digest
from kshell.lean import toolchain
from kshell.prover import agent_proof
from kshell.prover.agent_proof import SEPARATOR, audit_agent_proof, kept
from kshell.prover.prover import emitted
from kshell.prover.submission import Judgement, Layer, Statement
from kshell.prover.team import TeamProver
from semantics.lean.file import Emission
from semantics.task import Task, Workload
from tests.agents.llm.kit import RELU

TASK = tasks.get("relu")
WORKLOAD = TASK.workload(n=1000)
SOURCE = RELU.replace("float* x, float* y", "float* __restrict__ x, float* __restrict__ y", 1)
CANDIDATE = Candidate(
    id=digest(SOURCE)[:12], source=SOURCE, task="relu", round=1, index=0, proposer="llm:openai/fake"
)
GOOD = "theorem proof : KShell.Candidate.Claim := good"


class Automatic:
    """The automatic prover, which closes nothing."""

    checker = "lean-fake"
    runner = None

    def __init__(self, status: ProofStatus = ProofStatus.UNPROVEN, key: str = "k") -> None:
        self.status, self._key = status, key

    def key(self, candidate: Candidate, task: Task, workload: Workload) -> str:
        return self._key

    async def prove(
        self, candidate: Candidate, task: Task, workload: Workload, on: Callable[[Obligation, int], None]
    ) -> Proof:
        still = Obligation(
            name="thread", title="one thread", status=self.status, line=3, message="grind failed"
        )
        return Proof(
            candidate=candidate.id, key=self._key, status=self.status, obligations=(still,), reason="line 3"
        )

    def emission(self, candidate: Candidate, task: Task, workload: Workload) -> Emission | None:
        return None if self._key == "" else emitted(candidate.source, task, workload)[1]

    async def close(self) -> None:
        """Nothing to end."""


class Agents:
    """Proof agents that hand in one text, or end otherwise."""

    name = "llm:openai/fake"

    def __init__(self, text: str = GOOD, found: Found | None = None, error: Exception | None = None) -> None:
        self.text, self.found, self.error = text, found, error
        self.cases: list[Case] = []

    def remember(self, memory: Memory) -> None:
        """Nothing to keep."""

    async def close(self, case: Case, judge: Judge, probe: Probe) -> Found:
        self.cases.append(case)
        if self.error is not None:
            raise self.error
        if self.found is not None:
            return self.found
        ruling = await judge(self.text)
        return Found(text=self.text) if ruling.accepted else Found(reason=ruling.reason)


@pytest.fixture(autouse=True)
def double(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge accepts GOOD and nothing else, in a store of the test."""

    async def judged(runner: object, statement: Statement, text: str, folder: Path) -> Judgement:
        folder.mkdir(parents=True, exist_ok=True)
        if text != GOOD:
            return Judgement(Layer.ELABORATION, "unsolved goals")
        (folder / agent_proof.TEXT).write_text(text)
        (folder / agent_proof.AXIOMS).write_text('["propext"]')
        return Judgement(Layer.ACCEPTED, axioms=("propext",))

    monkeypatch.setattr(agent_proof, "judged", judged)
    monkeypatch.setattr(toolchain, "store", lambda: tmp_path)


async def proved(agents: Agents, automatic: Automatic | None = None) -> tuple[TeamProver, Proof]:
    team = TeamProver(automatic or Automatic(), agents)  # type: ignore[arg-type]
    return team, await team.prove(CANDIDATE, TASK, WORKLOAD, lambda *_: None)


async def certificate() -> Certificate:
    team, proof = await proved(Agents())
    return team.certificate(CANDIDATE, TASK, WORKLOAD, proof)


async def test_agents_see_what_is_open_and_an_accepted_text_is_a_proof() -> None:
    agents = Agents()
    team, proof = await proved(agents)
    assert (proof.status, proof.prover) == (ProofStatus.PROVEN, "llm:openai/fake")
    assert Path(proof.file).read_text() == GOOD
    [case] = agents.cases
    assert case.stuck == "- line 3: one thread: grind failed"
    assert case.draft is not None and case.draft.open == ("thread_ok",)
    assert case.draft.blocks[-1].text.startswith("theorem proof : KShell.Candidate.Claim := by")
    assert "def Claim : Prop :=" in case.statement
    again = Agents(text="worse")
    assert (await proved(again))[1].status is ProofStatus.PROVEN
    assert again.cases == []
    assert kept(Path(proof.file).parent) == (GOOD, ("propext",))
    assert team.key(CANDIDATE, TASK, WORKLOAD) == "k"


async def test_agents_are_not_asked_for_what_is_closed_or_refused() -> None:
    for status in (ProofStatus.PROVEN, ProofStatus.REFUSED):
        agents = Agents()
        _, proof = await proved(agents, Automatic(status))
        assert (proof.status, proof.prover, agents.cases) == (status, "automatic", [])


async def test_a_refused_text_a_break_and_a_failure_are_no_proofs() -> None:
    team, proof = await proved(Agents(text="sorry"))
    assert (proof.status, proof.prover) == (ProofStatus.UNPROVEN, "llm:openai/fake")
    assert proof.reason == "line 3; elaboration: unsolved goals"
    with pytest.raises(ValueError, match="unproven, not proven"):
        team.certificate(CANDIDATE, TASK, WORKLOAD, proof)
    example = Counterexample(fault="RACE", message="y[1]", axes={"n": 2}, inputs="normal")
    _, proof = await proved(Agents(found=Found(counterexample=example)))
    assert (proof.status, proof.counterexample) == (ProofStatus.REFUTED, example)
    _, proof = await proved(Agents(error=LLMFailure(Kind.RATE, "try later")))
    assert (proof.status, proof.prover) == (ProofStatus.UNPROVEN, "automatic")
    assert proof.reason == "line 3; proof agents stopped: try later"


async def test_a_kernel_the_automatic_prover_cannot_state_still_has_a_key() -> None:
    team = TeamProver(Automatic(key=""), Agents())  # type: ignore[arg-type]
    assert len(team.key(CANDIDATE, TASK, WORKLOAD)) == 64
    launch = "relu<<<grid, block>>>(x, y, n);"
    two = CANDIDATE.model_copy(update={"source": RELU.replace(launch, launch * 2)})
    assert team.key(two, TASK, WORKLOAD) == ""


async def test_the_certificate_of_an_agents_proof_is_judged_again() -> None:
    runner = type("Runner", (), {"toolchain": type("Chain", (), {"id": "lean-fake"})})()
    made = await certificate()
    assert made.lean_file.endswith(SEPARATOR + GOOD)
    assert (await audit_agent_proof(made, TASK, runner)).ok


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({"lean_file": "x" + SEPARATOR + GOOD}, "definitions"),
        ({"statement": "def Claim : Prop := True"}, "statement"),
        ({"obligations": 2}, "obligations"),
        ({"source": RELU + " "}, "source"),
        ({"axioms": ("sorryAx",)}, "axioms listed"),
    ],
)
async def test_a_changed_certificate_is_refused(change: dict[str, object], finding: str) -> None:
    runner = type("Runner", (), {"toolchain": type("Chain", (), {"id": "lean-fake"})})()
    made = (await certificate()).model_copy(update=change)
    found = await audit_agent_proof(made, TASK, runner)
    assert not found.ok
    assert found.reason.startswith(f"{finding}: ")


async def test_another_text_in_the_certificate_is_refused_by_the_judge() -> None:
    runner = type("Runner", (), {"toolchain": type("Chain", (), {"id": "lean-fake"})})()
    made = await certificate()
    worse = made.model_copy(update={"lean_file": made.lean_file.replace("good", "worse")})
    assert "elaboration: unsolved goals" in (await audit_agent_proof(worse, TASK, runner)).reason
