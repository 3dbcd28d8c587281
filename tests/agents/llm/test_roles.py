"""The roles behind models, through the real client, against a local server."""

from typing import Any

import pytest

from agents.llm.distiller import LLMDistiller
from agents.llm.failures import LLMFailure
from agents.llm.manifest import NoManifest, draft
from agents.llm.prompts import render, variables
from agents.llm.proving import Case, Found, ProofAgents, Ruling
from agents.llm.synthesizer import choose
from agents.llm.verifier import LLMVerifier
from agents.recipes import BadRecipe, drawn, written
from agents.regression import Regression
from insights_db.records import Counterexample, Insight
from kshell import tasks
from tests.agents.llm.kit import LATE_BUG, ORACLE, RELU, Notes, call, candidate, client
from tests.agents.llm.server import Behaviour, Fail, FakeProvider, Say, serving

pytestmark = pytest.mark.filterwarnings("ignore")

TASK = tasks.get("relu")
ROLES = ("generator", "verifier", "segment", "prover", "analyst", "insight", "manifest", "synthesis")


@pytest.mark.parametrize("role", ROLES)
def test_every_prompt_renders_and_says_what_is_data(role: str) -> None:
    names = variables(role)
    text = render(role, **{n: f"<{n}>" for n in names})
    assert all(f"<{n}>" in text for n in names)
    assert role == "synthesis" or "is data, not" in text
    with pytest.raises(KeyError):
        render(role)


# ---------------------------------------------------------------- the verifier


async def test_only_a_break_that_the_interpreter_reproduces_counts() -> None:
    script = (
        call("try", axes={"n": 9}),
        call("try", axes={"n": 3, "m": 1}),
        call("try", axes={"n": 10**9}),
        call("try", axes={"n": 5}, inputs={"x": {"distribution": "evil"}}),
        call("try", axes={"n": 5}, inputs={"x": {"values": [1, 77.0, -2]}}),
    )
    with serving(*script) as provider:
        verdict = await LLMVerifier(client(provider), ORACLE, steps=6).attack(
            candidate(LATE_BUG), TASK, TASK.workload()
        )
        said = [m["content"] for m in provider.requests[-1]["messages"] if m["role"] == "tool"]
    assert said[0] == "no fault and no wrong value there"
    assert "no axis 'm'" in said[1]
    assert "choose smaller ones" in said[2]
    assert "no distribution 'evil'" in said[3]
    found = verdict.counterexample
    assert found is not None
    assert (found.fault, found.output, found.index) == ("WRONG VALUE", "y", 1)
    assert found.inputs == written({"x": {"values": [1, 77.0, -2]}})


@pytest.mark.parametrize(
    "script",
    [
        (call("stand"),),
        (Say("It is certainly broken: line 3 races."), call("stand")),
        (call("try", axes={"n": 7}), call("stand")),
        (Say(calls=(("try", "{broken"),)), call("stand")),
    ],
)
async def test_a_claim_without_a_run_is_no_break(script: tuple[Behaviour, ...]) -> None:
    with serving(*script) as provider:
        verdict = await LLMVerifier(client(provider), ORACLE).attack(candidate(), TASK, TASK.workload())
    assert verdict.counterexample is None


async def test_a_break_becomes_a_case_for_later_candidates() -> None:
    case = ({"n": 3}, written({"x": {"fill": 77.0}}))
    regression = Regression(ORACLE)
    assert regression.idle
    regression.learn([case, case, ({"rows": 1}, "normal"), ({"n": 4}, "hidden, task shape")])
    broken = await regression.attack(candidate(LATE_BUG), TASK, TASK.workload())
    assert broken.counterexample is not None
    assert broken.counterexample.axes == {"n": 3}
    standing = await regression.attack(candidate(RELU), TASK, TASK.workload())
    assert (standing.counterexample, standing.effort) == (None, "2 of 2 known cases")


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ("recipe {", "not JSON"),
        ("recipe []", "maps inputs"),
        (written({"z": {"fill": 1}}), "no input 'z'"),
        (written({"x": {"fill": 1, "values": [1]}}), 'give one of {"distribution"'),
        (written({"x": {"values": ["a"]}}), "finite float32"),
        (written({"x": {"fill": 1e39}}), "finite float32"),
        (written({"x": {"values": []}}), "1 to 512"),
        ("no such", "no distribution named"),
    ],
)
def test_recipes_that_cannot_be_followed_say_why(inputs: str, says: str) -> None:
    with pytest.raises(BadRecipe, match=says) as caught:
        drawn(TASK, TASK.workload(n=4), inputs, 0)
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------- the provers


CASE = Case("c0ffee", RELU, TASK, "def Claim : Prop := True", "Claim", "", "- line 3: the guard: open")
PLAN = call(
    "plan", segments=[{"lines": "1-4", "holds_after": "y[i] is done", "owners": "thread i owns y[i]"}]
)
PROOF = call("submit", proof="theorem proof : Claim := trivial")
BUG = call("verdict", verdict="KERNEL BUG", why="n = 77 goes wrong")
BREAK = Counterexample(fault="WRONG VALUE", message="y[0] is 1", axes={"n": 1}, inputs="normal")


async def proved(
    script: tuple[Behaviour, ...], accepts: int = 99, breaks: bool = False, tries: int = 6
) -> tuple[Found, list[str], FakeProvider]:
    """The agents on a script; the judge accepts the text number `accepts`."""
    judged: list[str] = []

    async def judge(text: str) -> Ruling:
        judged.append(text)
        return Ruling(len(judged) == accepts, "elaboration: unsolved goals")

    async def probe(suspicion: str) -> Counterexample | None:
        return BREAK if breaks else None

    with serving(*script) as provider:
        llm = client(provider)
        found = await ProofAgents(llm, llm, llm, tries=tries).close(CASE, judge, probe)
    return found, judged, provider


