"""`kshell bench NAME`: dispatch to one bench."""

import argparse
import importlib
from pathlib import Path
from typing import cast

from kshell.cli.registry import VerbModule
from kshell.errors import UserError, nearest

HELP = "Measure a part of kshell. Each bench prints a table, or one JSON object with --json."


def names() -> list[str]:
    """The benches of this build."""
    folder = Path(__file__).parent.parent / "bench"
    return sorted(path.stem for path in folder.glob("*.py") if not path.stem.startswith("_"))


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help=f"one of {', '.join(names())}")
    parser.add_argument(
        "options", nargs=argparse.REMAINDER, help="options of the bench; NAME --help lists them"
    )


def run(args: argparse.Namespace) -> int:
    from kshell.cli.parser import Parser

    if args.name not in names():
        raise UserError(
            f"unknown bench {args.name!r}{nearest(args.name, names())}; there are {', '.join(names())}"
        )
    module = cast(VerbModule, importlib.import_module(f"kshell.bench.{args.name}"))
    parser = Parser(prog=f"kshell bench {args.name}", description=module.HELP, allow_abbrev=False)
    module.configure(parser)
    if "--json" not in parser._option_string_actions:
        parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    try:
        inner = parser.parse_args(args.options)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 0
    inner.json = inner.json or args.json
    return module.run(inner)
