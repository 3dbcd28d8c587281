"""What a session came to, for a person: promoted kernels, and plainly what is not proven."""

from insights_db.records import ProofStatus
from kshell.engine.promotion import obstacle
from kshell.engine.state import CandidateState, SessionState


def outcome(state: SessionState, reason: str = "") -> str:
    """One line: how many were promoted, the best latency, and why the session stopped short."""
    best = state.best
    parts = [f"{len(state.promoted)} promoted" if state.promoted else "nothing promoted"]
    if best is not None and best.median_ms is not None:
        parts.append(f"best {best.id} {milliseconds(best.median_ms)} ({best.value:.2f}x)")
    else:
        parts.append("no correct kernel")
    return ", ".join(parts) + (f"; {reason}" if reason else "")


def lines(state: SessionState, top: int = 3) -> list[str]:
    """The end of a session: every promoted kernel with certificate and export, then each of the `top`
    best that is not promoted as "validated, unproven: reason", or the refutation."""
    found: list[str] = []
    for known in state.promoted:
        found.append(f"PROMOTED {_title(known)}")
        if known.certificate is not None:
            found.append(f"  theorem      {known.certificate.theorem}")
            found.append(f"  certificate  {known.export}/certificate.json")
        found.append(f"  export       {known.export}")
    for known in state.ranked()[:top]:
        if not known.promoted:
            found.append(f"{_title(known)}: validated, unproven: {unproven_because(known)}")
    for known in state.candidates.values():
        if known.counterexamples:
            broken = known.counterexamples[0]
            found.append(f"{known.id}: REFUTED: {broken.fault}: {broken.message}")
    if gain := progress(state):
        found.append(gain)
    if not found:
        judged = any(known.reward is not None for known in state.candidates.values())
        found.append(
            "no candidate was correct; `kshell replay` shows what went wrong with each"
            if judged
            else "no candidate was measured yet"
        )
    return found


def progress(state: SessionState) -> str:
    """How the best of the last round compares with the best of the first; empty before two rounds have
    a correct kernel."""
    rounds = [done for _, done in sorted(state.rounds.items()) if done.best_ms]
    if len(rounds) < 2 or rounds[0].best_ms is None or rounds[-1].best_ms is None:
        return ""
    first, last = rounds[0], rounds[-1]
    return (
        f"best of round {first.round} {milliseconds(rounds[0].best_ms)}, of round {last.round} "
        f"{milliseconds(rounds[-1].best_ms)}: {rounds[0].best_ms / rounds[-1].best_ms:.2f}x as fast"
    )


def unproven_because(known: CandidateState) -> str:
    """Why a correct candidate has no certificate, as one line."""
    if known.proof is None:
        return "no proof was tried"
    if known.proof.status is ProofStatus.PROVEN:
        return obstacle(known) or "its export failed"
    lines = known.proof.reason.strip().splitlines()
    return lines[0][:200] if lines else known.proof.status.value


def milliseconds(value: float) -> str:
    """A latency with three significant digits and its unit."""
    if value < 1.0:
        return f"{value * 1000:.3g} us"
    return f"{value:.3g} ms" if value < 1000 else f"{value / 1000:.3g} s"


def _title(known: CandidateState) -> str:
    time = milliseconds(known.median_ms) if known.median_ms is not None else "not measured"
    strategy = f" [{known.candidate.strategy}]" if known.candidate.strategy else ""
    return f"{known.id} {time}, {known.value:.2f}x the baseline{strategy}"
