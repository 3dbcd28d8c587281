"""The app: a start screen when there is no session, a session screen when there is one."""

import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.theme import BUILTIN_THEMES

from kshell.errors import UserError, nearest
from kshell.tui.palette import DARK, LIGHT, Palette

if TYPE_CHECKING:
    from kshell.events import Event
    from kshell.tui.control import Control
    from kshell.tui.home import Home, Opened
    from kshell.tui.screens.session import SessionScreen

THEMES = (DARK.name, LIGHT.name, "nord", "gruvbox", "solarized-light")


def _provider() -> type[Provider]:
    from kshell.tui.provider import KshellCommands

    return KshellCommands


class KshellApp(App[int]):
    """`stream` and `control` are one session; without them the start screen of `home` is shown.
    `detach` leaves the session running and returns what to tell the person; None: it cannot be left
    running. `home` may be a function that makes it: it is called in a thread after the first frame. `now`
    is a monotonic clock in seconds. `leave_after`: leave by itself so many seconds after the session is
    over, because another one follows."""

    CSS_PATH = "app.tcss"
    TITLE = "kshell"
    COMMANDS = {_provider}  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+q", "leave", show=False)]

    def __init__(
        self,
        stream: "AsyncIterator[Event] | None" = None,
        control: "Control | None" = None,
        *,
        detach: Callable[[], str] | None = None,
        home: "Home | Callable[[], Home] | None" = None,
        now: Callable[[], float] = time.monotonic,
        theme: str = DARK.name,
        leave_after: float | None = None,
    ) -> None:
        super().__init__()
        self.leave_after, self._over_since = leave_after, -1.0
        self._stream, self._control, self._leave_running, self.home = stream, control, detach, home
        self.now = now
        self.farewell = ""
        self.last_session: SessionScreen | None = None
        for own in (DARK, LIGHT):
            self.register_theme(own)
        self.theme = theme if theme in self.available_themes else DARK.name
        self.palette = Palette.of(self.current_theme, self.no_color)

    def on_mount(self) -> None:
        """Show the first screen."""
        self.theme_changed_signal.subscribe(self, self._recolour)
        if self._stream is not None and self._control is not None:
            self.show_session(self._stream, self._control, self._leave_running)
        else:
            self.open_start()
        if self.leave_after is not None:
            self.set_interval(0.25, self._leave_when_over)

    def _leave_when_over(self) -> None:
        from kshell.tui.screens.session import SessionScreen

        screen = self.last_session = next(
            (s for s in self.screen_stack if isinstance(s, SessionScreen)), None
        )
        if self.leave_after is None or screen is None or not screen.ended:
            return
        if self._over_since < 0:
            self._over_since = self.now()
            screen.tell(f"the next session starts in {self.leave_after:g} seconds; q goes on at once")
        elif self.now() - self._over_since >= self.leave_after:
            self.leave()

    def show_session(
        self, stream: "AsyncIterator[Event]", control: "Control", detach: Callable[[], str] | None
    ) -> None:
        """Open a session on a screen of its own."""
        from kshell.tui.screens.session import SessionScreen

        self._leave_running = detach
        self.last_session = SessionScreen(stream, control)
        self._replace(self.last_session)

    def show(self, opened: "Opened") -> None:
        """Open what the home screen chose."""
        self.show_session(opened.stream, opened.control, opened.detach)

    def open_start(self, task: str = "", sessions: bool = False) -> None:
        """The start screen, with a task marked, or with the list of sessions in focus."""
        if self.home is None:
            raise UserError("no start screen here: leave, and run `kshell` alone")
        from kshell.tui.screens.start import StartScreen

        self._replace(StartScreen(self.home, task, sessions))

    def _replace(self, screen: "object") -> None:
        from textual.screen import Screen

        assert isinstance(screen, Screen)
        if len(self.screen_stack) > 1:
            self.switch_screen(screen)
        else:
            self.push_screen(screen)

    # --- leaving ---

    @property
    def can_detach(self) -> bool:
        """Whether the session can run on without this terminal."""
        return self._leave_running is not None

    def detach(self) -> None:
        """Leave the session running. Raises UserError when it cannot."""
        if self._leave_running is None:
            raise UserError("this session runs inside this terminal and cannot be left running; S stops it")
        self.farewell = self._leave_running()
        self.exit(0)

    def leave(self) -> None:
        """Leave; the code is 130 when a live session was left before its end."""
        from kshell.tui.screens.session import SessionScreen

        screen = self.last_session = next(
            (s for s in self.screen_stack if isinstance(s, SessionScreen)), None
        )
        if screen is not None and screen.running:
            self.farewell = f"left before the end; go on with: kshell resume {screen.session.name}"
            self.exit(130)
            return
        if screen is not None and screen.session.promoted:
            row = screen.session.promoted[0]
            self.farewell = f"{screen.session.task}: kernel {row.label} is proven; exported to {row.export}"
        self.exit(0)

    def _fatal_error(self) -> None:
        """An error nobody foresaw: one line after the app has closed, the rest in a report."""
        import sys

        error = sys.exc_info()[1]
        if self.is_headless or error is None:
            super()._fatal_error()
            return
        from kshell.crash import written

        text = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        self.farewell = f"kshell: internal error: {text}; {written(error)}"
        if self.last_session is not None and self.last_session.session.name:
            self.farewell += f"\nthe session can go on: kshell resume {self.last_session.session.name}"
        self._close_messages_no_wait()

    def action_leave(self) -> None:
        """Ctrl+Q on a screen that does not ask."""
        self.leave()

    # --- colours ---

    def next_theme(self, name: str = "") -> str:
        """Use the named theme, or the one after this; returns its name. Raises UserError."""
        if name:
            full = name if name in self.available_themes else f"kshell-{name}"
            if full not in self.available_themes:
                known = [*THEMES, *BUILTIN_THEMES]
                raise UserError(f"no theme {name!r}{nearest(name, known)}; some are {', '.join(THEMES)}")
            self.theme = full
        else:
            here = THEMES.index(self.theme) if self.theme in THEMES else -1
            self.theme = THEMES[(here + 1) % len(THEMES)]
        return self.theme

    def _recolour(self, theme: object) -> None:
        from kshell.tui.screens.session import SessionScreen

        self.palette = Palette.of(self.current_theme, self.no_color)
        for screen in self.screen_stack:
            if isinstance(screen, SessionScreen) or hasattr(screen, "repaint"):
                screen.repaint()


