"""The generator behind a language model: G conversations at a time, each with the stages as tools.

Refinement branches by the stage that failed: a compile error is repaired, a wrong result retreats to a
conservative kernel, a correct kernel is optimised. With a probability that grows with stall, insights and
the parent are withheld (optimisation dropout), to leave a stuck context."""

import asyncio
import random
from dataclasses import dataclass
from typing import Protocol

from agents.builtin import dropout, stalled_rounds
from agents.fingerprint import fingerprint
from agents.insight import relevant
from agents.llm.failures import LLMFailure
from agents.llm.ledger import CapReached, PriceUnknown
from agents.llm.loop import Done, converse
from agents.llm.memory import Memory
from agents.llm.messages import LLM, Tool, ToolCall
from agents.llm.prompts import render
from agents.llm.signature import signature
from agents.protocols import GenerationContext, Proposal, Scored, Spent
from insights_db.records import ValidationResult
from semantics.task import Task, Workload

_SOURCE = {
    "type": "object",
    "properties": {"source": {"type": "string", "description": "the whole .cu text"}},
    "required": ["source"],
}
TOOLS = (
    Tool("compile", "Parse and compile a candidate; diagnostics with line and column.", _SOURCE),
    Tool("validate", "Compile and run a candidate on hidden inputs and sizes; the first failure.", _SOURCE),
    Tool("profile", "Compile, validate and time a candidate against the baseline.", _SOURCE),
    Tool("check", "Interpret a candidate and search for races, bounds faults and wrong values.", _SOURCE),
    Tool("submit", "Hand in the finished candidate. Ends your work.", _SOURCE),
)


class Toolbox(Protocol):
    """The stages as text for an agent. Never reveals test inputs or expected outputs."""

    async def use(self, tool: str, source: str, task: Task, workload: Workload) -> str:
        """What a stage says of a source. `tool` is the name of one of TOOLS but `submit`."""
        ...


@dataclass(frozen=True, slots=True)
class Plan:
    """What one conversation starts from."""

    parent: Scored | None
    stage: str
    withheld: bool


class LLMGenerator:
    """Implements `agents.protocols.Generator`. `steps` bounds the model's turns a candidate."""

    name = "llm"

    def __init__(self, llm: LLM, toolbox: Toolbox, *, steps: int = 8, max_tokens: int = 8192) -> None:
        self._llm = llm
        self._toolbox = toolbox
        self._steps = steps
        self._max_tokens = max_tokens
        self.problems: list[str] = []

    def remember(self, memory: Memory) -> None:
        """Keep every answer in `memory` before it is used."""
        self._llm.memory = memory

    def spent(self) -> Spent:
        """Dollars and tokens of all calls so far."""
        return Spent(self._llm.ledger.usd, self._llm.ledger.tokens)

    async def propose(self, context: GenerationContext) -> list[Proposal]:
        """Up to `group` proposals; a conversation that fails leaves its place empty and its reason in
        `problems`. Raises LLMFailure when every conversation failed, CapReached when money is out."""
        rng = random.Random(f"{context.seed}/{context.round}")
        plans = [self._plan(context, rng) for _ in range(context.group)]
        outcomes = await asyncio.gather(
            *(self._one(context, plan, place) for place, plan in enumerate(plans)), return_exceptions=True
        )
        seen = {fingerprint(s.candidate.source) for s in context.history}
        found: list[Proposal] = []
        failures: list[BaseException] = []
        for place, outcome in enumerate(outcomes, 1):
            if outcome is None:
                self.problems.append(f"conversation {place} of round {context.round} ended without a kernel")
            elif isinstance(outcome, Proposal):
                print_ = fingerprint(outcome.source)
                if print_ not in seen:
                    seen.add(print_)
                    found.append(outcome)
            elif isinstance(outcome, LLMFailure | CapReached | PriceUnknown):
                failures.append(outcome)
                self.problems.append(str(outcome))
            elif isinstance(outcome, BaseException):
                raise outcome
        if not found and failures:
            raise failures[0]
        return found

    def _plan(self, context: GenerationContext, rng: random.Random) -> Plan:
        withheld = rng.random() < dropout(stalled_rounds(context.history))
        usable = [s for s in context.history if s.candidate.id not in context.banned]
        correct = sorted((s for s in usable if s.reward.value > 0), key=lambda s: -s.reward.value)[:4]
        failed = [s for s in usable if s.candidate.round == context.round - 1 and s.reward.value <= 0]
        pinned = [s for s in usable if s.candidate.id in context.pinned]
        if withheld or not usable:
            return Plan(None, "Start afresh: find a different design than a plain one.", withheld)
        if failed and rng.random() < (0.5 if correct else 1.0):
            parent = rng.choice(failed)
            if parent.reward.value < 0:
                return Plan(parent, "The parent did not compile: repair it from the diagnostics.", False)
            return Plan(
                parent,
                "The parent was wrong: retreat to a conservative, certainly correct kernel first.",
                False,
            )
        parent = rng.choice(pinned or correct or usable)
        return Plan(parent, "The parent is correct: make it faster without changing what it computes.", False)

    async def _one(self, context: GenerationContext, plan: Plan, place: int) -> Proposal | None:
        drafts: list[str] = []

        def note(call: ToolCall) -> None:
            source = source_of(call)
            if source is not None and call.name != "submit":
                drafts.append(source)

        async def handle(call: ToolCall) -> str | Done[str]:
            source = source_of(call)
            if source is None:
                return "the arguments are not a JSON object with the text `source`"
            if call.name == "submit":
                return Done(source)
            return await self._toolbox.use(call.name, source, context.task, context.workload)

        source = await converse(
            self._llm,
            f"generator/{context.round}/{place}",
            prompt_of(context, plan),
            TOOLS,
            handle,
            steps=self._steps,
            max_tokens=self._max_tokens,
            note=note,
        )
        source = source or (drafts[-1] if drafts else "")
        return self._proposal(context, plan, source) if source else None

    def _proposal(self, context: GenerationContext, plan: Plan, source: str) -> Proposal:
        parent = plan.parent.candidate if plan.parent else None
        return Proposal(
            source=source,
            proposer=f"{self.name}:{self._llm.model}",
            parent=parent.id if parent else None,
            strategy=plan.stage.split(":")[0] + (", insights withheld" if plan.withheld else ""),
            insights=() if plan.withheld else tuple(i.id for i in context.insights),
        )


