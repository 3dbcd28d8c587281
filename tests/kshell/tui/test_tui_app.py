"""The app as a person uses it: keys in, screen out."""

from pathlib import Path

import pytest

from insights_db.errors import StoreError
from kshell import events as ev
from kshell.tui import clipboard
from kshell.tui.app import KshellApp
from kshell.tui.draw.code import Mode
from kshell.tui.model import Phase
from kshell.tui.screens.dialogs import Ask, Page
from tests.kshell.tui.fakes import (
    FIXED,
    FakeControl,
    live_app,
    plain,
    replay_app,
    sample,
    screen_of,
    taken_in,
    until,
)

SIZE = (80, 24)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clipboard.tempfile, "gettempdir", lambda: str(tmp_path))


def event_index(kind: type[ev.Event], nth: int = 0) -> int:  # type: ignore[valid-type]
    return [k for k, e in enumerate(sample()) if isinstance(e, kind)][nth]


async def test_it_shows_the_session_and_follows_the_best() -> None:
    async with replay_app().run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, len(sample()))
        text = plain(screen)
        assert "softmax" in text and "✓ finished" in text
        assert "❯ 3.1 ★" in text
        assert "12/12 kernels" in text


async def test_the_cursor_stays_where_the_person_put_it() -> None:
    app, stream, _ = live_app(sample()[:60])
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, 60)
        await pilot.press("home")
        first = screen.session.order[0]
        await until(pilot, lambda: screen.chosen == first)
        stream.push(sample()[60:-1])
        await until(pilot, lambda: screen.session.seen == len(sample()) - 1)
        screen.paint()
        assert screen.chosen == first
        await pilot.press("g")
        assert screen.chosen == screen.session.best


async def test_the_proof_pane_comes_by_itself_until_a_pane_was_chosen() -> None:
    middle = event_index(ev.ObligationClosed, -2)
    async with replay_app(middle).run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, middle)
        await until(pilot, lambda: "proof" in screen.arrangement.visible)
        assert "obligation" not in plain(screen)
        assert "the sum tree has no race" in plain(screen)
        await pilot.press("3")
        await until(pilot, lambda: "profile" in screen.arrangement.visible)
        screen.paint()
        assert screen.arrangement.visible == {"profile"}


@pytest.mark.parametrize(
    ("key", "pane", "expected"),
    [
        ("1", "code", "__global__ void softmax"),
        ("2", "proof", "the launch covers every row"),
        ("3", "profile", "roofline"),
        ("4", "insights", "256 threads beat 128"),
        ("5", "log", "session finished"),
    ],
)
async def test_panes_by_number(key: str, pane: str, expected: str) -> None:
    async with replay_app().run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, len(sample()))
        await pilot.press(key)
        await until(pilot, lambda: expected in plain(screen), expected)
        assert screen.arrangement.visible == {pane}


async def test_d_turns_through_the_diffs() -> None:
    async with replay_app().run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, len(sample()))
        await pilot.press("1", "d")
        await until(pilot, lambda: "2.2 → 3.1" in plain(screen))
        await pilot.press("d")
        await until(pilot, lambda: "3.1 is the best itself" in plain(screen))
        await pilot.press("d")
        assert screen.mode is Mode.SOURCE


async def test_control_keys_reach_the_session_and_it_answers_with_events() -> None:
    app, stream, control = live_app(sample()[:60])
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, 60)
        best = screen.session.best or ""
        await pilot.press("space", "p", "b", "v")
        assert control.asked == [("pause", ""), ("pin", best), ("ban", best), ("prove", best)]
        stream.push([ev.PersonActed(action="pause"), ev.PersonActed(action="pin", target=best)])
        await until(pilot, lambda: screen.session.phase is Phase.PAUSED)
        await pilot.press("space", "p")
        assert control.asked[-2:] == [("continue", ""), ("unpin", best)]


