"""The shell around the verbs: help, errors, exit codes, completion."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kshell import crash
from kshell.cli.parser import parser_of
from kshell.cli.registry import Verb, find, verbs
from kshell.errors import UserError
from semantics.span import Refusal, Span
from tests.kshell.cli.conftest import Command

SLOW_IMPORTS = ("torch", "litellm", "textual", "mcp", "cupy", "numpy", "pydantic", "sqlite_utils", "lark")


def test_help_lists_every_verb_with_one_line(kshell: Command) -> None:
    shown = kshell("--help")
    assert shown.code == 0 and shown.err == ""
    for verb in verbs():
        assert f"  {verb.name:<11} {verb.help}" in shown.out
    assert kshell("help").out == kshell("-h").out == shown.out


def test_help_imports_nothing_that_is_slow() -> None:
    code = (
        "import sys; from kshell.cli import main; main(['--help']);"
        f"print([name for name in {SLOW_IMPORTS!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("verb", verbs(), ids=lambda verb: verb.name)
def test_every_verb_explains_itself_and_takes_json(verb: Verb, kshell: Command) -> None:
    shown = kshell(verb.name, "--help")
    assert shown.code == 0 and shown.out.startswith(f"usage: kshell {verb.name}")
    assert verb.load().HELP.splitlines()[0] in shown.out
    assert "--json" in parser_of(verb)._option_string_actions
    assert kshell("help", verb.name).out == shown.out


def test_every_module_of_a_verb_is_in_the_registry() -> None:
    helpers = {"__init__", "registry", "parser", "options", "known", "live"}
    folder = Path(__file__).parents[3] / "kshell" / "cli"
    modules = {path.stem for path in folder.glob("*.py") if "HELP" in path.read_text()}
    assert modules - helpers == {verb.name for verb in verbs()}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["rnu"], "unknown verb 'rnu'; did you mean run?"),
        (["zzzzzz"], "unknown verb 'zzzzzz'; `kshell --help` lists the verbs"),
        (["--rounds", "3"], "unknown option --rounds"),
        (["help", "rum"], "unknown verb 'rum'; did you mean run?"),
        (["run"], "required: TASK"),
        (["run", "rellu"], "did you mean relu?"),
        (["run", "relu", "--round", "3"], "unrecognized arguments: --round 3"),
        (["run", "relu", "--rounds", "0"], "0 is not a whole number from 1 up"),
        (["run", "relu", "--rounds", "many"], "'many' is not a whole number"),
        (["run", "relu", "--rounds", "1e9"], "'1e9' is not a whole number"),
        (["run", "relu", "--rounds", "99999999"], "--rounds: input should be less than"),
        (["run", "relu", "--max-usd", "-1"], "-1 is not a number from 0 up"),
        (["run", "relu", "--max-usd", "nan"], "nan is not a number from 0 up"),
        (["run", "relu", "--max-seconds", "inf"], "inf is not a number of seconds"),
        (["run", "relu", "--device", "tpu"], "invalid choice: 'tpu'"),
        (["run", "relu", "--size", "n"], "is not NAME=NUMBER"),
        (["run", "relu", "--size", "m=3"], "task relu has no axis 'm'"),
        (["run", "relu", "--size", "n=0"], "n >= 1"),
        (["run", "relu", "--session", "../x"], "cannot be a session name"),
        (["run", "relu", "--session", "x" * 65], "cannot be a session name"),
        (["run", "missing.json"], "missing.json"),
        (["run", "relu", "--device", "cuda", "--headless"], "cuda"),
        (["resume"], "no session waits to be resumed"),
        (["resume", "relu-1"], "there are none yet"),
        (["replay"], "there are no sessions yet"),
        (["replay", "nowhere.jsonl"], "nowhere.jsonl: No such file"),
        (["attach"], "no session runs"),
        (["sessions", "--delete", "x"], "there is no session 'x'"),
        (["bench", "engin"], "unknown bench 'engin'"),
        (["completion", "tcsh"], "invalid choice: 'tcsh'"),
        (["tasks", "gem"], "did you mean gemv?"),
    ],
)
def test_bad_usage_is_one_line_and_code_2(words: list[str], says: str, kshell: Command) -> None:
    ran = kshell(*words)
    assert ran.code == 2 and ran.out == ""
    assert says in ran.complaint


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (UserError("the kernel\nis wrong", 1), 1, "the kernel is wrong"),
        (Refusal("goto is not supported", Span(3, 5, 3, 9)), 3, "refused: 3:5: goto is not supported"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (PermissionError(13, "Permission denied", "/x/y"), 2, "/x/y: Permission denied"),
        (ZeroDivisionError("by\nzero"), 2, "internal error: ZeroDivisionError: by zero; the report is in"),
    ],
)
def test_errors_of_a_verb_get_their_code(
    error: BaseException, code: int, says: str, kshell: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kshell import doctor

    def fail() -> None:
        raise error

    monkeypatch.setattr(doctor, "examine", fail)
    ran = kshell("doctor")
    assert ran.code == code and says in ran.complaint


def test_an_internal_error_leaves_a_report(home: Path) -> None:
    try:
        raise ZeroDivisionError("by zero")
    except ZeroDivisionError as error:
        said = crash.written(error)
    [report] = (home / "crashes").iterdir()
    assert str(report) in said
    assert "ZeroDivisionError: by zero" in report.read_text()


def test_a_data_folder_that_cannot_be_made(kshell: Command, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KSHELL_HOME", str(tmp_path / "file" / "home"))
    ran = kshell("sessions")
    assert ran.code == 2 and "set KSHELL_HOME" in ran.complaint


def test_a_damaged_database(kshell: Command, home: Path) -> None:
    home.mkdir()
    (home / "kshell.db").write_text("no database " * 500)
    ran = kshell("sessions")
    assert ran.code == 2 and "not a kshell database" in ran.complaint


def test_the_app_needs_a_terminal(kshell: Command) -> None:
    ran = kshell()
    assert ran.code == 2 and "--headless" in ran.complaint


def test_a_reader_that_leaves_is_no_error() -> None:
    command = f"{sys.executable} -m kshell tasks --json | head -c 10; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_verb(shell: str, kshell: Command) -> None:
    script = kshell("completion", shell)
    assert script.code == 0
    for verb in verbs():
        assert verb.name in script.out
    assert "--max-proof-tries" in script.out or "-l max-proof-tries" in script.out
    assert "softmax" in script.out


def test_bash_completes_verbs_options_and_tasks(kshell: Command) -> None:
    script = kshell("completion", "bash").out
    bash = shutil.which("bash")
    assert bash is not None
    ask = (
        "COMP_WORDS=(kshell re); COMP_CWORD=1; _kshell; echo ${COMPREPLY[@]};"
        "COMP_WORDS=(kshell run --max-p); COMP_CWORD=2; _kshell; echo ${COMPREPLY[@]};"
        "COMP_WORDS=(kshell run soft); COMP_CWORD=2; _kshell; echo ${COMPREPLY[@]}"
    )
    done = subprocess.run([bash, "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["resume replay", "--max-proof-tries", "softmax"]


def test_doctor_says_what_to_do(kshell: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "very-secret")
    report = kshell("doctor", "--json")
    parts = {part["part"]: part for part in json.loads(report.out)["parts"]}
    assert parts["python"]["ok"] and parts["database"]["ok"]
    assert "ANTHROPIC_API_KEY" in parts["model keys"]["found"] and "very-secret" not in report.out
    assert all(part["advice"] for part in parts.values() if not part["ok"])
    text = kshell("doctor")
    assert text.code == report.code and "very-secret" not in text.out


def test_tasks_are_listed_and_shown(kshell: Command) -> None:
    listed = json.loads(kshell("tasks", "--json").out)
    assert {"relu", "softmax", "gemm"} <= {task["name"] for task in listed}
    shown = kshell("tasks", "softmax").out
    assert "rows=" in shown and "class Model" in shown


def test_a_verb_that_is_not_there_is_not_found() -> None:
    assert find("nothing") is None
