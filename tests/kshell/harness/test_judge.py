"""The tolerance rule refuses what published cheats relied on."""

import numpy as np
import pytest

from kshell.harness.judge import Expected, digest, judge, read_dump, slack_of
from scaffolds.program import POISON, RED_ZONE
from semantics.task import Tolerance

TIGHT = Tolerance(atol=1e-6, rtol=1e-5, norm_rtol=1e-6)


def expected(*values: float, slack: float = 0.0) -> Expected:
    return Expected(np.array(values, np.float64), slack)


def test_equal_values_pass() -> None:
    judgement = judge(np.array([1.0, -2.0], np.float32), expected(1.0, -2.0), TIGHT)
    assert judgement.wrong is None
    assert judgement.max_abs == 0


def test_the_worst_element_is_named_with_what_was_allowed() -> None:
    wrong = judge(np.array([1.0, 2.5, 3.1], np.float32), expected(1.0, 2.0, 3.0), TIGHT).wrong
    assert wrong is not None
    assert (wrong.index, wrong.expected) == (1, 2.0)
    assert wrong.allowed == pytest.approx(1e-6 + 2e-5)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_fail(value: float) -> None:
    wrong = judge(np.array([value, 1.0], np.float32), expected(0.0, 1.0), TIGHT).wrong
    assert wrong is not None
    assert "where the reference is finite" in wrong.reason


def test_elements_never_written_are_named() -> None:
    got = np.array([1.0, 0.0], np.float32)
    got.view(np.uint32)[1] = POISON
    wrong = judge(got, expected(1.0, 1.0), TIGHT).wrong
    assert wrong is not None
    assert "never written (1 of 2 elements)" in wrong.reason


def test_zeros_do_not_pass_on_tiny_outputs() -> None:
    reference = np.full(1000, 1e-8)
    wrong = judge(np.zeros(1000, np.float32), Expected(reference), TIGHT).wrong
    assert wrong is not None


def test_zeros_pass_where_the_reference_is_zero() -> None:
    assert judge(np.zeros(10, np.float32), Expected(np.zeros(10)), TIGHT).wrong is None


def test_half_precision_arithmetic_fails_the_norm_bound() -> None:
    rng = np.random.default_rng(1)
    reference = rng.standard_normal(4096)
    loose = Tolerance(atol=1e-2, rtol=1e-2, norm_rtol=1e-5)
    rounded = reference.astype(np.float16).astype(np.float32)
    wrong = judge(rounded, Expected(reference), loose).wrong
    assert wrong is None or "precision was lost" in wrong.reason
    strict = Tolerance(atol=1e-5, rtol=1e-2, norm_rtol=1e-5)
    wrong = judge(rounded, Expected(reference), strict).wrong
    assert wrong is not None
    assert "precision was lost everywhere" in wrong.reason


def test_slack_is_earned_by_reductions_only() -> None:
    a, b = np.ones(4), np.full(4, 1.0 + 1e-7)
    assert slack_of(a, b, 1) == 0
    assert slack_of(a, b, 100) == pytest.approx(4 * 10 * 1e-7)


def dump(data: bytes) -> bytearray:
    guard = np.full(RED_ZONE // 4, POISON, np.uint32).tobytes()
    return bytearray(guard + data + guard)


def test_intact_guards_give_the_data_of_every_set() -> None:
    found = read_dump(bytes(dump(b"abcd") + dump(b"efgh")), 4)
    assert found.damage is None
    assert [s.tobytes() for s in found.sets] == [b"abcd", b"efgh"]


@pytest.mark.parametrize(("place", "damage"), [(RED_ZONE - 1, -1), (RED_ZONE + 4, 4), (RED_ZONE + 99, 99)])
def test_a_damaged_guard_is_located(place: int, damage: int) -> None:
    raw = dump(b"abcd")
    raw[place] ^= 1
    assert read_dump(bytes(raw), 4).damage == damage


def test_a_file_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="not a multiple"):
        read_dump(b"short", 4)


def test_the_digest_sees_order_and_content() -> None:
    a = np.arange(8, dtype=np.uint32).view(np.uint8)
    b = np.arange(8, dtype=np.uint32)[::-1].copy().view(np.uint8)
    assert len({digest([a]), digest([b]), digest([a, b]), digest([b, a])}) == 4
