"""`kshell attach SESSION`: watch and steer a session of another process."""

import argparse

from kshell.cli import options

HELP = """Watch a session that runs in the background, and steer it.

In the terminal app every command works as in the session's own terminal; leaving does not stop it.
As text or JSON it prints the events so far and then each new one until the session ends."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", nargs="?", metavar="SESSION", help="a name (default: the one that runs)")
    options.view(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    from kshell import paths, remote, wiring
    from kshell.cli.known import session_record
    from kshell.cli.live import interactive, print_lines
    from kshell.engine.lock import running
    from kshell.errors import UserError

    with wiring.store() as store:
        if args.session:
            name = session_record(store, args.session).name
        else:
            live = [s.name for s in store.sessions() if running(paths.locks(), s.name)]
            if len(live) != 1:
                raise UserError(
                    f"name one of the running sessions: {', '.join(live)}" if live else "no session runs"
                )
            name = live[0]
        if not running(paths.locks(), name):
            raise UserError(
                f"session {name} does not run; `kshell resume {name}` goes on, "
                f"`kshell replay {name}` shows it"
            )
        if not interactive(args):
            asyncio.run(print_lines(remote.tail(store, name), as_json=args.json))
            return 0
        from kshell.home import HomeDesk
        from kshell.tui.app import run as run_app

        def leave() -> str:
            return f"session {name} runs on; `kshell attach {name}` shows it again"

        control = remote.RemoteControl(store, name)
        return run_app(remote.tail(store, name), control, detach=leave, home=HomeDesk(store))
