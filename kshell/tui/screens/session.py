"""The session screen: what each command of the registry does, as `do_<name>(argument)`."""

import asyncio
import shutil
from pathlib import Path

from kshell.errors import UserError
from kshell.tui import clipboard
from kshell.tui.commands import one_word
from kshell.tui.control import Action
from kshell.tui.draw.code import Mode
from kshell.tui.layout import PANES
from kshell.tui.model import Phase
from kshell.tui.replay import Replay
from kshell.tui.row import Row
from kshell.tui.screens.dialogs import Ask, Page
from kshell.tui.screens.help import budget_lines, help_lines
from kshell.tui.screens.view import SessionView


class SessionScreen(SessionView):
    """A session with its commands. A command raises UserError for what the person has to know."""

    # --- the session ---

    def do_pause(self, argument: str) -> None:
        """Pause, or go on."""
        paused = self.replay.paused if self.replay else self.session.phase is Phase.PAUSED
        self._steer("continue" if paused else "pause")

    def do_continue(self, argument: str) -> None:
        """Go on after a pause."""
        self._steer("continue")

    def do_stop(self, argument: str) -> None:
        """End the session when what runs has finished."""
        self._steer("stop")
        self.tell("stopping: what runs is finished first; q leaves at once")

    def _steer(self, action: Action) -> None:
        if self.replay is None and not self.running:
            raise UserError(f"cannot {action}: the session is over; /new starts another")
        self.control.act(action)
        if self.replay is not None:
            self.tell("replay paused" if self.replay.paused else "replay goes on")

    def do_note(self, argument: str) -> None:
        """Give the generator a hint."""
        if not argument:
            self.open_prompt("/note ")
            return
        self.control.act("note", argument)
        self.tell("the generator reads this note before the next round")

    def do_budget(self, argument: str) -> None:
        """Show what is spent and what is left, and the summary."""
        palette = self.shell.palette
        self.app.push_screen(Page(lambda width: budget_lines(self.session, width, palette), palette))

    def do_detach(self, argument: str) -> None:
        """Leave the session running."""
        if not self.running:
            raise UserError("nothing to detach from: no session runs here; q leaves")
        self.shell.detach()

    def do_new(self, argument: str) -> None:
        """To the start screen."""
        self._away("")

    def do_run(self, argument: str) -> None:
        """To the start screen with this task marked."""
        self._away(one_word(argument))

    def do_sessions(self, argument: str) -> None:
        """To the list of sessions, on the start screen."""
        self._away("", sessions=True)

    def _away(self, task: str, sessions: bool = False) -> None:
        if self.running:
            raise UserError("this session still runs: D detaches from it, S stops it; then start another")
        self.shell.open_start(task, sessions)

    # --- a kernel ---

    def _kernel(self, argument: str) -> Row:
        word = one_word(argument)
        row = self.session.find(word) if word else self.row
        if row is None:
            labels = ", ".join(r.label for r in list(self.session.rows.values())[-4:])
            raise UserError(
                f"no kernel {word!r}; there are {labels}"
                if word
                else "no kernel yet: wait for the first round"
            )
        return row

    def do_prove(self, argument: str) -> None:
        """Ask for a proof now."""
        row = self._kernel(argument)
        if row.promoted:
            raise UserError(f"{row.label} is proven and promoted already")
        if row.counterexample:
            raise UserError(f"{row.label} is refuted: {row.counterexample.fault}; no proof of it can close")
        if not (row.validation and row.validation.ok):
            raise UserError(
                f"{row.label} is not known to be correct, so no proof is tried; choose a correct kernel"
            )
        if self.replay is None and not self.running:
            raise UserError(f"the session is over; prove it with: kshell prove {self.session.name} {row.id}")
        self.control.act("prove", row.id)
        self.show_pane("proof")
        self.tell(f"{row.label} is next to be proven")

    def do_promote(self, argument: str) -> None:
        """Only a proof promotes: ask for it."""
        self.do_prove(argument)

    def do_refute(self, argument: str) -> None:
        """Ask for an attack on a kernel that was not attacked, and show what attacks have found."""
        row = self._kernel(argument)
        self.following = False
        self.choose(row.id)
        self.show_pane("proof")
        if row.counterexample:
            self.tell(f"{row.label} is refuted: {row.counterexample.fault}")
        elif row.attacks:
            self.tell(f"{row.label} stands: no attack has found a counterexample")
        elif row.failed:
            self.tell(f"{row.label} is known to be wrong: there is nothing to refute")
        elif self.running:
            self.control.act("refute", row.id)
            self.tell(f"{row.label} is next to be attacked")
        else:
            self.tell(f"{row.label} was never attacked; `kshell check` attacks a source file")

    def do_pin(self, argument: str) -> None:
        """Pin, or unpin."""
        row = self._kernel(argument)
        self.control.act("unpin" if row.pinned else "pin", row.id)

    def do_ban(self, argument: str) -> None:
        """Ban, or allow again."""
        row = self._kernel(argument)
        self.control.act("unban" if row.banned else "ban", row.id)

    def do_export(self, argument: str) -> None:
        """Copy the export of the chosen kernel, or of the best promoted one, to a folder."""
        row = self.row if self.row and self.row.promoted else next(iter(self.session.promoted), None)
        if row is None:
            raise UserError("nothing is promoted yet: only a proven kernel is exported; v proves this one")
        if not row.export or not Path(row.export).is_dir():
            where = row.export or "any folder"
            raise UserError(f"the export of {row.label} is not at {where}; try `kshell export {row.id}`")
        if not argument:
            self.tell(f"{row.label} is exported to {row.export}; /export FOLDER copies it")
            return
        target = Path(one_word(argument)).expanduser()
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise UserError(f"{target} is not an empty folder; name another")
        self.run_worker(self._copy_tree(row.export, target), group="export", exit_on_error=False)

    async def _copy_tree(self, source: str, target: Path) -> None:
        try:
            await asyncio.to_thread(shutil.copytree, source, target, dirs_exist_ok=True)
        except OSError as error:
            self.trouble(f"cannot export to {target}: {error.strerror or error}")
            return
        self.tell(f"exported to {target.resolve()}")

    def do_copy(self, argument: str) -> None:
        """Copy a pane's text; without a name, the pane with the focus, or the code."""
        pane = one_word(argument) or next((p for p, view in self.views.items() if view.has_focus), "code")
        if pane not in PANES:
            raise UserError(f"no pane {pane!r}; there are {', '.join(PANES)}")
        row = self.row
        if pane == "code" and row and self.mode is Mode.SOURCE:
            self.copy_text(f"{self.session.task}-{row.id[:7]}.cu", row.candidate.source)
            return
        self.copy_text(f"{self.session.task or 'kshell'}-{pane}.txt", self.painter.text(pane) + "\n")

    def copy_text(self, name: str, text: str) -> None:
        """Save the text to a file and offer it to the terminal; say what is known."""
        path = clipboard.save(name, text)
        sent = clipboard.fits_terminal(text)
        if sent:
            self.app.copy_to_clipboard(text)
        self.tell(clipboard.report(path, sent))

    # --- the view ---

    def do_go(self, argument: str) -> None:
        """To a kernel; without one to the best, which is followed while the session runs."""
        word = one_word(argument)
        if word in ("", "best") and not (self.session.over and self.session.best):
            self.following = True
            self.follow()
            return
        row = self._kernel(word or "best")
        self.following = False
        self.choose(row.id)

    def do_code(self, argument: str) -> None:
        """Show the code."""
        self.show_pane("code")

    def do_proof(self, argument: str) -> None:
        """Show the proof."""
        self.show_pane("proof")

    def do_profile(self, argument: str) -> None:
        """Show the profile."""
        self.show_pane("profile")

    def do_insights(self, argument: str) -> None:
        """Show the insights."""
        self.show_pane("insights")

    def do_log(self, argument: str) -> None:
        """Show the log."""
        self.show_pane("log")

    def do_diff(self, argument: str) -> None:
        """The next mode of the code pane, or the one named."""
        word = one_word(argument).lower()
        if not word:
            self.mode = self.mode.next if "code" in self.arrangement.visible else self.mode
        else:
            named = {"source": Mode.SOURCE, "parent": Mode.PARENT, "best": Mode.BEST}
            if word not in named:
                raise UserError(f"no diff to {word!r}; there are source, parent and best")
            self.mode = named[word]
        self.show_pane("code")

    def do_sort(self, argument: str) -> None:
        """By round, or by reward."""
        self.population.by_reward = not self.population.by_reward
        self.repaint()
        self.tell("sorted by reward" if self.population.by_reward else "sorted by round")

    def do_zoom(self, argument: str) -> None:
        """The pane with the focus alone, or everything again."""
        focused = next((p for p, view in self.views.items() if view.has_focus), "population")
        self.zoomed = "" if self.zoomed else focused
        if self.zoomed and self.zoomed != "population":
            self.recent.remove(focused)
            self.recent.insert(0, focused)
        self.repaint()

    def do_theme(self, argument: str) -> None:
        """The next theme, or the one named."""
        self.tell(f"theme {self.shell.next_theme(one_word(argument))}")

    # --- a replay ---

    def _past(self) -> Replay:
        if self.replay is None:
            raise UserError("this session is live; speed and seek are for a replay, see /sessions")
        return self.replay

    def do_faster(self, argument: str) -> None:
        """Replay faster."""
        self._speed_told(self._past().faster(1))

    def do_slower(self, argument: str) -> None:
        """Replay slower."""
        self._speed_told(self._past().faster(-1))

    def _speed_told(self, speed: float) -> None:
        self.tell(f"replay at {speed:g} times the real speed" if speed else "replay as fast as possible")

    def do_speed(self, argument: str) -> None:
        """Replay at a speed."""
        try:
            speed = float(argument.rstrip("x"))
        except ValueError:
            raise UserError(f"{argument!r} is no number; for example /speed 10") from None
        self._past().set_speed(speed)
        self._speed_told(speed)

    def do_back(self, argument: str) -> None:
        """Back by a twentieth."""
        self._skip(-0.05)

    def do_forward(self, argument: str) -> None:
        """On by a twentieth."""
        self._skip(0.05)

    def _skip(self, share: float) -> None:
        replay = self._past()
        replay.seek(replay.position + round(share * max(20, len(replay.events))))

    def do_seek(self, argument: str) -> None:
        """Replay from a percentage."""
        try:
            share = float(argument.rstrip("%")) / 100
        except ValueError:
            raise UserError(f"{argument!r} is no percentage; for example /seek 50") from None
        if not 0 <= share <= 1:
            raise UserError(f"{argument} is not between 0 and 100")
        self._past().seek_share(share)

    # --- the shell ---

    def do_help(self, argument: str) -> None:
        """What to do now, commands, keys, signs."""
        palette = self.shell.palette
        self.app.push_screen(Page(lambda width: help_lines(self.session, width, palette), palette))

    def do_command(self, argument: str) -> None:
        """Open the command line."""
        self.open_prompt()

    def do_quit(self, argument: str) -> None:
        """Leave; ask first while a live session runs."""
        if not self.running:
            self.shell.leave()
            return
        answers = [("stay", "Stay", "go on watching")]
        if self.shell.can_detach:
            answers.append(("detach", "Detach", "the session runs on; attach again at any time"))
        answers.append(("stop", "Stop", "finish what runs, then end the session and leave"))
        answers.append(("now", "Now", f"leave at once; later: kshell resume {self.session.name}"))
        text = f"{self.session.task} on {self.session.device}, round {self.session.round}."
        self.app.push_screen(
            Ask("The session still runs. Leave it?", text, answers, self.shell.palette), self._answered
        )

    def _answered(self, answer: str | None) -> None:
        match answer:
            case "detach":
                self.action_do("detach")
            case "stop":
                self.leaving = True
                self.action_do("stop")
            case "now":
                self.shell.leave()
            case _:
                self.population.table.focus()

    def action_interrupt(self) -> None:
        """Ctrl+C: copy selected text if there is any, otherwise leave."""
        if text := self.get_selected_text():
            self.copy_text("selection.txt", text)
        else:
            self.action_do("quit")
