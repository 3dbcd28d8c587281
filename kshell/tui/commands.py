"""The one registry of commands. Keys, `/commands`, the palette, the footer and the help come of it."""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from kshell.errors import UserError, nearest


@dataclass(frozen=True, slots=True)
class Command:
    """`name` is typed after `/` and names the method `do_<name>` that does it. `argument` describes
    what follows it, in brackets when it may be left out. `verb` is the same thing on the command
    line. `keys` are Textual key names, `shown` how a person reads them."""

    name: str
    help: str
    group: str
    keys: str = ""
    shown: str = ""
    argument: str = ""
    verb: str = ""
    footer: str = ""

    @property
    def usage(self) -> str:
        """`/note TEXT`."""
        return f"/{self.name} {self.argument}".rstrip()


_SESSION, _KERNEL, _VIEW, _REPLAY, _SHELL = "Session", "Kernel", "View", "Replay", "kshell"

COMMANDS: tuple[Command, ...] = (
    Command("pause", "pause the session, or go on", _SESSION, "space", "Space", footer="pause"),
    Command("continue", "go on after a pause", _SESSION),
    Command("stop", "finish what runs, then end the session", _SESSION, "S", "S"),
    Command(
        "note", "give the generator a hint for the next round", _SESSION, "n", "n", "TEXT", footer="note"
    ),
    Command("budget", "show what is spent and what is left", _SESSION, "B", "B"),
    Command("detach", "leave; the session runs on and can be attached again", _SESSION, "D", "D"),
    Command("new", "start another session", _SESSION, verb="kshell run"),
    Command("run", "start a session for a task", _SESSION, argument="TASK", verb="kshell run"),
    Command(
        "sessions",
        "past and running sessions: replay, resume or attach one",
        _SESSION,
        verb="kshell sessions",
    ),
    Command("prove", "prove this kernel now", _KERNEL, "v", "v", "[KERNEL]", "kshell prove", "prove"),
    Command("promote", "promote this kernel: it is proven first", _KERNEL, "P", "P", "[KERNEL]"),
    Command(
        "refute",
        "attack this kernel, and show what attacks found",
        _KERNEL,
        "f",
        "f",
        "[KERNEL]",
        "kshell check",
    ),
    Command("pin", "keep this kernel as a parent, or no longer", _KERNEL, "p", "p", "[KERNEL]"),
    Command("ban", "never build on this kernel, or allow it again", _KERNEL, "b", "b", "[KERNEL]"),
    Command(
        "export",
        "copy a promoted kernel and its certificate to a folder",
        _KERNEL,
        "e",
        "e",
        "[FOLDER]",
        "kshell export",
        "export",
    ),
    Command(
        "copy",
        "copy the pane: to the clipboard and to a file",
        _KERNEL,
        "y",
        "y",
        "[PANE]",
        footer="copy",
    ),
    Command(
        "go",
        "move to a kernel: 2.1, the start of its id, or best",
        _VIEW,
        "g",
        "g",
        "[KERNEL]",
        footer="best",
    ),
    Command("code", "show the source", _VIEW, "1", "1"),
    Command("proof", "show the proof", _VIEW, "2", "2"),
    Command("profile", "show latency, roofline and resources", _VIEW, "3", "3"),
    Command("insights", "show what was learned", _VIEW, "4", "4", verb="kshell insights"),
    Command("log", "show the log", _VIEW, "5", "5"),
    Command(
        "diff",
        "source, parent, best: what the code is compared with",
        _VIEW,
        "d",
        "d",
        "[MODE]",
        footer="diff",
    ),
    Command("sort", "by round, or by reward", _VIEW, "o", "o"),
    Command("zoom", "one pane over the whole screen, or all of them", _VIEW, "z", "z", footer="zoom"),
    Command("theme", "the next theme, or the one named", _VIEW, "t", "t", "[NAME]"),
    Command("faster", "replay faster", _REPLAY, "plus,equals_sign", "+"),
    Command("slower", "replay slower", _REPLAY, "minus", "-"),
    Command("back", "replay: back by a twentieth", _REPLAY, "left_square_bracket", "["),
    Command("forward", "replay: on by a twentieth", _REPLAY, "right_square_bracket", "]"),
    Command(
        "speed",
        "replay at this many times the real speed; 0 is at once",
        _REPLAY,
        argument="NUMBER",
        verb="kshell replay",
    ),
    Command("seek", "replay from this percentage", _REPLAY, argument="PERCENT"),
    Command(
        "help",
        "what to do next, all commands and keys",
        _SHELL,
        "question_mark,f1",
        "?",
        verb="kshell --help",
        footer="help",
    ),
    Command("command", "type a command", _SHELL, "slash,colon", "/", footer="command"),
    Command("quit", "leave; asks first while a session runs", _SHELL, "q,ctrl+q", "q", footer="quit"),
)

_BY_NAME = {command.name: command for command in COMMANDS}


def find(name: str) -> Command | None:
    """The command of that name."""
    return _BY_NAME.get(name)


def parse(text: str) -> tuple[Command, str]:
    """The command and its argument. The slash may be left out; a start that fits one command only is
    enough. Raises UserError with what to do."""
    words = text.strip().removeprefix("/").split(None, 1)
    if not words:
        raise UserError("type a command, such as /note use shared memory; ? lists them")
    name, argument = words[0].lower(), (words[1].strip() if len(words) > 1 else "")
    command = _BY_NAME.get(name)
    if command is None:
        fits = [c for c in COMMANDS if c.name.startswith(name)]
        if len(fits) > 1:
            raise UserError(f"/{name} could be {', '.join('/' + c.name for c in fits)}")
        if not fits:
            raise UserError(f"no command /{name}{nearest(name, list(_BY_NAME))}; ? lists them")
        command = fits[0]
    if argument and not command.argument:
        raise UserError(f"/{command.name} takes nothing after it")
    if not argument and command.argument and not command.argument.startswith("["):
        raise UserError(f"/{command.name} needs {command.argument}: {command.usage}")
    return command, argument


def one_word(argument: str) -> str:
    """The single word (or quoted text) of an argument. Raises UserError for more."""
    try:
        words = shlex.split(argument)
    except ValueError as error:
        raise UserError(f"cannot read {argument!r}: {error}") from None
    if len(words) > 1:
        raise UserError(f"one word is expected, not {len(words)}: {argument!r}")
    return words[0] if words else ""


def groups() -> Iterable[tuple[str, list[Command]]]:
    """Commands by heading, in order."""
    for name in (_SESSION, _KERNEL, _VIEW, _REPLAY, _SHELL):
        yield name, [command for command in COMMANDS if command.group == name]
