"""The table of verbs. A verb is a module `kshell/cli/<name>.py` with `HELP`, `configure` and `run`."""

import argparse
import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast


class VerbModule(Protocol):
    """What a verb's module offers. `HELP` is its description in full."""

    HELP: str

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""

    def run(self, args: argparse.Namespace) -> int:
        """Do it; returns the exit code."""


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb, the module behind it, one line of help, and the heading it is listed under."""

    name: str
    help: str
    group: str
    module: str = ""

    def load(self) -> VerbModule:
        """Import the module of the verb."""
        return cast(VerbModule, importlib.import_module(f"kshell.cli.{self._module}"))

    @property
    def present(self) -> bool:
        """Whether this build has the module."""
        return (Path(__file__).parent / f"{self._module}.py").exists()

    @property
    def _module(self) -> str:
        return self.module or self.name


_ALL = (
    Verb("run", "evolve kernels for a task until one is fast and proven", "Sessions"),
    Verb("resume", "go on with a session that was stopped or killed", "Sessions"),
    Verb("attach", "watch and steer a session that runs in the background", "Sessions"),
    Verb("replay", "show a past session again, at any speed", "Sessions"),
    Verb("sessions", "list the sessions, or delete one", "Sessions"),
    Verb("export", "write a promoted kernel and its certificate to a folder", "Sessions"),
    Verb("insights", "search what past sessions learned", "Sessions"),
    Verb("tasks", "list the tasks, or show one", "Tasks and kernels"),
    Verb("new", "make a task of a sentence, a C file or a PyTorch file", "Tasks and kernels"),
    Verb("check", "parse, interpret and try to break a kernel", "Tasks and kernels"),
    Verb("verify", "prove a kernel equivalent to its task", "Tasks and kernels"),
    Verb("prove", "prove candidates that wait for a proof", "Tasks and kernels"),
    Verb("audit", "check a certificate again from nothing", "Tasks and kernels"),
    Verb("bench", "measure a part of kshell", "This machine"),
    Verb("lean", "install the Lean toolchain, or say where it is", "This machine"),
    Verb("doctor", "check this machine and say what to do for each part", "This machine"),
    Verb("completion", "print shell completion for bash, zsh or fish", "This machine"),
    Verb("mcp", "serve kshell to other agents over MCP", "This machine"),
)


def verbs() -> tuple[Verb, ...]:
    """The verbs of this build, in the order they are listed."""
    return tuple(verb for verb in _ALL if verb.present)


def find(name: str) -> Verb | None:
    """The verb of that name, if this build has it."""
    return next((verb for verb in verbs() if verb.name == name), None)
