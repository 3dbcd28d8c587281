"""What the start screen says: the settings of a new session, past sessions, and more about what is marked.
Pure: values in, lines out."""

from collections.abc import Mapping, Sequence

from rich.text import Text

from kshell.tui.draw.code import highlight
from kshell.tui.draw.text import fit, line, prose
from kshell.tui.home import Plan, SessionChoice, TaskChoice
from kshell.tui.palette import Palette

_WHAT_ENTER_DOES = {
    "replay": "Enter replays it",
    "resume": "Enter goes on with it, r replays it",
    "attach": "it runs: Enter attaches to it, r replays it",
}


def fields(plan: Plan, generators: Mapping[str, str]) -> list[tuple[str, str, str, str]]:
    """The settings: name, value, a few words, a sentence."""
    who = generators.get(plan.generator, "")
    return [
        (
            "device",
            plan.device,
            "where it runs",
            "Where kernels are compiled and timed: cpu runs the same CUDA source on this processor, "
            "cuda needs an NVIDIA GPU.",
        ),
        (
            "proposer",
            plan.generator,
            who,
            f"Who writes the kernels: builtin composes kernel families and needs no model, llm asks one "
            f"({generators.get('llm', 'none is set')}).",
        ),
        (
            "agents",
            named(plan.agents),
            "a model's roles",
            "What a model does beside the built-in agents: verifier attacks kernels, prover works on what "
            "stayed open, insight words what was learned; all is all three.",
        ),
        (
            "rounds",
            str(plan.rounds),
            "generations",
            "How many times kernels are proposed; each round builds on what the ones before have shown.",
        ),
        ("group", str(plan.group), "kernels a round", "How many kernels are proposed in a round."),
        (
            "seed",
            str(plan.seed),
            "fixes choices",
            "The same seed on the same machine proposes the same first kernels and tests them on the same "
            "inputs.",
        ),
    ]


def named(agents: tuple[str, ...]) -> str:
    """A set of roles in a word: none, its name, all, or how many."""
    return "none" if not agents else agents[0] if len(agents) == 1 else "all" if len(agents) > 2 else "two"


def setting_lines(
    plan: Plan | None, generators: Mapping[str, str], width: int, palette: Palette
) -> list[Text]:
    """One line a setting."""
    room = max(0, width - 20)
    return [
        line((f"{name:<9}", palette.text), (f"‹{value:^8}› ", palette.accent), (fit(few, room), palette.dim))
        for name, value, few, _ in (fields(plan, generators) if plan else ())
    ]


def task_lines(tasks: Sequence[TaskChoice], width: int, palette: Palette) -> list[Text]:
    """One line a task."""
    return [
        line((fit(task.name, 16), palette.text), (fit(task.title, max(0, width - 16)), palette.dim))
        for task in tasks
    ]


def session_lines(past: Sequence[SessionChoice], width: int, palette: Palette) -> list[Text]:
    """One line a session. A sign and a word say its state."""
    signs = {"running": ("●", palette.good), "finished": ("✓", palette.good)}
    out = []
    for choice in past:
        sign, style = signs.get(choice.state, ("■", palette.warn))
        state = "stopped" if choice.state == "interrupted" else choice.state
        proven = f"{choice.promoted} proven" if choice.promoted else state
        tail = f" {choice.when[-11:]:>11}"
        name = fit(choice.name, max(6, width - 2 - 10 - len(tail)))
        out.append(
            line(
                (f"{sign} ", style),
                (name, palette.text),
                (f" {fit(proven, 9)}", palette.dim),
                (tail, palette.dim),
            )
        )
    return out


def about_task(task: TaskChoice, tall: bool, width: int, palette: Palette) -> list[Text]:
    """Title and sizes, and what a kernel has to compute: the PyTorch module, or its last line alone."""
    sizes = f"   {task.sizes}" if task.sizes else ""
    out = [line((task.title, palette.text), (sizes, palette.dim))]
    module = highlight(_module(task.reference), palette, "python")
    if module and tall:
        out += [line(("The PyTorch reference that kernels are proven equal to:", palette.dim)), Text("")]
        out += [line("  ") + code for code in module]
    elif module:
        code = module[-1].copy()
        last = line(("PyTorch  ", palette.dim)) + code[len(code.plain) - len(code.plain.lstrip()) :]
        last.truncate(width, overflow="ellipsis")
        out.append(last)
    return out


def about_setting(
    plan: Plan, generators: Mapping[str, str], at: int, width: int, palette: Palette
) -> list[Text]:
    """The sentence about one setting."""
    return prose(fields(plan, generators)[at][3], width, palette.text)


def about_session(choice: SessionChoice, width: int, palette: Palette) -> list[Text]:
    """What a session was about, what it came to, and what Enter does with it."""
    what = f"{choice.task} on {choice.device}, {choice.when}"
    told = f": {choice.outcome}" if choice.outcome else ""
    return [
        line((fit(what + told, width).rstrip(), palette.text)),
        line((_WHAT_ENTER_DOES[choice.how], palette.dim)),
    ]


def _module(reference: str) -> str:
    """The class of a reference file, without what stands around it."""
    lines = reference.splitlines()
    start = next((k for k, text in enumerate(lines) if text.startswith("class ")), None)
    if start is None:
        return ""
    stop = next((k for k in range(start + 1, len(lines)) if lines[k][:1] not in ("", " ")), len(lines))
    return "\n".join(lines[start:stop]).rstrip() + "\n"
