"""Insights: significance, sentences, retrieval."""

from agents.insight import distill, relevant, reward_error
from agents.protocols import Proposal, Scored
from kshell import tasks
from tests.agents.synthetic import scored

RELU = tasks.get("relu")


def candidate(block: int, reward: float, family: str = "elementwise-guarded") -> Scored:
    source = f"// {family}\nconst int threads = {block};\n"
    return scored(Proposal(source, "builtin", None, family, {"block": block}, "mutate"), RELU, 1, 0, reward)


def test_a_gain_beyond_the_noise_is_effective() -> None:
    insight = distill(candidate(256, 1.0), candidate(512, 1.5), RELU, "cpu")
    assert insight.effective
    assert insight.strategy == "block 256 -> 512"
    assert insight.change == 0.5
    assert 0 < insight.spread < 0.05
    assert "1.50x as fast" in insight.sentence
    assert "-const int threads = 256;\n+const int threads = 512;" in insight.diff
    assert insight.context["from.block"] == 256
    assert insight.context["to.block"] == 512
    assert insight.family == "elementwise"


def test_a_gain_within_the_noise_is_not() -> None:
    insight = distill(candidate(256, 1.0), candidate(512, 1.5), RELU, "cpu", spread=0.3)
    assert not insight.effective
    assert "nothing measurable" in insight.sentence


def test_a_loss_is_told_and_not_effective() -> None:
    insight = distill(candidate(256, 2.0), candidate(512, 1.0), RELU, "cpu")
    assert not insight.effective
    assert "0.50x as fast" in insight.sentence


def test_failures_say_what_failed() -> None:
    assert (
        "gave wrong results: y[3] is wrong"
        in distill(candidate(256, 1.0), candidate(512, 0.0), RELU, "cpu").sentence
    )
    broken = distill(candidate(256, 1.0), candidate(512, -1.0), RELU, "cpu")
    assert "did not compile: 3:5: unknown name 'q'" in broken.sentence
    assert not broken.effective


def test_a_first_kernel_is_compared_with_the_baseline() -> None:
    insight = distill(None, candidate(256, 1.2), RELU, "cpu")
    assert insight.before is None
    assert insight.strategy == "start with elementwise-guarded (block 256)"
    assert insight.effective


def test_the_error_of_a_reward_comes_from_the_spread_of_its_samples() -> None:
    one = candidate(256, 2.0)
    profile = one.evaluation.profile
    assert profile is not None

    def error(**changed: float) -> float:
        evaluation = one.evaluation.model_copy(update={"profile": profile.model_copy(update=changed)})
        return reward_error(Scored(one.candidate, evaluation, one.reward))

    assert error(iqr_ms=2 * profile.iqr_ms) == 2 * error()
    assert error(samples=1) == 2 * error(samples=4)
    assert error(samples=2500) == error(samples=4)
    assert 0.0 < error() < 0.01 * 2.0
    assert reward_error(candidate(256, 0.0)) == 0.0


def test_retrieval_keeps_to_family_and_device_and_puts_the_same_task_first() -> None:
    silu = tasks.get("silu")
    own = distill(candidate(256, 1.0), candidate(512, 1.2), RELU, "cpu")
    akin = distill(candidate(256, 1.0), candidate(512, 3.0), silu, "cpu")
    gpu = distill(candidate(256, 1.0), candidate(512, 3.0), RELU, "cuda")
    norm = distill(candidate(256, 1.0), candidate(512, 3.0), tasks.get("softmax"), "cpu")
    fallen = own.model_copy(update={"retracted": True})
    assert relevant([akin, gpu, norm, fallen, own], RELU, "cpu") == [own, akin]
