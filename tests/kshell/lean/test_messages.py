import json

from kshell.lean.messages import is_noise, parse
from kshell.lean.runner import Check


def _line(severity: str, data: str) -> str:
    at = {"line": 3, "column": 7}
    return json.dumps(
        {"severity": severity, "data": data, "fileName": "/work/A.lean", "pos": at, "endPos": None}
    )


def test_a_message_carries_place_and_severity() -> None:
    message = parse(_line("error", "omega could not prove the goal"))
    assert message is not None and message.is_error
    assert (message.line, message.column, message.end_line) == (3, 7, 3)
    assert str(message) == "/work/A.lean:3:7: error: omega could not prove the goal"


def test_lines_that_are_no_messages_are_not_taken_for_some() -> None:
    for line in ("", "{", '{"severity": "error"}', "[DEBUG:I] reading", "{}", '{"pos": 3}'):
        assert parse(line) is None


def test_debugging_output_of_the_build_is_noise_and_a_crash_is_not() -> None:
    assert is_noise("[DEBUG:GO] Init") and is_noise("  mainModule? = true") and is_noise("")
    assert not is_noise("INTERNAL PANIC: out of memory")


def test_a_crash_without_a_message_is_not_ok_and_says_why() -> None:
    check = Check(134, (), "INTERNAL PANIC: out of memory", 1.0)
    assert not check.ok
    assert check.reason == "Lean ended with status 134: INTERNAL PANIC: out of memory"


def test_an_error_message_with_exit_status_zero_is_not_ok() -> None:
    message = parse(_line("error", "unsolved goals\nx"))
    assert message is not None
    check = Check(0, (message,), "", 1.0)
    assert not check.ok and check.reason == "A.lean:3:7: unsolved goals"


def test_a_time_out_is_not_ok() -> None:
    assert Check(0, (), "", 5.0, timed_out=True).reason == "Lean ran into the limit of 5 s"
