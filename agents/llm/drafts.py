"""A draft of a proof, and how a proof agent changes it: theorem by theorem.

Most of what the automatic prover wrote holds. An agent hands in the theorems that change and the lemmas they
need; the rest of the draft stays. What comes out is judged as a whole, like any text of an agent."""

import re
from dataclasses import dataclass

_HEAD = re.compile(r"^(?:theorem|def)\s+([^\s:({\[]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A theorem or definition: its name and its text, comments before it left out."""

    name: str
    text: str

    @property
    def head(self) -> str:
        """The text up to its proof."""
        said, mark, _ = self.text.partition(" := by\n")
        return f"{said} := by ...\n" if mark else self.text


def blocks(text: str) -> tuple[Block, ...]:
    """The theorems and definitions of a text, each from its first line to the next one's. Raises ValueError
    when the text does not begin with one."""
    heads = list(_HEAD.finditer(text))
    before = text[: heads[0].start()] if heads else text
    if not heads or _without_comments(before).strip():
        raise ValueError("give theorems and definitions, each beginning at the start of a line")
    ends = [head.start() for head in heads[1:]] + [len(text)]
    pairs = zip(heads, ends, strict=True)
    return tuple(Block(head[1], text[head.start() : end].rstrip() + "\n") for head, end in pairs)


def _without_comments(text: str) -> str:
    return re.sub(r"/-.*?-/|--[^\n]*", "", text, flags=re.DOTALL)


@dataclass(frozen=True, slots=True)
class Draft:
    """Blocks in order; the last is the theorem that is wanted. `open` are the names that did not close."""

    blocks: tuple[Block, ...]
    open: tuple[str, ...]

    @property
    def text(self) -> str:
        """The whole, as it would be submitted."""
        return "".join(block.text for block in self.blocks)

    def shown(self, limit: int) -> str:
        """The draft for a prompt of at most `limit` characters: where it is longer, theorems that closed are
        shown without their proofs."""
        if len(self.text) <= limit:
            return self.text
        parts = (b.text if b.name in self.open or b.text.startswith("def") else b.head for b in self.blocks)
        return "".join(parts)[:limit]

    def with_(self, changes: str) -> str:
        """The whole text with what `changes` declares in place of blocks of the same name; other blocks of it
        go before the first place that changes. Raises ValueError for what cannot be read or changes
        nothing."""
        made = blocks(changes)
        own = {block.name: at for at, block in enumerate(self.blocks)}
        replaced = {block.name: block for block in made if block.name in own}
        if not replaced:
            names = ", ".join(self.open) or self.blocks[-1].name
            raise ValueError(f"none of these is in the draft; what is open there: {names}")
        added = [block for block in made if block.name not in own]
        first = min(own[name] for name in replaced)
        kept = [replaced.get(block.name, block) for block in self.blocks]
        return "".join(block.text for block in (*kept[:first], *added, *kept[first:]))
