"""What a confined process can and cannot do, tried by processes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kshell.lean import confine
from kshell.lean.runner import LeanRunner
from kshell.lean.toolchain import Kind, Toolchain

TRIALS = """
import json, os, socket, subprocess, sys, threading
inside, outside = sys.argv[1:]

def tried(action):
    try:
        action()
    except OSError as error:
        return type(error).__name__
    return "done"

def thread():
    one = threading.Thread(target=int)
    one.start()
    one.join()

def write(path):
    with open(path, "w") as file:
        file.write("x")

print(json.dumps({
    "internet": tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM)),
    "internet 6": tried(lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)),
    "netlink": tried(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)),
    "local": tried(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)),
    "program": tried(lambda: subprocess.run(["/bin/true"])),
    "fork": tried(lambda: os._exit(0) if os.fork() == 0 else os.wait()),
    "thread": tried(thread),
    "write inside": tried(lambda: write(inside + "/a")),
    "write outside": tried(lambda: write(outside + "/a")),
    "overwrite": tried(lambda: write(outside + "/kept")),
    "remove": tried(lambda: os.unlink(outside + "/kept")),
    "read": tried(lambda: open(outside + "/kept").read()),
    "devnull": tried(lambda: write("/dev/null")),
}))
"""


def trials(tmp_path: Path, *, limited: bool) -> dict[str, str]:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "kept").write_text("kept")
    before = confine.command((inside,) if limited else None)
    ran = subprocess.run(
        [*before, sys.executable, "-c", TRIALS, str(inside), str(outside)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found: dict[str, str] = json.loads(ran.stdout)
    return found


def test_the_network_and_other_programs_are_out_of_reach_where_that_is_said(tmp_path: Path) -> None:
    found = trials(tmp_path, limited=False)
    refused = confine.NETWORK in confine.enforced()
    for name in ("internet", "internet 6", "netlink"):
        assert (found[name] == "PermissionError") is refused, name
    refused = confine.PROCESSES in confine.enforced()
    assert (found["program"] != "done") is refused
    assert (found["fork"] != "done") is refused
    assert found["local"] == found["thread"] == found["write outside"] == "done"


def test_files_outside_the_folders_stay_as_they_are_where_that_is_said(tmp_path: Path) -> None:
    found = trials(tmp_path, limited=True)
    refused = confine.FILES in confine.enforced()
    for name in ("write outside", "overwrite", "remove"):
        assert (found[name] == "PermissionError") is refused, name
    assert found["write inside"] == found["devnull"] == found["thread"] == "done"
    assert (tmp_path / "outside" / "kept").exists() is refused


def test_linux_on_known_machines_confines_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confine.platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(confine.sys, "platform", "linux")
    assert len(confine._filter()) % 8 == 0 and confine._filter()
    monkeypatch.setattr(confine.platform, "machine", lambda: "riscv64")
    assert confine._filter() == b""
    assert confine.NETWORK not in confine.enforced()


def test_the_status_of_the_program_is_kept() -> None:
    ran = subprocess.run([*confine.command(None), sys.executable, "-c", "raise SystemExit(7)"], timeout=60)
    assert ran.returncode == 7


CHECKER = """#!{python}
import os, socket, sys
from pathlib import Path

def tried(name, action):
    try:
        action()
    except OSError as error:
        print("kshell:" + name, type(error).__name__)
    else:
        print("kshell:" + name, "done")

tried("internet", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
tried("fork", lambda: os._exit(0) if os.fork() == 0 else os.wait())
tried("own", lambda: Path(sys.argv[sys.argv.index("-o") + 1]).write_text("made"))
tried("statement", lambda: Path(sys.argv[-1]).with_name("Statement.olean").write_text("forged"))
"""


async def test_a_checker_of_text_that_is_not_ours_is_confined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KSHELL_LEAN_STORE", str(tmp_path / "store"))
    program = tmp_path / "lean"
    program.write_text(CHECKER.format(python=sys.executable), encoding="utf-8")
    program.chmod(0o755)
    made = tmp_path / "folder" / "made"
    made.mkdir(parents=True)
    file = tmp_path / "folder" / "Submission.lean"
    file.write_text("", encoding="utf-8")
    runner = LeanRunner(Toolchain(Kind.NATIVE, "4.28.0", program))
    check = await runner.check(file, output=made / "Submission.olean", writable=(made,), seconds=120)
    said = dict(line.removeprefix("kshell:").split(" ", 1) for line in check.lines)
    held = confine.enforced()
    assert (said["internet"] != "done") is (confine.NETWORK in held)
    assert (said["fork"] != "done") is (confine.PROCESSES in held)
    assert (said["statement"] != "done") is (confine.FILES in held)
    assert said["own"] == "done" and check.status == 0