async def test_a_note_is_typed_and_sent_with_its_brackets() -> None:
    app, _, control = live_app(sample()[:60])
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, 60)
        await pilot.press("n", *"use x[i] [b]")
        await pilot.press("enter")
        assert control.asked == [("note", "use x[i] [b]")]
        assert not screen.prompt.display
        assert screen.population.table.has_focus


async def test_what_is_mistyped_is_told_and_nothing_happens() -> None:
    app, _, control = live_app(sample()[:60])
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, 60)
        await pilot.press("slash", *"pasue", "enter")
        assert "did you mean pause?" in screen.message
        await pilot.press("slash", *"go 9.9", "enter")
        assert "no kernel '9.9'" in screen.message
        assert "no kernel '9.9'" in plain(screen)
        assert control.asked == []


async def test_up_brings_back_what_was_typed() -> None:
    async with replay_app().run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, len(sample()))
        await pilot.press("slash", *"go 1.2", "enter", "slash", *"go 2.2", "enter")
        await pilot.press("slash", "up", "up")
        assert screen.prompt.value == "/go 1.2"
        await pilot.press("down")
        assert screen.prompt.value == "/go 2.2"
        await pilot.press("down")
        assert screen.prompt.value == "/"
        await pilot.press("up", "up", "enter")
        assert screen.row is not None and screen.row.label == "1.2"


async def test_a_wrong_kernel_is_not_sent_to_the_prover() -> None:
    app, _, control = live_app(sample()[:60])
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, 60)
        screen.action_do("prove", "1.3")
        assert "not known to be correct" in screen.message
        assert control.asked == []


async def test_quitting_a_running_session_asks_and_stay_is_the_default() -> None:
    app, _, control = live_app(sample()[:60], lambda: "left running")
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, 60)
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, Ask))
        await pilot.pause()
        assert "The session still runs" in "\n".join(
            "".join(s.text for s in strip) for strip in app.screen._compositor.render_strips()
        )
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is screen)
        assert control.asked == []
        assert app.return_code is None


async def test_detaching_leaves_it_running() -> None:
    app, _, control = live_app(sample()[:60], lambda: "it runs on; kshell attach softmax")
    async with app.run_test(size=SIZE) as pilot:
        await taken_in(pilot, 60)
        await pilot.press("q", "down", "enter")
        await pilot.pause()
    assert app.farewell == "it runs on; kshell attach softmax"
    assert app.return_value == 0
    assert control.asked == []


async def test_detach_is_not_offered_where_it_cannot_be() -> None:
    app, _, control = live_app(sample()[:60])
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, 60)
        await pilot.press("D")
        assert "cannot be left running" in screen.message
        await pilot.press("q", "down", "enter")
        assert control.asked == [("stop", "")]


async def test_stop_and_leave_waits_for_the_end() -> None:
    app, stream, control = live_app(sample()[:60])
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, 60)
        await pilot.press("q", "down", "enter")
        assert control.asked == [("stop", "")]
        assert app.return_value is None
        stream.push(sample()[-1:])
        stream.finish()
        await until(pilot, lambda: screen.ended)
        screen.paint()
        await pilot.pause()
    assert app.return_value == 0


async def test_an_end_in_the_past_of_a_resumed_session_is_not_its_end() -> None:
    resumed = ev.SessionResumed(session="softmax-cpu-1")
    app, stream, _ = live_app([*sample()[:60], sample()[-1]])
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, 61)
        screen.paint()
        assert app.screen is screen
        stream.push([resumed])
        await until(pilot, lambda: screen.session.seen == 62)
        assert screen.running


async def test_a_stream_that_ends_before_its_session_says_how_to_go_on() -> None:
    app, stream, _ = live_app(sample()[:60])
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, 60)
        stream.finish()
        await until(pilot, lambda: screen.ended)
        assert "kshell resume softmax-cpu-1" in screen.message


