"""CUDA C++ to machine code with NVIDIA's runtime compiler, called straight: no GPU and no driver are needed.

CuPy's own front end to it appends `-ftz=true` to whatever it is asked for, which flushes denormal values to
zero; here the options are those given, and so the same as nvcc's."""

import ctypes
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

OPTIONS = ("--std=c++17", "--ptxas-options=-v")
ARCH = "sm_90"
"""What is compiled for when no device says otherwise."""
_NAMES = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")
_FOLDERS = ("nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
_SHARED = re.compile(r"(\d+) bytes smem")
_LINE = re.compile(r"^\S*\((\d+)\): (?:error|catastrophic error).*$", re.MULTILINE)


class NoCompiler(Exception):
    """NVRTC is not on this machine; the message says how to get it."""


class CompileFailure(Exception):
    """The text does not compile; the message holds the first errors."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """`lowered` gives the name in the binary of each name expression; `log` is what the compiler said."""

    cubin: bytes
    lowered: dict[str, str]
    log: str


def ptxas_report(text: str) -> dict[str, float]:
    """Registers, spilled bytes and static shared bytes that ptxas reports, the largest of all kernels."""
    return {
        "registers": max((float(m) for m in _REGISTERS.findall(text)), default=0.0),
        "spill_bytes": max((float(a) + float(b) for a, b in _SPILLS.findall(text)), default=0.0),
        "shared_bytes": max((float(m) for m in _SHARED.findall(text)), default=0.0),
    }


@cache
def find() -> "Nvrtc":
    """The library of a wheel on `sys.path`, of CUDA_HOME, or of the system. Raises NoCompiler."""
    for candidate in _candidates():
        try:
            # It looks for its second library by name, and finds the one that is loaded already.
            folder = Path(candidate).parent
            for builtins in sorted(folder.glob("libnvrtc-builtins.so*")) if folder.is_absolute() else ():
                ctypes.CDLL(str(builtins))
            return Nvrtc(ctypes.CDLL(candidate), candidate)
        except OSError:
            continue
    raise NoCompiler("NVRTC is not installed; pip install nvidia-cuda-nvrtc, or install the CUDA toolkit")


def _candidates() -> Iterator[str]:
    roots = [Path(entry or ".") / folder for entry in sys.path for folder in _FOLDERS]
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            roots.append(Path(os.environ[variable]) / "lib64")
    roots.append(Path("/usr/local/cuda/lib64"))
    for root in roots:
        yield from (str(root / name) for name in _NAMES if (root / name).exists())
    yield from _NAMES


class Nvrtc:
    """A loaded library. `place` is the path or name it was loaded by."""

    def __init__(self, library: ctypes.CDLL, place: str) -> None:
        self._library = library
        self.place = place
        library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def version(self) -> str:
        """Major and minor number."""
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._check(self._library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
        return f"{major.value}.{minor.value}"

    def compile(
        self, text: str, names: Sequence[str], arch: str = ARCH, options: Sequence[str] = OPTIONS
    ) -> Compiled:
        """Machine code for `arch` (`sm_90`). `names` are kernels as C++ writes them (`k<256>`). Raises
        CompileFailure."""
        library, program = self._library, ctypes.c_void_p()
        self._check(
            library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
        )
        try:
            for name in dict.fromkeys(names):
                self._check(library.nvrtcAddNameExpression(program, name.encode()))
            words = [f"--gpu-architecture={arch}".encode(), *(o.encode() for o in options)]
            array = (ctypes.c_char_p * len(words))(*words)
            status = library.nvrtcCompileProgram(program, len(words), array)
            log = self._text(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog").rstrip(b"\0").decode()
            if status:
                errors = [m.group(0) for m in _LINE.finditer(log)]
                raise CompileFailure("\n".join(errors[:5]) or log.strip()[-500:] or self._said(status))
            lowered = {}
            for name in dict.fromkeys(names):
                found = ctypes.c_char_p()
                self._check(library.nvrtcGetLoweredName(program, name.encode(), ctypes.byref(found)))
                lowered[name] = (found.value or b"").decode()
            return Compiled(self._text(program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN"), lowered, log)
        finally:
            library.nvrtcDestroyProgram(ctypes.byref(program))

    def _text(self, program: ctypes.c_void_p, size_of: str, get: str) -> bytes:
        size = ctypes.c_size_t()
        self._check(getattr(self._library, size_of)(program, ctypes.byref(size)))
        data = ctypes.create_string_buffer(max(1, size.value))
        self._check(getattr(self._library, get)(program, data))
        return data.raw[: size.value]

    def _said(self, status: int) -> str:
        return str(self._library.nvrtcGetErrorString(status).decode())

    def _check(self, status: int) -> None:
        if status:
            raise CompileFailure(f"NVRTC: {self._said(status)}")
