"""`kshell insights [QUERY]`: search what past sessions learned; with --agents, the scoreboard."""

import argparse
import json

from kshell.cli import options

HELP = """Search the insights of all sessions: what a change of a kernel did, with the candidates behind it.

--agents shows the scoreboard instead: what each agent of all sessions (or of --session) has proposed,
broken and proven."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="*", metavar="QUERY", help="words; any of them may match")
    parser.add_argument("--family", metavar="F", help="only this operator family, such as elementwise")
    parser.add_argument("--device", choices=("cpu", "cuda"), help="only this device")
    parser.add_argument("--limit", type=options.WHOLE, default=20, metavar="N", help="at most N (default 20)")
    parser.add_argument("--agents", action="store_true", help="the points of each agent")
    parser.add_argument("--session", metavar="NAME", help="with --agents: only this session")
    parser.add_argument("--retracted", action="store_true", help="also those whose evidence was refuted")


def run(args: argparse.Namespace) -> int:
    from kshell import wiring

    if args.agents:
        return _agents(args)
    with wiring.store() as store:
        found = store.insights(
            " ".join(args.query),
            family=args.family,
            device=args.device,
            limit=args.limit,
            retracted=args.retracted,
        )
    if args.json:
        print(json.dumps([insight.model_dump(mode="json") for insight in found]))
    else:
        for insight in found:
            mark = "retracted" if insight.retracted else "helped" if insight.effective else "no help"
            evidence = f"{insight.before or 'baseline'} -> {insight.after}"
            print(f"{mark:<9} {insight.change:+8.3f} ±{insight.spread:.3f}  {insight.sentence}  [{evidence}]")
        if not found:
            print("no insight matches" if args.query else "no insights yet; `kshell run relu` makes some")
    return 0 if found else 1


def _agents(args: argparse.Namespace) -> int:
    """The scoreboard of a session or of all."""
    from kshell import wiring
    from kshell.cli.known import session_record
    from kshell.engine import scores
    from kshell.engine.log import stored

    total: dict[str, dict[str, int]] = {}
    with wiring.store() as store:
        records = [session_record(store, args.session)] if args.session else store.sessions()
        for record in records:
            board = scores.Scoreboard()
            for event in stored(store, record.name):
                board.apply(event)
            for agent, points in board.points().items():
                own = total.setdefault(agent, {})
                for what, count in points.items():
                    own[what] = own.get(what, 0) + count
    if args.json:
        print(json.dumps(total))
    else:
        for agent, points in sorted(total.items()):
            print(scores.line(agent, points))
        if not total:
            print("no agent has done anything yet; `kshell run relu` makes a session")
    return 0 if total else 1