async def test_leaving_at_once_says_how_to_go_on() -> None:
    app, _, _ = live_app(sample()[:60])
    async with app.run_test(size=SIZE) as pilot:
        await taken_in(pilot, 60)
        await pilot.press("q", "up", "enter")
        await pilot.pause()
    assert app.return_value == 130
    assert "kshell resume softmax-cpu-1" in app.farewell


async def test_the_end_of_a_live_session_shows_the_export_and_enter_closes_it() -> None:
    app, stream, _ = live_app(sample()[:60])
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, 60)
        stream.push(sample()[60:])
        stream.finish()
        await until(pilot, lambda: isinstance(app.screen, Page), "the summary")
        await pilot.pause()
        page = app.screen
        assert isinstance(page, Page)
        assert "exported to exports/" in page.text()
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is screen)
        await pilot.press("q")
        await pilot.pause()
    assert app.return_value == 0
    assert "kernel 3.1 is proven" in app.farewell


async def test_a_stream_that_breaks_is_told_and_the_screen_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KSHELL_HOME", str(tmp_path))

    async def broken():  # type: ignore[no-untyped-def]
        for event in sample()[:60]:
            yield event
        raise RuntimeError("disk full")

    app = KshellApp(broken(), FakeControl(), now=lambda: FIXED)
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, 60)
        await until(pilot, lambda: screen.ended)
        assert "disk full" in screen.message
        await pilot.press("5")
        await until(pilot, lambda: "disk full" in plain(screen))


async def test_a_full_disk_is_one_line_without_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KSHELL_HOME", str(tmp_path))

    async def broken():  # type: ignore[no-untyped-def]
        for event in sample()[:60]:
            yield event
        raise StoreError("the disk is full: free some space")

    app = KshellApp(broken(), FakeControl(), now=lambda: FIXED)
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, 60)
        await until(pilot, lambda: screen.ended)
        assert screen.message == "the disk is full: free some space"
        assert not (tmp_path / "crashes").exists()


async def test_copy_writes_a_file_and_claims_no_more(tmp_path: Path) -> None:
    app = replay_app()
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, len(sample()))
        await pilot.press("1", "y")
        best = screen.session.rows[screen.session.best or ""]
        [file] = tmp_path.glob("kshell-*/softmax-*.cu")
        assert file.read_text() == best.candidate.source
        assert app.clipboard == best.candidate.source
        assert str(file) in screen.message and "may refuse" in screen.message
        screen.action_do("copy", "proof")
        [file] = tmp_path.glob("kshell-*/softmax-proof.txt")
        assert "theorem softmax_correct" in file.read_text()


async def test_export_copies_the_folder_of_the_promoted_kernel(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    (made / "kernel.cu").write_text("kernel")
    k = event_index(ev.CandidatePromoted)
    promoted = sample()[k].model_copy(update={"export": str(made)})
    app, _, _ = live_app([*sample()[:k], promoted])
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, k + 1)
        target = tmp_path / "mine"
        screen.action_do("export", str(target))
        await until(pilot, lambda: (target / "kernel.cu").exists())
        await until(pilot, lambda: "exported to" in screen.message)
        screen.action_do("export", str(target))
        assert "not an empty folder" in screen.message


async def test_resizing_to_too_small_and_back_loses_nothing() -> None:
    async with replay_app().run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, len(sample()))
        await pilot.resize_terminal(40, 12)
        await until(pilot, lambda: "needs 64x16" in plain(screen), "the notice")
        assert "40x12" in plain(screen)
        await pilot.resize_terminal(140, 40)
        await until(pilot, lambda: screen.arrangement.mode == "tall")
        await until(pilot, lambda: "❯ 3.1 ★" in plain(screen))
        assert screen.arrangement.visible == {"code", "proof", "insights"}


