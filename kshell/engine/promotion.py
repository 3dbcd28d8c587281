"""The one rule of promotion."""

import hashlib

from insights_db.records import Certificate, ProofStatus
from kshell.engine.state import CandidateState


def digest(source: str) -> str:
    """SHA-256 of a source in hex; a candidate's id is its first 12 digits."""
    return hashlib.sha256(source.encode()).hexdigest()


def obstacle(known: CandidateState) -> str | None:
    """Why a candidate may not be promoted, as one line; None when it may: its proof is closed, no
    counterexample is known, and it was validated and measured, all for the very same source."""
    if known.counterexamples:
        found = known.counterexamples[0]
        return f"refuted: {found.fault}: {found.message}"
    if known.validation is None or not known.validation.ok:
        return f"not valid: {known.validation.reason if known.validation else 'never validated'}"
    if known.profile is None or not known.profile.ok:
        return f"not measured: {known.profile.reason if known.profile else 'never profiled'}"
    if known.proof is None:
        return "no proof was tried"
    if known.proof.status is not ProofStatus.PROVEN:
        return known.proof.reason or known.proof.status.value
    if known.id != digest(known.candidate.source)[:12] or known.proof.candidate != known.id:
        return "the proof is about another source"
    return None


def fits(certificate: Certificate, known: CandidateState) -> bool:
    """Whether a certificate is about this candidate's source, letter by letter."""
    source = known.candidate.source
    return certificate.source == source and certificate.source_hash == digest(source)
