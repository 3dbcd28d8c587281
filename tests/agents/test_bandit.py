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