def source_of(call: ToolCall) -> str | None:
    """The source a tool call carries, None when its arguments are not of the form."""
    value = call.arguments.get("source") if call.arguments else None
    return value if isinstance(value, str) and value.strip() else None


def prompt_of(context: GenerationContext, plan: Plan) -> str:
    """The system prompt of one conversation."""
    task, workload = context.task, context.workload
    parameters = ", ".join(
        [f"const float* {t.name}" for t in task.inputs]
        + [f"float* {t.name}" for t in task.outputs]
        + [f"int {axis}" for axis in workload.axes]
    )
    known = [] if plan.withheld else relevant(context.insights, task, context.device)
    insights = "\n".join(
        f"- {i.sentence} (change of reward {i.change:+.3f} ± {i.spread:.3f}, "
        f"from {i.before or 'the baseline'} to {i.after})"
        for i in known
    )
    notes = "\n".join(f"- the person says: {n}" for n in context.notes)
    return render(
        "generator",
        title=task.title,
        signature=signature(task, workload),
        reference=task.reference.strip(),
        parameters=parameters,
        device=context.device,
        insights=insights or "No insights yet.",
        notes=notes,
        parent=_parent_text(plan.parent),
        stage=plan.stage,
    )


def public_reason(validation: ValidationResult) -> str:
    """Why a validation failed, without the values of hidden inputs and expected outputs."""
    failed = next((c.name for c in validation.cases if not c.ok), "a case")
    example = validation.counterexample
    if example is None:
        return f"{failed} failed"
    if example.fault == "WRONG VALUE":
        return f"{failed}: output {example.output} is wrong at index {example.index}"
    lines = ", ".join(f"line {p.line}" for p in example.points if p.line)
    return f"{failed}: {example.fault}" + (f" ({lines})" if lines else "")


def _parent_text(parent: Scored | None) -> str:
    if parent is None:
        return ""
    evaluation = parent.evaluation
    said = f"reward {parent.reward.value:.3f}"
    if evaluation.compile is not None and not evaluation.compile.ok:
        said = evaluation.compile.diagnostics
    elif evaluation.validation is not None and not evaluation.validation.ok:
        said = public_reason(evaluation.validation)
    elif evaluation.profile is not None:
        said += f", {evaluation.profile.median_ms:.6f} ms"
    return f"The parent candidate:\n```\n{parent.candidate.source.strip()}\n```\nIts result:\n{said}"
