"""The person's configuration: `~/.config/kshell/config.toml`, then `KSHELL_*` variables over it.

Keys of model providers are read from the environment or the system's keyring and never written anywhere."""

import os
import re
import tomllib
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kshell import paths
from kshell.errors import UserError, nearest


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RunDefaults(_Section):
    """`[run]`: defaults of `kshell run`."""

    rounds: int | None = Field(default=None, ge=1)
    group: int | None = Field(default=None, ge=1)
    generator: Literal["builtin", "llm"] | None = None
    model: str | None = None
    device: Literal["cpu", "cuda"] | None = None
    seed: int | None = Field(default=None, ge=0)
    prove: Literal["rounds", "end", "never"] | None = None
    jobs: int | None = Field(default=None, ge=1, le=64)
    agents: tuple[Literal["verifier", "prover", "insight"], ...] | None = None
    max_usd: float | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    max_seconds: float | None = Field(default=None, gt=0)
    max_proof_tries: int | None = Field(default=None, ge=0)
    proof_seconds: float | None = Field(default=None, gt=0)


class Models(_Section):
    """`[models]`: a litellm model name per role; `default` serves the roles that have none. `timeouts` are
    seconds until the first word of an answer, between two, and for a whole answer."""

    default: str = ""
    manifest: str = ""
    synthesis: str = ""
    generator: str = ""
    insight: str = ""
    verifier: str = ""
    prover: str = ""
    analyst: str = ""
    second: str = ""
    api_base: str = ""
    timeouts: tuple[float, float, float] | None = None

    def own(self, role: str) -> str:
        """The model named for a role alone; the empty string when there is none."""
        return str(getattr(self, role))

    def of(self, role: str) -> str:
        """The model of a role; the empty string when neither it nor `default` is set."""
        return self.own(role) or self.default


class PriceOf(_Section):
    """`[prices."MODEL"]`: dollars a million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)


class Interface(_Section):
    """`[tui]`: the terminal app. Without `mouse` the terminal keeps the mouse for itself."""

    theme: str = ""
    mouse: bool = True


class Config(_Section):
    """The whole file."""

    run: RunDefaults = RunDefaults()
    models: Models = Models()
    prices: dict[str, PriceOf] = Field(default_factory=dict)
    tui: Interface = Interface()


ROLES = ("manifest", "synthesis", "generator", "insight", "verifier", "prover", "analyst", "second")
_VARIABLES = {
    "KSHELL_MODEL": ("models", "default"),
    **{f"KSHELL_MODEL_{role.upper()}": ("models", role) for role in ROLES},
    "KSHELL_API_BASE": ("models", "api_base"),
    "KSHELL_DEVICE": ("run", "device"),
    "KSHELL_GENERATOR": ("run", "generator"),
    "KSHELL_JOBS": ("run", "jobs"),
    "KSHELL_MAX_USD": ("run", "max_usd"),
    "KSHELL_THEME": ("tui", "theme"),
    "KSHELL_MOUSE": ("tui", "mouse"),
}


def load(file: Path | None = None) -> Config:
    """The configuration; a missing file is an empty one. Raises UserError naming file and setting."""
    path = file or paths.config_file()
    values = _read(path)
    for variable, (section, name) in _VARIABLES.items():
        if variable in os.environ:
            values.setdefault(section, {})
            if isinstance(values[section], dict):
                values[section][name] = os.environ[variable]
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        raise UserError(f"{_source(path, error)}: {_explained(error)}") from None


def _read(path: Path) -> dict[str, dict[str, object]]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError:
        raise UserError(f"{path}: not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; mend its permissions or set KSHELL_CONFIG") from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: not TOML: {error}") from None
    for place, name in _walk(values):
        if re.search(r"(^|[_-])(key|token|secret|password)$", name, re.IGNORECASE):
            raise UserError(
                f"{path}: {place} looks like a key; keys are read from the environment or a keyring only, "
                "for example OPENAI_API_KEY: delete it here"
            )
    return values


def _walk(values: dict[str, object], prefix: str = "") -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, value in values.items():
        found.append((prefix + name, name))
        if isinstance(value, dict):
            found += _walk(value, f"{prefix}{name}.")
    return found


def _source(path: Path, error: ValidationError) -> str:
    """The variable when the value came from one, otherwise the file."""
    place = tuple(str(part) for part in error.errors()[0]["loc"][:2])
    for variable, target in _VARIABLES.items():
        if target == place and variable in os.environ:
            return variable
    return str(path)


def _explained(error: ValidationError) -> str:
    first = error.errors()[0]
    place = [str(part) for part in first["loc"]]
    if first["type"] == "extra_forbidden":
        section = getattr(Config(), place[0], None) if len(place) > 1 else Config()
        known = list(type(section).model_fields) if isinstance(section, BaseModel) else []
        return f"unknown setting {'.'.join(place)}{nearest(place[-1], known)}"
    return f"{'.'.join(place)}: {first['msg'][:1].lower()}{first['msg'][1:]}"
