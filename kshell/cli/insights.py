"""`kshell insights [QUERY]`: search what past sessions learned."""

import argparse
import json

from kshell.cli import options

HELP = "Search the insights of all sessions: what a change of a kernel did, with the candidates behind it."


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="*", metavar="QUERY", help="words; any of them may match")
    parser.add_argument("--family", metavar="F", help="only this operator family, such as elementwise")
    parser.add_argument("--device", choices=("cpu", "cuda"), help="only this device")
    parser.add_argument("--limit", type=options.WHOLE, default=20, metavar="N", help="at most N (default 20)")
    parser.add_argument("--retracted", action="store_true", help="also those whose evidence was refuted")


def run(args: argparse.Namespace) -> int:
    from kshell import wiring

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
