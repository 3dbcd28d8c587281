"""`kshell sessions`: list the sessions, or delete one."""

import argparse
import json

HELP = "List the sessions, newest first, or delete one with its events and candidates."


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--delete", metavar="SESSION", help="forget a session; its insights and proofs stay")


def run(args: argparse.Namespace) -> int:
    from kshell import paths, wiring
    from kshell.cli.known import session_record
    from kshell.engine.lock import held
    from kshell.summary import milliseconds

    with wiring.store() as store:
        if args.delete:
            record = session_record(store, args.delete)
            with held(paths.locks(), record.name):
                store.delete_session(record.name)
            print(json.dumps({"deleted": record.name}) if args.json else f"deleted {record.name}")
            return 0
        sessions = store.sessions()
    if args.json:
        print(json.dumps([s.model_dump(mode="json", exclude={"task_body", "options"}) for s in sessions]))
        return 0
    if not sessions:
        print("no sessions yet; `kshell run relu` makes one")
        return 0
    print(f"{'SESSION':<20} {'TASK':<14} {'DEVICE':<7} {'STATE':<12} {'BEST':>9} {'PROMOTED':>8}  STARTED")
    for s in sessions:
        best = milliseconds(s.best_ms) if s.best_ms is not None else "-"
        started = f"{s.created.astimezone():%Y-%m-%d %H:%M}"
        print(f"{s.name:<20} {s.task:<14} {s.device:<7} {s.state:<12} {best:>9} {s.promoted:>8}  {started}")
    return 0
