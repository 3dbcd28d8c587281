"""The start screen: choose a task and a few settings, Enter starts; or open a past session."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, cast

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from insights_db.errors import StoreError
from kshell.errors import UserError
from kshell.tui.draw.text import fit, line
from kshell.tui.layout import MINIMUM
from kshell.tui.widgets.bars import OneLine
from kshell.tui.widgets.lines import Lines

if TYPE_CHECKING:
    from kshell.tui.app import KshellApp
    from kshell.tui.home import Home, Opened, Plan, SessionChoice, TaskChoice

HINTS = (
    ("Enter", "start"),
    ("↑ ↓", "choose"),
    ("← →", "change"),
    ("Tab", "next list"),
    ("?", "help"),
    ("q", "quit"),
)


class Picked(Message):
    """Enter on an entry of a list."""

    def __init__(self, picker: "Picker") -> None:
        super().__init__()
        self.picker = picker


class Moved(Message):
    """The cursor of a list moved, or a setting is to change by `by`."""

    def __init__(self, picker: "Picker", by: int = 0) -> None:
        super().__init__()
        self.picker, self.by = picker, by


class Picker(Lines):
    """Lines with a cursor. Left and right ask for a change of the entry under it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "move(-8)", show=False),
        Binding("pagedown", "move(8)", show=False),
        Binding("home", "move(-1000)", show=False),
        Binding("end", "move(1000)", show=False),
        Binding("left,h", "change(-1)", show=False),
        Binding("right,l", "change(1)", show=False),
        Binding("enter", "pick", show=False),
    ]

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.at = 0
        self.entries: list[Text] = []

    def fill(self, entries: list[Text]) -> None:
        """Replace the entries and draw them with the cursor."""
        self.entries = entries
        self.at = max(0, min(self.at, len(entries) - 1))
        self.redraw()

    def redraw(self) -> None:
        """Draw the entries with the cursor where it is."""
        palette, out = self.palette, []
        for k, entry in enumerate(self.entries):
            mark = "❯ " if self.has_focus else "› "
            text = line((mark if k == self.at else "  ", palette.accent)) + entry
            if k == self.at:
                text.pad_right(max(0, self.size.width - text.cell_len))
                text.stylize(palette.cursor if self.has_focus else palette.cursor_idle)
            out.append(text)
        self.show(out)
        if out:
            self.reveal(self.at)

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        self.at = max(0, min(self.at + by, len(self.entries) - 1))
        self.redraw()
        self.post_message(Moved(self))

    def action_change(self, by: int) -> None:
        """Ask for another value."""
        self.post_message(Moved(self, by))

    def action_pick(self) -> None:
        """Take the entry."""
        self.post_message(Picked(self))

    def on_click(self, event: events.Click) -> None:
        """Move to what was clicked; a double click takes it."""
        y = self.place(event.offset)
        if 0 <= y < len(self.entries):
            self.action_move(y - self.at)
            if event.chain == 2:
                self.action_pick()

    def on_focus(self) -> None:
        """The cursor looks stronger with the focus."""
        self.redraw()

    def on_blur(self) -> None:
        """The cursor looks weaker without the focus."""
        self.redraw()

    def on_resize(self) -> None:
        """The cursor is as wide as the list."""
        self.redraw()


