"""`kshell prove`: proofs of candidates that past sessions left without one."""

import argparse

from kshell.cli import options

HELP = """Prove candidates of past sessions, and promote what is proven.

SESSION alone tries every correct candidate of it that was not tried; with CANDIDATE ids just these, also
when they were tried before; --pending all sessions. A kernel that was measured on a GPU host can be proven
here. Exit code 0: at least one was promoted; 1: none."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", nargs="?", metavar="SESSION", help="a name from `kshell sessions`")
    parser.add_argument("candidate", nargs="*", metavar="CANDIDATE", help="the beginning of a candidate's id")
    parser.add_argument("--pending", action="store_true", help="what waits in any session")
    options.view(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    from kshell import paths, wiring
    from kshell.cli.known import session_record, settings_of
    from kshell.cli.live import print_lines
    from kshell.engine.lock import held, running
    from kshell.errors import UserError

    if bool(args.session) == args.pending:
        raise UserError("name one session, or give --pending; `kshell sessions` lists them")
    promoted = 0
    with wiring.store() as store:
        if args.pending:
            names = list(dict.fromkeys(name for name, _ in store.pending()))
            names = [name for name in names if not running(paths.locks(), name)]
        else:
            names = [session_record(store, args.session).name]
        for name in names:
            record = session_record(store, name)
            with held(paths.locks(), name):
                session = wiring.resumed(store, record, settings_of(record), only_proofs=True)
                before = len(session.state.promoted)
                stream = session.prove(args.candidate)
                asyncio.run(print_lines(stream, as_json=args.json, state=session.state))
                promoted += len(session.state.promoted) - before
    if not names and not args.json:
        print("nothing waits for a proof")
    return 0 if promoted else 1
