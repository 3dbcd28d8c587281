"""`kshell export [CANDIDATE]`: write a promoted kernel to a folder."""

import argparse
import json

HELP = """Write a promoted kernel and its certificate to a folder.

CANDIDATE is the beginning of a candidate's id; without it the best promoted kernel of --session, or
of the newest session that promoted one, is written. Only promoted kernels are exported: exit code 1
when there is none."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("candidate", nargs="?", default="", metavar="CANDIDATE", help="a candidate id")
    parser.add_argument("--session", metavar="NAME", help="only of this session")
    parser.add_argument("--to", metavar="FOLDER", help="where to (default ./TASK-CANDIDATE)")


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from kshell import wiring
    from kshell.cli.known import session_record
    from kshell.errors import UserError
    from kshell.export import export
    from semantics.task import Task, Workload

    with wiring.store() as store:
        only = session_record(store, args.session).name if args.session else None
        found = [c for c in store.certificates(only) if c[1].candidate.startswith(args.candidate)]
        if not found:
            raise UserError(_nothing(args, bool(args.candidate and store.candidate(args.candidate, only))), 1)
        if args.candidate and len({certificate.candidate for _, certificate, _ in found}) > 1:
            ids = ", ".join(sorted({certificate.candidate for _, certificate, _ in found}))
            raise UserError(f"{args.candidate!r} could be {ids}; give more digits")
        newest = found[0][0]
        rated = [(store.evaluation(name, c.candidate), c) for name, c, _ in found if name == newest]
        certificate = max(rated, key=lambda pair: (pair[0][1] or 0.0) if pair[0] else 0.0)[1]
        record = session_record(store, newest)
        [(_, candidate), *_] = store.candidate(certificate.candidate, newest)
    task = Task.model_validate_json(record.task_body)
    folder = Path(args.to) if args.to else Path(f"{task.name}-{candidate.id}")
    workload = Workload(axes=certificate.axes, seed=record.seed)
    try:
        export(candidate, certificate, task, workload, folder)
    except OSError as error:
        raise UserError(
            f"cannot write to {folder}: {error.strerror}; choose another folder with --to"
        ) from None
    if args.json:
        print(json.dumps({"folder": str(folder.resolve()), "candidate": candidate.id, "session": newest}))
    else:
        print(f"{task.name} {candidate.id} of session {newest} is in {folder}; README.txt says how to use it")
    return 0


def _nothing(args: argparse.Namespace, known: bool) -> str:
    if known:
        return f"{args.candidate} is not promoted: only a kernel with a closed proof is exported"
    if args.candidate:
        return f"no candidate {args.candidate!r} is promoted; `kshell sessions` lists what there is"
    return "nothing is promoted yet; `kshell run relu` evolves and proves a kernel"
