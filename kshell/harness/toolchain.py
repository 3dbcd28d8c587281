"""The C++ compiler of device `cpu` and the runtime built with it, once, cached by content."""

import asyncio
import hashlib
import os
import platform
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kshell.harness import sandbox
from scaffolds.program import cpu_folder

COMPILERS = ("g++", "c++", "clang++")
COMPILE_LIMITS = sandbox.Limits(wall_s=60, cpu_s=60, memory_bytes=8 << 30, output_bytes=1 << 18)
CHECKER = "checker"
_RUNTIME = ("runtime.cpp", "fibers.cpp", f"{CHECKER}.cpp")
_DIALECT = "-std=gnu++17"
# A loop that never ends must not be optimized away, and errno and traps must not keep code scalar.
_KERNEL_FLAGS = ("-O3", "-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing")
# The sanitizers add calls before every access and integer operation; checker.cpp defines what they call.
_CHECKED_FLAGS = (
    *(_DIALECT, "-O1", "-g1", "-fsanitize=thread", "-DKSHELL_CHECK"),
    "-fsanitize=alignment,signed-integer-overflow,integer-divide-by-zero,shift,bounds",
    *("-fno-math-errno", "-fno-strict-aliasing", "-fno-tree-sink"),
)


class ToolchainMissing(Exception):
    """No usable C++ compiler; the message says what to install."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler, the flags kernels are built with (for timing; for checking every access), and a key
    that changes when their output could."""

    compiler: str
    flags: tuple[str, ...]
    checked_flags: tuple[str, ...]
    libraries: tuple[str, ...]
    key: str


@cache
def find() -> Toolchain:
    """The compiler of `$KSHELL_CXX`, or the first of g++, c++, clang++. Raises ToolchainMissing."""
    given = os.environ.get("KSHELL_CXX")
    found = next((p for c in ((given,) if given else COMPILERS) if (p := shutil.which(c))), None)
    if found is None:
        what = f"KSHELL_CXX={given} is not a program" if given else "no C++ compiler on PATH"
        raise ToolchainMissing(f"{what}; install g++ 9 or newer, or set KSHELL_CXX")
    machine = platform.machine()
    tuning = ("-march=native",) if machine in ("x86_64", "AMD64") else ("-mcpu=native",)
    vector_library = ("-lmvec",) if machine == "x86_64" and platform.libc_ver()[0] == "glibc" else ()
    endless = ("-fno-finite-loops",) if "clang" not in Path(found).name else ()
    flags = (_DIALECT, *_KERNEL_FLAGS, *endless, *tuning)
    stat = Path(found).resolve().stat()
    identity = [found, stat.st_size, int(stat.st_mtime), *flags, *_CHECKED_FLAGS, _processor()]
    for name in sorted(p.name for p in cpu_folder().iterdir() if p.suffix in (".h", ".cpp")):
        identity.append((cpu_folder() / name).read_text(encoding="utf-8"))
    key = hashlib.sha256(repr(identity).encode()).hexdigest()[:16]
    return Toolchain(found, flags, _CHECKED_FLAGS, (*vector_library, "-lm", "-lpthread"), key)


def _processor() -> str:
    """What `native` depends on."""
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return platform.processor()
    wanted = ("flags", "Features", "model name")
    lines = info.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join({line for line in lines if line.startswith(wanted)})


async def runtime_objects(toolchain: Toolchain, cache_folder: Path) -> list[Path]:
    """Object files of the runtime, built when the cache lacks them. Raises ToolchainMissing."""
    folder = cache_folder / f"runtime-{toolchain.key}"
    objects = [folder / Path(name).with_suffix(".o") for name in _RUNTIME]
    if all(o.exists() for o in objects):
        return objects
    cache_folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_folder, prefix="building-") as temporary:
        made = Path(temporary)
        builds = [
            sandbox.run(
                [
                    *(toolchain.compiler, _DIALECT, "-O2", "-fno-strict-aliasing"),
                    *("-c", str(cpu_folder() / name), "-o", str(made / Path(name).with_suffix(".o"))),
                ],
                cwd=made,
                limits=COMPILE_LIMITS,
            )
            for name in _RUNTIME
        ]
        for finished in await asyncio.gather(*builds):
            if not finished.ok:
                detail = next(
                    (x for x in finished.stderr.splitlines() if "error" in x), finished.stderr[:200]
                )
                raise ToolchainMissing(f"{toolchain.compiler} cannot build the cpu runtime: {detail}")
        folder.mkdir(exist_ok=True)
        for target in objects:
            (made / target.name).replace(target)
    return objects
