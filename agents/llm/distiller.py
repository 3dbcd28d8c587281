"""The insight role: words for measured changes. The numbers and the evidence are never the model's."""

from agents.llm.loop import Done, converse
from agents.llm.memory import Memory
from agents.llm.messages import LLM, Tool, ToolCall
from agents.llm.prompts import render
from insights_db.records import Insight
from semantics.task import Task

LESSONS = Tool(
    "lessons",
    "Hand in the lessons of the round.",
    {
        "type": "object",
        "properties": {
            "lessons": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"candidate": {"type": "string"}, "sentence": {"type": "string"}},
                    "required": ["candidate", "sentence"],
                },
            }
        },
        "required": ["lessons"],
    },
)
_LONGEST_SENTENCE = 400
_LONGEST_DIFF = 3000


class LLMDistiller:
    """Says insights again in a model's words."""

    def __init__(self, llm: LLM, *, max_tokens: int = 2048) -> None:
        self._llm = llm
        self._max_tokens = max_tokens

    def remember(self, memory: Memory) -> None:
        """Keep every answer in `memory` before it is used."""
        self._llm.memory = memory

    async def teach(self, number: int, measured: list[Insight], task: Task, device: str) -> list[Insight]:
        """Insights of round `number` with sentences of the model; each keeps the evidence, change and
        spread it was measured with. Raises LLMFailure, CapReached, PriceUnknown."""
        by_candidate = {insight.after: insight for insight in measured}
        if not by_candidate:
            return []

        async def handle(call: ToolCall) -> str | Done[list[Insight]]:
            lessons = (call.arguments or {}).get("lessons")
            if not isinstance(lessons, list):
                return "give a list of lessons"
            return Done(_told(lessons, by_candidate))

        system = render(
            "insight",
            title=task.title,
            device=device,
            steps="\n\n".join(_step(insight) for insight in measured),
        )
        scope = f"insight/{number}"
        return (
            await converse(self._llm, scope, system, (LESSONS,), handle, steps=2, max_tokens=self._max_tokens)
            or []
        )


def _step(insight: Insight) -> str:
    head = f"{insight.after}: {insight.change:+.3f} ± {insight.spread:.3f}"
    return f"{head}\n```diff\n{insight.diff[:_LONGEST_DIFF]}\n```"


def _told(lessons: list[object], measured: dict[str, Insight]) -> list[Insight]:
    found: dict[str, Insight] = {}
    for lesson in lessons:
        if not isinstance(lesson, dict):
            continue
        known = measured.get(str(lesson.get("candidate", "")))
        sentence = " ".join(str(lesson.get("sentence", "")).split())[:_LONGEST_SENTENCE]
        if known is not None and sentence:
            said = f"{sentence} (measured: {known.change:+.3f} ± {known.spread:.3f} of speed-up)"
            found[known.after] = known.model_copy(update={"id": 0, "sentence": said})
    return list(found.values())
