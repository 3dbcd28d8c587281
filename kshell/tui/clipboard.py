"""Copying: a file that is surely there, and the terminal's clipboard as far as it listens."""

import os
import re
import tempfile
from pathlib import Path

OSC52_BYTES = 74_000


def save(name: str, text: str) -> Path:
    """Write the text to a file of that name in the person's temporary folder; returns its path.
    Only the person may read it. Raises OSError."""
    folder = Path(tempfile.gettempdir()) / f"kshell-{os.getuid() if hasattr(os, 'getuid') else 'copy'}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or (hasattr(os, "getuid") and folder.stat().st_uid != os.getuid()):
        raise OSError(f"{folder} belongs to somebody else")
    path = folder / (re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "copy")
    path.write_text(text, encoding="utf-8")
    return path


def fits_terminal(text: str) -> bool:
    """Whether terminals commonly take a text of this length through OSC 52."""
    return len(text.encode()) * 4 / 3 <= OSC52_BYTES


def report(path: Path, sent: bool) -> str:
    """What to tell the person: never more than is known."""
    if sent:
        return f"saved to {path}; also offered to the terminal's clipboard, which may refuse it"
    return f"saved to {path}; too long for the terminal's clipboard"
