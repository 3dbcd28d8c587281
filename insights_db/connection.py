"""One SQLite connection: WAL, explicit transactions, errors a person can act on."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from insights_db.errors import StoreError

Row = tuple[Any, ...]


class Connection:
    """A connection that threads may share. Writes are BEGIN IMMEDIATE transactions, one at a time.

    `wait` is how many seconds to wait for another process that writes. Raises StoreError."""

    def __init__(self, path: Path, wait: float = 10.0) -> None:
        self.path = path
        self._lock = threading.RLock()
        with self._explained():
            self.raw = sqlite3.connect(path, timeout=wait, isolation_level=None, check_same_thread=False)
            try:
                self.raw.execute("PRAGMA journal_mode=WAL")
                self.raw.execute("PRAGMA synchronous=NORMAL")
                self.raw.execute("PRAGMA foreign_keys=ON")
            except BaseException:
                self.raw.close()
                raise

    def close(self) -> None:
        """Close; closing twice does nothing."""
        with self._lock:
            self.raw.close()

    def rows(self, sql: str, values: tuple[object, ...] = ()) -> list[Row]:
        """All rows of a query."""
        with self._lock, self._explained():
            return self.raw.execute(sql, values).fetchall()

    def one(self, sql: str, values: tuple[object, ...] = ()) -> Row | None:
        """The first row of a query."""
        with self._lock, self._explained():
            found: Row | None = self.raw.execute(sql, values).fetchone()
            return found

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of the block or none of it. Nested blocks join the outer one."""
        with self._lock, self._explained():
            if self.raw.in_transaction:
                yield self.raw
                return
            self.raw.execute("BEGIN IMMEDIATE")
            try:
                yield self.raw
                self.raw.execute("COMMIT")
            except BaseException:
                if self.raw.in_transaction:
                    self.raw.execute("ROLLBACK")
                raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """SQLite's errors as StoreError."""
        try:
            yield
        except (sqlite3.OperationalError, sqlite3.DatabaseError) as error:
            raise StoreError(f"the database {self.path} {_explanation(error)}") from error


def _explanation(error: sqlite3.Error) -> str:
    text = str(error)
    if "locked" in text or "busy" in text:
        return "is locked by another process; let that one finish or stop it, then try again"
    if "full" in text or "disk I/O" in text:
        return "cannot grow, the disk is full; free some space and run `kshell resume`"
    if "readonly" in text or "unable to open" in text:
        return "cannot be opened for writing; check its permissions or set KSHELL_HOME to another folder"
    if "not a database" in text or "malformed" in text:
        return "is damaged or not a kshell database; move it away or set KSHELL_HOME to another folder"
    return f"refused a statement: {text}"
