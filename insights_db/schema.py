"""Whether the tables are those of this version. The tables are in `insights_db.migrations`."""

from insights_db.connection import Connection
from insights_db.errors import StoreError

NAMES = ("first_tables", "paid_calls", "known_breaks")


def migrate(connection: Connection) -> None:
    """Bring the database to this version. Raises StoreError when a newer kshell made it.

    sqlite-utils is imported only when there is something to do: it takes longer than the rest of a
    start."""
    if _applied(connection) == list(NAMES):
        return
    from insights_db.migrations import apply

    with connection.transaction():
        unknown = [name for name in _applied(connection) if name not in NAMES]
        if unknown:
            raise StoreError(
                f"the database {connection.path} was made by a newer kshell; update kshell, "
                "or set KSHELL_HOME to another folder"
            )
        apply(connection)


def _applied(connection: Connection) -> list[str]:
    """Names of the migrations the database has."""
    table = "SELECT 1 FROM sqlite_master WHERE name = '_sqlite_migrations'"
    if connection.one(table) is None:
        return []
    sql = "SELECT name FROM _sqlite_migrations WHERE migration_set = 'kshell' ORDER BY rowid"
    return [row[0] for row in connection.rows(sql)]
