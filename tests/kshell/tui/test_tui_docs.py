"""The page about the terminal names every command and shows every picture that is made."""

import re
from pathlib import Path

from kshell.tui.commands import COMMANDS

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "terminal.md").read_text(encoding="utf-8")


def test_the_page_lists_exactly_the_commands_of_the_registry() -> None:
    expected = set()
    for command in COMMANDS:
        key = f"`{command.shown}`" if command.shown else ""
        verb = f"`{command.verb}`" if command.verb else ""
        expected.add(f"| {key} | `{command.usage}` | {command.help} | {verb} |")
    listed = {line for line in PAGE.splitlines() if re.match(r"\| *(`[^`]+`)? *\| `/", line)}
    assert listed == expected


def test_the_pictures_it_shows_exist() -> None:
    shown = re.findall(r"\]\((screenshots/[^)]+)\)", PAGE)
    assert shown
    assert [name for name in shown if not (DOCS / name).is_file()] == []
