"""A proof that closed once is not run again, in this session or a later one, and is told as such."""

from pathlib import Path

from insights_db.store import Store
from kshell import events as ev
from kshell.engine.session import drain
from kshell.engine.state import fold
from kshell.text import describe
from tests.kshell.engine import fakes


async def test_a_later_session_keeps_the_proof_of_an_earlier_one(tmp_path: Path) -> None:
    first, second = fakes.Journal(), fakes.Journal()
    with Store(tmp_path / "kshell.db") as store:
        await drain(fakes.session(store, tmp_path, fakes.parts(first)))
        events = await drain(fakes.session(store, tmp_path, fakes.parts(second), name="t"))
    proven = {line.split()[1] for line in first.lines if line.startswith("prove ")}
    finished = [event for event in events if isinstance(event, ev.ProofFinished)]
    kept = {event.candidate for event in finished if event.kept}
    assert kept and kept <= proven
    assert not kept & {line.split()[1] for line in second.lines if line.startswith("prove ")}
    at = events.index(next(event for event in finished if event.kept))
    [line] = describe(events[at], fold(events[: at + 1]))
    assert "PROVEN in 0.0 s earlier, kept" in line
