"""What a transaction may write."""

import json
import sqlite3
from datetime import UTC, datetime

from insights_db.records import (
    Candidate,
    Certificate,
    Counterexample,
    Evaluation,
    Insight,
    Proof,
    ProofStatus,
)


class Writer:
    """The writes of one transaction. Writing the same thing twice changes nothing, except events: an
    event number may be used once."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self._raw = raw

    def event(self, session: str, seq: int, kind: str, at: datetime, body: str) -> None:
        """Append an event. Raises sqlite3.IntegrityError (as StoreError) for a number used before."""
        self._raw.execute(
            "INSERT INTO events (session, seq, kind, at, body) VALUES (?, ?, ?, ?, ?)",
            (session, seq, kind, at.isoformat(), body),
        )

    def session_state(
        self,
        session: str,
        state: str,
        outcome: str = "",
        best: str | None = None,
        best_ms: float | None = None,
    ) -> None:
        """Where a session stands: running, interrupted or finished."""
        self._raw.execute(
            "UPDATE sessions SET state = ?, outcome = ?, best = ?, best_ms = ?, updated = ? WHERE name = ?",
            (state, outcome, best, best_ms, datetime.now(UTC).isoformat(), session),
        )

    def candidate(self, session: str, candidate: Candidate) -> None:
        """Keep a candidate."""
        self._raw.execute(
            "INSERT OR IGNORE INTO candidates (session, id, round, body) VALUES (?, ?, ?, ?)",
            (session, candidate.id, candidate.round, candidate.model_dump_json()),
        )

    def evaluation(self, session: str, evaluation: Evaluation, reward: float | None) -> None:
        """Keep the latest evaluation of a candidate on a device."""
        profile = evaluation.profile
        self._raw.execute(
            "INSERT INTO evaluations (session, candidate, device, correct, median_ms, reward, body)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session, candidate, device) DO UPDATE SET"
            " correct = excluded.correct, median_ms = excluded.median_ms, reward = excluded.reward,"
            " body = excluded.body",
            (
                session,
                evaluation.candidate,
                evaluation.device,
                evaluation.correct,
                profile.median_ms if profile and profile.ok else None,
                reward,
                evaluation.model_dump_json(),
            ),
        )

    def insight(self, session: str, task: str, insight: Insight) -> int:
        """Keep an insight; returns its id, a new one when `insight.id` is 0."""
        cursor = self._raw.execute(
            "INSERT INTO insights (id, session, task, family, device, before, after, change,"
            " effective, retracted, strategy, sentence, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO NOTHING",
            (
                insight.id or None,
                session,
                task,
                insight.family,
                insight.device,
                insight.before,
                insight.after,
                insight.change,
                insight.effective,
                insight.retracted,
                insight.strategy,
                insight.sentence,
                insight.model_dump_json(),
            ),
        )
        return insight.id or int(cursor.lastrowid or 0)

    def retract(self, candidate: str) -> int:
        """Retract every insight that rests on `candidate`; returns how many were standing."""
        return self._raw.execute(
            "UPDATE insights SET retracted = 1 WHERE retracted = 0 AND (before = ? OR after = ?)",
            (candidate, candidate),
        ).rowcount

    def broken(self, task: str, verifier: str, candidate: str, found: Counterexample) -> None:
        """Keep the sizes and inputs of a counterexample, so that later candidates are tried on them."""
        self._raw.execute(
            "INSERT OR IGNORE INTO breaks (task, axes, inputs, fault, candidate, verifier)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (task, json.dumps(found.axes, sort_keys=True), found.inputs, found.fault, candidate, verifier),
        )

    def proof(self, proof: Proof) -> None:
        """Keep a finished proof under its key. A closed proof is never replaced by one that is not."""
        if not proof.key or proof.status in (ProofStatus.NONE, ProofStatus.RUNNING, ProofStatus.ERROR):
            return
        self._raw.execute(
            "INSERT INTO proofs (key, candidate, status, at, body) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (key) DO UPDATE SET status = excluded.status, at = excluded.at,"
            " body = excluded.body WHERE proofs.status <> 'proven'",
            (
                proof.key,
                proof.candidate,
                proof.status,
                datetime.now(UTC).isoformat(),
                proof.model_dump_json(),
            ),
        )

    def certificate(self, session: str, certificate: Certificate, export: str) -> None:
        """Keep the certificate of a promoted candidate and the folder it was exported to."""
        self._raw.execute(
            "INSERT OR REPLACE INTO certificates (session, candidate, source_hash, export, body)"
            " VALUES (?, ?, ?, ?, ?)",
            (session, certificate.candidate, certificate.source_hash, export, certificate.model_dump_json()),
        )
