"""A table of a bench that is written while it runs, and read again by the run that goes on."""

import json
from pathlib import Path
from typing import Any

from kshell.errors import UserError


def earlier(path: Path) -> dict[str, dict[str, Any]]:
    """The results of the table in a file by their `key`; those without a key are left out, and a file that
    is not there holds none. Raises UserError when the file is not such a table."""
    try:
        results = json.loads(path.read_text(encoding="utf-8"))["results"]
        return {one["key"]: one for one in results if one.get("key")}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise UserError(f"{path}: not a table of this bench ({error}); name another file") from None


def write(path: Path, table: dict[str, Any]) -> None:
    """Put the table in place of the file, whole or not at all. Raises UserError when it cannot be written."""
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}; name a file that can be written") from None