async def test_seeking_a_replay_builds_the_past_again() -> None:
    app = replay_app()
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, len(sample()))
        await pilot.press("space")
        assert screen.replay is not None and screen.replay.paused
        await pilot.press("slash", *"seek 30", "enter")
        await until(pilot, lambda: screen.session.seen == round(0.3 * len(sample())))
        assert not screen.session.over
        assert screen.session.promoted == []
        await pilot.press("right_square_bracket")
        assert screen.session.seen == round(0.3 * len(sample())) + round(0.05 * len(sample()))
        await pilot.press("plus")
        assert "as fast as possible" in screen.message


async def test_zoom_sort_and_escape() -> None:
    async with replay_app().run_test(size=(140, 40)) as pilot:
        screen = await taken_in(pilot, len(sample()))
        await pilot.press("tab")
        await until(pilot, lambda: any(view.has_focus for view in screen.views.values()))
        await pilot.press("z")
        await until(pilot, lambda: not screen.arrangement.population)
        assert len(screen.arrangement.visible) == 1
        await pilot.press("escape")
        await until(pilot, lambda: screen.arrangement.population)
        assert screen.population.table.has_focus
        await pilot.press("o")
        await until(pilot, lambda: "reward▾" in plain(screen))


async def test_themes_turn_and_can_be_named() -> None:
    app = replay_app()
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, len(sample()))
        dark = app.palette
        await pilot.press("t")
        await until(pilot, lambda: app.palette is not dark)
        assert app.theme == "kshell-light"
        screen.action_do("theme", "dark")
        assert app.theme == "kshell-dark"
        screen.action_do("theme", "drak")
        assert "no theme 'drak'" in screen.message


async def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with replay_app().run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, len(sample()))
        colours = {
            triplet
            for strip in screen._compositor.render_strips()
            for segment in strip
            if segment.style and segment.style.color and (triplet := segment.style.color.triplet)
        }
        assert pilot.app.no_color
        assert all(t.red == t.green == t.blue for t in colours) or not colours
        assert "❯ 3.1 ★" in plain(screen)


async def test_help_opens_with_what_to_do_and_closes_with_enter() -> None:
    async with replay_app().run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, len(sample()))
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(pilot.app.screen, Page))
        await pilot.pause()
        page = pilot.app.screen
        assert isinstance(page, Page)
        assert "Kernel 3.1 is proven" in page.text()
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.screen is screen)


async def test_the_palette_finds_and_does_a_command() -> None:
    app, _, control = live_app(sample()[:60])
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, 60)
        await pilot.press("ctrl+p")
        await until(pilot, lambda: app.screen is not screen)
        await pilot.press(*"pause the")
        await pilot.pause(0.3)
        await pilot.press("enter")
        await until(pilot, lambda: ("pause", "") in control.asked, "pause")


async def test_a_click_chooses_a_kernel() -> None:
    async with replay_app().run_test(size=(100, 40)) as pilot:
        screen = await taken_in(pilot, len(sample()))
        y = screen.population.table.at[screen.session.order[1]]
        await pilot.click("#table", offset=(5, y))
        await until(pilot, lambda: screen.chosen == screen.session.order[1])
        await pilot.click("#strip-main", offset=(12, 0))
        await until(pilot, lambda: "proof" in screen.arrangement.visible)


async def test_only_rows_that_changed_are_painted() -> None:
    app, stream, _ = live_app(sample()[:60])
    async with app.run_test(size=(140, 40)) as pilot:
        screen = await taken_in(pilot, 60)
        table = screen.population.table
        painted: list[int] = []
        table.refresh_line = painted.append  # type: ignore[method-assign]
        stream.push(sample()[60:61])
        await until(pilot, lambda: screen.session.seen == 61)
        screen.paint()
        headings = {y for y, item in enumerate(table.items) if not item.candidate}
        assert len(set(painted) - headings) <= 1


async def test_screen_of_is_the_session() -> None:
    app = replay_app()
    async with app.run_test(size=SIZE) as pilot:
        await taken_in(pilot, 5)
        assert screen_of(app).session.name == "softmax-cpu-1"
