"""One registry: every command has a method, no key is taken twice, and typing is forgiving."""

from collections import Counter

import pytest

from kshell.errors import UserError
from kshell.tui.commands import COMMANDS, find, groups, one_word, parse
from kshell.tui.screens.session import SessionScreen


def test_every_command_has_a_method_and_every_method_a_command() -> None:
    methods = {name[3:] for name in dir(SessionScreen) if name.startswith("do_")}
    assert methods == {command.name for command in COMMANDS}


def test_no_key_is_taken_twice() -> None:
    keys = Counter(key for command in COMMANDS for key in command.keys.split(",") if key)
    assert [key for key, count in keys.items() if count > 1] == []


def test_every_command_is_in_a_group_and_explained() -> None:
    listed = [command for _, commands in groups() for command in commands]
    assert listed == list(COMMANDS) or {c.name for c in listed} == {c.name for c in COMMANDS}
    assert all(command.help and command.help[0].islower() for command in COMMANDS)


@pytest.mark.parametrize(
    ("text", "name", "argument"),
    [
        ("/pause", "pause", ""),
        ("pause", "pause", ""),
        ("/PAUSE ", "pause", ""),
        ("/note use float4 [aligned]", "note", "use float4 [aligned]"),
        ("/insi", "insights", ""),
        ("/go 2.1", "go", "2.1"),
    ],
)
def test_parsing(text: str, name: str, argument: str) -> None:
    command, rest = parse(text)
    assert (command.name, rest) == (name, argument)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/", "type a command"),
        ("/pasue", "did you mean pause?"),
        ("/p", "could be"),
        ("/pause now", "takes nothing"),
        ("/note", "needs TEXT"),
    ],
)
def test_what_cannot_be_meant_is_told(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said.replace("?", r"\?")):
        parse(text)


def test_one_word() -> None:
    assert one_word('"a folder"') == "a folder"
    assert one_word("") == ""
    for bad in ("two words", '"open'):
        with pytest.raises(UserError):
            one_word(bad)


def test_find() -> None:
    assert find("quit") is not None
    assert find("nothing") is None
