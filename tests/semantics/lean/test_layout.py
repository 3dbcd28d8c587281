"""The premise of a candidate: its buffers apart, and in place where the task declares it."""

import re
from dataclasses import replace

import pytest

from kshell import tasks
from kshell.prover.keys import Subject, subject
from kshell.prover.prover import emitted
from semantics.lean.layout import emit, statement_text
from semantics.symbolic.state import Unsupported

from ...kshell.prover import sources


def known(source: str, name: str) -> Subject:
    task = tasks.get(name)
    return subject(source, task, task.workload())


def test_without_restrict_the_claim_is_about_both_layouts() -> None:
    task = tasks.get("relu")
    _, emission = emitted(sources.EARLY_RETURN, task, task.workload())
    assert emission.theorem == "KShell.Candidate.correct_in_every_layout"
    assert "all apart, or `y` in the buffer of `x`" in emission.statement
    assert "def layouts : List Layout := [[], [(1, 0)]]" in emission.statement
    assert "CorrectIn R layouts [launch] inputs outputs []" in emission.statement
    assert emission.statement.split("\n\n")[0] in emission.text


def test_restrict_leaves_the_claim_about_buffers_that_are_apart() -> None:
    task = tasks.get("silu")
    _, emission = emitted(sources.GUARDED, task, task.workload())
    assert emission.theorem == "KShell.Candidate.correct"
    assert "Layout" not in emission.text


def test_a_task_that_declares_nothing_is_claimed_apart() -> None:
    one = known(sources.EARLY_RETURN, "relu")
    emission = emit(one.source, one.plan, one.meaning, ["x"], {})
    assert emission.theorem == "KShell.Candidate.correct"


def test_every_step_stands_where_it_says() -> None:
    task = tasks.get("relu")
    _, emission = emitted(sources.EARLY_RETURN, task, task.workload())
    lines = emission.text.splitlines()
    names = [step.name for step in emission.steps]
    assert len(set(names)) == len(names)
    for step in emission.steps:
        assert any(line.startswith("theorem ") for line in lines[step.first - 1 : step.last]), step.name
        assert lines[step.last] == f'#print "kshell:closed {step.name}"'
    assert any(step.title.startswith("with `y` in the buffer of `x`: ") for step in emission.steps)


def test_the_text_of_a_claim_names_the_proposition_it_defines() -> None:
    one = known(sources.EARLY_RETURN, "relu")
    text, name = statement_text(one.source, one.plan, one.meaning, ["x"], {"y": "x"})
    assert name == "KShell.Candidate.ClaimInEveryLayout"
    assert "def ClaimInEveryLayout : Prop" in text and "public import KShell.Layout" in text
    _, name = statement_text(one.source, one.plan, one.meaning, ["x"])
    assert name == "KShell.Candidate.Claim"


def test_one_buffer_behind_restrict_has_no_claim() -> None:
    one = known(sources.EARLY_RETURN, "relu")
    (call,) = one.plan.calls
    arrays = tuple(replace(a, restrict=True) for a in call.kernel.arrays)
    bad = replace(call, kernel=replace(call.kernel, arrays=arrays), args=("y", "y", *call.args[2:]))
    plan = replace(one.plan, calls=(bad,))
    for make in (emit, statement_text):
        with pytest.raises(Unsupported, match="`x` and `y` both being `y` where one is `__restrict__`"):
            make(one.source, plan, one.meaning, ["x"])


def test_every_claim_shows_that_its_premise_can_be_met() -> None:
    for name, source in [("silu", sources.GUARDED), ("relu", sources.EARLY_RETURN), ("gemv", sources.GEMV)]:
        task = tasks.get(name)
        _, emission = emitted(source, task, task.workload())
        claims = re.findall(r"^def Claim : Prop", emission.text, re.MULTILINE)
        shown = emission.text.count("∃ M, Placed inputs x M :=")
        assert shown == len(claims) == (2 if name == "relu" else 1)


def test_an_integer_argument_outside_its_type_has_no_claim() -> None:
    one = known(sources.EARLY_RETURN, "relu")
    (call,) = one.plan.calls
    for value, holds in [(2**31 - 1, True), (2**31, False), (-(2**31) - 1, False)]:
        plan = replace(one.plan, calls=(replace(call, args=(*call.args[:2], value)),))
        if holds:
            assert f"args := [.int {value}]" in statement_text(one.source, plan, one.meaning, ["x"])[0]
        else:
            with pytest.raises(Unsupported, match=f"n = {value}, which its type does not hold"):
                statement_text(one.source, plan, one.meaning, ["x"])
