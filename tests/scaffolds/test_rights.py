"""What the program of a candidate may not do, should its code ever get so far: no sockets, no new processes,
no other programs, no signals. The runtime's own filter is put before a system call that must then fail."""

import errno
from pathlib import Path

import pytest

from kshell.harness import sandbox
from kshell.harness.toolchain import find
from scaffolds.program import cpu_folder

CALLS = {
    "socket": "return socket(AF_INET, SOCK_STREAM, 0);",
    "socketpair": "int two[2]; return socketpair(AF_UNIX, SOCK_STREAM, 0, two);",
    "fork": "int child = fork(); if (child == 0) _exit(0); return child;",
    "execve": 'char* none[] = {nullptr}; return execve("/bin/true", none, none);',
    "kill": "return kill(getppid(), 0);",
}


async def errno_of(folder: Path, body: str, *, filtered: bool) -> int:
    """The error number of a call, 0 when it was let through."""
    runtime = (cpu_folder() / "runtime.cpp").read_text(encoding="utf-8")
    start, end = runtime.index("void give_up_rights()"), runtime.index("}  // namespace\n\nint main(")
    headers = [line for line in runtime.splitlines() if line.startswith("#include <")]
    text = "\n".join(
        [
            *headers,
            "#include <cerrno>\n#include <csignal>\n#include <cstdio>\n#include <sys/socket.h>",
            runtime[start:end],
            f"int probe() {{ {body} }}",
            "int main() {",
            "    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);",
            "    give_up_rights();" if filtered else "    (void)give_up_rights;",
            "    errno = 0;",
            '    printf("%d", probe() < 0 ? errno : 0);',
            "}\n",
        ]
    )
    (folder / "probe.cpp").write_text(text, encoding="utf-8")
    built = await sandbox.run([find().compiler, "-std=gnu++17", "probe.cpp", "-o", "probe"], cwd=folder)
    assert built.ok, built.stderr
    ran = await sandbox.run(["./probe"], cwd=folder)
    assert ran.ok, ran.stderr
    return int(ran.stdout or 0)


@pytest.mark.parametrize("name", CALLS)
async def test_the_filter_refuses(tmp_path: Path, name: str) -> None:
    assert await errno_of(tmp_path, CALLS[name], filtered=True) == errno.EPERM


async def test_without_the_filter_the_same_call_goes_through(tmp_path: Path) -> None:
    assert await errno_of(tmp_path, CALLS["socket"], filtered=False) == 0


async def test_the_filter_lets_a_kernel_do_its_work(tmp_path: Path) -> None:
    assert await errno_of(tmp_path, 'return open("/dev/null", O_RDONLY);', filtered=True) == 0
