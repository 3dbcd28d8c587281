"""The app in a real terminal, on a real engine whose devices are doubles."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.kshell.tui import multiplexer
from tests.kshell.tui.multiplexer import Window
from tests.kshell.tui.terminal import Screen, Terminal

ROOT = Path(__file__).parents[3]
DOWN = "\x1b[B"
TERMINALS = ["pty", "tmux"] if multiplexer.available() else ["pty"]  # `make test` says what is missing
Start = Callable[..., Any]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """kshell on doubles in a terminal; `wait` is the seconds a stage takes."""
    env = {
        "KSHELL_HOME": str(tmp_path / "home"),
        "KSHELL_CONFIG": str(tmp_path / "config.toml"),
        "TMPDIR": str(tmp_path),
    }

    def make(
        *words: str, wait: float = 0.1, size: tuple[int, int] = (80, 24), kind: str = "pty", **more: str
    ) -> Terminal | Window:
        script = [sys.executable, "-m", "tests.kshell.tui.play", str(wait), str(tmp_path / "journal.txt")]
        made = Window if kind == "tmux" else Terminal
        return made([*script, *words], ROOT, {**env, **more}, size)

    return make


@pytest.mark.parametrize("kind", TERMINALS)
def test_start_run_resize_detach_attach_export_quit(start: Start, tmp_path: Path, kind: str) -> None:
    with start(wait=0.6, kind=kind) as terminal:
        terminal.wait("none yet")
        terminal.press("\r")
        terminal.wait("● running")
        terminal.wait("❯ 1.")
        terminal.press(" ")
        terminal.wait("‖ paused")
        terminal.resize(40, 12)
        terminal.wait("needs 64x16")
        terminal.resize(100, 30)
        terminal.wait(lambda text: "❯ " in text and "round 1" in text)
        terminal.press("q")
        terminal.wait("The session still runs")
        terminal.press(DOWN + "\r")
        assert terminal.ended() == 0
        assert "kshell attach relu-1" in terminal.farewell()
    with start("attach", "relu-1", kind=kind) as terminal:
        terminal.wait("relu")
        terminal.wait("exported to", 120)
        terminal.press("\r")
        terminal.wait("❯ ")
        terminal.press("1y")
        terminal.wait("saved to")
        [saved] = tmp_path.glob("kshell-*/relu-*.cu")
        assert terminal.clipboard() == saved.read_text()
        target = tmp_path / "mine"
        terminal.press(f"/export {target}\r")
        terminal.wait(lambda text: {"kernel.cu", "certificate.json"} <= {p.name for p in target.glob("*")})
        terminal.press("q")
        assert terminal.ended() == 0


def test_a_newcomer_gets_to_an_exported_kernel_with_enter_and_the_question_mark(
    start: Start, tmp_path: Path
) -> None:
    with start(wait=0.02) as terminal:
        terminal.wait("none yet")
        terminal.press("?")
        terminal.wait("Press Enter to evolve a kernel")
        terminal.press("\r")
        terminal.wait(lambda text: "Press Enter to evolve" not in text and "❯ relu" in text)
        terminal.press("\r")
        terminal.wait("is proven and promoted", 120)
        terminal.press("\r")
        terminal.wait(lambda text: "PROMOTED" in text and "is proven and promoted" not in text)
        terminal.press("?")
        terminal.wait("It is exported to")
        exported = list((tmp_path / "home" / "exports" / "relu-1").iterdir())
        assert exported
        for folder in exported:
            assert {"kernel.cu", "certificate.json"} <= {file.name for file in folder.iterdir()}


def test_ctrl_c_asks_and_leaving_at_once_can_be_resumed(start: Start) -> None:
    with start("run", "relu", "--rounds", "50", wait=0.3) as terminal:
        terminal.wait("❯ 1.")
        terminal.press("\x03")
        terminal.wait("The session still runs")
        terminal.press("\x1b[A\r")
        assert terminal.ended() == 130
        assert "kshell resume relu-1" in terminal.raw
    with start("resume", "relu-1", wait=0.3) as terminal:
        terminal.wait("● running")
        terminal.press("q")
        terminal.wait("The session still runs")
        terminal.press(DOWN * 2 + "\r")
        assert terminal.ended() == 130
        assert "nothing promoted" in terminal.raw or "promoted" in terminal.raw


def test_the_terminal_is_left_as_it_was(start: Start) -> None:
    with start() as terminal:
        terminal.wait("fast and proven")
        terminal.press("q")
        assert terminal.ended() == 0
        assert "\x1b[?1049l" in terminal.raw and "Traceback" not in terminal.raw


def test_native_writes_to_stderr_do_not_reach_the_screen(tmp_path: Path) -> None:
    written = tmp_path / "written"
    code = (
        "import os, threading, pathlib\n"
        "from kshell.tui.app import run\n"
        "from tests.kshell.tui.fakes import FakeHome\n"
        "def write():\n"
        "    os.write(2, b'libfoo: GARBAGE\\n' * 30)\n"
        f"    pathlib.Path({str(written)!r}).touch()\n"
        "threading.Timer(0.5, write).start()\n"
        "raise SystemExit(run(home=FakeHome()))\n"
    )
    with Terminal([sys.executable, "-c", code], ROOT, {"TMPDIR": str(tmp_path)}) as terminal:
        terminal.wait(lambda text: "softmax-1" in text and written.exists())
        assert "GARBAGE" not in terminal.screen.text()
        terminal.press("q")
        assert terminal.ended() == 0
        assert terminal.raw.count("GARBAGE") == 20
        [kept] = tmp_path.glob("kshell-stderr-*")
        assert kept.read_text().count("GARBAGE") == 30


def test_no_color_draws_no_colour(start: Start) -> None:
    with start(NO_COLOR="1") as terminal:
        terminal.wait("fast and proven")
        colours = {part for part in terminal.raw.split("\x1b[") if part.startswith(("38;2;", "48;2;"))}
        values = {tuple(part.split("m")[0].split(";")[2:5]) for part in colours}
        assert all(len(set(value)) == 1 for value in values), values
        terminal.press("q")
        assert terminal.ended() == 0


@pytest.mark.parametrize(("setting", "asked"), [("1", True), ("0", False)])
def test_the_mouse_is_asked_for_unless_it_is_switched_off(start: Start, setting: str, asked: bool) -> None:
    with start(KSHELL_MOUSE=setting) as terminal:
        terminal.wait("none yet")
        assert ("\x1b[?1000h" in terminal.raw) is asked
        terminal.press("q")
        assert terminal.ended() == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_a_killed_app_loses_nothing(start: Start, tmp_path: Path, number: signal.Signals) -> None:
    with start("run", "relu", wait=0.3) as terminal:
        terminal.wait("✓ correct")
        os.kill(terminal.pid, number)
        terminal.ended()
    done = (tmp_path / "journal.txt").read_text().splitlines()
    with start("resume", "relu-1", wait=0.01) as terminal:
        terminal.wait("is proven and promoted", 120)
        terminal.press("\rq")
        assert terminal.ended() == 0
    lines = (tmp_path / "journal.txt").read_text().splitlines()
    assert lines[: len(done)] == done
    finished = [line for line in done if line.startswith("profile")][:-1]
    assert all(lines.count(line) == 1 for line in finished)


def test_an_exported_size_is_not_believed(start: Start) -> None:
    with start(COLUMNS="80", LINES="24") as terminal:
        terminal.wait("none yet")
        terminal.resize(40, 12)
        terminal.wait("has 40x12")
        terminal.press("q")
        assert terminal.ended() == 0


def test_the_screen_reads_what_terminals_read() -> None:
    screen = Screen(10, 3)
    rest = screen.feed("\x1b[2;3Hab\x1b[31mc\x1b]0;title\x07\x1b[1;1Hx\x1b[")
    assert rest == "\x1b["
    assert screen.text() == "x\n  abc\n"
    assert screen.feed(rest + "2J") == ""
    assert screen.text() == "\n\n"
    assert screen.titles == ["0;title"]


def test_an_error_nobody_foresaw_is_one_line_and_the_terminal_is_whole(tmp_path: Path) -> None:
    code = (
        "from kshell.tui.app import run\n"
        "from kshell.tui.screens.start import StartScreen\n"
        "from tests.kshell.tui.fakes import FakeHome\n"
        "StartScreen.do_theme = lambda self: 1 / 0\n"
        "raise SystemExit(run(home=FakeHome()))\n"
    )
    home = {"KSHELL_HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    with Terminal([sys.executable, "-c", code], ROOT, home) as terminal:
        terminal.wait("softmax-1")
        terminal.press("t")
        assert terminal.ended() == 2
        after = terminal.raw.split("\x1b[?1049l")[-1]
        assert "internal error: ZeroDivisionError" in after
        assert "Traceback" not in after
        assert len(list((tmp_path / "crashes").iterdir())) == 1
