"""Attack, prove, promote."""

import asyncio
import threading
from pathlib import Path

from agents.llm.failures import LLMFailure
from agents.llm.ledger import CapReached, PriceUnknown
from insights_db.errors import StoreError
from insights_db.records import Certificate, Counterexample, Obligation, Proof, ProofStatus, Reward
from kshell import events as ev
from kshell.engine.budget import no_more_proofs
from kshell.engine.desk import Desk, Learning
from kshell.engine.promotion import fits, obstacle
from kshell.engine.state import CandidateState, is_try
from kshell.errors import UserError


async def attack(desk: Desk, known: CandidateState) -> bool:
    """Let every verifier that has not tried yet try to break a candidate. True: it stands."""
    for verifier in desk.parts.verifiers:
        if not known.correct:
            break
        if verifier.name in known.attacked or (isinstance(verifier, Learning) and verifier.idle):
            continue
        await desk.gate()
        desk.emit(ev.VerificationStarted(candidate=known.id, verifier=verifier.name))
        try:
            verdict = await verifier.attack(known.candidate, desk.task, desk.workload)
        except (UserError, StoreError):
            raise
        except Exception as error:
            told = str(error) if isinstance(error, LLMFailure | CapReached | PriceUnknown) else error
            desk.emit(
                desk.trouble(verifier.name, told, known.id),
                ev.VerificationFinished(
                    candidate=known.id, verifier=verifier.name, seconds=0.0, effort="failed by itself"
                ),
            )
            continue
        ending = ev.VerificationFinished(
            candidate=known.id, verifier=verifier.name, seconds=verdict.seconds, effort=verdict.effort
        )
        if verdict.counterexample is None:
            desk.emit(ending)
            continue
        found = ev.CounterexampleFound(
            candidate=known.id, verifier=verifier.name, counterexample=verdict.counterexample
        )
        reason = f"refuted: {verdict.counterexample.fault}: {verdict.counterexample.message}"
        fallen = Reward(candidate=known.id, value=0.0, reason=reason)
        desk.emit(found, ev.RewardAssigned(reward=fallen), ending)
        _learn(desk, verdict.counterexample)
    return known.correct


def _learn(desk: Desk, found: Counterexample) -> None:
    """What broke this candidate is tried on every later one."""
    for verifier in desk.parts.verifiers:
        if isinstance(verifier, Learning):
            verifier.learn([(found.axes, found.inputs)])


async def attack_round(desk: Desk, number: int) -> None:
    """Attack the candidates of a round that look best. The choice rests on measurements alone, so that
    a resumed session makes the same one."""
    good = [k for k in desk.state.of_round(number) if k.validation and k.validation.ok]
    good = [k for k in good if k.profile and k.profile.ok]
    good.sort(key=lambda k: -(k.profile.speedup if k.profile else 0.0))
    for known in good[: desk.settings.attack_top]:
        await attack(desk, known)


async def prove(desk: Desk, known: CandidateState, *, asked: bool = False) -> bool:
    """Attack a candidate, try to prove it, promote it when the proof closes. True: promoted.

    `asked`: the person asked for it, which no cap holds back. A candidate the prover knows beforehand
    to be beyond it costs no attack and no try; why is recorded all the same."""
    key = await asyncio.to_thread(_key, desk, known)
    if key != "":
        if not await attack(desk, known):
            return False
        if not asked and no_more_proofs(desk.budget_now()):
            return False
    await desk.gate()
    desk.emit(ev.ProofStarted(candidate=known.id, checker=desk.parts.prover.checker))
    stored = _stored(desk, known, key)
    if stored is not None:
        for obligation in stored.obligations:
            closed = ev.ObligationClosed(
                candidate=known.id, obligation=obligation, total=len(stored.obligations)
            )
            desk.emit(closed)
        desk.emit(ev.ProofFinished(candidate=known.id, proof=stored, kept=True), desk.spend())
    else:
        proof = await _tried(desk, known, key)
        events: list[ev.Event] = [ev.ProofFinished(candidate=known.id, proof=proof)]
        if proof.counterexample is not None:
            found = proof.counterexample
            reason = f"refuted: {found.fault}: {found.message}"
            fallen = Reward(candidate=known.id, value=0.0, reason=reason)
            events.append(
                ev.CounterexampleFound(candidate=known.id, verifier=proof.prover, counterexample=found)
            )
            events.append(ev.RewardAssigned(reward=fallen))
            _learn(desk, found)
        desk.emit(*events, desk.spend(proofs=int(is_try(proof))))
    return await promote(desk, known)


def _key(desk: Desk, known: CandidateState) -> str | None:
    """What the proof will be kept under; the empty string when the prover cannot state it, None when
    it cannot tell beforehand."""
    key_of = getattr(desk.parts.prover, "key", None)
    if not callable(key_of):
        return None
    try:
        return str(key_of(known.candidate, desk.task, desk.workload))
    except Exception:
        return None


def _stored(desk: Desk, known: CandidateState, key: str | None) -> Proof | None:
    """The closed proof of that key, of this or an earlier session. One that did not close is tried
    again: more time or a newer prover may close it; so is one whose file is gone."""
    proof = desk.store.proof(key) if key else None
    if proof is None or proof.candidate != known.id or proof.status is not ProofStatus.PROVEN:
        return None
    if proof.file and not Path(proof.file).exists():
        return None
    return proof