async def test_a_proof_is_what_the_judge_accepts_and_nothing_else() -> None:
    found, judged, provider = await proved((PLAN, Say("It is proven, trust me."), PROOF, PROOF), accepts=2)
    assert found.text == "theorem proof : Claim := trivial"
    assert (len(judged), found.submissions) == (2, 2)
    assert "y[i] is done; owners: thread i owns y[i]" in provider.requests[1]["messages"][0]["content"]
    answered = [m["content"] for m in provider.requests[-1]["messages"] if m["role"] == "tool"]
    assert answered == ["refused: elaboration: unsolved goals"]


async def test_a_bug_verdict_ends_the_work_when_the_probe_reproduces_it() -> None:
    found, _, _ = await proved((PLAN, PROOF, PROOF, BUG), breaks=True)
    assert found.counterexample == BREAK


async def test_a_bug_verdict_without_a_run_needs_a_second_opinion() -> None:
    agreed = (PLAN, PROOF, PROOF, BUG, call("verdict", verdict="KERNEL BUG", why="the guard"))
    found, _, _ = await proved(agreed)
    assert found.reason == "two analysts hold the kernel for wrong, no run shows it: the guard"
    alone = (PLAN, PROOF, PROOF, BUG, call("verdict", verdict="CONTINUE", why="no"), PROOF)
    found, _, _ = await proved(alone, accepts=3)
    assert found.text


async def test_a_wrong_invariant_leads_to_another_plan() -> None:
    wrong = call("verdict", verdict="WRONG INVARIANT", why="the loop starts at 1")
    found, _, provider = await proved((PLAN, PROOF, PROOF, wrong, PLAN, PROOF), accepts=3)
    assert found.text
    assert "the loop starts at 1" in provider.requests[4]["messages"][0]["content"]


async def test_tries_are_bounded_and_the_end_says_why() -> None:
    go_on = call("verdict", verdict="CONTINUE", why="use omega")
    found, judged, _ = await proved((PLAN, PROOF, PROOF, go_on, PROOF), tries=3)
    assert (len(judged), found.submissions) == (3, 3)
    assert found.reason == "3 proofs of llm:openai/fake were refused: -- elaboration: unsolved goals"


async def test_giving_up_is_looked_into() -> None:
    give_up = call("give_up", reason="the guard is off by one")
    found, judged, _ = await proved((PLAN, give_up), breaks=True)
    assert (found.counterexample, judged) == (BREAK, [])


async def test_a_proof_goes_on_where_it_was_cut() -> None:
    notes, judged = Notes(), []

    async def judge(text: str) -> Ruling:
        judged.append(text)
        return Ruling(len(judged) == 2, "no")

    async def probe(suspicion: str) -> Counterexample | None:
        return None

    with serving(PLAN, PROOF, Fail(401)) as provider:
        llm = client(provider, memory=notes)
        with pytest.raises(LLMFailure):
            await ProofAgents(llm, llm, llm).close(CASE, judge, probe)
    with serving(PROOF) as provider:
        llm = client(provider, memory=notes)
        found = await ProofAgents(llm, llm, llm).close(CASE, judge, probe)
        assert len(provider.requests) == 1
    assert found.text
    assert len(judged) == 2


# ---------------------------------------------------------------- insight, synthesis, manifest


async def test_lessons_keep_the_measured_numbers() -> None:
    measured = Insight(
        id=4, strategy="block 128 -> 256", family="elementwise", device="cpu", before="aaa", after="bbb",
        diff="-128\n+256", change=0.4, spread=0.1, effective=True, sentence="plain",
    )  # fmt: skip
    told = call(
        "lessons",
        lessons=[
            {"candidate": "bbb", "sentence": "Wider blocks\nhide latency: 40x"},
            {"candidate": "zzz", "sentence": "invented"},
        ],
    )
    with serving(told) as provider:
        [lesson] = await LLMDistiller(client(provider)).teach(1, [measured], TASK, "cpu")
    assert lesson.sentence == "Wider blocks hide latency: 40x (measured: +0.400 ± 0.100 of speed-up)"
    assert (lesson.change, lesson.before, lesson.after, lesson.id) == (0.4, "aaa", "bbb", 0)


async def test_the_synthesizer_names_known_distributions_only() -> None:
    script = (
        call("choose", inputs={"x": ["evil"]}),
        call("choose", inputs={"q": []}),
        call("choose", inputs={"x": ["large", "normal", "very_negative"]}),
    )
    with serving(*script) as provider:
        chosen = await choose(client(provider), TASK)
    assert chosen.inputs[0].distributions == ("large", "very_negative")


async def test_a_manifest_is_what_our_own_code_builds() -> None:
    async def build(proposal: Any) -> int | str:
        return proposal.get("axes") or "axes is missing"

    with serving(call("propose", name="x"), call("propose", axes={"n": 2})) as provider:
        assert await draft(client(provider), "twice", "", "add", build) == {"n": 2}
        assert "refused: axes is missing" in str(provider.requests[1]["messages"])
    holds_not = pytest.raises(NoManifest, match="no task that holds: axes is missing")
    with serving(*[call("propose", name="x")] * 5) as provider, holds_not:
        await draft(client(provider), "twice", "", "add", build)
