"""The session screen without its commands: takes in events, paints what changed, hears keys."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events as tev
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static

from insights_db.errors import StoreError
from kshell.errors import UserError
from kshell.events import Event
from kshell.tui.commands import COMMANDS, find, parse
from kshell.tui.control import Control
from kshell.tui.draw import side as draw
from kshell.tui.draw.code import Mode
from kshell.tui.layout import MINIMUM, PANES, Arrangement, arrange
from kshell.tui.model import Level, Phase, Session
from kshell.tui.panes import Painter
from kshell.tui.replay import Replay
from kshell.tui.row import Row
from kshell.tui.screens.dialogs import Page
from kshell.tui.screens.help import summary_lines
from kshell.tui.widgets.bars import LastLine, OneLine, PaneChosen, PaneStrip
from kshell.tui.widgets.lines import Lines
from kshell.tui.widgets.log import Log
from kshell.tui.widgets.population import Chosen, Opened, Population
from kshell.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from kshell.tui.app import KshellApp

FRAMES_A_SECOND = 5
SLICE_SECONDS = 0.002
MESSAGE_SECONDS = 6.0


class SessionView(Screen[None]):
    """One session, live or replayed. It owns the view model; widgets only draw it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(c.keys, f"do('{c.name}')", c.help, show=False, priority=True) for c in COMMANDS if c.keys),
        Binding("escape", "back", "Back to the table", show=False),
        Binding("ctrl+c", "interrupt", "Copy the selection, or leave", show=False, priority=True),
    ]

    def __init__(self, stream: AsyncIterator[Event], control: Control) -> None:
        super().__init__()
        self.stream, self.control = stream, control
        self.session = Session()
        self.chosen = ""
        self.following = True
        self.pane_chosen = False
        self._frames = 0
        self.mode = Mode.SOURCE
        self.recent = list(PANES)
        self.zoomed = ""
        self.arrangement = Arrangement("small", ())
        self.leaving = False
        self.ended = False
        self.message, self.message_bad, self.message_until = "", False, 0.0
        self._synced = (0.0, 0.0)
        self._told = False
        self._whole = True
        self._panes_next = False
        self.painter = Painter(self)
        self.title_bar = OneLine(id="title")
        self.population = Population()
        self.log_pane = Log()
        self.views: dict[str, Lines] = {
            "code": Lines(id="code"),
            "proof": Lines(id="proof"),
            "profile": Lines(id="profile"),
            "insights": Lines(id="insights"),
            "log": self.log_pane,
        }
        self.strips = {place: PaneStrip(id=f"strip-{place}") for place in ("main", "evidence", "side")}
        self.left, self.right = Vertical(id="left"), Vertical(id="right")
        self.small = Static(id="small", markup=False)
        self.budget_bar = OneLine(id="budget")
        self.last_line = LastLine(id="last")
        self.prompt = Prompt()

    @property
    def shell(self) -> "KshellApp":
        """The app, by its own type."""
        return cast("KshellApp", self.app)

    @property
    def replay(self) -> Replay | None:
        """The replay, when this session is one."""
        return self.stream if isinstance(self.stream, Replay) else None

    @property
    def row(self) -> Row | None:
        """The candidate under the cursor."""
        return self.session.rows.get(self.chosen)

    @property
    def running(self) -> bool:
        """A live session that is not over: leaving needs a question."""
        return self.replay is None and not self.session.over and not self.ended

    def compose(self) -> ComposeResult:
        """All panes exist once; the arrangement says which are displayed."""
        yield self.title_bar
        with Container(id="work"):
            with self.left:
                yield self.population
                yield self.strips["side"]
                yield self.views["insights"]
                yield self.log_pane
            with self.right:
                yield self.strips["main"]
                yield self.views["code"]
                yield self.strips["evidence"]
                yield self.views["proof"]
                yield self.views["profile"]
        yield self.budget_bar
        yield self.prompt
        yield self.last_line
        yield self.small

    def on_mount(self) -> None:
        """Start taking in events and painting."""
        self.prompt.display = False
        if self.replay is not None:
            self.replay.on_seek = self._rewound
        self.population.table.focus()
        self.set_interval(0.5 / FRAMES_A_SECOND, self._frame)
        self.run_worker(self._consume(), group="feed", exit_on_error=False)

    # --- the stream ---

    async def _consume(self) -> None:
        """Fold events in slices of two milliseconds, so that keys and painting come between."""
        stop = time.perf_counter() + SLICE_SECONDS
        try:
            async for event in self.stream:
                self.session.fold(event)
                self._synced = (self.session.elapsed, self.shell.now())
                if time.perf_counter() > stop:
                    await asyncio.sleep(0)
                    stop = time.perf_counter() + SLICE_SECONDS
        except (UserError, StoreError) as error:
            self.trouble(str(error))
        except Exception as error:
            from kshell.crash import written

            self.trouble(f"the session broke: {type(error).__name__}: {error}; {written(error)}")
        self.ended = True
        self._whole = True
        if self.replay is None and not self.session.over and not self.message_bad and self.session.name:
            self.trouble(f"the session's process is gone; go on with: kshell resume {self.session.name}")

    def _rewound(self, position: int) -> None:
        replay = self.replay
        assert replay is not None
        self.session = Session.of(replay.events[:position])
        self._synced = (self.session.elapsed, self.shell.now())
        if self.chosen not in self.session.rows:
            self.chosen = ""
        self._whole = True

    def note_line(self, level: Level, text: str) -> None:
        """Add a line of this terminal's own to the log."""
        self.session.say(level, text)

    # --- painting ---

    @property
    def elapsed(self) -> float:
        """Seconds of work, going on between events while a live session runs."""
        base, at = self._synced
        live = self.running and self.session.phase is Phase.RUNNING
        return base + (self.shell.now() - at if live else 0.0)

    def paint(self) -> None:
        """Bring the whole screen up to date."""
        self._paint(table=True, panes=True)

    def answer(self) -> None:
        """Show at once what a command has changed. What events meanwhile changed in the table comes with
        the next frame: in a busy session that is most of the work, and the key would wait for it."""
        self._paint(table=False, panes=True, bars=True)

    def _frame(self) -> None:
        """The table and the panes in turn, each FRAMES_A_SECOND times: in a busy session half the work at
        a time leaves a key half the wait."""
        self._panes_next = not self._panes_next
        self._paint(table=self._panes_next or self._whole, panes=not self._panes_next or self._whole)

    def _paint(self, *, table: bool, panes: bool, bars: bool = False) -> None:
        if self.arrangement.mode == "small" or not self.is_current:
            self._finish_line()
            return
        whole = self._whole
        if table:
            self._whole = False
        self.session.elapsed = max(self.session.elapsed, self.elapsed)
        if table:
            if self.following:
                self._frames += 1
                if not self.chosen or self._frames >= FRAMES_A_SECOND:
                    self.follow()
            self.painter.table(self.session.take_dirty(), whole)
        if table or bars:
            self._paint_bars()
        if panes:
            self.painter.panes(whole)
        self._finish_line()

    def _paint_bars(self) -> None:
        session, palette, width = self.session, self.shell.palette, self.size.width
        self.title_bar.show(draw.title_line(session, width, palette, self._replay_note()))
        self.budget_bar.show(draw.budget_line(session, width, palette))
        if self.message and self.shell.now() > self.message_until:
            self.message = ""
        self.last_line.paint(
            self.message,
            self.message_bad,
            width,
            palette,
            self.running,
            self.replay is not None,
            session.exported,
        )

    def _replay_note(self) -> str:
        replay = self.replay
        if replay is None:
            return ""
        speed = f"{replay.speed:g}x" if replay.speed else "max"
        share = replay.position / max(1, len(replay.events))
        return f"replay {speed} {share:.0%}{' ‖' if replay.paused else ''}  "

    def follow(self) -> None:
        """Until the person chooses, the cursor is on the kernel being proven, the best, or the newest; when
        the session is over, on the best of the promoted. It moves at most once a second."""
        session = self.session
        self._frames = 0
        proving = [key for key in session.order if session.rows[key].proof == "running"]
        if proving and not self.pane_chosen and self.arrangement.mode != "tall" and self.recent[0] != "proof":
            self.show_pane("proof", by_person=False)
        if proving:
            target = proving[-1]
        elif session.over and session.promoted:
            target = session.promoted[0].id
        else:
            target = session.best or (session.order[-1] if session.order else "")
        if target and target != self.chosen:
            self.choose(target)

    def choose(self, candidate: str) -> None:
        """Put the cursor on a candidate and show it in the panes."""
        self.chosen = candidate
        self.population.table.choose(candidate)

    def _finish_line(self) -> None:
        """Once, when a live stream has ended: tell, or leave if that was asked for. A session that was
        resumed has ends in its past; they do not count."""
        if self._told or self.replay is not None or not self.ended:
            return
        if self.leaving:
            self._told = True
            self.shell.leave()
        elif self.is_current and self.session.finished:
            self._told = True
            if self.following:
                self.follow()
                self.paint()
            palette = self.shell.palette
            after = self.shell.leave_after
            note = f"the next session starts in {after:g} seconds" if after is not None else ""
            self.app.push_screen(
                Page(lambda width: summary_lines(self.session, width, palette), palette, note)
            )

    def repaint(self) -> None:
        """Arrange and paint everything anew: after a resize, another theme, another pane."""
        self._arrange(self.size.width, self.size.height)
        self._whole = True
        self.call_after_refresh(self.paint)

    def on_resize(self, event: tev.Resize) -> None:
        """Another size: another arrangement. The screen itself has the new size a little later."""
        self._arrange(event.size.width, event.size.height)
        self.call_after_refresh(self.repaint)

    def _arrange(self, width: int, height: int) -> None:
        now = self.arrangement = arrange(width, height, self.recent, self.zoomed)
        for mode in ("small", "narrow", "wide", "tall"):
            self.set_class(now.mode == mode, f"-{mode}")
        if now.mode == "small":
            self.small.update(
                f"kshell needs {MINIMUM[0]}x{MINIMUM[1]} cells; this terminal has {width}x{height}.\n"
                "Make it larger. The session goes on meanwhile."
            )
        places = {group.place for group in now.groups}
        shown: dict[Widget, bool] = {view: pane in now.visible for pane, view in self.views.items()}
        shown |= {strip: place in places for place, strip in self.strips.items()}
        shown[self.population] = now.population
        shown[self.left] = now.population or "side" in places
        shown[self.right] = bool(places & {"main", "evidence"})
        for widget, display in shown.items():
            if widget.display != display:
                widget.display = display
        for view in self.views.values():
            view.palette = self.shell.palette

    def show_pane(self, pane: str, by_person: bool = True) -> None:
        """Bring a pane to the screen; the focus goes with it if it was in another pane. Once the person
        chose a pane, none comes by itself."""
        self.pane_chosen = self.pane_chosen or by_person
        in_pane = any(view.has_focus for view in self.views.values())
        self.recent.remove(pane)
        self.recent.insert(0, pane)
        if self.zoomed and self.zoomed != "population":
            self.zoomed = pane
        self._arrange(self.size.width, self.size.height)
        self.answer()
        if in_pane:
            self.call_after_refresh(self.views[pane].focus)

    # --- messages to the person ---

    def tell(self, text: str) -> None:
        """Say something in the last line for a few seconds."""
        self.message, self.message_bad = " ".join(text.split()), False
        self.message_until = self.shell.now() + MESSAGE_SECONDS
        self.answer()

    def trouble(self, text: str) -> None:
        """Say what went wrong, in the last line and in the log."""
        self.note_line(Level.BAD, " ".join(text.split()))
        self.message, self.message_bad = " ".join(text.split()), True
        self.message_until = self.shell.now() + 2 * MESSAGE_SECONDS
        self.answer()

    # --- keys, commands, clicks ---

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys of commands are characters while the command line has the focus. They have priority, so
        that what is typed fast after `/` is not taken by a pane that is about to lose the focus.
        (`has_focus` comes true later than `focused`: too late for a second `/` of the same burst.)"""
        return not (action == "do" and self.focused is self.prompt)

    def action_do(self, name: str, argument: str = "") -> None:
        """Carry out a command of the registry; what a person can cause is told, not raised."""
        command = find(name)
        assert command is not None, name
        try:
            getattr(self, f"do_{name}")(argument)
        except UserError as error:
            self.trouble(str(error))
        except OSError as error:
            self.trouble(f"{error.filename or name}: {error.strerror or error}")
        self.answer()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Carry out what was typed."""
        text = event.value.strip()
        self.close_prompt()
        if not text or text == "/":
            return
        self.prompt.remember(text)
        try:
            command, argument = parse(text)
        except UserError as error:
            self.trouble(str(error))
            return
        self.action_do(command.name, argument)

    def open_prompt(self, text: str = "/") -> None:
        """Show the command line with this text in it."""
        self.prompt.display = True
        self.prompt.open(text)
        self.set_focus(self.prompt)

    def close_prompt(self) -> None:
        """Hide the command line."""
        self.prompt.display = False
        self.set_focus(self.population.table)

    def action_back(self) -> None:
        """Escape: out of the command line, the zoom, or a pane, back to the table."""
        if self.prompt.display:
            self.close_prompt()
        elif self.zoomed:
            self.zoomed = ""
            self.repaint()
        self.population.table.focus()
        self.clear_selection()

    def on_chosen(self, message: Chosen) -> None:
        """The person moved the cursor: it stays where they put it."""
        self.following = False
        self.choose(message.candidate)
        self.answer()

    def on_opened(self, message: Opened) -> None:
        """Enter on a candidate: into the pane beside it."""
        shown = next((p for p in self.recent if p in self.arrangement.visible), "")
        if shown:
            self.views[shown].focus()

    def on_pane_chosen(self, message: PaneChosen) -> None:
        """A click on the name of a pane."""
        self.show_pane(message.pane)
