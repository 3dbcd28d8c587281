"""The argument parser of every verb: errors are one line, `--json` is always there."""

import argparse
from typing import NoReturn

from kshell.cli.registry import Verb, verbs
from kshell.errors import UserError


class Parser(argparse.ArgumentParser):
    """argparse that raises UserError where it would print a usage block and leave."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{self.prog}: {message}; see `{self.prog} --help`")


def parser_of(verb: Verb) -> Parser:
    """The configured parser of a verb; imports the verb's module."""
    module = verb.load()
    parser = Parser(
        prog=f"kshell {verb.name}",
        description=module.HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.configure(parser)
    if "--json" not in parser._option_string_actions:
        parser.add_argument("--json", action="store_true", help="print JSON on stdout")
    return parser


def overview() -> str:
    """What `kshell --help` prints: every verb with one line, without importing any of them."""
    lines = [
        "usage: kshell [VERB ...]",
        "",
        "The shell in which GPU kernels evolve until they are fast and proven.",
    ]
    lines.append("Without a verb it opens the terminal app.")
    group = ""
    for verb in verbs():
        if verb.group != group:
            group = verb.group
            lines += ["", f"{group}:"]
        lines.append(f"  {verb.name:<11} {verb.help}")
    lines += [
        "",
        "`kshell VERB --help` says more. Every verb takes --json.",
        "Exit codes: 0 done or proven; 1 the answer is no; 2 usage or set-up; 3 refused; 130 interrupted.",
    ]
    return "\n".join(lines)
