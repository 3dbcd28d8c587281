"""The tables, as migrations that are applied in order and never edited."""

from sqlite_utils import Database, Migrations

from insights_db.connection import Connection

migrations = Migrations("kshell")

_FIRST = """
CREATE TABLE sessions (
  name TEXT PRIMARY KEY, task TEXT NOT NULL, axes TEXT NOT NULL, device TEXT NOT NULL,
  generator TEXT NOT NULL, seed INTEGER NOT NULL, created TEXT NOT NULL, updated TEXT NOT NULL,
  state TEXT NOT NULL, outcome TEXT NOT NULL DEFAULT '', best TEXT, best_ms REAL,
  task_body TEXT NOT NULL, options TEXT NOT NULL
);
CREATE TABLE events (
  session TEXT NOT NULL REFERENCES sessions(name) ON DELETE CASCADE,
  seq INTEGER NOT NULL, kind TEXT NOT NULL, at TEXT NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (session, seq)
) WITHOUT ROWID;
CREATE TABLE candidates (
  session TEXT NOT NULL REFERENCES sessions(name) ON DELETE CASCADE,
  id TEXT NOT NULL, round INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (session, id)
);
CREATE INDEX candidates_by_id ON candidates(id);
CREATE TABLE evaluations (
  session TEXT NOT NULL, candidate TEXT NOT NULL, device TEXT NOT NULL, correct INTEGER NOT NULL,
  median_ms REAL, reward REAL, body TEXT NOT NULL,
  PRIMARY KEY (session, candidate, device),
  FOREIGN KEY (session, candidate) REFERENCES candidates(session, id) ON DELETE CASCADE
);
CREATE TABLE insights (
  id INTEGER PRIMARY KEY, session TEXT NOT NULL, task TEXT NOT NULL, family TEXT NOT NULL,
  device TEXT NOT NULL, before TEXT, after TEXT NOT NULL, change REAL NOT NULL,
  effective INTEGER NOT NULL, retracted INTEGER NOT NULL DEFAULT 0,
  strategy TEXT NOT NULL, sentence TEXT NOT NULL, body TEXT NOT NULL
);
CREATE INDEX insights_by_after ON insights(after);
CREATE INDEX insights_by_before ON insights(before);
CREATE TABLE proofs (
  key TEXT PRIMARY KEY, candidate TEXT NOT NULL, status TEXT NOT NULL, at TEXT NOT NULL, body TEXT NOT NULL
);
CREATE INDEX proofs_by_candidate ON proofs(candidate);
CREATE TABLE certificates (
  session TEXT NOT NULL REFERENCES sessions(name) ON DELETE CASCADE,
  candidate TEXT NOT NULL, source_hash TEXT NOT NULL, export TEXT NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (session, candidate)
);
CREATE TABLE requests (
  id INTEGER PRIMARY KEY,
  session TEXT NOT NULL REFERENCES sessions(name) ON DELETE CASCADE,
  action TEXT NOT NULL, target TEXT NOT NULL
);
"""


@migrations()
def first_tables(db: Database) -> None:
    """Sessions, their events, and what is derived from the events."""
    for statement in _FIRST.split(";\n"):
        if statement.strip():
            db.conn.execute(statement)
    db.table("insights").enable_fts(["strategy", "sentence", "family", "task"], create_triggers=True)


@migrations()
def paid_calls(db: Database) -> None:
    """What model calls of a session answered and cost, kept before it is used."""
    db.conn.execute(
        "CREATE TABLE calls (id INTEGER PRIMARY KEY,"
        " session TEXT NOT NULL REFERENCES sessions(name) ON DELETE CASCADE,"
        " key TEXT, at TEXT NOT NULL, usd REAL NOT NULL, tokens INTEGER NOT NULL, body TEXT,"
        " UNIQUE (session, key))"
    )


@migrations()
def known_breaks(db: Database) -> None:
    """Sizes and inputs that broke a candidate of a task: later candidates of the task are tried on them."""
    db.conn.execute(
        "CREATE TABLE breaks (task TEXT NOT NULL, axes TEXT NOT NULL, inputs TEXT NOT NULL,"
        " fault TEXT NOT NULL, candidate TEXT NOT NULL, verifier TEXT NOT NULL,"
        " PRIMARY KEY (task, axes, inputs))"
    )


def apply(connection: Connection) -> None:
    """Apply what the database lacks."""
    migrations.apply(Database(connection.raw, recursive_triggers=False, execute_plugins=False))
