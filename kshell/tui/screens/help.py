"""What the help and the summary say. Pure: a session in, lines out."""

from collections.abc import Callable

from rich.text import Text

from kshell.tui.commands import groups
from kshell.tui.draw.side import PHASES
from kshell.tui.draw.text import line, prose
from kshell.tui.model import Phase, Session
from kshell.tui.palette import Palette
from kshell.tui.units import clock, milliseconds

LEGEND = (
    ("★", "the best kernel"),
    ("◆", "pinned: kept as a parent"),
    ("◌ ◔ ◑ ◕", "compiling, checking, timing, timed"),
    ("✓", "correct, proven, closed, or a change that helps"),
    ("✗", "failed, wrong, refuted, or a change that hurts"),
    ("?", "not proven: nobody knows"),
    ("⊘", "refused or banned"),
)

KEYS = (
    "Tab moves between the panes, Enter opens a kernel, Escape goes back to the table, "
    "Ctrl+P opens the palette, Ctrl+C copies what is selected with the mouse, or leaves."
)


def what_now(session: Session | None) -> str:
    """The one thing a newcomer needs to know at this moment."""
    if session is None:
        return (
            "Press Enter to evolve a kernel for the marked task. ↑ ↓ choose another task, Tab the settings."
        )
    if session.promoted:
        row = session.promoted[0]
        where = f" It is exported to {row.export}." if row.export else " Press e to export it."
        return f"Kernel {row.label} is proven.{where}"
    match session.phase:
        case Phase.PAUSED:
            return "The session is paused. Press Space to go on."
        case Phase.FINISHED | Phase.INTERRUPTED | Phase.FAILED:
            return "The session is over and no kernel was proven. /new starts another."
        case _:
            return (
                "Nothing: kernels are being proposed, checked, timed and proven. "
                "A proven kernel is exported by itself."
            )


def help_lines(session: Session | None, width: int, palette: Palette) -> list[Text]:
    """What to do now, then every command with its key, then the signs."""
    out = [line(("What to do now", palette.title)), *prose(what_now(session), width, palette.text), Text("")]
    for name, commands in groups():
        out.append(line((name, palette.title)))
        for command in commands:
            key = f"{command.shown:<6}"
            usage = f"{command.usage:<22}"
            text, *more = prose(command.help, max(20, width - 30), palette.dim)
            out.append(line(("  " + key, palette.accent), (usage, palette.text)) + text)
            out += [line(" " * 30) + rest for rest in more]
        out.append(Text(""))
    out.append(line(("Signs", palette.title)))
    out += [line((f"  {sign:<10}", palette.accent), (meaning, palette.dim)) for sign, meaning in LEGEND]
    return [*out, Text(""), *prose(KEYS, width, palette.dim)]


def budget_lines(session: Session, width: int, palette: Palette) -> list[Text]:
    """What is spent and what is left, one line a cap, and then how the session stands."""
    budget = session.budget
    if budget is None:
        return [line(("The session has not started yet.", palette.dim))]
    seconds = max(budget.seconds, session.elapsed)
    out = [
        line(("Spent and left", palette.title)),
        _spent("rounds", budget.rounds_done, budget.rounds, "{:g}".format, palette),
        _spent("kernels", budget.candidates_done, budget.rounds * budget.group, "{:g}".format, palette),
        _spent("proofs tried", budget.proof_tries, budget.max_proof_tries, "{:g}".format, palette),
        _spent("time", seconds, budget.max_seconds, clock, palette),
        _spent("dollars", budget.usd, budget.max_usd, "${:.2f}".format, palette),
        _spent("tokens", budget.tokens, budget.max_tokens, "{:,}".format, palette),
    ]
    if session.eta_seconds is not None and not session.over:
        out.append(line((f"  {'':<14}about {clock(session.eta_seconds)} left at this pace", palette.note)))
    return [*out, Text(""), *summary_lines(session, width, palette)]


def _spent(
    name: str, spent: float, cap: float | None, shown: Callable[[float], str], palette: Palette
) -> Text:
    left = "no cap" if cap is None else f"{shown(max(0, cap - spent))} left"
    done = shown(spent) if cap is None else f"{shown(spent)}/{shown(cap)}"
    return line((f"  {name:<14}", palette.dim), (f"{done:<18}", palette.text), (left, palette.dim))


def summary_lines(session: Session, width: int, palette: Palette) -> list[Text]:
    """How a session ended: promoted kernels and where they are, and what is fast but unproven."""
    done = session.finished
    sign, word = PHASES[session.phase]
    out = [line((f"{sign} {session.task} on {session.device}: {word}", palette.title))]
    if done:
        if not session.promoted:
            out += prose(done.outcome, width, palette.text)
        if done.best_ms and done.first_best_ms:
            gain = done.first_best_ms / done.best_ms
            out += prose(
                f"best of the first round {milliseconds(done.first_best_ms)}, "
                f"best now {milliseconds(done.best_ms)}: {gain:.2f}x faster, in {clock(session.elapsed)}",
                width,
                palette.dim,
            )
    out.append(Text(""))
    for row in session.promoted:
        latency = milliseconds(row.median_ms) if row.median_ms else ""
        out.append(
            line(
                ("✓ ", palette.good),
                (f"kernel {row.label} is proven and promoted  ", palette.text),
                (latency, palette.accent),
            )
        )
        if row.export:
            out += prose(f"exported to {row.export}", width, palette.good, 2)
    best = session.rows.get(session.best or "")
    if best and not best.promoted:
        latency = milliseconds(best.median_ms) if best.median_ms else ""
        text = f"the fastest kernel {best.label} ({latency}) is validated but unproven: it is not promoted"
        out += prose(f"? {text}", width, palette.warn)
    if not session.promoted:
        out += prose("No kernel was promoted: only a proven one is.", width, palette.dim)
    next_steps = [f"/new starts another session; kshell replay {session.name} shows this one again."]
    if session.promoted:
        next_steps.insert(0, "/export FOLDER copies a promoted kernel with its certificate.")
    return [*out, Text(""), *prose("\n".join(next_steps), width, palette.dim)]