async def _tried(desk: Desk, known: CandidateState, key: str | None) -> Proof:
    loop, owner = asyncio.get_running_loop(), threading.get_ident()

    def closed(obligation: Obligation, total: int) -> None:
        event = ev.ObligationClosed(candidate=known.id, obligation=obligation, total=total)
        if threading.get_ident() == owner:
            desk.emit(event)
        else:
            loop.call_soon_threadsafe(desk.emit, event)

    budget = desk.budget_now()
    limit, option = desk.settings.proof_seconds, "--proof-seconds"
    if budget.max_seconds is not None and budget.max_seconds - budget.seconds < limit:
        limit, option = max(1.0, budget.max_seconds - budget.seconds), "--max-seconds"
    try:
        async with asyncio.timeout(limit):
            return await desk.parts.prover.prove(known.candidate, desk.task, desk.workload, closed)
    except TimeoutError:
        reason = f"the proof did not close within {limit:g} s ({option})"
        return Proof(candidate=known.id, key=key or known.id, status=ProofStatus.UNPROVEN, reason=reason)
    except (UserError, StoreError):
        raise
    except Exception as error:
        problem = desk.trouble("prover", error, known.id)
        desk.emit(problem)
        return Proof(candidate=known.id, key="", status=ProofStatus.ERROR, reason=problem.message)


async def promote(desk: Desk, known: CandidateState) -> bool:
    """Certify and export a candidate whose proof closed. Does nothing when the rule is not met."""
    if known.promoted:
        return True
    if obstacle(known) is not None or known.proof is None:
        return False
    try:
        certificate, folder = await asyncio.to_thread(_certified, desk, known, known.proof)
    except (ValueError, OSError) as error:
        desk.emit(desk.trouble("promotion", error, known.id))
        return False
    desk.emit(ev.CandidatePromoted(candidate=known.id, certificate=certificate, export=str(folder)))
    return True


def _certified(desk: Desk, known: CandidateState, proof: Proof) -> tuple[Certificate, Path]:
    """The certificate and the export folder. Raises ValueError, OSError."""
    candidate, task, workload = known.candidate, desk.task, desk.workload
    certificate = desk.parts.prover.certificate(candidate, task, workload, proof)
    if not fits(certificate, known):
        raise ValueError("the certificate is about another source")
    return certificate, desk.parts.export(candidate, certificate, task, workload, desk.exports / known.id)


async def serve_asked(desk: Desk) -> None:
    """Attack and prove what the person asked for."""
    await attack_asked(desk)
    await prove_asked(desk)


async def attack_asked(desk: Desk) -> None:
    """Attack what the person asked for, once it is measured."""
    for target in list(desk.state.suspected):
        known = desk.known(target)
        if known.reward is None:
            continue
        await attack(desk, known)
        if target in desk.state.suspected:
            why = "every verifier has attacked it" if known.correct else "it is known to be wrong"
            text = f"no new attack on {target}: {why}"
            desk.emit(ev.Problem(where="refute", message=text, candidate=target))


async def prove_asked(desk: Desk) -> None:
    """Prove what the person asked for, once it is measured."""
    for target in list(desk.state.wanted):
        known = desk.known(target)
        if known.reward is None:
            continue
        if known.measured and not known.promoted and not desk.no_prover:
            await prove(desk, known, asked=True)
        if target in desk.state.wanted:
            promoted = "it is promoted already" if known.promoted else ""
            reason = promoted or desk.no_prover or obstacle(known) or "nothing to prove"
            desk.emit(ev.Problem(where="prove", message=f"cannot prove {target}: {reason}", candidate=target))


async def prove_round(desk: Desk, number: int) -> None:
    """After a round: one try, of the best candidate the prover can take on, unless it has been tried or
    one as good is promoted already. A round has one try, also when the session is resumed within it."""
    if desk.settings.prove != "rounds" or desk.no_prover or number in desk.state.tried_rounds:
        return
    for known in desk.state.ranked():
        if known.promoted or (known.proof is not None and is_try(known.proof)):
            return
        if known.proof is not None or known.id in desk.state.banned:
            continue
        await prove(desk, known)
        if known.proof is not None and is_try(known.proof):
            return


async def prove_last(desk: Desk) -> str | None:
    """At the end: the best by reward, until one is proven or `prove_top` were tried. Returns why it
    stopped short, if it did."""
    if desk.settings.prove == "never":
        return "proofs were switched off (--prove never)"
    if desk.no_prover:
        return desk.no_prover
    while True:
        best = [known for known in desk.state.ranked() if known.id not in desk.state.banned]
        known, tried = _next(best)
        if known is None or known.promoted:
            return "none of the valid kernels could be proven" if best and known is None else None
        if tried >= desk.settings.prove_top:
            return f"the {tried} best were tried"
        if reason := no_more_proofs(desk.budget_now()):
            return reason
        await prove(desk, known)


def _next(best: list[CandidateState]) -> tuple[CandidateState | None, int]:
    """The first candidate that is promoted or was not looked at, and how many before it were tried."""
    tried = 0
    for known in best:
        if known.promoted or known.proof is None:
            return known, tried
        tried += is_try(known.proof)
    return None, tried
