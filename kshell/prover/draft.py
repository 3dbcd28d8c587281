"""The automatic prover's file in the words of a submission, for proof agents to go on from."""

import re

from agents.llm.drafts import Draft, blocks
from insights_db.records import Obligation, ProofStatus
from kshell.prover.allowlist import first_objection
from semantics.lean.file import NAMESPACE, Emission

_DOCUMENTATION = re.compile(r"^/--.*?-/\n", re.MULTILINE | re.DOTALL)
_STRUCTURE = re.compile(r"^structure (.*) : Prop where\n((?:  \S+ : .*\n)+)", re.MULTILINE)
_CONSTRUCTOR = re.compile(r"^  constructor\n((?:  · .*\n)+)", re.MULTILINE)
_CORRECT = re.compile(r"^theorem correct : Claim :=", re.MULTILINE)
_MARK = re.compile(r"^#print .*\n", re.MULTILINE)
_LITERAL = re.compile(r"^theorem lit\d+ .*\n", re.MULTILINE)


def draft_of(emission: Emission, obligations: tuple[Obligation, ...]) -> Draft | None:
    """The draft, or None for a file whose structure a submission cannot have (kernels with barriers, several
    layouts)."""
    head, said, rest = emission.text.partition(emission.statement)
    end = f"end {NAMESPACE}\n"
    if not said or not rest.endswith(end):
        return None
    text = "".join(_LITERAL.findall(head)) + rest.removesuffix(end)
    text = _DOCUMENTATION.sub("", _MARK.sub("", text))
    text = _STRUCTURE.sub(_conjunction, text)
    text = _CONSTRUCTOR.sub(_anonymous, text)
    text, count = _CORRECT.subn(f"theorem proof : {NAMESPACE}.Claim :=", text)
    if count != 1 or first_objection(text) is not None:
        return None
    still_open = tuple(o.name for o in obligations if o.status is not ProofStatus.PROVEN)
    names = {"thread": "thread_ok", "correct": "proof"}
    return Draft(blocks(text.lstrip("\n")), tuple(names.get(name, name) for name in still_open))


def _conjunction(match: re.Match[str]) -> str:
    """A structure of propositions as a definition."""
    parts = [line.split(" : ", 1)[1] for line in match[2].splitlines()]
    return f"def {match[1]} : Prop :=\n  " + " ∧ ".join(f"({part})" for part in parts) + "\n"


def _anonymous(match: re.Match[str]) -> str:
    """Its constructor as an anonymous one."""
    holes = ", ".join("?_" for line in match[1].splitlines() if line.startswith("  · "))
    return f"  refine ⟨{holes}⟩\n{match[1]}"
