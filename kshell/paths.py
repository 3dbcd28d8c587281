"""Where kshell keeps a person's data. `KSHELL_HOME` moves all of it."""

import os
from pathlib import Path

from kshell.errors import UserError


def home() -> Path:
    """The data folder, made when missing. Raises UserError when it cannot be made."""
    given = os.environ.get("KSHELL_HOME")
    if given:
        folder = Path(given).expanduser()
    else:
        from platformdirs import user_data_path

        folder = user_data_path("kshell", appauthor=False)
    return _made(folder)


def database() -> Path:
    """The SQLite file with sessions, candidates, insights, proofs and certificates."""
    return home() / "kshell.db"


def cache() -> Path:
    """What can be made again: compiled kernels, Lean builds, the toolchain."""
    return _made(home() / "cache")


def exports() -> Path:
    """Promoted kernels, one folder a session."""
    return _made(home() / "exports")


def locks() -> Path:
    """One lock file a session."""
    return _made(home() / "locks")


def logs() -> Path:
    """What sessions in the background print."""
    return _made(home() / "logs")


def config_file() -> Path:
    """`$KSHELL_CONFIG`, or `kshell/config.toml` under `$XDG_CONFIG_HOME` or `~/.config`. May not exist."""
    given = os.environ.get("KSHELL_CONFIG")
    if given:
        return Path(given).expanduser()
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(base).expanduser() / "kshell" / "config.toml"


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot make the data folder {folder}: {error.strerror or error}; "
            "set KSHELL_HOME to a folder you may write"
        ) from None
    return folder
