"""What this machine has, what it lacks, and what to do about each."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from kshell.errors import UserError

KEYS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "DEEPSEEK_API_KEY",
    "OPENROUTER_API_KEY",
    "MISTRAL_API_KEY",
    "GROQ_API_KEY",
    "AZURE_API_KEY",
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One part of the machine. `needed`: nothing works without it; otherwise it is for something more.
    `advice` says what to do when it is not `ok`."""

    part: str
    ok: bool
    needed: bool
    found: str
    advice: str = ""

    def as_json(self) -> dict[str, object]:
        """The fields as JSON values."""
        return asdict(self)


def examine() -> list[Finding]:
    """Look at every part. Reads and runs version commands only; changes nothing but the data folder."""
    return [look() for look in _LOOKS]


def examine_models() -> list[Finding]:
    """The parts that language models need."""
    return [_models(), _keys(), _keyring()]


def _python() -> Finding:
    version = sys.version.split()[0]
    ok = sys.version_info >= (3, 11)
    return Finding("python", ok, True, f"{version} at {sys.executable}", "install Python 3.11 or newer")


def _packages() -> Finding:
    import importlib.metadata as metadata

    wanted = ("textual", "litellm", "torch", "numpy", "pydantic", "sqlite-utils", "lark", "mcp")
    missing = []
    for name in wanted:
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(name)
    found = f"missing {', '.join(missing)}" if missing else f"all {len(wanted)} are installed"
    return Finding(
        "packages", not missing, True, found, "run `make setup` in the checkout, or reinstall kshell"
    )


def _compiler() -> Finding:
    from kshell.harness import toolchain

    try:
        found = toolchain.find()
    except toolchain.ToolchainMissing as missing:
        return Finding("C++ compiler", False, True, "none", str(missing))
    return Finding("C++ compiler", True, True, _version(found.compiler) or found.compiler)


def _lean() -> Finding:
    from kshell.lean import toolchain

    try:
        found = toolchain.find()
    except UserError as error:
        return Finding("Lean", False, True, "none", str(error))
    return Finding("Lean", True, True, f"{found.id} at {found.script or found.program}")


def _proof_package() -> Finding:
    from kshell.lean import package, toolchain

    try:
        missing, total = package.unbuilt(toolchain.find().id)
    except UserError as error:
        return Finding("proof package", False, False, "cannot be built", str(error))
    advice = "the first proof builds it, which takes minutes; `kshell lean build` builds it now"
    return Finding("proof package", not missing, False, f"{total - missing} of {total} modules built", advice)


def _folder() -> Finding:
    from kshell import paths

    try:
        home = paths.home()
    except UserError as error:
        return Finding("data folder", False, True, "cannot be made", str(error))
    free = shutil.disk_usage(home).free
    room = f"{home}, {free / 2**30:.1f} GiB free"
    if not os.access(home, os.W_OK):
        advice = "give yourself write permission or set KSHELL_HOME to another folder"
        return Finding("data folder", False, True, f"{home} cannot be written", advice)
    advice = "free some space, or set KSHELL_HOME to a folder on another disk"
    return Finding("data folder", free > 2**28, True, room, advice)


def _database() -> Finding:
    from insights_db.errors import StoreError
    from insights_db.store import Store
    from kshell import paths

    try:
        with Store(paths.database()) as store:
            counts = store.counts()
    except (StoreError, UserError) as error:
        return Finding("database", False, True, "cannot be used", str(error))
    return Finding("database", True, True, f"{counts['sessions']} sessions, {counts['insights']} insights")


def _config() -> Finding:
    from kshell import config, paths

    file = paths.config_file()
    try:
        config.load()
    except UserError as error:
        return Finding("configuration", False, True, "cannot be used", str(error))
    return Finding("configuration", True, True, str(file) if file.exists() else f"none (would be {file})")


def _nvcc() -> Finding:
    program = shutil.which("nvcc") or _under("CUDA_HOME", "bin/nvcc") or _under("CUDA_PATH", "bin/nvcc")
    if program is None:
        advice = "install the CUDA toolkit and put nvcc on PATH; device cpu works without it"
        return Finding("nvcc", False, False, "none", advice)
    return Finding("nvcc", True, False, _version(program, last=True) or program)


