"""What tests of the roles share: a client on the local server, a memory, kernels."""

import random
from typing import Any

from agents.falsifier import oracle_of_specs
from agents.llm.client import LiteLLM
from agents.llm.ledger import Caps, Ledger, Price
from insights_db.records import Candidate
from kshell import tasks
from tests.agents.llm.server import FakeProvider, Say

MODEL = "openai/fake"
RELU = """__global__ void relu(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaxf(x[i], 0.0f);
}
void launch(const float* x, float* y, int n) {
    dim3 grid((n + 255) / 256);
    dim3 block(256);
    relu<<<grid, block>>>(x, y, n);
}
"""
LATE_BUG = RELU.replace("y[i] = fmaxf(x[i], 0.0f);", "y[i] = x[i] == 77.0f ? 0.0f : fmaxf(x[i], 0.0f);")
"""Wrong for one value that no distribution draws."""


class Notes:
    """A memory in a dict."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self.usd, self.tokens = 0.0, 0

    def get(self, key: str) -> str | None:
        return self.kept.get(key)

    def put(self, key: str, body: str, usd: float = 0.0, tokens: int = 0) -> None:
        self.kept.setdefault(key, body)
        self.book(usd, tokens)

    def book(self, usd: float, tokens: int) -> None:
        self.usd += usd
        self.tokens += tokens


async def no_wait(_seconds: float) -> None:
    """Retries without pauses."""


def client(provider: FakeProvider, caps: Caps | None = None, **changes: Any) -> LiteLLM:
    """A client of the local server."""
    ledger = changes.pop("ledger", None) or Ledger(caps or Caps(), {MODEL: Price(1.0, 10.0)})
    options = {"api_base": provider.url, "api_key": "sk-secret"}
    return LiteLLM(MODEL, ledger, options=options, sleep=no_wait, rng=random.Random(0), **changes)


def call(tool: str, **arguments: Any) -> Say:
    """An answer that calls one tool."""
    return Say(calls=((tool, arguments),))


def candidate(source: str = RELU) -> Candidate:
    return Candidate(id="c0ffee", source=source, task="relu", round=1, index=0, proposer="llm:openai/fake")


ORACLE = oracle_of_specs(tasks.spec_of)
