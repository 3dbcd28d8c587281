"""Sessions with a model: killed inside a round, stopped in mid-stream, without a price."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from insights_db.store import Store
from kshell import events as ev
from tests.agents.llm.server import Behaviour, FakeProvider, Say, serving

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

ROOT = Path(__file__).parents[3]
PRICE = '[prices."openai/fake"]\ninput = 1.0\noutput = 10.0\n'


def started(folder: Path, provider: FakeProvider, *words: str) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "KSHELL_HOME": str(folder / "home"),
        "KSHELL_CONFIG": str(folder / "config.toml"),
        "KSHELL_API_BASE": provider.url,
        "KSHELL_MODEL": "openai/fake",
        "OPENAI_API_KEY": "sk-secret",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "tests.agents.llm.modelled", str(folder / "journal"), *words],
        cwd=ROOT, env=environment, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def begun(folder: Path, provider: FakeProvider, *more: str) -> subprocess.Popen[str]:
    """A session of two rounds of one candidate, without the verifier of the doubles in the way."""
    words = ["run", "relu", "--session", "s", "--rounds", "2", "--group", "1", "--generator", "llm"]
    return started(folder, provider, *words, "--prove", "never", "--headless", *more)


def turns(request: dict[str, Any]) -> int:
    """How many answers the conversation had before this request."""
    return sum(message["role"] == "assistant" for message in request["messages"])


def answers(stall: bool) -> Callable[[dict[str, Any]], Behaviour]:
    """Compile, profile, submit; the submission stalls in the middle when asked to."""

    def answer(request: dict[str, Any]) -> Behaviour:
        number = 22 + len(request["messages"][0]["content"]) % 2
        source = {"source": f"kernel {number} of {len(request['messages'][0]['content'])}"}
        done = turns(request)
        if done < 2:
            return Say(calls=((("compile", "profile")[done], source),), usage=(2000, 50))
        return Say(calls=(("submit", source),), usage=(2000, 50), stall_after=2 if stall else None)

    return answer


def waited(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until the condition holds; the process has to live so long."""
    ends = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < ends
        time.sleep(0.02)


def events(folder: Path) -> list[ev.Event]:
    with Store(folder / "home" / "kshell.db") as store:
        return [ev.parse(line) for line in store.events("s")]


def test_kill_9_inside_a_round_repeats_no_paid_call(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(PRICE)
    with serving(answer=answers(stall=True)) as provider:
        process = begun(tmp_path, provider, "--max-usd", "1")
        waited(lambda: len(provider.requests) == 3 and provider.sent > 10, process)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
        first = list(provider.requests)
    with serving(answer=answers(stall=False)) as provider:
        process = started(tmp_path, provider, "resume", "s", "--headless")
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, (out, err)
        later = list(provider.requests)
    assert [turns(r) for r in first] == [0, 1, 2]
    assert [turns(r) for r in later] == [2, 0, 1, 2]
    assert later[0] == first[2]
    budgets = [e.budget for e in events(tmp_path) if isinstance(e, ev.BudgetChanged)]
    assert budgets[-1].tokens == 6 * 2050
    assert budgets[-1].usd == pytest.approx(6 * (2000 * 1.0 + 50 * 10.0) / 1e6)
    assert "llm:openai/fake: 2 proposed, 2 correct" in out


def test_ctrl_c_stops_within_a_second_in_mid_stream(tmp_path: Path) -> None:
    with serving(answer=answers(stall=True)) as provider:
        process = begun(tmp_path, provider)
        waited(lambda: len(provider.requests) == 3 and provider.sent > 10, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (out, err)
    stop, *_, end = [e for e in events(tmp_path) if isinstance(e, ev.PersonActed | ev.SessionFinished)]
    assert isinstance(end, ev.SessionFinished)
    assert end.interrupted
    assert (end.at - stop.at).total_seconds() < 1
    assert "sk-secret" not in out + err + (tmp_path / "journal").read_text()


def test_a_cap_in_dollars_without_a_price_is_asked_for_before_anything_runs(tmp_path: Path) -> None:
    with serving() as provider:
        process = begun(tmp_path, provider, "--max-usd", "1")
        out, err = process.communicate(timeout=120)
        assert provider.requests == []
    assert process.returncode == 2
    assert err.count("\n") == 1
    assert 'the price of openai/fake is unknown: put [prices."openai/fake"] input = DOLLARS' in err
    assert out == ""
