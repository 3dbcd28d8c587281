"""`kshell run TASK ...`: evolve, prove, promote, export."""

import argparse

from kshell.cli import options

HELP = """Evolve kernels for a task until one is fast and proven.

Several tasks are several sessions, one after the other. On a terminal the app shows the session
live; elsewhere, and with --headless, lines of text do; --json prints one event a line. Ctrl-C stops
cleanly and `kshell resume` goes on. Exit code 0: a kernel was promoted; 1: none was."""

_CHOICES = ("generator", "model", "agents", "device", "seed", "prove", "jobs")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "task", nargs="+", metavar="TASK", help="a task name (`kshell tasks`) or a manifest file"
    )
    parser.add_argument(
        "--generator", choices=("builtin", "llm"), help="who proposes kernels (default builtin)"
    )
    parser.add_argument("--model", metavar="M", help="the model of --generator llm, as litellm names it")
    parser.add_argument(
        "--agents",
        type=options.roles,
        metavar="ROLES",
        help="further roles a model plays: verifier,prover,insight or all (default none)",
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), help="where kernels run (default cpu)")
    parser.add_argument(
        "--seed", type=options.COUNT, metavar="S", help="fixes the generator's choices (default 0)"
    )
    parser.add_argument("--size", action="append", default=[], metavar="AXIS=N", help="a size of the task")
    parser.add_argument(
        "--prove", choices=("rounds", "end", "never"), help="when proofs are tried (default rounds)"
    )
    parser.add_argument(
        "--jobs", type=options.WHOLE, metavar="J", help="how many compiles overlap (default 2)"
    )
    parser.add_argument("--session", metavar="NAME", help="the session's name (default TASK-1, TASK-2, ...)")
    options.budget(parser)
    options.view(parser)


def run(args: argparse.Namespace) -> int:
    from insights_db.store import Store
    from kshell import config, wiring
    from kshell.cli import prices
    from kshell.cli.known import session_names
    from kshell.cli.live import follow
    from kshell.engine.control import Control
    from kshell.engine.session import Session
    from kshell.engine.settings import Settings

    tasks = {name: wiring.task(name) for name in args.task}
    defaults = config.load().run.model_dump(exclude_none=True)
    settings = options.validated({**defaults, **options.given(args, (*_CHOICES, *options.CAPS))})
    assert isinstance(settings, Settings)
    prices.ask(settings)
    sizes = {name: wiring.workload(task, args.size, settings.seed) for name, task in tasks.items()}
    with wiring.store() as store:
        plan = session_names(store, [tasks[name].name for name in args.task], args.session)
    chosen = dict(zip(plan, args.task, strict=True))

    def make(store: Store, name: str) -> Session:
        key = chosen[name]
        return wiring.session(store, name, tasks[key], sizes[key], settings, Control())

    return follow(plan, make, args)
