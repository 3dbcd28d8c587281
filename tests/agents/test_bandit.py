"""Thompson sampling over schedule choices."""

import random

from agents.bandit import Bandit, arms_of
from kshell import tasks
from scaffolds.families import families_of

RELU = tasks.get("relu")


def test_the_bandit_converges_on_the_best_value() -> None:
    family = families_of(RELU)[0]
    bandit, rng = Bandit(), random.Random(1)
    reward = {64: 0.2, 128: 0.4, 256: 0.6, 512: 1.0, 1024: 0.5}
    picks = []
    for _ in range(200):
        schedule = bandit.choose_schedule(family, rng)
        block = schedule["block"]
        assert isinstance(block, int)
        picks.append(block)
        bandit.observe(arms_of(family.name, schedule), reward[block] + rng.gauss(0, 0.05))
    assert picks[-50:].count(512) >= 40
    assert set(picks) == set(reward)


def test_the_bandit_converges_on_the_best_family() -> None:
    families = families_of(RELU)
    bandit, rng = Bandit(), random.Random(2)
    picks = []
    for _ in range(200):
        family = bandit.choose_family(families, rng)
        picks.append(family.name)
        score = 1.0 if family.name == "elementwise-float4" else 0.4
        bandit.observe([("", "family", family.name)], score)
    assert picks[-50:].count("elementwise-float4") >= 40


def test_evidence_narrows_the_belief() -> None:
    bandit = Bandit()
    arm = ("f", "block", 64)
    before = bandit.deviation(arm)
    bandit.observe([arm], 1.0)
    assert bandit.mean(arm) > bandit.mean(("f", "block", 128))
    assert bandit.deviation(arm) < before


def test_a_trend_points_away_from_what_was_worse() -> None:
    family = families_of(RELU)[0]
    bandit = Bandit()
    bandit.learn(family, {"block": 256}, 1.0)
    assert bandit.trend(family, "block", 256, 512) == 0.0
    bandit.learn(family, {"block": 128}, 0.7)
    assert bandit.trend(family, "block", 256, 512) > 0.2
    assert bandit.trend(family, "block", 128, 64) < -0.2


def test_neighbouring_numbers_share_what_was_learnt() -> None:
    family = families_of(RELU)[0]
    bandit = Bandit()
    bandit.learn(family, {"block": 256}, 0.0)
    near, far = bandit.mean((family.name, "block", 512)), bandit.mean((family.name, "block", 1024))
    assert (
        bandit.mean((family.name, "block", 256)) < near < far < bandit.mean((family.name, "block", 64)) + 0.2
    )


def test_parameters_that_make_no_difference_lose_interest() -> None:
    family = families_of(RELU)[1]
    bandit = Bandit()
    for block in (64, 128, 256):
        bandit.learn(family, {"block": block, "blocks": 64}, 0.5)
    assert bandit.influence(family, "block") < 0 < bandit.influence(family, "blocks")
