"""Every statement of a core program."""

from collections.abc import Iterator

from semantics import core


def walk(stmts: tuple[core.Stmt, ...]) -> Iterator[core.Stmt]:
    """Every statement, outer before inner."""
    for stmt in stmts:
        yield stmt
        if isinstance(stmt, core.If):
            yield from walk(stmt.then)
            yield from walk(stmt.other)
        elif isinstance(stmt, core.While):
            yield from walk(stmt.body)
