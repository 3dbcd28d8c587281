"""What a person asks of a session: attacks, proofs, pins, bans. And where the cursor stands meanwhile."""

import pytest

from kshell import events as ev
from kshell.tui.replay import Replay
from tests.kshell.tui.fakes import (
    live_app,
    plain,
    recorded,
    replay_app,
    sample,
    taken_in,
    until,
)

SIZE = (80, 24)


def after(kind: type, nth: int = 0) -> int:
    """How many events of the recorded session there are with the nth of a kind."""
    return [k for k, e in enumerate(recorded()) if isinstance(e, kind)][nth] + 1


async def test_f_asks_for_an_attack_on_a_kernel_that_none_has_tried() -> None:
    upto = after(ev.RewardAssigned, 3)
    app, stream, control = live_app(recorded()[:upto])
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, upto)
        row = screen.session.find("1.2")
        assert row is not None and not row.attacks and not row.failed
        screen.action_do("go", "1.2")
        await pilot.press("f")
        assert control.asked == [("refute", row.id)]
        assert "next to be attacked" in screen.message
        done = ev.VerificationFinished(candidate=row.id, verifier="falsifier", seconds=1.0, effort="9 runs")
        stream.push(
            [
                ev.PersonActed(action="refute", target=row.id),
                ev.VerificationStarted(candidate=row.id, verifier="falsifier"),
                done,
            ]
        )
        await until(pilot, lambda: "no counterexample in 1.0 s 9 runs" in plain(screen))
        assert screen.session.state.suspected == []
        await pilot.press("f")
        assert "no attack has found" in screen.message
        assert len(control.asked) == 1


async def test_f_on_a_refuted_or_a_wrong_kernel_shows_why_and_asks_nothing() -> None:
    upto = len(recorded()) - 1
    app, _, control = live_app(recorded()[:upto])
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, upto)
        screen.action_do("refute", "2.3")
        assert screen.message == "2.3 is refuted: RACE"
        await until(pilot, lambda: "write of `scale[0]`" in plain(screen))
        assert control.asked == []
    app, _, control = live_app(sample()[:60])
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, 60)
        screen.action_do("refute", "1.3")
        assert "known to be wrong" in screen.message
        assert control.asked == []


async def test_f_when_nothing_runs_says_what_would_attack_it() -> None:
    upto = after(ev.RewardAssigned, 3)
    app = replay_app(upto, recorded())
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, upto)
        screen.action_do("refute", "1.2")
        assert "kshell check" in screen.message


async def test_a_command_that_a_replay_cannot_do_is_told() -> None:
    app = replay_app(events=recorded())
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, len(recorded()))
        for name in ("pin", "ban", "note x"):
            await pilot.press("slash", *name, "enter")
            await until(pilot, lambda: "this is a replay" in screen.message, name)
            screen.message = ""
        screen.action_do("promote", "3.2")
        assert "this is a replay" in screen.message


async def test_a_refuted_kernel_is_not_sent_to_the_prover() -> None:
    upto = len(recorded()) - 1
    app, _, control = live_app(recorded()[:upto])
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, upto)
        screen.action_do("prove", "2.3")
        assert "refuted" in screen.message
        assert control.asked == []


async def test_pins_and_bans_show_and_change_the_best() -> None:
    upto = len(recorded()) - 1
    app, stream, control = live_app(recorded()[:upto])
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, upto)
        best = screen.session.rows[screen.session.best or ""]
        assert best.label == "3.2"
        screen.action_do("go", "3.2")
        await pilot.press("b")
        assert control.asked == [("ban", best.id)]
        stream.push([ev.PersonActed(action="ban", target=best.id)])
        await until(pilot, lambda: "⊘ banned" in plain(screen))
        assert screen.session.rows[screen.session.best or ""].label == "2.2"
        await pilot.press("b")
        assert control.asked[-1] == ("unban", best.id)


async def test_the_proof_that_closes_is_followed_and_then_shown_from_its_top() -> None:
    closed = [k for k, e in enumerate(recorded()) if isinstance(e, ev.ObligationClosed)]
    upto = closed[3 * len(closed) // 4]
    app, stream, _ = live_app(recorded()[:upto])
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, upto)
        await pilot.press("2")
        await until(pilot, lambda: "more to decide" in plain(screen))
        assert "closed ─" in plain(screen)
        finished = after(ev.ProofFinished, -1)
        stream.push(recorded()[upto:finished])
        await until(pilot, lambda: screen.session.seen == finished)
        await until(pilot, lambda: "3.1  ✓ proven" in plain(screen))


@pytest.mark.parametrize("key", ["g", "slash g o enter"])
async def test_at_the_end_the_cursor_is_on_the_promoted_kernel_and_g_goes_to_the_best(key: str) -> None:
    app = replay_app(events=recorded())
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, len(recorded()))
        assert screen.row is not None and screen.row.label == "3.1" and screen.row.promoted
        await pilot.press(*key.split())
        assert screen.row.label == "3.2"
        screen.paint()
        assert screen.row.label == "3.2"


async def test_a_slash_typed_fast_is_a_character() -> None:
    app = replay_app(events=recorded())
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, len(recorded()))
        screen.action_do("command")
        assert not screen.prompt.has_focus
        assert screen.check_action("do", ("command",)) is False


async def test_a_replay_of_the_recorded_session_seeks_to_any_place_and_back() -> None:
    app = replay_app(events=recorded())
    async with app.run_test(size=SIZE) as pilot:
        screen = await taken_in(pilot, len(recorded()))
        replay = screen.replay
        assert isinstance(replay, Replay)
        whole = screen.session.state
        await pilot.press("space", "slash", *"seek 50", "enter")
        await until(pilot, lambda: screen.session.seen == round(0.5 * len(recorded())))
        assert screen.session.promoted and not screen.session.over
        await pilot.press("slash", *"speed 0", "enter", "space")
        await until(pilot, lambda: screen.session.seen == len(recorded()))
        assert screen.session.state == whole
