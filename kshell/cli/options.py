"""Options that several verbs share."""

import argparse
from collections.abc import Callable

from kshell.errors import UserError


def number(kind: type[int] | type[float], least: float, what: str) -> Callable[[str], float]:
    """An argparse type: a number of at least `least`."""

    def parse(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not {what}") from None
        if not value >= least or value == float("inf"):
            raise argparse.ArgumentTypeError(f"{text} is not {what}")
        return value

    return parse


WHOLE = number(int, 1, "a whole number from 1 up")
COUNT = number(int, 0, "a whole number from 0 up")
AMOUNT = number(float, 0, "a number from 0 up")
SECONDS = number(float, 0.001, "a number of seconds above 0")


ROLES = ("verifier", "prover", "insight")


def roles(text: str) -> tuple[str, ...]:
    """An argparse type: roles of language models, separated by commas."""
    if text == "all":
        return ROLES
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    unknown = [name for name in found if name not in ROLES]
    if unknown or not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not made of {', '.join(ROLES)}, or all")
    return tuple(dict.fromkeys(found))


def budget(parser: argparse.ArgumentParser) -> None:
    """The caps of a session."""
    caps = parser.add_argument_group("caps")
    caps.add_argument("--rounds", type=WHOLE, metavar="N", help="rounds (default 4)")
    caps.add_argument("--group", type=WHOLE, metavar="G", help="candidates a round (default 6)")
    caps.add_argument("--max-usd", type=AMOUNT, metavar="D", help="stop when model calls cost D dollars")
    caps.add_argument("--max-tokens", type=COUNT, metavar="T", help="stop after T tokens")
    caps.add_argument("--max-seconds", type=SECONDS, metavar="S", help="stop after S seconds of work")
    caps.add_argument("--proof-seconds", type=SECONDS, metavar="S", help="S seconds a proof (default 240)")
    caps.add_argument("--max-proof-tries", type=COUNT, metavar="T", help="at most T proofs are tried")


def view(parser: argparse.ArgumentParser) -> None:
    """How a stream is shown."""
    how = parser.add_argument_group("view")
    how.add_argument("--headless", action="store_true", help="print lines of text, without the terminal app")
    how.add_argument("--json", action="store_true", help="print one JSON event a line on stdout")


CAPS = ("rounds", "group", "max_usd", "max_tokens", "max_seconds", "max_proof_tries", "proof_seconds")


def given(args: argparse.Namespace, names: tuple[str, ...]) -> dict[str, object]:
    """The options of `names` that were given on the command line."""
    return {name: getattr(args, name) for name in names if getattr(args, name, None) is not None}


def validated(values: dict[str, object]) -> "object":
    """Settings of options and configuration. Raises UserError naming the option."""
    from pydantic import ValidationError

    from kshell.engine.settings import Settings

    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        option = str(first["loc"][0]).replace("_", "-")
        raise UserError(f"--{option}: {first['msg'][:1].lower()}{first['msg'][1:]}") from None
