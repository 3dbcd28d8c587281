"""Builds the Lean package: modules in import order, each kept by the hash of what it depends on.

A module's key covers its source, the keys of what it imports and the toolchain. Compiled modules lie
in a store by key; a built package is a folder of links into it, renamed into place when complete, so
an interrupted build leaves nothing that looks finished."""

import asyncio
import hashlib
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kshell.errors import UserError
from kshell.lean.locks import hold_async
from kshell.lean.runner import LeanRunner
from kshell.lean.toolchain import package_root, store

LIBRARY = "KShell"
_IMPORT = re.compile(r"^\s*(?:public\s+)?(?:meta\s+)?import\s+(?:all\s+)?([\w.']+)", re.MULTILINE)

Progress = Callable[[int, int, str], None]
"""`progress(done, total, module)`, called before each module that has to be compiled and at the end."""


@dataclass(frozen=True, slots=True)
class Module:
    """A module of the package; `key` names its compiled form."""

    name: str
    path: Path
    imports: tuple[str, ...]
    key: str


class BuildError(UserError):
    """A module of the package does not compile. Exit code 2: the installation is broken."""


def modules(root: Path, toolchain_id: str, library: str = LIBRARY) -> tuple[Module, ...]:
    """The modules of a library of the package in import order. Raises UserError for a cycle or an
    import of a module that does not exist."""
    files = {library: root / f"{library}.lean"} if (root / f"{library}.lean").is_file() else {}
    for path in sorted((root / library).rglob("*.lean")):
        files[".".join(path.relative_to(root).with_suffix("").parts)] = path
    texts = {name: path.read_text(encoding="utf-8") for name, path in files.items()}
    done: dict[str, Module] = {}

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in done:
            return
        if name in above:
            raise BuildError(f"lean/: modules import each other in a circle: {' -> '.join((*above, name))}")
        if name not in files:
            raise BuildError(f"lean/: {above[-1]} imports {name}, which does not exist")
        own = tuple(dict.fromkeys(one for one in imports_of(texts[name]) if one.split(".")[0] == library))
        for one in own:
            visit(one, (*above, name))
        digest = hashlib.sha256(f"{toolchain_id}\0{name}\0".encode())
        digest.update(texts[name].encode())
        for one in sorted(own):
            digest.update(done[one].key.encode())
        done[name] = Module(name, files[name], own, digest.hexdigest()[:32])

    for name in sorted(files):
        visit(name, ())
    return tuple(done.values())


def imports_of(text: str) -> list[str]:
    """The modules a Lean file imports. Only its header counts: imports come first in a file."""
    text = re.sub(r"/-.*?-/", "", text, flags=re.DOTALL)
    text = re.sub(r"--.*", "", text)
    return _IMPORT.findall(text)


def package_hash(root: Path | None = None) -> str:
    """SHA-256 over the sources of the library: names and contents. Independent of the toolchain."""
    root = root or package_root()
    digest = hashlib.sha256((root / "lean-toolchain").read_bytes())
    for module in sorted(modules(root, ""), key=lambda one: one.name):
        digest.update(f"{module.name}\0".encode())
        digest.update(hashlib.sha256(module.path.read_bytes()).digest())
    return digest.hexdigest()


async def build(runner: LeanRunner, progress: Progress | None = None, root: Path | None = None) -> Path:
    """Compile what is not in the store and return the folder for LEAN_PATH. Raises BuildError with the
    first message of Lean when a module does not compile."""
    known = modules(root or package_root(), runner.toolchain.id)
    if not known:
        raise BuildError("lean/: the library KShell has no modules")
    whole = hashlib.sha256("".join(module.key for module in known).encode()).hexdigest()[:24]
    tree = _folder("trees") / whole
    if (tree / "complete").is_file():
        os.utime(tree)
        return tree
    async with hold_async(store() / "build.lock"):
        if (tree / "complete").is_file():
            return tree
        return await _build(runner, known, tree, progress)


def unbuilt(toolchain_id: str, root: Path | None = None) -> tuple[int, int]:
    """How many modules are not compiled yet for this toolchain, and how many there are."""
    known = modules(root or package_root(), toolchain_id)
    return sum(not (store() / "modules" / module.key).is_dir() for module in known), len(known)


def names_in(tree: Path) -> list[str]:
    """The modules of a built package."""
    return (tree / "complete").read_text(encoding="utf-8").split()


async def _build(
    runner: LeanRunner, known: tuple[Module, ...], tree: Path, progress: Progress | None
) -> Path:
    part = tree.with_name(f"{tree.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    missing = sum(not _compiled(module).is_dir() for module in known)
    done = 0
    for at, module in enumerate(known):
        if not _compiled(module).is_dir():
            if progress is not None:
                progress(done, missing, module.name)
            more = any(not _compiled(later).is_dir() for later in known[at + 1 :])
            await compile_module(runner, module, part, more)
            done += 1
        _link(module, part)
    await runner.close()
    if progress is not None and missing:
        progress(missing, missing, "")
    (part / "complete").write_text("".join(f"{module.name}\n" for module in known))
    shutil.rmtree(tree, ignore_errors=True)
    part.replace(tree)
    _prune()
    return tree


async def compile_module(runner: LeanRunner, module: Module, tree: Path, more: bool = False) -> None:
    """Compile one module whose imports are in `tree` into the store. `more` starts the next process."""
    target = _compiled(module)
    work = target.with_name(f"{target.name}.{os.getpid()}.part")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    source = work / f"{module.name.rsplit('.', 1)[-1]}.lean"
    shutil.copyfile(module.path, source)
    output = source.with_suffix(".olean")
    try:
        checking = asyncio.ensure_future(runner.check(source, tree, output=output, seconds=900))
        try:
            if more:
                await asyncio.sleep(1)
                await runner.prepare()
            check = await checking
        finally:
            if not checking.done():
                checking.cancel()
                await asyncio.gather(checking, return_exceptions=True)
        if not check.ok or not output.is_file():
            where = check.errors[0] if check.errors else None
            reason = (
                f"{module.path.name}:{where.line}:{where.column}: {where.text}" if where else check.reason
            ) or "Lean wrote no output"
            raise BuildError(f"lean/: {module.name} does not compile: {reason}")
        source.unlink()
        if not target.is_dir():
            work.rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _link(module: Module, tree: Path) -> None:
    """Put the compiled parts of a module where LEAN_PATH expects them."""
    folder = tree.joinpath(*module.name.split(".")[:-1])
    folder.mkdir(parents=True, exist_ok=True)
    for part in _compiled(module).iterdir():
        link = folder / part.name
        try:
            os.link(part, link)
        except OSError:
            shutil.copyfile(part, link)


def _compiled(module: Module) -> Path:
    return _folder("modules") / module.key


def _folder(name: str) -> Path:
    folder = store() / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _prune(keep: int = 12) -> None:
    """Forget the oldest built trees and the compiled modules that no tree uses."""
    trees = sorted(
        (path for path in _folder("trees").iterdir() if not path.name.endswith(".part")),
        key=lambda path: path.stat().st_mtime,
        reverse=True,
    )
    for path in trees[keep:]:
        shutil.rmtree(path, ignore_errors=True)
    for path in sorted(_folder("modules").iterdir(), key=lambda one: one.stat().st_mtime)[: -keep * 40]:
        shutil.rmtree(path, ignore_errors=True)
