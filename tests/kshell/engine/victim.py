"""A session on the doubles in a process of its own, to be killed: `victim.py FOLDER WAIT`.

Every call of a double is in FOLDER/journal.txt, every event in FOLDER/kshell.db."""

import asyncio
import sys
from pathlib import Path

from insights_db.store import Store
from kshell.engine.session import drain
from tests.kshell.engine import fakes


def main(folder: Path, wait: float) -> None:
    """Start or resume the session `s` and run it to its end."""
    with Store(folder / "kshell.db") as store:
        made = fakes.parts(fakes.Journal(folder / "journal.txt"), wait)
        asyncio.run(drain(fakes.session(store, folder, made)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
