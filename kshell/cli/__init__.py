"""The command line. Each verb is one module, imported when it is used."""

import sys
from collections.abc import Sequence

from kshell.errors import UserError, nearest


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code. What a person can cause is one line on stderr."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except UserError as error:
        return _fail(str(error), error.code)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except BrokenPipeError:
        _forget_stdout()
        return 0
    except Exception as error:
        return _unforeseen(error)


def _dispatch(arguments: list[str]) -> int:
    if not arguments:
        return _app()
    name, rest = arguments[0], arguments[1:]
    if name in ("-h", "--help", "help") and not rest:
        from kshell.cli.parser import overview

        print(overview())
        return 0
    if name in ("-V", "--version"):
        from kshell import __version__

        print(f"kshell {__version__}")
        return 0
    if name == "help":
        name, rest = rest[0], ["--help"]
    from kshell.cli.registry import find, verbs

    verb = find(name)
    if verb is None:
        known = [v.name for v in verbs()]
        if name.startswith("-"):
            raise UserError(f"unknown option {name}; the first word is a verb, see `kshell --help`")
        raise UserError(f"unknown verb {name!r}{nearest(name, known)}; `kshell --help` lists the verbs")
    from kshell.cli.parser import parser_of

    parser = parser_of(verb)
    try:
        args = parser.parse_args(rest)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 0
    return verb.load().run(args)


def _app() -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UserError(
            "the terminal app needs a terminal; here use `kshell run TASK --headless`, see `kshell --help`"
        )
    from kshell.wiring import open_app

    return open_app()


def _fail(message: str, code: int) -> int:
    print(f"kshell: {message}", file=sys.stderr)
    return code


def _unforeseen(error: Exception) -> int:
    """Errors that lower layers raise by themselves, and at last what nobody foresaw."""
    from insights_db.errors import StoreError
    from semantics.span import Refusal

    if isinstance(error, Refusal):
        return _fail(f"refused: {' '.join(str(error).split())}", 3)
    if isinstance(error, StoreError):
        return _fail(str(error), 2)
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return _fail(f"{where}{error.strerror}", 2)
    from kshell.crash import written

    summary = " ".join(f"{type(error).__name__}: {error}".split())
    return _fail(f"internal error: {summary[:300]}; {written(error)}", 2)


def _forget_stdout() -> None:
    """The reader of a pipe left: keep the interpreter from complaining as it exits."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
