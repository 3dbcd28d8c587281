"""The palette: every command of the registry, found by its name or its help."""

from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider

from kshell.tui.commands import COMMANDS, Command
from kshell.tui.screens.session import SessionScreen


class KshellCommands(Provider):
    """Commands of the session screen; on another screen, those it can do."""

    @property
    def _offered(self) -> list[Command]:
        screen = self.screen
        return [c for c in COMMANDS if c.name != "command" and hasattr(screen, f"do_{c.name}")]

    def _act(self, command: Command) -> None:
        screen = self.screen
        if not isinstance(screen, SessionScreen):
            getattr(screen, f"do_{command.name}")()
        elif command.argument and not command.argument.startswith("["):
            screen.open_prompt(f"/{command.name} ")
        else:
            screen.action_do(command.name)

    async def discover(self) -> Hits:
        """All commands, in the order of the registry."""
        for command in self._offered:
            yield DiscoveryHit(command.usage, partial(self._act, command), help=command.help)

    async def search(self, query: str) -> Hits:
        """Commands that match what was typed."""
        matcher = self.matcher(query)
        for command in self._offered:
            score = matcher.match(f"{command.name} {command.help}")
            if score > 0:
                yield Hit(
                    score, matcher.highlight(command.usage), partial(self._act, command), help=command.help
                )
