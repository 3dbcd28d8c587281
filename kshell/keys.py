"""Keys of model providers: from the environment, else from the system's keyring; never from our files."""

import importlib
import importlib.util
import os

VARIABLES = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "groq": "GROQ_API_KEY",
    "azure": "AZURE_API_KEY",
}
SERVICE = "kshell"


def variable_of(model: str) -> str | None:
    """The variable that holds the key for a model as litellm names it; None for a provider not listed."""
    provider = model.partition("/")[0] if "/" in model else _bare(model)
    return VARIABLES.get(provider)


def _bare(model: str) -> str:
    starts = {"claude": "anthropic", "gemini": "gemini", "gpt": "openai", "o1": "openai", "o3": "openai"}
    return next((provider for start, provider in starts.items() if model.startswith(start)), "")


def keyring_present() -> bool:
    """Whether the optional `keyring` package is installed."""
    try:
        return importlib.util.find_spec("keyring") is not None
    except ValueError:
        return False


def from_keyring(variable: str) -> str | None:
    """The key kept under service `kshell` and the variable's name; None without one, without the package,
    or when the keyring cannot be opened."""
    if not keyring_present():
        return None
    try:
        found = importlib.import_module("keyring").get_password(SERVICE, variable)
    except Exception:
        # Backends raise errors of their own kinds; a locked or absent keyring is the same as no key.
        return None
    return str(found) if found else None


def key_of(model: str) -> str | None:
    """A key to hand to the client: only one from the keyring, since the client reads the environment
    itself."""
    variable = variable_of(model)
    if variable is None or os.environ.get(variable):
        return None
    return from_keyring(variable)
