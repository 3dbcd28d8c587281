"""Compile, validate, profile, reward: one round of candidates, fail-fast.

Compiles overlap; validations and measurements run one at a time, so that nothing disturbs a timing; on
several GPUs, one at a time on each."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol, runtime_checkable

from agents.llm.failures import LLMFailure
from agents.llm.ledger import CapReached, PriceUnknown
from agents.protocols import Scored
from insights_db.errors import StoreError
from insights_db.records import CompileResult, Insight, ProfileResult, Reward, ValidationResult
from kshell import events as ev
from kshell.engine.desk import Desk, together
from kshell.engine.state import CandidateState
from kshell.errors import UserError


@runtime_checkable
class Laned(Protocol):
    """A device that measures several candidates at once without one disturbing another."""

    @property
    def lanes(self) -> int:
        """How many."""
        ...


Between = Callable[[], Awaitable[bool]]


async def evaluate_round(desk: Desk, number: int, between: Between) -> bool:
    """Bring every candidate of a round to its reward. `between` is asked before each candidate and
    says whether to go on; returns what it said last."""
    waiting = [known for known in desk.state.of_round(number) if known.reward is None]
    if waiting and not await between():
        return False
    await together((partial(_compile, desk, k) for k in waiting if k.compile is None), desk.settings.jobs)
    whole = await _finished(desk, waiting, between)
    if whole:
        _notice_dead_device(desk, number)
    return whole


async def _finished(desk: Desk, waiting: Sequence[CandidateState], between: Between) -> bool:
    """Finish the candidates, one at a time on each device the evaluator has."""
    evaluator = desk.parts.evaluator
    asking = asyncio.Lock()
    whole = True

    async def one(known: CandidateState) -> None:
        nonlocal whole
        async with asking:
            whole = whole and await between()
        if whole:
            await _finish(desk, known)

    await together(
        (partial(one, known) for known in waiting), evaluator.lanes if isinstance(evaluator, Laned) else 1
    )
    return whole


async def _compile(desk: Desk, known: CandidateState) -> None:
    await desk.gate()
    desk.emit(ev.CompileFinished(candidate=known.id, result=await _compiled(desk, known)))


async def _compiled(desk: Desk, known: CandidateState) -> CompileResult:
    try:
        return await desk.parts.evaluator.compile(known.candidate, desk.task, desk.workload)
    except (UserError, StoreError):
        raise
    except Exception as error:
        desk.emit(desk.trouble("compile", error, known.id))
        return CompileResult(ok=False, diagnostics=_internal(error))


async def _finish(desk: Desk, known: CandidateState) -> None:
    """Validate and profile what compiled, then give the reward."""
    compiled = known.compile
    if compiled is not None and compiled.ok and known.profile is None:
        compiled = await _present(desk, known, compiled)
        if known.validation is None:
            await _validate(desk, known, compiled)
        if known.validation is not None and known.validation.ok:
            await desk.gate()
            await _profile(desk, known, compiled)
    _reward(desk, known)


async def _present(desk: Desk, known: CandidateState, compiled: CompileResult) -> CompileResult:
    """The compiled program; made again when the file of an earlier process is gone."""
    if compiled.artifact and not Path(compiled.artifact).exists():
        return await _compiled(desk, known)
    return compiled


async def _validate(desk: Desk, known: CandidateState, compiled: CompileResult) -> None:
    try:
        result = await desk.parts.evaluator.validate(known.candidate, desk.task, desk.workload, compiled)
    except (UserError, StoreError):
        raise
    except Exception as error:
        desk.emit(desk.trouble("validate", error, known.id))
        result = ValidationResult(ok=False, reason=_internal(error))
    desk.emit(ev.ValidationFinished(candidate=known.id, result=result))


async def _profile(desk: Desk, known: CandidateState, compiled: CompileResult) -> None:
    device = desk.parts.evaluator.device
    try:
        result = await desk.parts.evaluator.profile(known.candidate, desk.task, desk.workload, compiled)
    except (UserError, StoreError):
        raise
    except Exception as error:
        desk.emit(desk.trouble("profile", error, known.id))
        result = ProfileResult(ok=False, device=device, reason=_internal(error))
    desk.emit(ev.ProfileFinished(candidate=known.id, result=result))


def _internal(error: Exception) -> str:
    return " ".join(f"internal error: {type(error).__name__}: {error}".split())[:500]


def reward_of(known: CandidateState) -> Reward:
    """-1 not compiled, 0 wrong or not measured, otherwise the speed-up over the baseline."""
    if known.compile is None or not known.compile.ok:
        said = known.compile.diagnostics if known.compile else ""
        return Reward(candidate=known.id, value=-1.0, reason=_first_line(said) or "did not compile")
    if known.counterexamples:
        found = known.counterexamples[0]
        return Reward(candidate=known.id, value=0.0, reason=f"refuted: {found.fault}: {found.message}")
    if known.validation is None or not known.validation.ok:
        said = known.validation.reason if known.validation else ""
        return Reward(candidate=known.id, value=0.0, reason=said or "wrong")
    profile = known.profile
    if profile is None or not profile.ok or profile.median_ms <= 0:
        return Reward(
            candidate=known.id, value=0.0, reason=(profile.reason if profile else "") or "not measured"
        )
    return Reward(candidate=known.id, value=profile.speedup, rscore=1.0 / profile.median_ms)


def _reward(desk: Desk, known: CandidateState) -> None:
    """Reward, insight and budget in one step, so that a killed session has all of them or none."""
    reward = reward_of(known)
    found: list[ev.Event] = [ev.RewardAssigned(reward=reward)]
    try:
        insight = _insight(desk, known, reward)
    except Exception as error:
        found.append(desk.trouble("insight", error, known.id))
    else:
        if insight is not None:
            found.append(ev.InsightDistilled(insight=insight))
    desk.emit(*found, desk.spend(candidates=1))


def _insight(desk: Desk, known: CandidateState, reward: Reward) -> Insight | None:
    parent = desk.state.candidates.get(known.candidate.parent or "")
    before = Scored(parent.candidate, parent.evaluation, parent.reward) if parent and parent.reward else None
    after = Scored(known.candidate, known.evaluation, reward)
    return desk.parts.distill(before, after, desk.task, desk.parts.evaluator.device)


async def lessons_of(desk: Desk, number: int) -> list[ev.Event]:
    """The insights of a round in a teacher's words, for the batch that ends the round."""
    if desk.parts.teacher is None:
        return []
    ids = {known.id for known in desk.state.of_round(number)}
    measured = [i for i in desk.state.insights if i.after in ids and not i.retracted]
    device = desk.parts.evaluator.device
    try:
        found = await desk.parts.teacher.teach(number, measured, desk.task, device)
    except (LLMFailure, CapReached, PriceUnknown) as error:
        return [desk.trouble("insight", str(error))]
    return [ev.InsightDistilled(insight=insight) for insight in found]


def _notice_dead_device(desk: Desk, number: int) -> None:
    """A device that failed by itself on every candidate is a set-up fault, not a verdict on kernels."""
    said = [known.reward.reason for known in desk.state.of_round(number) if known.reward]
    if said and all(reason.startswith(("internal error:", "no usable GPU")) for reason in said):
        raise UserError(
            f"the {desk.parts.evaluator.device} device failed on every candidate of round {number} "
            f"({said[0]}); `kshell doctor` checks it"
        )


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
