"""The store: sessions and their events, and what is derived from events so that it can be searched.

Many threads and processes may read and write at once: readers never wait, writers take turns."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import Field

from insights_db.connection import Connection, Row
from insights_db.records import (
    Candidate,
    Certificate,
    Evaluation,
    Insight,
    Proof,
    Record,
)
from insights_db.schema import migrate
from insights_db.search import quoted
from insights_db.writer import Writer


class SessionRecord(Record):
    """A session as the list of sessions shows it. `task_body` and `options` are JSON texts of their
    owners; `state` is running, interrupted or finished."""

    name: str
    task: str
    axes: dict[str, int]
    device: str
    generator: str
    seed: int
    created: datetime
    updated: datetime
    state: str = "running"
    outcome: str = ""
    best: str | None = None
    best_ms: float | None = None
    task_body: str = "{}"
    options: str = "{}"
    promoted: int = Field(default=0, description="how many candidates have a certificate")


class Store:
    """An open database. Raises StoreError for everything SQLite cannot do."""

    def __init__(self, path: Path | str, wait: float = 10.0) -> None:
        self.path = Path(path)
        self._connection = Connection(self.path, wait)
        try:
            migrate(self._connection)
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    @contextmanager
    def write(self) -> Iterator[Writer]:
        """A transaction: all of the block is kept, or nothing when it raises."""
        with self._connection.transaction() as raw:
            yield Writer(raw)

    # --- sessions and events ---

    def sessions(self) -> list[SessionRecord]:
        """All sessions, newest first."""
        return [_session(row) for row in self._connection.rows(f"{_SESSION} ORDER BY created DESC, name")]

    def session(self, name: str) -> SessionRecord | None:
        """One session by name."""
        row = self._connection.one(f"{_SESSION} WHERE name = ?", (name,))
        return _session(row) if row else None

    def add_session(self, session: SessionRecord) -> None:
        """Register a session before its first event. Raises ValueError when the name is taken."""
        with self._connection.transaction() as raw:
            if raw.execute("SELECT 1 FROM sessions WHERE name = ?", (session.name,)).fetchone():
                raise ValueError(f"there is a session named {session.name!r} already")
            raw.execute(
                "INSERT INTO sessions (name, task, axes, device, generator, seed, created, updated, state,"
                " task_body, options) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    session.name,
                    session.task,
                    json.dumps(session.axes),
                    session.device,
                    session.generator,
                    session.seed,
                    session.created.isoformat(),
                    session.updated.isoformat(),
                    session.state,
                    session.task_body,
                    session.options,
                ),
            )

    def delete_session(self, name: str) -> bool:
        """Forget a session, its events and candidates. Insights and proofs stay. False: no such session."""
        with self._connection.transaction() as raw:
            return raw.execute("DELETE FROM sessions WHERE name = ?", (name,)).rowcount > 0

    def events(self, session: str, after: int = 0) -> Iterator[str]:
        """The JSON texts of the events with `seq > after`, in order. Reads in pages, so that a writer
        may append meanwhile."""
        while True:
            page = self._connection.rows(
                "SELECT seq, body FROM events WHERE session = ? AND seq > ? ORDER BY seq LIMIT 500",
                (session, after),
            )
            for row in page:
                after = row[0]
                yield row[1]
            if len(page) < 500:
                return

    def last_seq(self, session: str) -> int:
        """The number of the last event; 0 before the first."""
        row = self._connection.one("SELECT max(seq) FROM events WHERE session = ?", (session,))
        return int(row[0]) if row and row[0] is not None else 0

    # --- requests to a session that runs in another process ---

    def ask(self, session: str, action: str, target: str = "") -> None:
        """Leave a request for the process that runs a session."""
        with self._connection.transaction() as raw:
            raw.execute(
                "INSERT INTO requests (session, action, target) VALUES (?, ?, ?)", (session, action, target)
            )

    def asked(self, session: str) -> list[tuple[str, str]]:
        """Take the requests (action, target) left for a session, oldest first; each is taken once."""
        if self._connection.one("SELECT 1 FROM requests WHERE session = ?", (session,)) is None:
            return []
        with self._connection.transaction() as raw:
            rows = raw.execute(
                "SELECT action, target FROM requests WHERE session = ? ORDER BY id", (session,)
            ).fetchall()
            raw.execute("DELETE FROM requests WHERE session = ?", (session,))
        return [(row[0], row[1]) for row in rows]

    # --- paid calls ---

    def answer(self, session: str, key: str) -> str | None:
        """What was kept of a session under a key."""
        row = self._connection.one(
            "SELECT body FROM calls WHERE session = ? AND key = ? AND body IS NOT NULL", (session, key)
        )
        return str(row[0]) if row else None

    def keep_answer(
        self, session: str, key: str | None, body: str | None, usd: float = 0.0, tokens: int = 0
    ) -> None:
        """Keep an answer and what it cost. A key that is known keeps its first answer; without a key
        only the cost is kept. Raises StoreError."""
        with self._connection.transaction() as raw:
            raw.execute(
                "INSERT OR IGNORE INTO calls (session, key, at, usd, tokens, body) VALUES (?, ?, ?, ?, ?, ?)",
                (session, key, datetime.now(UTC).isoformat(), usd, tokens, body),
            )

    def paid(self, session: str) -> tuple[float, int]:
        """Dollars and tokens of all calls of a session."""
        row = self._connection.one(
            "SELECT coalesce(sum(usd), 0), coalesce(sum(tokens), 0) FROM calls WHERE session = ?", (session,)
        )
        return (float(row[0]), int(row[1])) if row else (0.0, 0)

    # --- counterexamples ---

    def breaks(self, task: str, limit: int = 24) -> list[tuple[dict[str, int], str]]:
        """Sizes and inputs that broke candidates of a task, newest first."""
        rows = self._connection.rows(
            "SELECT axes, inputs FROM breaks WHERE task = ? ORDER BY rowid DESC LIMIT ?", (task, limit)
        )
        return [(json.loads(row[0]), row[1]) for row in rows]

    # --- candidates ---

    def candidates(self, session: str) -> list[Candidate]:
        """The candidates of a session in the order they were proposed."""
        rows = self._connection.rows(
            "SELECT body FROM candidates WHERE session = ? ORDER BY rowid", (session,)
        )
        return [Candidate.model_validate_json(row[0]) for row in rows]

    def candidate(self, prefix: str, session: str | None = None) -> list[tuple[str, Candidate]]:
        """Every (session, candidate) whose id begins with `prefix`."""
        like = prefix.replace("%", "").replace("_", "") + "%"
        rows = self._connection.rows(
            "SELECT session, body FROM candidates WHERE id LIKE ? AND (? IS NULL OR session = ?)"
            " ORDER BY rowid",
            (like, session, session),
        )
        return [(row[0], Candidate.model_validate_json(row[1])) for row in rows]

    def evaluation(self, session: str, candidate: str) -> tuple[Evaluation, float | None] | None:
        """The evaluation of a candidate and its reward."""
        row = self._connection.one(
            "SELECT body, reward FROM evaluations WHERE session = ? AND candidate = ?", (session, candidate)
        )
        return (Evaluation.model_validate_json(row[0]), row[1]) if row else None

    def pending(self, session: str | None = None) -> list[tuple[str, Candidate]]:
        """(session, candidate) of correct candidates without a decided proof, best reward first."""
        rows = self._connection.rows(
            "SELECT c.session, c.body FROM candidates c JOIN evaluations e"
            " ON e.session = c.session AND e.candidate = c.id"
            " WHERE e.correct = 1 AND (? IS NULL OR c.session = ?) AND c.id NOT IN"
            " (SELECT candidate FROM proofs WHERE status IN ('proven', 'refuted', 'refused'))"
            " ORDER BY e.reward DESC",
            (session, session),
        )
        return [(row[0], Candidate.model_validate_json(row[1])) for row in rows]

    # --- insights ---

    def insights(
        self,
        query: str = "",
        *,
        family: str | None = None,
        device: str | None = None,
        limit: int = 20,
        retracted: bool = False,
    ) -> list[Insight]:
        """Insights that match any word of `query` (all when it is empty), the largest changes first.

        `family` and `device` narrow; `retracted` brings those whose evidence fell too. Any text is a
        valid query: it is quoted, never read as a search expression."""
        match = quoted(query)
        wheres = ["(retracted = 0 OR ?)"]
        values: list[object] = [retracted]
        if query.strip():
            if not match:
                return []
            wheres.append("id IN (SELECT rowid FROM insights_fts WHERE insights_fts MATCH ?)")
            values.append(match)
        for column, value in (("family", family), ("device", device)):
            if value is not None:
                wheres.append(f"{column} = ?")
                values.append(value)
        rows = self._connection.rows(
            f"SELECT id, retracted, body FROM insights WHERE {' AND '.join(wheres)}"
            " ORDER BY effective DESC, abs(change) DESC, id DESC LIMIT ?",
            (*values, limit),
        )
        return [_insight(row) for row in rows]

    # --- proofs and certificates ---

    def proof(self, key: str) -> Proof | None:
        """The finished proof of that key: it need not be tried again."""
        row = self._connection.one("SELECT body FROM proofs WHERE key = ?", (key,))
        return Proof.model_validate_json(row[0]) if row else None

    def proofs(self, candidate: str) -> list[Proof]:
        """All proofs of a candidate, newest first."""
        rows = self._connection.rows(
            "SELECT body FROM proofs WHERE candidate = ? ORDER BY at DESC, key", (candidate,)
        )
        return [Proof.model_validate_json(row[0]) for row in rows]

    def certificates(self, session: str | None = None) -> list[tuple[str, Certificate, str]]:
        """(session, certificate, export folder), newest session first."""
        rows = self._connection.rows(
            "SELECT session, body, export FROM certificates WHERE (? IS NULL OR session = ?)"
            " ORDER BY rowid DESC",
            (session, session),
        )
        return [(row[0], Certificate.model_validate_json(row[1]), row[2]) for row in rows]

    def counts(self) -> dict[str, int]:
        """How many rows each table has."""
        tables = ("sessions", "events", "candidates", "evaluations", "insights", "proofs", "certificates")
        found = {table: self._connection.one(f"SELECT count(*) FROM {table}") for table in tables}
        return {table: int(row[0]) if row else 0 for table, row in found.items()}


_SESSION = (
    "SELECT name, task, axes, device, generator, seed, created, updated, state, outcome, best, best_ms,"
    " task_body, options, (SELECT count(*) FROM certificates WHERE session = name) FROM sessions"
)


def _session(row: Row) -> SessionRecord:
    names = list(SessionRecord.model_fields)
    values = dict(zip(names, row, strict=True))
    return SessionRecord.model_validate({**values, "axes": json.loads(values["axes"])})


def _insight(row: Row) -> Insight:
    insight = Insight.model_validate_json(row[2])
    return insight.model_copy(update={"id": row[0], "retracted": bool(row[1])})


def new_session(name: str, task: str, axes: dict[str, int], **rest: object) -> SessionRecord:
    """A session record made now. `rest`: device, generator, seed, task_body, options."""
    now = datetime.now(UTC)
    return SessionRecord.model_validate(
        {"name": name, "task": task, "axes": axes, "created": now, "updated": now, **rest}
    )