def _nvrtc() -> Finding:
    from kshell.harness import nvrtc

    try:
        found = nvrtc.find()
    except nvrtc.NoCompiler as missing:
        return Finding("NVRTC", False, False, "none", f"{missing}; device cuda compiles with it")
    return Finding("NVRTC", True, False, f"{found.version()} at {found.place}")


def _cuda_tools() -> Finding:
    wanted = {
        "ncu": "ncu reads the hardware's counters",
        "compute-sanitizer": "compute-sanitizer attacks candidates",
    }
    missing = [why for tool, why in wanted.items() if shutil.which(tool) is None]
    found = ", ".join(tool for tool in wanted if shutil.which(tool)) or "none"
    advice = f"they come with the CUDA toolkit: {'; '.join(missing)}"
    return Finding("CUDA tools", not missing, False, found, advice if missing else "")


def _gpu() -> Finding:
    program = shutil.which("nvidia-smi")
    listing = _output([program, "--query-gpu=name,memory.total", "--format=csv,noheader"]) if program else ""
    if not listing:
        advice = "device cuda needs an NVIDIA GPU with its driver; device cpu works without one"
        return Finding("GPU", False, False, "none", advice)
    return Finding("GPU", True, False, "; ".join(listing.splitlines()))


def _keys() -> Finding:
    from kshell import keys

    present = [f"{name} set" for name in KEYS if os.environ.get(name)]
    present += [
        f"{name} in the keyring" for name in KEYS if not os.environ.get(name) and keys.from_keyring(name)
    ]
    if not present:
        advice = (
            f"roles of language models need a key in the environment, such as {KEYS[0]}; builtin needs none"
        )
        return Finding("model keys", False, False, "none", advice)
    return Finding("model keys", True, False, ", ".join(present))


def _keyring() -> Finding:
    from kshell import keys

    if keys.keyring_present():
        how = f"`keyring set {keys.SERVICE} {KEYS[0]}` keeps a key there"
        return Finding("keyring", True, False, f"the keyring package is installed; {how}")
    advice = "keys come from the environment; `pip install keyring` adds the system's keyring"
    return Finding("keyring", False, False, "the keyring package is not installed", advice)


def _models() -> Finding:
    from kshell import config, models

    try:
        chosen = config.load()
    except UserError as error:
        return Finding("models", False, False, "cannot be read", str(error))
    named = {role: chosen.models.of(role) for role in config.ROLES if chosen.models.of(role)}
    if not named:
        advice = f"roles of language models need one: KSHELL_MODEL or [models] default in {_config_file()}"
        return Finding("models", False, False, "none is named; everything built in works without", advice)
    found = "; ".join(f"{role}: {model}" for role, model in named.items())
    for model in dict.fromkeys(named.values()):
        if missing := models.missing_key(model, chosen):
            return Finding("models", False, False, found, f"{model} needs {missing} in the environment")
        if models.price_of(model, chosen) is None:
            advice = f"the price of {model} is unknown; {models.how_to_price(model)}"
            return Finding("models", False, False, found, advice)
    return Finding("models", True, False, found)


def _config_file() -> str:
    from kshell import paths

    return str(paths.config_file())


def _terminal() -> Finding:
    size = shutil.get_terminal_size()
    term = os.environ.get("TERM", "")
    ok = size.columns >= 80 and size.lines >= 24 and term not in ("", "dumb")
    advice = "the app wants 80 columns and 24 lines and a TERM that is not dumb; --headless needs neither"
    return Finding("terminal", ok, False, f"{term or 'no TERM'}, {size.columns}x{size.lines}", advice)


_LOOKS: tuple[Callable[[], Finding], ...] = (
    _python,
    _packages,
    _compiler,
    _lean,
    _proof_package,
    _folder,
    _database,
    _config,
    _nvcc,
    _nvrtc,
    _cuda_tools,
    _gpu,
    _models,
    _keys,
    _keyring,
    _terminal,
)


def _under(variable: str, rest: str) -> str | None:
    base = os.environ.get(variable)
    path = Path(base) / rest if base else None
    return str(path) if path is not None and path.exists() else None


def _version(program: str, *, last: bool = False) -> str:
    lines = [line for line in _output([program, "--version"]).splitlines() if line.strip()]
    return lines[-1 if last else 0].strip() if lines else ""


def _output(command: list[str]) -> str:
    """What a command prints; the empty string when it fails or takes longer than ten seconds."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