class StartScreen(Screen[None]):
    """Tasks at the left; settings and past sessions at the right."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "app.focus_next", show=False),
        Binding("question_mark,f1", "help", show=False),
        Binding("t", "theme", show=False),
        Binding("r", "open('replay')", show=False),
        Binding("q,ctrl+q,escape", "leave", show=False),
        Binding("ctrl+c", "leave", show=False, priority=True),
    ]

    def __init__(self, home: "Home | Callable[[], Home]", task: str = "", sessions: bool = False) -> None:
        super().__init__()
        self._home = home
        self._wanted, self._sessions_first = task, sessions
        self.tasks: list[TaskChoice] = []
        self.past: list[SessionChoice] = []
        self.devices: list[str] = ["cpu"]
        self.generators: dict[str, str] = {"builtin": ""}
        self.plan: Plan | None = None
        self._defaults: Plan | None = None
        self.banner = Lines(id="banner")
        self.task_list, self.settings, self.past_list = Picker("tasks"), Picker("settings"), Picker("past")
        self.heads = {name: OneLine(id=f"head-{name}") for name in ("tasks", "settings", "past")}
        self.small = Static(id="small", markup=False)
        self.last_line = OneLine(id="last")
        self._busy = self._eager = False
        self._message, self._bad = "", False

    @property
    def shell(self) -> "KshellApp":
        """The app, by its own type."""
        return cast("KshellApp", self.app)

    def compose(self) -> ComposeResult:
        """Banner, lists, hints."""
        yield self.banner
        with Horizontal(id="lists"):
            with Vertical(id="tasks-side"):
                yield self.heads["tasks"]
                yield self.task_list
            with Vertical(id="right-side"):
                yield self.heads["settings"]
                yield self.settings
                yield self.heads["past"]
                yield self.past_list
        yield self.last_line
        yield self.small

    def on_mount(self) -> None:
        """Show what is known at once; read the past sessions after the first frame."""
        self.banner.can_focus = False
        self.repaint()
        self.call_after_refresh(self.run_worker, self._load(), group="load", exit_on_error=False)

    def _read(self) -> None:
        """Make the home and read its tasks, in a thread: this imports a good part of kshell."""
        home = self.home
        self.tasks, self.devices = list(home.tasks()), list(home.devices())
        self.generators, self._defaults = dict(home.generators()), home.defaults()

    @property
    def home(self) -> "Home":
        """The home, made when it is first asked for and kept by the app."""
        if callable(self._home):
            self._home = self.shell.home = self._home()
        return self._home

    async def _load(self) -> None:
        try:
            await asyncio.to_thread(self._read)
        except (UserError, StoreError, OSError) as error:
            self._say(" ".join(str(error).split()))
        from kshell.tui.home import Plan

        self.plan = self._defaults or Plan()
        names = [task.name for task in self.tasks]
        self.task_list.at = names.index(self._wanted) if self._wanted in names else 0
        if self.plan.device not in self.devices:
            self.plan = replace(self.plan, device=self.devices[0])
        self.repaint()
        (self.past_list if self._sessions_first else self.task_list).focus()
        if self._eager:
            self._start()
        try:
            self.past = list(await asyncio.to_thread(self.home.sessions))
        except (UserError, StoreError) as error:
            self._say(str(error))
        self.repaint()

    # --- drawing ---

    def on_resize(self, event: events.Resize) -> None:
        """Draw for the new size."""
        self.call_after_refresh(self.repaint)

    def repaint(self) -> None:
        """Draw everything."""
        palette = self.shell.palette
        width, height = self.size
        small = width < MINIMUM[0] or height < MINIMUM[1]
        self.set_class(small, "-small")
        self.small.update(
            f"kshell needs {MINIMUM[0]}x{MINIMUM[1]} cells; this terminal has {width}x{height}.\n"
            "Make it larger."
        )
        for view in (self.banner, self.task_list, self.settings, self.past_list):
            view.palette = palette
        self.banner.show(
            [
                Text(""),
                line(
                    ("  kshell", palette.title),
                    ("   kernels evolve here until they are fast and proven", palette.dim),
                ),
                Text(""),
            ]
        )
        for name, title in (("tasks", "Task"), ("settings", "Settings"), ("past", "Sessions")):
            head = self.heads[name]
            head.show(
                line(
                    (f"  {title} ", palette.note),
                    ("─" * max(0, head.size.width - len(title) - 5), palette.faint),
                )
            )
        self._draw_tasks()
        self._draw_settings()
        self._draw_past()
        self._draw_last()

    def _draw_tasks(self) -> None:
        palette = self.shell.palette
        room = max(8, self.task_list.size.width - 3)
        entries = []
        for task in self.tasks:
            name = fit(task.name, 16)
            entries.append(line((name, palette.text), (fit(task.title, max(0, room - 16)), palette.dim)))
        self.task_list.fill(entries)

    def _fields(self) -> list[tuple[str, str, str]]:
        plan = self.plan
        if plan is None:
            return []
        return [
            ("device", plan.device, "where it runs"),
            ("proposer", plan.generator, self.generators.get(plan.generator, "")),
            ("rounds", str(plan.rounds), "generations"),
            ("group", str(plan.group), "kernels a round"),
            ("seed", str(plan.seed), "fixes choices"),
        ]

    def _draw_settings(self) -> None:
        palette = self.shell.palette
        self.settings.fill(
            [
                line((f"{name:<9}", palette.text), (f"‹ {value:^7} › ", palette.accent), (why, palette.dim))
                for name, value, why in self._fields()
            ]
        )

    def _draw_past(self) -> None:
        palette = self.shell.palette
        room = max(8, self.past_list.size.width - 3)
        signs = {
            "running": ("●", palette.good),
            "finished": ("✓", palette.good),
            "interrupted": ("■", palette.warn),
        }
        entries = []
        for past in self.past:
            sign, style = signs.get(past.state, ("■", palette.warn))
            state = "stopped" if past.state == "interrupted" else past.state
            proven = f"{past.promoted} proven" if past.promoted else state
            tail = f" {past.when[-11:]:>11}"
            name = fit(past.name, max(6, room - 2 - 10 - len(tail)))
            entries.append(
                line(
                    (f"{sign} ", style),
                    (name, palette.text),
                    (f" {fit(proven, 9)}", palette.dim),
                    (tail, palette.faint),
                )
            )
        none = "none yet" if self.plan else "reading"
        self.past_list.fill(entries or [line((none, palette.dim))])

    def _draw_last(self) -> None:
        palette = self.shell.palette
        if self._message:
            sign = (" ! ", palette.bad) if self._bad else (" ◌ ", palette.note)
            self.last_line.show(line(sign, (self._message, palette.warn if self._bad else palette.text)))
            return
        text = line((" ", palette.dim))
        focused = self.past_list.has_focus and self.past
        verb = (
            {"attach": "attach", "resume": "resume", "replay": "replay"}[self.past[self.past_list.at].how]
            if focused
            else "start"
        )
        for key, label in HINTS:
            label = verb if key == "Enter" else label
            text.append(f"{key} ", palette.accent)
            text.append(f"{label}   ", palette.dim)
        if focused and verb != "replay":
            text.append("r ", palette.accent)
            text.append("replay   ", palette.dim)
        self.last_line.show(text)

    def _say(self, text: str, bad: bool = True) -> None:
        self._message, self._bad = text, bad
        self._draw_last()

    # --- keys ---

    def on_descendant_focus(self) -> None:
        """Other hints for another list."""
        self._draw_last()

    def on_moved(self, message: Moved) -> None:
        """Change a setting, or just forget the last message."""
        self._message = ""
        if message.picker is self.settings and message.by:
            self._change(message.by)
        self._draw_last()

    def _change(self, by: int) -> None:
        plan = self.plan
        assert plan is not None
        match self._fields()[self.settings.at][0]:
            case "device":
                k = self.devices.index(plan.device)
                self.plan = replace(plan, device=self.devices[(k + by) % len(self.devices)])
            case "proposer":
                names = list(self.generators)
                k = names.index(plan.generator)
                self.plan = replace(plan, generator=names[(k + by) % len(names)])
            case "rounds":
                self.plan = replace(plan, rounds=max(1, min(50, plan.rounds + by)))
            case "group":
                self.plan = replace(plan, group=max(1, min(32, plan.group + by)))
            case _:
                self.plan = replace(plan, seed=max(0, plan.seed + by))
        self._draw_settings()

    def on_picked(self, message: Picked) -> None:
        """Start, or open the session under the cursor."""
        if message.picker is self.past_list and self.past:
            self.action_open(self.past[self.past_list.at].how)
        else:
            self._start()

    def _start(self) -> None:
        if self.plan is None:
            self._eager = True
            return
        if not self.tasks:
            return
        plan = replace(self.plan, task=self.tasks[self.task_list.at].name)
        self.run_worker(self._opening(lambda: self.home.start(plan)), group="open", exit_on_error=False)

    def action_open(self, how: str) -> None:
        """Open the session under the cursor."""
        if not self.past or not self.past_list.has_focus:
            return
        from typing import cast as typed

        from kshell.tui.home import How

        name = self.past[self.past_list.at].name
        self.run_worker(
            self._opening(lambda: self.home.open(name, typed(How, how))), group="open", exit_on_error=False
        )

    async def _opening(self, make: "Callable[[], Opened]") -> None:
        if self._busy:
            return
        self._busy = True
        self._say("opening the session", bad=False)
        try:
            self.shell.show(await asyncio.to_thread(make))
        except (UserError, StoreError, OSError) as error:
            self._say(" ".join(str(error).split()))
        finally:
            self._busy = False

    def action_help(self) -> None:
        """What to do now, and everything else."""
        from kshell.tui.screens.dialogs import Page
        from kshell.tui.screens.help import help_lines

        palette = self.shell.palette
        self.app.push_screen(Page(lambda width: help_lines(None, width, palette), palette))

    def action_theme(self) -> None:
        """The next theme."""
        self.shell.next_theme()

    def action_leave(self) -> None:
        """Leave."""
        self.shell.leave()
