"""The data synthesizer role: which of the known distributions an input is tested on. It never sees
candidates; what it chooses is rehearsed apart before it is used."""

from agents import synthesis
from agents.llm.loop import Done, converse
from agents.llm.messages import LLM, Tool, ToolCall
from agents.llm.prompts import render
from agents.llm.signature import signature
from semantics.task import Task

CHOOSE = Tool(
    "choose",
    "Choose further distributions for inputs.",
    {
        "type": "object",
        "properties": {
            "inputs": {
                "type": "object",
                "additionalProperties": {"type": "array", "items": {"type": "string"}},
            }
        },
        "required": ["inputs"],
    },
)


async def choose(llm: LLM, task: Task) -> Task:
    """The task with the distributions a model chose; the task itself when it chose nothing that is known.
    Raises LLMFailure, CapReached, PriceUnknown."""
    names = {t.name for t in task.inputs}

    async def handle(call: ToolCall) -> str | Done[dict[str, list[str]]]:
        chosen = (call.arguments or {}).get("inputs")
        if not isinstance(chosen, dict) or not all(isinstance(v, list) for v in chosen.values()):
            return "inputs maps the name of an input to a list of distributions"
        if unknown := sorted(set(chosen) - names):
            return f"there is no input {unknown[0]!r}"
        if strange := sorted({str(d) for v in chosen.values() for d in v} - set(synthesis.names)):
            return f"there is no distribution {strange[0]!r}"
        return Done(chosen)

    system = render(
        "synthesis",
        title=task.title,
        signature=signature(task, task.workload()),
        reference=task.reference.strip(),
        distributions=", ".join(synthesis.names),
    )
    chosen = await converse(llm, "synthesis", system, (CHOOSE,), handle, steps=3, max_tokens=1024) or {}
    inputs = tuple(
        t.model_copy(
            update={"distributions": tuple(d for d in chosen.get(t.name, []) if d not in synthesis.COMMON)}
        )
        for t in task.inputs
    )
    return task.model_copy(update={"inputs": inputs})
