"""The MCP server, through a client in the same process; sessions run on the engine's doubles."""

import json
import sys
from pathlib import Path

import pytest
from mcp import Client

from kshell import remote, wiring
from kshell.cli import main
from kshell.cli.known import settings_of
from kshell.server import server
from tests.kshell.engine import fakes

RELU = """__global__ void relu(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaxf(x[i], 0.0f);
}
void launch(const float* x, float* y, int n) {
    relu<<<(n + 255) / 256, 256>>>(x, y, n);
}
"""


@pytest.fixture
def connected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("KSHELL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KSHELL_CONFIG", str(tmp_path / "none.toml"))
    monkeypatch.chdir(Path(__file__).parents[2])
    start = remote.in_background
    faked = ["-m", "tests.kshell.cli.faked", "0.001", str(tmp_path / "journal.txt")]

    def in_background(session: str, *words: str):  # type: ignore[no-untyped-def]
        with monkeypatch.context() as patch:
            popen = remote.subprocess.Popen
            patch.setattr(
                "kshell.remote.subprocess.Popen",
                lambda command, **options: popen([sys.executable, *faked, *command[3:]], **options),
            )
            return start(session, *words)

    monkeypatch.setattr(remote, "in_background", in_background)
    monkeypatch.setattr(wiring, "prover", lambda: fakes.FakeProver(fakes.Journal()))
    return lambda: Client(server())


async def value(client: Client, tool: str, **arguments: object):  # type: ignore[no-untyped-def]
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    found = answer.structured_content
    assert found is not None
    return found.get("result", found)


async def complaint(client: Client, tool: str, **arguments: object) -> str:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    return str(answer.content[0].text)  # type: ignore[union-attr]


async def test_a_session_is_run_with_progress_looked_at_and_exported(connected) -> None:
    async with connected() as client:
        heard: list[tuple[float, float | None, str | None]] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            heard.append((done, total, message))

        arguments = {"task": "relu", "rounds": 3, "group": 4, "seed": 1}
        answer = await client.call_tool("run", arguments, progress_callback=progress)
        assert not answer.is_error and answer.structured_content is not None
        ran = answer.structured_content
        assert (ran["name"], ran["state"], ran["rounds_done"], ran["candidates"]) == (
            "relu-1",
            "finished",
            3,
            12,
        )
        assert ran["promoted"] and any(line.startswith("PROMOTED") for line in ran["report"])
        assert any(message == "round 2 of 3" for _, _, message in heard)
        assert heard[-1][:2] == (12, 12)

        assert await value(client, "status", session="relu-1") == ran
        assert [s["name"] for s in await value(client, "sessions")] == ["relu-1"]
        exported = await value(client, "export", session="relu-1")
        assert exported["candidate"] == ran["promoted"][0]
        assert (Path(exported["folder"]) / "kernel.cu").read_text() == exported["source"]
        page = await value(client, "events", session="relu-1", after=3, limit=2)
        assert [event["seq"] for event in page] == [4, 5]
        assert (await value(client, "insights", query="draw"))[0]["sentence"]


async def test_roles_caps_and_sizes_reach_the_session(connected, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSHELL_MODEL", "openai/none")
    async with connected() as client:
        ran = await value(
            client,
            "run",
            task="relu",
            rounds=1,
            group=2,
            sizes={"n": 512},
            agents=["verifier", "insight"],
            model="openai/some",
            prove="end",
            max_tokens=900,
            max_seconds=500.5,
            max_proof_tries=3,
        )
        assert ran["state"] == "finished"
        first = (await value(client, "events", session="relu-1", limit=1))[0]
        assert first["axes"] == {"n": 512}
        assert (first["budget"]["max_tokens"], first["budget"]["max_proof_tries"]) == (900, 3)
    with wiring.store() as store:
        record = store.session("relu-1")
        assert record is not None
        chosen = settings_of(record)
    assert (chosen.agents, chosen.model, chosen.prove) == (("verifier", "insight"), "openai/some", "end")
    assert (chosen.generator, chosen.max_seconds) == ("builtin", 500.5)


async def test_a_role_that_is_none_is_refused(connected) -> None:
    async with connected() as client:
        assert "verifier" in await complaint(client, "run", task="relu", agents=["poet"])


async def test_tasks_are_described(connected) -> None:
    async with connected() as client:
        found = {task["name"]: task for task in await value(client, "tasks")}
        assert found["gemm"]["inputs"] == ["A[M, K] float32", "B[K, N] float32"]
        assert "class Model" in found["softmax"]["reference"]


async def test_a_kernel_is_checked(connected) -> None:
    async with connected() as client:
        fine = await value(client, "check", source=RELU, task="relu", sizes={"n": 1000})
        assert not fine["fault_found"] and fine["effort"]
        broken = await value(client, "check", source=RELU.replace("i < n", "i <= n"), task="relu")
        assert broken["fault_found"] and broken["counterexample"]["fault"] == "OUT OF BOUNDS"
        refused = await value(client, "check", source=RELU.replace("int i", "goto i; int i"), task="relu")
        assert not refused["fault_found"] and "kernel.cu:2:" in refused["refused"]


async def test_a_kernel_is_verified_with_progress(connected, monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected() as client:
        monkeypatch.setattr(fakes, "quality", lambda candidate: 3)
        heard: list[float] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            heard.append(done)

        answer = await client.call_tool(
            "verify", {"source": RELU, "task": "relu"}, progress_callback=progress
        )
        assert answer.structured_content is not None
        assert answer.structured_content["status"] == "proven"
        assert heard == [1, 2]


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("run", {"task": "rellu"}, "did you mean relu"),
        ("status", {"session": "x"}, "there is no session 'x'"),
        ("check", {"source": RELU, "task": "relu", "sizes": {"m": 3}}, "has no axis 'm'"),
        ("steer", {"session": "x", "action": "stop"}, "there is no session 'x'"),
        ("export", {"session": "x"}, "there is no session 'x'"),
    ],
)
async def test_what_a_caller_does_wrong_is_one_line(
    connected, tool: str, arguments: dict[str, object], says: str
) -> None:
    async with connected() as client:
        said = await complaint(client, tool, **arguments)
        assert says in said and "\n" not in said


async def test_a_session_that_cannot_start_says_why(connected) -> None:
    async with connected() as client:
        said = await complaint(client, "run", task="relu", device="tpu")
        assert "tpu" in said or "device" in said


def test_the_verb_lists_the_tools(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--json"]) == 0
    tools = {tool["name"]: tool for tool in json.loads(capsys.readouterr().out)}
    assert {"tasks", "run", "status", "steer", "export", "check", "verify"} <= set(tools)
    assert all(tool["description"] for tool in tools.values())
