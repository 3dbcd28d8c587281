"""Where the agents of a session keep paid answers: its store."""

from dataclasses import dataclass

from insights_db.store import Store


@dataclass(frozen=True, slots=True)
class SessionMemory:
    """Implements `agents.llm.memory.Memory`. The session has to be in the store before the first call."""

    store: Store
    session: str

    def get(self, key: str) -> str | None:
        """The text kept under a key."""
        return self.store.answer(self.session, key)

    def put(self, key: str, body: str, usd: float = 0.0, tokens: int = 0) -> None:
        """Keep a text and what it cost."""
        self.store.keep_answer(self.session, key, body, usd, tokens)

    def book(self, usd: float, tokens: int) -> None:
        """Note what a call cost that gave no answer."""
        self.store.keep_answer(self.session, None, None, usd, tokens)
