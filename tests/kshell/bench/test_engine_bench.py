"""The engine bench: what it counts as whose time, and that it starts the real app."""

import asyncio
import json
from pathlib import Path

import pytest

from kshell import wiring
from kshell.bench import engine
from kshell.cli import main
from tests.kshell.engine import fakes


async def test_overlapping_calls_count_once() -> None:
    busy = engine.Busy()
    started = asyncio.get_running_loop().time()
    await asyncio.gather(*(busy.during("compile", asyncio.sleep(0.05)) for _ in range(4)))
    assert 0.05 <= busy.seconds <= asyncio.get_running_loop().time() - started
    assert len(busy.calls) == 4
    await asyncio.sleep(0.02)
    assert busy.seconds < 0.05 + 0.05


def test_the_bench_prints_its_keys_and_ratios(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("KSHELL_HOME", str(tmp_path))
    monkeypatch.setattr(wiring, "parts", lambda settings: fakes.parts(fakes.Journal(), 0.02))
    monkeypatch.setattr(wiring, "prover", lambda: fakes.FakeProver(fakes.Journal()))
    monkeypatch.setattr(fakes, "quality", lambda candidate: 3)
    assert main(["bench", "engine", "--runs", "1", "--rounds", "2", "--group", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["candidates"] == 6 and found["events"] > 30
    assert 0.02 <= found["evaluation_seconds_per_candidate"] < 1
    assert 0 < found["overhead_ratio"] < 1
    assert 0 < found["help_seconds"] < 5 and 0 < found["first_frame_seconds"] < 20
    assert found["ratios_to_aims"]["help_seconds"] == pytest.approx(found["help_seconds"] / 0.3, abs=0.001)
    assert [(p["task"], p["status"]) for p in found["proofs"] if p["warm"]] == [
        ("relu", "proven"),
        ("silu", "proven"),
        ("gelu_tanh", "proven"),
    ]
