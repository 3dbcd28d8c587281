"""`kshell replay SESSION`: show a past session again."""

import argparse
import sys
from typing import TYPE_CHECKING

from kshell.cli import options

if TYPE_CHECKING:
    from kshell import events as ev

HELP = """Show a past session again, in the terminal app or as text.

--speed 1 is the pace it ran at, 10 ten times as fast, 0 (the default of text) as fast as possible.
Without a name: the newest session. A .jsonl file that `kshell run --json` wrote replays too."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "session", nargs="?", metavar="SESSION", help="a name from `kshell sessions`, or a file"
    )
    parser.add_argument("--speed", type=options.AMOUNT, metavar="X", help="times the pace it ran at")
    options.view(parser)


def run(args: argparse.Namespace) -> int:
    from kshell import wiring
    from kshell.cli.known import events_of, newest, session_record

    if args.session and args.session.endswith(".jsonl"):
        events = _read(args.session)
    else:
        with wiring.store() as store:
            name = (session_record(store, args.session) if args.session else newest(store)).name
            events = events_of(store, name)
    if args.json and not args.speed:
        for event in events:
            print(event.model_dump_json())
        return 0
    if args.headless or args.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _text(events, args)
    return wiring.replay_app(events, args.speed if args.speed is not None else 1.0)


def _read(path: str) -> "list[ev.Event]":
    from pathlib import Path

    from pydantic import ValidationError

    from kshell import events as ev
    from kshell.errors import UserError

    found: list[ev.Event] = []
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None
    for number, line in enumerate(lines, 1):
        try:
            found.append(ev.parse(line))
        except ValidationError as error:
            raise UserError(f"{path}:{number}: not an event: {error.errors()[0]['msg']}") from None
    return found


def _text(events: "list[ev.Event]", args: argparse.Namespace) -> int:
    import time

    from kshell.text import TextView

    view, before = TextView(), 0.0
    for event in events:
        if args.speed:
            time.sleep(max(0.0, event.elapsed - before) / args.speed)
        before = event.elapsed
        if args.json:
            print(event.model_dump_json(), flush=True)
        else:
            view.show(event)
    return 0
