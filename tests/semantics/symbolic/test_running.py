from fractions import Fraction

import pytest

from kshell import tasks
from kshell.prover.keys import subject
from scaffolds.families import families_of, family_named
from scaffolds.families.space import conservative_schedule
from semantics.core import RealFn, RealOp
from semantics.lean.file import emit
from semantics.symbolic import running, terms
from semantics.symbolic.linear import Linear, literal, variable
from semantics.symbolic.state import Unsupported
from semantics.symbolic.terms import Term

ZERO = terms.Number(Fraction(0))
TOP, SUM = terms.Named("$0", "before"), terms.Named("$1", "before")


def cell(at: Linear) -> Term:
    return terms.Cell(0, at)


def shifted(a: Term, b: Term) -> Term:
    return terms.Unary(RealFn.EXP, terms.Binary(RealOp.SUB, a, b))


K = variable("k")
AFTER = terms.Binary(RealOp.MAX, TOP, cell(K))
LARGEST = terms.Largest("ks", K, cell(variable("ks")))
TOPS = [running.Top(TOP, AFTER, LARGEST)]


def rescaled(by: Term, new: Term) -> Term:
    return terms.Binary(RealOp.ADD, terms.Binary(RealOp.MUL, SUM, by), new)


def test_a_rescaled_sum_is_the_sum_of_exponentials_relative_to_the_maximum() -> None:
    after = rescaled(shifted(TOP, AFTER), shifted(cell(K), AFTER))
    found = running.relative_total(ZERO, SUM, after, TOPS, "k")
    assert found == terms.Total("kr", K, shifted(cell(variable("kr")), LARGEST))


def test_the_order_of_operands_does_not_matter() -> None:
    scale = shifted(TOP, AFTER)
    after = terms.Binary(RealOp.ADD, shifted(cell(K), AFTER), terms.Binary(RealOp.MUL, scale, SUM))
    assert running.relative_total(ZERO, SUM, after, TOPS, "k") is not None


@pytest.mark.parametrize(
    ("start", "after"),
    [
        (terms.Number(Fraction(1)), rescaled(shifted(TOP, AFTER), shifted(cell(K), AFTER))),
        (ZERO, rescaled(shifted(AFTER, TOP), shifted(cell(K), AFTER))),
        (ZERO, rescaled(shifted(TOP, cell(K)), shifted(cell(K), AFTER))),
        (ZERO, rescaled(shifted(TOP, AFTER), shifted(cell(K), TOP))),
        (ZERO, rescaled(shifted(TOP, AFTER), shifted(TOP, AFTER))),
        (ZERO, rescaled(shifted(TOP, AFTER), shifted(SUM, AFTER))),
        (ZERO, terms.Binary(RealOp.ADD, SUM, shifted(cell(K), AFTER))),
    ],
    ids=[
        "starts-at-1",
        "other-way-round",
        "to-the-element",
        "old-maximum",
        "of-the-maximum",
        "of-the-sum",
        "unscaled",
    ],
)
def test_another_change_has_no_closed_form(start: Term, after: Term) -> None:
    assert running.relative_total(start, SUM, after, TOPS, "k") is None


def test_the_maximum_with_the_next_element_is_the_maximum_of_one_more() -> None:
    one_more = terms.Largest("ks", K.plus(1), cell(variable("ks")))
    assert running.advanced(terms.Binary(RealOp.MAX, LARGEST, cell(K)), [LARGEST]) == one_more
    assert not terms.may_be_infinite(one_more) and terms.may_be_infinite(LARGEST)
    for other in (cell(K.plus(1)), cell(literal(0))):
        same = terms.Binary(RealOp.MAX, LARGEST, other)
        assert running.advanced(same, [LARGEST]) == same
    kept = terms.Binary(RealOp.MAX, LARGEST, cell(K))
    assert running.advanced(kept, []) == kept


def online(old: str, new: str) -> None:
    """Emit the proof of softmax in one pass by a thread a row, after an edit."""
    task = tasks.get("softmax")
    workload = task.workload(rows=3, n=40)
    found = family_named(families_of(task), "softmax-thread")
    assert found is not None
    schedule = {**conservative_schedule(found, task, workload), "passes": "online"}
    source = found.source(task, workload, schedule)
    assert old in source
    known = subject(source.replace(old, new), task, workload)
    emit(source, known.plan, known.meaning, [tensor.name for tensor in task.inputs])


def test_online_softmax_has_a_proof_to_offer() -> None:
    online("", "")


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("top = next", "top = v", 8),
        ("expf(top - next)", "expf(next - top)", 9),
        ("expf(v - next)", "expf(v - top)", 9),
        ("float sum = 0.0f", "float sum = 1.0f", 9),
    ],
    ids=["keeps-the-element", "scales-the-other-way", "relative-to-the-old-maximum", "starts-at-1"],
)
def test_a_wrong_online_softmax_has_none(old: str, new: str, line: int) -> None:
    with pytest.raises(Unsupported, match="is not known here") as refused:
        online(old, new)
    assert refused.value.line == line