def calm_collector() -> None:
    """Let the garbage collector run seldom: a full collection over a long session's events holds up a key.
    What exists now is left out of it."""
    import gc

    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _chosen() -> tuple[str, bool]:
    """Theme and use of the mouse, of the configuration; it is read only when there is one: that costs
    start-up time."""
    import os

    from kshell import paths

    if not {"KSHELL_THEME", "KSHELL_MOUSE"} & set(os.environ) and not paths.config_file().exists():
        return DARK.name, True
    from kshell import config

    chosen = config.load().tui
    name = chosen.theme
    return name if name in THEMES or not name else f"kshell-{name}", chosen.mouse


def run(
    stream: "AsyncIterator[Event] | None" = None,
    control: "Control | None" = None,
    *,
    detach: Callable[[], str] | None = None,
    home: "Home | Callable[[], Home] | None" = None,
    leave_after: float | None = None,
) -> int:
    """Show a session, or the start screen, in this terminal until the person leaves.

    `leave_after`: leave by itself so many seconds after the session is over. Returns 0, or 130 when a
    live session was left before its end. Must not be called from a running event loop: the app runs its
    own, and the stream is consumed there."""
    import os
    import sys

    from kshell.tui.capture import stderr_captured

    for name in ("COLUMNS", "LINES"):  # an exported size would be believed instead of the terminal's
        os.environ.pop(name, None)
    calm_collector()
    sys.setswitchinterval(0.001)  # the session works in another thread: the screen gets its turn soon
    theme, mouse = _chosen()
    app = KshellApp(stream, control, detach=detach, home=home, theme=theme, leave_after=leave_after)
    with stderr_captured() as captured:
        code = app.run(mouse=mouse)
    captured.report()
    if app.farewell:
        print(app.farewell, file=sys.stderr)
    return code if code is not None else 2 if app.return_code else 0
