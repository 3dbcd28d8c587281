"""The start screen: choose a task and a few settings, Enter starts; or open a past session."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, TypeVar, cast

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
from kshell.tui.commands import COMMANDS
from kshell.tui.draw.text import line
from kshell.tui.layout import MINIMUM, TALL
from kshell.tui.widgets.bars import OneLine
from kshell.tui.widgets.lines import Lines

if TYPE_CHECKING:
    from kshell.tui.app import KshellApp
    from kshell.tui.home import Home, Opened, Plan, SessionChoice, TaskChoice

OWN = ("help", "theme", "quit")  # commands of the registry that need no session
T = TypeVar("T")
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

    @property
    def inner(self) -> int:
        """Cells an entry may use beside the cursor."""
        return max(8, self.size.width - 3)

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
        *(Binding(c.keys, f"do('{c.name}')", show=False) for c in COMMANDS if c.name in OWN),
        Binding("r", "open('replay')", show=False),
        Binding("escape", "do('quit')", show=False),
        Binding("ctrl+c", "do('quit')", show=False, priority=True),
    ]

    def __init__(self, home: "Home | Callable[[], Home]", task: str = "", sessions: bool = False) -> None:
        super().__init__()
        self._home = home
        self._wanted, self._sessions_first = task, sessions
        self.tasks: list[TaskChoice] = []
        self.past: list[SessionChoice] = []
        self.devices: list[str] = ["cpu"]
        self.generators: dict[str, str] = {"builtin": ""}
        self.agents: list[tuple[str, ...]] = [()]
        self.plan: Plan | None = None
        self._defaults: Plan | None = None
        self.banner = Lines(id="banner")
        self.task_list, self.settings, self.past_list = Picker("tasks"), Picker("settings"), Picker("past")
        self.heads = {name: OneLine(id=f"head-{name}") for name in ("tasks", "settings", "past", "about")}
        self.about = Lines(id="about")
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
        yield self.heads["about"]
        yield self.about
        yield self.last_line
        yield self.small

    def on_mount(self) -> None:
        """Show what is known at once; read the past sessions after the first frame."""
        self.banner.can_focus = self.about.can_focus = False
        self.repaint()
        self.call_after_refresh(self.run_worker, self._load(), group="load", exit_on_error=False)

    def _read(self) -> None:
        """Make the home and read its tasks, in a thread: this imports a good part of kshell."""
        home = self.home
        self.tasks, self.devices = list(home.tasks()), list(home.devices())
        self.generators, self.agents = dict(home.generators()), list(home.agents())
        self._defaults = home.defaults()

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
        self.set_class(height >= TALL, "-tall")
        for view in (self.banner, self.task_list, self.settings, self.past_list, self.about):
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
            self.heads[name].show(self._head(name, title))
        self._draw_lists()
        self._draw_last()

    def _draw_lists(self) -> None:
        from kshell.tui.draw import start as draw

        palette = self.shell.palette
        self.task_list.fill(draw.task_lines(self.tasks, self.task_list.inner, palette))
        self.settings.fill(draw.setting_lines(self.plan, self.generators, self.settings.inner, palette))
        past = draw.session_lines(self.past, self.past_list.inner, palette)
        none = "none yet" if self.plan else "reading"
        self.past_list.fill(past or [line((none, palette.dim))])
        self._draw_about()

    def _draw_about(self) -> None:
        """More about what is marked in the list with the focus."""
        from kshell.tui.draw import start as draw

        palette, width, plan = self.shell.palette, max(20, self.about.size.width - 4), self.plan
        name, told = "", list[Text]()
        if self.past_list.has_focus and self.past:
            choice = self.past[self.past_list.at]
            name, told = choice.name, draw.about_session(choice, width, palette)
        elif self.settings.has_focus and plan:
            name = draw.fields(plan, self.generators)[self.settings.at][0]
            told = draw.about_setting(plan, self.generators, self.settings.at, width, palette)
        elif self.tasks:
            task = self.tasks[self.task_list.at]
            name, told = task.name, draw.about_task(task, self.has_class("-tall"), width, palette)
        self.heads["about"].show(self._head("about", name))
        self.about.show([line("  ") + text for text in told], top=True)

    def _head(self, head: str, title: str) -> Text:
        palette, wide = self.shell.palette, self.heads[head].size.width
        rule = "─" * max(0, wide - len(title) - 5)
        return line((f"  {title} ", palette.note), (rule, palette.faint))

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
        self._draw_about()
        self._draw_last()

    def on_moved(self, message: Moved) -> None:
        """Change a setting, or just forget the last message."""
        self._message = ""
        if message.picker is self.settings and message.by:
            self._change(message.by)
        self._draw_about()
        self._draw_last()

    def _change(self, by: int) -> None:
        from kshell.tui.draw import start as draw

        plan = self.plan
        assert plan is not None

        match draw.fields(plan, self.generators)[self.settings.at][0]:
            case "device":
                self.plan = replace(plan, device=_after(self.devices, plan.device, by))
            case "proposer":
                self.plan = replace(plan, generator=_after(list(self.generators), plan.generator, by))
            case "agents":
                self.plan = replace(plan, agents=_after(self.agents, plan.agents, by))
            case "rounds":
                self.plan = replace(plan, rounds=max(1, min(50, plan.rounds + by)))
            case "group":
                self.plan = replace(plan, group=max(1, min(32, plan.group + by)))
            case _:
                self.plan = replace(plan, seed=max(0, plan.seed + by))
        self._draw_lists()

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

    def action_do(self, name: str) -> None:
        """Carry out a command of the registry."""
        getattr(self, f"do_{name}")()

    def do_help(self) -> None:
        """What to do now, and everything else."""
        from kshell.tui.screens.dialogs import Page
        from kshell.tui.screens.help import help_lines

        palette = self.shell.palette
        self.app.push_screen(Page(lambda width: help_lines(None, width, palette), palette))

    def do_theme(self) -> None:
        """The next theme."""
        self.shell.next_theme()

    def do_quit(self) -> None:
        """Leave."""
        self.shell.leave()


def _after(values: Sequence[T], value: T, by: int) -> T:
    """The value `by` places further on, around the ends; the first when it is none of them."""
    return values[(values.index(value) + by) % len(values)] if value in values else values[0]
