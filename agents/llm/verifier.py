"""The verifier behind a language model: it proposes sizes and inputs, the interpreter judges."""

import asyncio
import threading
import time

from agents import recipes, synthesis
from agents.falsifier import MOST_WORK, Attack, Finding, Oracle
from agents.llm.loop import NOTHING, Done, converse
from agents.llm.memory import Memory
from agents.llm.messages import LLM, Tool, ToolCall
from agents.llm.prompts import render
from agents.llm.signature import signature
from agents.protocols import Verdict
from insights_db.records import Candidate, Counterexample
from semantics.span import Refusal
from semantics.task import Task, Workload

_HOW = {
    "type": "object",
    "description": 'for each input {"distribution": NAME}, {"fill": X} or {"values": [X, ...]}, repeated',
}
TOOLS = (
    Tool(
        "try",
        "Run the kernel in the interpreter at these sizes on these inputs and compare with the reference.",
        {
            "type": "object",
            "properties": {
                "axes": {"type": "object", "description": "the sizes, by axis"},
                "inputs": _HOW,
                "float32": {"type": "boolean", "description": "round every operation to float32"},
            },
            "required": ["axes"],
        },
    ),
    Tool("stand", "You see no way to break the kernel. Ends your work.", NOTHING),
)
_SECONDS = 5.0


class LLMVerifier:
    """Implements `agents.protocols.Verifier`. Only a break that the interpreter reproduces counts."""

    name = "llm-verifier"

    def __init__(self, llm: LLM, oracle: Oracle | None, *, steps: int = 5, max_tokens: int = 4096) -> None:
        self._llm = llm
        self._oracle = oracle
        self._steps = steps
        self._max_tokens = max_tokens

    def remember(self, memory: Memory) -> None:
        """Keep every answer in `memory` before it is used."""
        self._llm.memory = memory

    async def attack(
        self, candidate: Candidate, task: Task, workload: Workload, suspicion: str = ""
    ) -> Verdict:
        """Let the model try to break a candidate; `suspicion` is what another agent suspects.

        Raises LLMFailure, CapReached, PriceUnknown. A candidate outside the language gives no verdict."""
        from semantics.program import load

        started = time.monotonic()
        try:
            program = load(candidate.source)
        except Refusal as refusal:
            return Verdict(self.name, None, 0.0, f"outside the language: {refusal}")
        stop = threading.Event()
        attack = Attack(program, candidate.source, task, workload, self._oracle, stop=stop)
        tries = 0

        async def handle(call: ToolCall) -> str | Done[Counterexample | None]:
            nonlocal tries
            if call.name == "stand":
                return Done(None)
            tries += 1
            said = await asyncio.to_thread(_tried, attack, call.arguments or {})
            return said if isinstance(said, str) else Done(said.counterexample)

        begin = f"Another agent suspects: {suspicion}" if suspicion else "Begin."
        scope = f"verifier/{candidate.id}" + ("/probe" if suspicion else "")
        try:
            found = await converse(
                self._llm,
                scope,
                _prompt(candidate, task, workload),
                TOOLS,
                handle,
                steps=self._steps,
                max_tokens=self._max_tokens,
                begin=begin,
            )
        finally:
            stop.set()
        return Verdict(self.name, found, time.monotonic() - started, f"{tries} tries by {self._llm.model}")


def _tried(attack: Attack, arguments: dict[str, object]) -> Finding | str:
    """What the interpreter makes of a proposal: a finding, or what to tell the model."""
    axes, how = arguments.get("axes"), arguments.get("inputs") or {}
    known = attack.workload.axes
    if not isinstance(axes, dict) or not isinstance(how, dict):
        return "axes and inputs are JSON objects"
    if unknown := sorted(set(axes) - set(known)):
        return f"there is no axis {unknown[0]!r}; the axes are {', '.join(known)}"
    sizes = {**known, **axes}
    if not all(type(v) is int and 0 <= v < 2**31 for v in sizes.values()):
        return "every size is a whole number"
    workload = Workload(axes=sizes, seed=attack.workload.seed)
    if broken := attack.task.broken_constraint(workload):
        return f"these sizes break {broken}"
    if attack.task.work(workload)[0] > MOST_WORK:
        return f"these sizes take more than {MOST_WORK} operations; choose smaller ones"
    inputs = recipes.written(how) + (recipes.FLOAT32 if arguments.get("float32") is True else "")
    try:
        finding = attack.trial(workload, inputs, _SECONDS)
    except recipes.BadRecipe as bad:
        return str(bad)
    return finding or "no fault and no wrong value there"


def _prompt(candidate: Candidate, task: Task, workload: Workload) -> str:
    return render(
        "verifier",
        title=task.title,
        signature=signature(task, workload),
        reference=task.reference.strip(),
        source=candidate.source.strip(),
        work=str(MOST_WORK),
        distributions=", ".join(synthesis.names),
    )
