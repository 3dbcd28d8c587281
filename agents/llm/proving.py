"""The prover roles behind language models: segment, prove, analyst, falsity probe, second opinion.

They work on what the automatic prover leaves open. What they hand in goes through the judge and through
nothing else: they are trusted for nothing. A verdict that the kernel is wrong ends the work only when the
probe reproduces a break, or when a second analyst agrees."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum

from agents.llm.drafts import Draft
from agents.llm.loop import Done, converse, text_of
from agents.llm.memory import Memory
from agents.llm.messages import LLM, Tool, ToolCall
from agents.llm.prompts import render
from insights_db.records import Counterexample
from semantics.task import Task

PLAN = Tool(
    "plan",
    "Hand in the plan of the proof.",
    {
        "type": "object",
        "properties": {
            "segments": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "lines": {"type": "string"},
                        "holds_after": {"type": "string"},
                        "owners": {"type": "string"},
                        "lemmas": {"type": "string"},
                    },
                    "required": ["lines", "holds_after"],
                },
            }
        },
        "required": ["segments"],
    },
)
SUBMIT = Tool(
    "submit",
    "Have a proof judged: theorems that change the draft, or a whole text.",
    {
        "type": "object",
        "properties": {
            "theorems": {
                "type": "string",
                "description": "theorems of the draft, changed, and lemmas they need; the rest of it stays",
            },
            "proof": {"type": "string", "description": "a whole text instead"},
        },
    },
)
GIVE_UP = Tool(
    "give_up",
    "The statement cannot be proved. Ends your work.",
    {"type": "object", "properties": {"reason": {"type": "string"}}, "required": ["reason"]},
)
VERDICT = Tool(
    "verdict",
    "Say why the proof fails.",
    {
        "type": "object",
        "properties": {
            "verdict": {"type": "string", "enum": ["CONTINUE", "KERNEL BUG", "WRONG INVARIANT"]},
            "why": {"type": "string"},
        },
        "required": ["verdict", "why"],
    },
)
_PATIENCE = 2
"""Refused submissions between two looks of the analyst."""
_PLANS = 2
_EXCERPT = 24_000
_NO_DRAFT = "-- none that a submission could go on from: hand in a whole text"


class Cause(StrEnum):
    """What an analyst may say."""

    CONTINUE = "CONTINUE"
    BUG = "KERNEL BUG"
    INVARIANT = "WRONG INVARIANT"


@dataclass(frozen=True, slots=True)
class Case:
    """A proof to find. `statement` and `proposition` are ours; `draft` is the automatic prover's work as a
    submission (None where it has none that can be one), `stuck` what it left open."""

    candidate: str
    source: str
    task: Task
    statement: str
    proposition: str
    draft: Draft | None
    stuck: str


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the judge said of a submission."""

    accepted: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """How the work ended: an accepted text, a counterexample, or one line why neither."""

    text: str = ""
    counterexample: Counterexample | None = None
    reason: str = ""
    submissions: int = 0


Judge = Callable[[str], Awaitable[Ruling]]
Probe = Callable[[str], Awaitable[Counterexample | None]]


@dataclass(slots=True)
class _Progress:
    plan: str
    refused: list[str] = field(default_factory=list)
    submissions: int = 0


