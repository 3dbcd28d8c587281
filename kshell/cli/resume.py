"""`kshell resume SESSION`: go on from the event log."""

import argparse

from kshell.cli import options

HELP = """Go on with a session that was stopped, killed or ended early.

No finished stage is repeated. Caps may be raised: --rounds 8 lets a session that had done its
rounds go on. Without a name: the newest session that was not finished."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", nargs="?", metavar="SESSION", help="a name from `kshell sessions`")
    parser.add_argument(
        "--wait", action="store_true", help="wait up to a minute for another process to let go"
    )
    options.budget(parser)
    options.view(parser)


def run(args: argparse.Namespace) -> int:
    from insights_db.store import Store
    from kshell import wiring
    from kshell.cli.known import session_record, settings_of, unfinished
    from kshell.cli.live import follow
    from kshell.engine.session import Session
    from kshell.engine.settings import Settings

    with wiring.store() as store:
        record = session_record(store, args.session) if args.session else unfinished(store)
    stored = settings_of(record)
    settings = options.validated({**stored.model_dump(), **options.given(args, options.CAPS)})
    assert isinstance(settings, Settings)

    def make(store: Store, name: str) -> Session:
        return wiring.resumed(store, record, settings)

    return follow([record.name], make, args)
