"""Starts a checker process that cannot reach the network, start other programs, or write elsewhere.

Run as `python confine.py [--write FOLDER]... -- PROGRAM ARGS...`: limits are put on this process, then it
becomes the program. On Linux a system call filter (seccomp) refuses sockets other than local ones, new
processes, and the calls that get around the two; with `--write`, Landlock refuses to change files outside
these folders and the terminal devices. What a kernel or platform does not offer is left out: `enforced`
says what holds here. Only the standard library is used: the script runs before anything else."""

import ctypes
import errno
import os
import platform
import resource
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

NETWORK, PROCESSES, FILES = "network", "processes", "files"

# machine, socket, clone, clone3, and what is refused: fork, vfork, ptrace, io_uring_setup
_CALLS = {
    "x86_64": (0xC000003E, 41, 56, 435, (57, 58, 101, 425)),
    "aarch64": (0xC00000B7, 198, 220, 435, (117, 425)),
}
_LOAD, _EQUAL, _ABOVE, _ANY, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERROR, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_CLONE_THREAD, _AF_UNIX = 0x10000, 1
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER_MODE = 38, 22, 2
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_WRITE, _REFER, _TRUNCATE = 1 << 1, 1 << 13, 1 << 14
_CHANGE = _WRITE | sum(1 << bit for bit in range(4, 13))  # write to, remove, make
_DEVICES = ("/dev/null", "/dev/zero", "/dev/tty")

_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def _filter() -> bytes:
    """The program of the system call filter; empty on a machine that it is not written for."""
    known = _CALLS.get(platform.machine()) if sys.platform == "linux" else None
    if known is None:
        return b""
    arch, socket, clone, clone3, refused = known
    # instruction, skipped when true, skipped when false, operand; the data: number at 0, machine at 4,
    # lower half of the first argument at 16
    rows = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, arch), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    rows += [(_ABOVE, 0, 1, 0x40000000), (_RETURN, 0, 0, _ERROR | errno.ENOSYS)]
    rows += [(_EQUAL, 0, 1, clone3), (_RETURN, 0, 0, _ERROR | errno.ENOSYS)]
    for number in refused:
        rows += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERROR | errno.EPERM)]
    rows += [(_EQUAL, 0, 4, socket), (_LOAD, 0, 0, 16), (_EQUAL, 0, 1, _AF_UNIX)]
    rows += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ERROR | errno.EACCES)]
    rows += [(_EQUAL, 0, 4, clone), (_LOAD, 0, 0, 16), (_ANY, 0, 1, _CLONE_THREAD)]
    rows += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ERROR | errno.EPERM), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *row) for row in rows)


def enforced() -> tuple[str, ...]:
    """What `confine` keeps a process from on this machine: some of NETWORK, PROCESSES, FILES."""
    found: list[str] = []
    # a filter at address 0 is never installed: the kernel that knows filters says "bad address"
    refused = _filter() and _libc.prctl(_SET_SECCOMP, _FILTER_MODE, None, 0, 0) != 0
    if refused and ctypes.get_errno() == errno.EFAULT:
        found += [NETWORK, PROCESSES]
    if _landlock() > 0:
        found.append(FILES)
    return tuple(found)


def confine(writable: Sequence[Path] | None) -> None:
    """Confine this process and what it becomes. `writable` are the folders it may change, None for all."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform != "linux":
        return
    _libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if writable is not None:
        _keep_files(writable)
    code = _filter()
    if code:
        program = _Program(len(code) // 8, code)
        _libc.prctl(_SET_SECCOMP, _FILTER_MODE, ctypes.byref(program), 0, 0)


def _landlock() -> int:
    """The version of Landlock, 0 for none."""
    if sys.platform != "linux":
        return 0
    return max(0, int(_libc.syscall(_CREATE, None, 0, 1)))


def _keep_files(writable: Sequence[Path]) -> None:
    version = _landlock()
    if not version:
        return
    rights = _CHANGE | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    rules = _libc.syscall(_CREATE, struct.pack("=Q", rights), 8, 0)
    for path in (*writable, *map(Path, _DEVICES)):
        if not path.exists():
            continue
        allowed = rights if path.is_dir() else rights & (_WRITE | _TRUNCATE)
        at = os.open(path, os.O_PATH | os.O_CLOEXEC)
        _libc.syscall(_ADD, rules, 1, struct.pack("=Qi", allowed, at), 0)
        os.close(at)
    _libc.syscall(_RESTRICT, rules, 0)
    os.close(rules)


def command(writable: Sequence[Path] | None) -> list[str]:
    """What to put before a program and its arguments."""
    folders = None if writable is None else [f"--write={path}" for path in (*writable, os.devnull)]
    return [sys.executable, "-I", "-S", __file__, *(folders or []), "--"]


def main(arguments: list[str]) -> None:
    """Confine this process and become the program."""
    at = arguments.index("--")
    folders = [Path(one.removeprefix("--write=")) for one in arguments[:at]]
    confine(folders or None)
    os.execv(arguments[at + 1], arguments[at + 1 :])


if __name__ == "__main__":
    main(sys.argv[1:])