class ProofAgents:
    """The roles together. `prover` segments and proves, `analyst` judges failures, `second` gives the
    second opinion; `tries` bounds submissions a candidate."""

    def __init__(self, prover: LLM, analyst: LLM, second: LLM, *, tries: int = 6) -> None:
        self._prover, self._analyst, self._second = prover, analyst, second
        self._tries = tries

    @property
    def name(self) -> str:
        """Who a proof is credited to."""
        return f"llm:{self._prover.model}"

    def remember(self, memory: Memory) -> None:
        """Keep every answer in `memory` before it is used."""
        for llm in (self._prover, self._analyst, self._second):
            llm.memory = memory

    async def close(self, case: Case, judge: Judge, probe: Probe) -> Found:
        """Try to prove a case. Raises LLMFailure, CapReached, PriceUnknown."""
        progress = _Progress("")
        said = ""
        for number in range(1, _PLANS + 1):
            progress.plan = await self._segment(case, number, said)
            found = await self._prove(case, number, progress, judge, probe)
            if isinstance(found, Found):
                return found
            said = found
            if progress.submissions >= self._tries:
                break
        why = said or (progress.refused[-1].splitlines()[-1] if progress.refused else "nothing was handed in")
        reason = f"{progress.submissions} proofs of {self.name} were refused: {why}"
        return Found(reason=" ".join(reason.split())[:400], submissions=progress.submissions)

    async def _segment(self, case: Case, number: int, said: str) -> str:
        async def handle(call: ToolCall) -> str | Done[str]:
            segments = (call.arguments or {}).get("segments")
            if not isinstance(segments, list) or not segments:
                return "give a list of segments"
            return Done("\n".join(_segment_line(s) for s in segments if isinstance(s, dict)))

        stuck = case.stuck + (f"\nAn earlier plan was wrong: {said}" if said else "")
        system = render(
            "segment",
            title=case.task.title,
            reference=case.task.reference.strip(),
            source=case.source.strip(),
            stuck=stuck,
        )
        scope = f"segment/{case.candidate}/{number}"
        return await converse(self._prover, scope, system, (PLAN,), handle, steps=2) or "No plan."

    async def _prove(
        self, case: Case, number: int, progress: _Progress, judge: Judge, probe: Probe
    ) -> Found | str:
        """One conversation of the prover: an ending, or why another plan is needed."""

        async def handle(call: ToolCall) -> str | Done[Found | str]:
            if call.name == "give_up":
                return await self._suspected(case, progress, text_of(call, "reason"), probe, number) or Done(
                    ""
                )
            said = text_of(call, "theorems") or text_of(call, "proof")
            if not said:
                return "the arguments are not a JSON object with the text `theorems` or the text `proof`"
            try:
                text = case.draft.with_(said) if case.draft and text_of(call, "theorems") else said
            except ValueError as error:
                return f"not judged: {error}"
            ruling = await judge(text)
            if ruling.accepted:
                return Done(Found(text=text, submissions=progress.submissions))
            progress.refused.append(f"{said[:3000]}\n-- {ruling.reason}")
            if progress.submissions >= self._tries:
                return Done("")
            if len(progress.refused) % _PATIENCE:
                return f"refused: {ruling.reason}"
            return await self._analysed(case, progress, ruling, probe)

        def note(call: ToolCall) -> None:
            progress.submissions += call.name == "submit"

        system = render(
            "prover",
            proposition=case.proposition,
            statement=case.statement.strip(),
            draft=case.draft.shown(_EXCERPT) if case.draft else _NO_DRAFT,
            stuck=case.stuck,
            plan=progress.plan,
        )
        found = await converse(
            self._prover,
            f"prover/{case.candidate}/{number}",
            system,
            (SUBMIT, GIVE_UP),
            handle,
            steps=self._tries + 2,
            note=note,
        )
        return found if found is not None else "the turns ran out"

    async def _analysed(
        self, case: Case, progress: _Progress, ruling: Ruling, probe: Probe
    ) -> str | Done[Found | str]:
        cause, why = await self._opinion(self._analyst, "analyst", case, progress)
        if cause is Cause.BUG:
            ending = await self._suspected(case, progress, why, probe, len(progress.refused))
            return ending or f"refused: {ruling.reason}\nan analyst suspects the kernel; no run confirms it"
        if cause is Cause.INVARIANT:
            return Done(f"the plan was wrong: {why}")
        return f"refused: {ruling.reason}\nan analyst says: {why}"

    async def _suspected(
        self, case: Case, progress: _Progress, why: str, probe: Probe, at: int
    ) -> Done[Found | str] | None:
        """The falsity probe, then the second opinion. None: neither confirms the suspicion."""
        example = await probe(why or "the kernel is wrong")
        if example is not None:
            return Done(Found(counterexample=example, submissions=progress.submissions))
        cause, agreed = await self._opinion(self._second, f"second/{at}", case, progress)
        if cause is not Cause.BUG:
            return None
        reason = f"two analysts hold the kernel for wrong, no run shows it: {agreed or why}"
        return Done(Found(reason=" ".join(reason.split())[:400], submissions=progress.submissions))

    async def _opinion(self, llm: LLM, role: str, case: Case, progress: _Progress) -> tuple[Cause, str]:
        async def handle(call: ToolCall) -> str | Done[tuple[Cause, str]]:
            said = text_of(call, "verdict").upper()
            if said not in set(Cause):
                return f"the verdict is one of {', '.join(Cause)}"
            return Done((Cause(said), text_of(call, "why")[:1000]))

        system = render(
            "analyst",
            title=case.task.title,
            reference=case.task.reference.strip(),
            source=case.source.strip(),
            plan=progress.plan,
            tries=str(len(progress.refused)),
            attempts="\n\n".join(progress.refused[-_PATIENCE:]) or "It gave up without a submission.",
        )
        scope = f"{role}/{case.candidate}/{len(progress.refused)}"
        opinion = await converse(llm, scope, system, (VERDICT,), handle, steps=2)
        return opinion or (Cause.CONTINUE, "no verdict was given")


def _segment_line(segment: dict[str, object]) -> str:
    words = [f"lines {segment.get('lines', '?')}: {segment.get('holds_after', '')}"]
    words += [f"{k}: {segment[k]}" for k in ("owners", "lemmas") if segment.get(k)]
    return "- " + "; ".join(words)
