"""The event stream as short lines: what `--headless`, `replay --headless` and logs show."""

import asyncio
import sys
import time
from collections.abc import Callable
from typing import TextIO

from insights_db.records import ProofStatus
from kshell import events as ev
from kshell import summary
from kshell.engine import scores
from kshell.engine.state import SessionState

HEARTBEAT = 10.0


def describe(event: ev.Event, state: SessionState) -> list[str]:
    """The lines for one event, none for those that say nothing new. `state` has the event in it."""
    match event:
        case ev.SessionStarted():
            sizes = " ".join(f"{name}={value}" for name, value in event.axes.items())
            caps = f"{event.budget.rounds} rounds x {event.budget.group}"
            return [
                f"session {event.session}: {event.task} {sizes} on {event.device}, {caps}, "
                f"generator {event.generator}, seed {event.seed}"
            ]
        case ev.SessionResumed():
            done = len(state.rounds)
            return [
                f"session {event.session} goes on after {done} rounds, {len(state.candidates)} candidates"
            ]
        case ev.RoundStarted():
            return [f"round {event.round} of {state.budget.rounds}"]
        case ev.RoundFinished():
            return [f"  round {event.round} done: {_best(event)}"]
        case ev.PersonActed():
            return [f"  you: {event.action} {event.target}".rstrip()]
        case ev.Problem():
            about = f" {event.candidate}" if event.candidate else ""
            return [f"  problem in {event.where}{about}: {_short(event.message, 400)}"]
        case ev.SessionFinished():
            board = [f"  {scores.line(agent, points)}" for agent, points in event.scores.items()]
            found = [f"  {line}" for line in summary.lines(state)]
            return [f"session {event.session}: {event.outcome}", *found, *board]
        case _:
            return _of_candidate(event, state)


def _of_candidate(event: ev.Event, state: SessionState) -> list[str]:
    match event:
        case ev.CandidateProposed(candidate=candidate):
            parent = f" from {candidate.parent}" if candidate.parent else ""
            return [f"  {candidate.id} proposed: {candidate.strategy or candidate.family}{parent}"]
        case ev.RewardAssigned(reward=reward):
            known = state.candidates[reward.candidate]
            if reward.value > 0 and known.median_ms is not None:
                speed = f"{summary.milliseconds(known.median_ms)}, {reward.value:.2f}x the baseline"
                return [f"  {reward.candidate} valid: {speed}"]
            verdict = "did not compile" if reward.value < 0 else "wrong"
            return [f"  {reward.candidate} {verdict}: {_short(reward.reason)}"]
        case ev.InsightDistilled(insight=insight):
            return [f"  insight: {insight.sentence}"] if insight.effective else []
        case ev.CounterexampleFound(counterexample=found):
            return [f"  {event.candidate} REFUTED by {event.verifier}: {found.fault}: {found.message}"]
        case ev.VerificationFinished():
            stands = event.verifier in state.candidates[event.candidate].attacked
            known = state.candidates[event.candidate]
            if not stands or known.counterexamples:
                return []
            effort = f" ({event.effort})" if event.effort else ""
            return [f"  {event.candidate} stands against {event.verifier}{effort}"]
        case ev.ProofStarted():
            return [f"  {event.candidate} proving with {event.checker}"]
        case ev.ObligationClosed(obligation=obligation):
            known = state.candidates[event.candidate]
            mark = "closed" if obligation.status is ProofStatus.PROVEN else f"{obligation.status.value}:"
            place = f"[{len(known.obligations)}/{event.total}]"
            why = _short(obligation.message)
            return [f"    {place} {mark} {obligation.title}{f': {why}' if why else ''}"]
        case ev.ProofFinished(proof=proof):
            reason = f": {_short(proof.reason)}" if proof.reason else ""
            kept = " earlier, kept" if event.kept else ""
            return [
                f"  {event.candidate} {proof.status.value.upper()} in {proof.seconds:.1f} s{kept}{reason}"
            ]
        case ev.CandidatePromoted():
            return [f"  {event.candidate} PROMOTED, exported to {event.export}"]
        case _:
            return []


def _short(text: str, limit: int = 160) -> str:
    """The first line of a longer text."""
    lines = text.strip().splitlines()
    first = lines[0] if lines else ""
    return first if len(first) <= limit and len(lines) < 2 else f"{first[:limit]} …"


def _best(event: ev.RoundFinished) -> str:
    if event.best is None or event.best_ms is None:
        return "no correct kernel"
    return f"best {event.best} {summary.milliseconds(event.best_ms)}, {event.best_reward:.2f}x the baseline"


def activity(event: ev.Event, state: SessionState) -> str:
    """What the session is busy with after an event, for the heartbeat of long steps."""
    match event:
        case ev.RoundStarted():
            return f"proposing candidates of round {event.round}"
        case ev.CandidateProposed() | ev.CompileFinished():
            waiting = sum(known.compile is None for known in state.of_round(state.round))
            return f"compiling {waiting} candidates" if waiting else "validating"
        case ev.ValidationFinished():
            return f"measuring {event.candidate}" if event.result.ok else "validating"
        case ev.VerificationStarted():
            return f"{event.verifier} attacks {event.candidate}"
        case ev.ProofStarted() | ev.ObligationClosed():
            return f"proving {event.candidate}"
        case ev.PersonActed(action="pause"):
            return "paused"
        case _:
            return "working"


class TextView:
    """Prints a stream. Between events it says every ten seconds what takes so long."""

    def __init__(
        self,
        out: TextIO | None = None,
        now: Callable[[], float] = time.monotonic,
        state: SessionState | None = None,
    ) -> None:
        self._out = out or sys.stdout
        self._now = now
        self.state = state or SessionState()
        self._since, self._said, self._busy = now(), now(), "starting"

    def show(self, event: ev.Event) -> None:
        """Fold an event and print its lines."""
        self.state.apply(event)
        for line in describe(event, self.state):
            print(line, file=self._out, flush=True)
        self._since = self._said = self._now()
        self._busy = activity(event, self.state)

    def tick(self) -> None:
        """Say what takes so long, when it is time to."""
        now = self._now()
        if now - self._said >= HEARTBEAT and self._busy != "paused":
            print(f"  … {self._busy}, {now - self._since:.0f} s", file=self._out, flush=True)
            self._said = now

    async def ticking(self) -> None:
        """Tick until cancelled."""
        while True:
            await asyncio.sleep(1.0)
            self.tick()
