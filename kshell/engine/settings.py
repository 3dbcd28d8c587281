"""What a person chooses for a session. Kept with the session, so that resume needs only its name."""

import re
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from kshell.errors import UserError
from kshell.events import Budget

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Settings(BaseModel):
    """Options of `kshell run`. `prove` says when proofs are tried: after each round and at the end,
    only at the end, or never; `proof_seconds` is how long one may take. `prove_top` is how many of the
    best are tried at the end. `attack_top` is how many good candidates of a round the verifiers attack
    at once; a candidate is always attacked before a proof is tried. `jobs` is how many compiles may
    overlap. `agents` are the further roles that a language model plays beside the built-in ones."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rounds: int = Field(default=4, ge=1, le=10_000)
    group: int = Field(default=6, ge=1, le=1_000)
    seed: int = Field(default=0, ge=0)
    generator: Literal["builtin", "llm"] = "builtin"
    model: str = ""
    agents: tuple[Literal["verifier", "prover", "insight"], ...] = ()
    device: Literal["cpu", "cuda"] = "cpu"
    prove: Literal["rounds", "end", "never"] = "rounds"
    prove_top: int = Field(default=4, ge=1)
    proof_seconds: float = Field(default=240.0, gt=0)
    attack_top: int = Field(default=2, ge=0)
    jobs: int = Field(default=2, ge=1, le=64)
    insights: int = Field(default=16, ge=0)
    max_usd: float | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    max_seconds: float | None = Field(default=None, gt=0)
    max_proof_tries: int | None = Field(default=None, ge=0)

    def budget(self) -> Budget:
        """The caps, with nothing spent."""
        return Budget(
            rounds=self.rounds,
            group=self.group,
            max_usd=self.max_usd,
            max_tokens=self.max_tokens,
            max_seconds=self.max_seconds,
            max_proof_tries=self.max_proof_tries,
        )

    def left_of(self, spent: Budget) -> Self:
        """The same settings with the caps on money, tokens and time less what is spent."""
        usd = None if self.max_usd is None else max(0.0, self.max_usd - spent.usd)
        tokens = None if self.max_tokens is None else max(0, self.max_tokens - spent.tokens)
        seconds = None if self.max_seconds is None else max(0.001, self.max_seconds - spent.seconds)
        return self.model_copy(update={"max_usd": usd, "max_tokens": tokens, "max_seconds": seconds})


def checked_name(name: str) -> str:
    """A session name that is safe as a file name. Raises UserError."""
    if not _NAME.fullmatch(name):
        raise UserError(
            f"{name!r} cannot be a session name: use up to 64 letters, digits, '.', '_' and '-', "
            "beginning with a letter or digit"
        )
    return name
