"""What Lean says: one JSON message a line."""

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the checker. `line` is 1-based, `column` 0-based, as Lean counts them."""

    severity: str
    text: str
    file: str
    line: int
    column: int
    end_line: int

    @property
    def is_error(self) -> bool:
        return self.severity == "error"

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.severity}: {self.text}"


def parse(line: str) -> Message | None:
    """The message on a line of `lean --json`, or None for anything else."""
    if not line.startswith("{"):
        return None
    try:
        said = json.loads(line)
        at = said["pos"]
        end = said.get("endPos") or at
        return Message(
            str(said["severity"]),
            str(said["data"]),
            str(said["fileName"]),
            int(at["line"]),
            int(at["column"]),
            int(end["line"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


def is_noise(line: str) -> bool:
    """Debugging output of the embedded build."""
    return line.startswith(("[DEBUG:", "  - /", "  mainModule? =")) or not line.strip()
