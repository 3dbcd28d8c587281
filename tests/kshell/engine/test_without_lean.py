"""A session on a machine without Lean goes on to its end, says so, and is proven later elsewhere."""

from pathlib import Path

import pytest

from insights_db.store import Store
from kshell import events as ev
from kshell import wiring
from kshell.cli.known import session_record, settings_of
from kshell.engine.desk import Parts
from kshell.engine.session import drain
from kshell.engine.settings import Settings
from kshell.errors import UserError
from kshell.lean import toolchain
from kshell.prover import LeanProver
from kshell.prover.absent import AbsentProver
from tests.kshell.engine import fakes

WHY = "no Lean: install one"


def lean_missing() -> toolchain.Toolchain:
    raise toolchain.LeanMissing(WHY)


async def test_every_round_is_done_nothing_is_tried_and_the_reason_stands_at_both_ends(
    tmp_path: Path,
) -> None:
    journal = fakes.Journal()
    with Store(tmp_path / "kshell.db") as store:
        made = fakes.replaced(fakes.parts(journal), prover=AbsentProver(WHY))
        session = fakes.session(store, tmp_path, made)
        events = await drain(session)
        assert next(e.message for e in events if isinstance(e, ev.Problem)) == WHY
        assert len([e for e in events if isinstance(e, ev.RoundFinished)]) == 3
        finished = events[-1]
        assert isinstance(finished, ev.SessionFinished) and not finished.interrupted
        assert finished.outcome.startswith("nothing promoted, best ") and finished.outcome.endswith(WHY)
        assert all(known.proof is None for known in session.state.candidates.values())
        with pytest.raises(UserError, match=WHY):
            fakes.session(store, tmp_path, made).prove()
        later = fakes.session(store, tmp_path, fakes.parts(journal))
        async for _ in later.prove():
            pass
        assert later.state.promoted, "with a prover the same session is proven"


async def test_proofs_that_were_switched_off_are_not_missed(tmp_path: Path) -> None:
    with Store(tmp_path / "kshell.db") as store:
        made = fakes.replaced(fakes.parts(fakes.Journal()), prover=AbsentProver(WHY))
        session = fakes.session(store, tmp_path, made, prove="never")
        await drain(session)
        assert not session.state.problems
        assert session.state.finished is not None
        assert session.state.finished.outcome.endswith("(--prove never)")


def test_only_a_missing_lean_is_made_do_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSHELL_HOME", str(tmp_path))
    assert isinstance(wiring.parts(Settings()).prover, LeanProver | AbsentProver)
    monkeypatch.setattr(toolchain, "find", lean_missing)
    absent = wiring.parts(Settings()).prover
    assert isinstance(absent, AbsentProver)
    assert absent.missing.startswith(WHY) and "kshell prove" in absent.missing
    with pytest.raises(ValueError, match=WHY):
        absent.certificate(None, None, None, None)  # type: ignore[arg-type]


def test_a_session_of_a_gpu_is_proven_where_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KSHELL_HOME", str(tmp_path))
    asked: list[str] = []

    def parts(settings: Settings) -> Parts:
        asked.append(settings.device)
        return fakes.parts(fakes.Journal())

    monkeypatch.setattr(wiring, "parts", parts)
    with wiring.store() as store:
        chosen = wiring.task("relu")
        wiring.session(store, "gpu", chosen, chosen.workload(), Settings(device="cuda"))
        fakes_record(store)
        record = session_record(store, "gpu")
        wiring.resumed(store, record, settings_of(record), only_proofs=True)
        wiring.resumed(store, record, settings_of(record))
    assert asked == ["cuda", "cpu", "cuda"]


def fakes_record(store: Store) -> None:
    """The row that the first event of a session brings."""
    from insights_db.store import new_session

    chosen, settings = wiring.task("relu"), Settings(device="cuda")
    store.add_session(
        new_session(
            "gpu",
            chosen.name,
            chosen.axes,
            device="cuda",
            generator=settings.generator,
            seed=0,
            task_body=chosen.model_dump_json(),
            options=settings.model_dump_json(),
        )
    )
