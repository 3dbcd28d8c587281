"""Ask a person what a model costs, when a cap in dollars is set and nobody says."""

import sys
from typing import TYPE_CHECKING

from kshell.errors import UserError

if TYPE_CHECKING:
    from kshell.engine.settings import Settings


def ask(settings: "Settings") -> None:
    """On a terminal, ask for each unknown price that the caps of these settings need, and append it to the
    configuration. Elsewhere the session itself refuses to start and says what to write."""
    if settings.max_usd is None or (settings.generator != "llm" and not settings.agents):
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    from kshell import paths
    from kshell.config import load
    from kshell.models import model_of, price_of

    config = load()
    for model in dict.fromkeys(model_of(role, settings.model, config) for role in _roles(settings)):
        if not model or price_of(model, config) is not None:
            continue
        print(f"the price of {model} is unknown, and --max-usd needs it", file=sys.stderr)
        given = [_dollars(what) for what in ("input", "output")]
        file = paths.config_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as out:
            out.write(f'\n[prices."{model}"]\ninput = {given[0]!r}\noutput = {given[1]!r}\n')
        print(f"noted in {file}", file=sys.stderr)


def _roles(settings: "Settings") -> list[str]:
    found = ["generator"] if settings.generator == "llm" else []
    for role in settings.agents:
        found += ["prover", "analyst", "second", "verifier"] if role == "prover" else [role]
    return found


def _dollars(what: str) -> float:
    print(f"dollars for a million {what} tokens: ", end="", file=sys.stderr, flush=True)
    text = sys.stdin.readline().strip().lstrip("$")
    try:
        value = float(text)
    except ValueError:
        raise UserError(f"{text!r} is not a price; start again, or set it in the configuration") from None
    if not 0 <= value < 1e6:
        raise UserError(f"{text} is not a price")
    return value
