"""From a candidate's host program to an executable, cached by content."""

import hashlib
import os
import re
import shutil
import tempfile
from pathlib import Path

from insights_db.records import CompileResult
from kshell.harness import sandbox
from kshell.harness.toolchain import CHECKER, COMPILE_LIMITS, Toolchain, runtime_objects
from scaffolds.program import HostProgram, cpu_folder

# Builds kept in the cache; the oldest go first.
KEPT_BUILDS = 2000
_DIAGNOSTIC = re.compile(r"^[^:]*:(\d+):(\d+): (fatal error|error): (.*)$", re.MULTILINE)


def build_key(toolchain: Toolchain, program: HostProgram, checked: bool = False) -> str:
    """Name of a build in the cache."""
    kind = "checked" if checked else "timed"
    return hashlib.sha256(f"{toolchain.key}\n{kind}\n{program.text}".encode()).hexdigest()[:24]


async def build(
    toolchain: Toolchain, program: HostProgram, cache_folder: Path, *, checked: bool = False
) -> CompileResult:
    """Compile and link. `artifact` is the executable; its folder keeps the generated source and the log
    with the calling convention. A `checked` build watches every memory access and is not for timing.
    A compiler's complaint is a result that is not ok. Raises ToolchainMissing."""
    folder = cache_folder / build_key(toolchain, program, checked)
    artifact = folder / "candidate"
    if artifact.exists():
        os.utime(folder)
        return _result(artifact, True, (folder / "command.txt").read_text(encoding="utf-8"), "", 0.0)
    objects = await runtime_objects(toolchain, cache_folder)
    seconds = 0.0
    with tempfile.TemporaryDirectory(dir=cache_folder, prefix="building-") as temporary:
        made = Path(temporary)
        (made / "candidate.cpp").write_text(program.text, encoding="utf-8")
        flags = toolchain.checked_flags if checked else toolchain.flags
        used = [o for o in objects if checked or o.stem != CHECKER]
        commands = [
            [toolchain.compiler, *flags, "-I", str(cpu_folder()), "-c", "candidate.cpp"],
            [toolchain.compiler, "candidate.o", *map(str, used), "-o", "candidate", *toolchain.libraries],
        ]
        text = " && ".join(" ".join(c) for c in commands)
        log = ""
        for command in commands:
            finished = await sandbox.run(command, cwd=made, limits=COMPILE_LIMITS)
            seconds += finished.seconds
            log += finished.stderr
            if not finished.ok:
                return _result(artifact, False, text, _complaint(finished), seconds)
        (made / "build.log").write_text(log, encoding="utf-8")
        (made / "command.txt").write_text(text, encoding="utf-8")
        _put(made, folder)
    _forget_old(cache_folder)
    return _result(artifact, True, text, "", seconds)


def _put(made: Path, folder: Path) -> None:
    """Move a finished build into place; another process may have been quicker."""
    folder.mkdir(exist_ok=True)
    for name in ("candidate.cpp", "build.log", "command.txt", "candidate"):  # the executable comes last
        (made / name).replace(folder / name)


def _result(artifact: Path, ok: bool, command: str, diagnostics: str, seconds: float) -> CompileResult:
    report = {"binary_bytes": float(artifact.stat().st_size)} if ok else {}
    return CompileResult(
        ok=ok,
        diagnostics=diagnostics,
        command=command,
        seconds=seconds,
        artifact=str(artifact) if ok else "",
        report=report,
    )


def _complaint(finished: sandbox.Finished) -> str:
    errors = [m.group(0) for m in _DIAGNOSTIC.finditer(finished.stderr)]
    if errors:
        return "\n".join(errors[:5])
    return f"the compiler {finished.reason(COMPILE_LIMITS)}\n{finished.stderr[-500:]}".strip()


def _forget_old(cache_folder: Path) -> None:
    entries = [
        e for e in cache_folder.iterdir() if e.is_dir() and not e.name.startswith(("runtime-", "building-"))
    ]
    if len(entries) <= KEPT_BUILDS:
        return
    entries.sort(key=lambda e: e.stat().st_mtime)
    for entry in entries[: len(entries) - KEPT_BUILDS]:
        shutil.rmtree(entry, ignore_errors=True)
