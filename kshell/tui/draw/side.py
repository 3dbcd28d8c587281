"""Insights, log lines, the title bar and the budget bar."""

from rich.text import Text

from kshell.tui.draw.text import bar, fit, line, prose, right
from kshell.tui.model import Level, LogLine, Phase, Session
from kshell.tui.palette import Palette
from kshell.tui.units import clock

PHASES: dict[Phase, tuple[str, str]] = {
    Phase.WAITING: ("◌", "starting"),
    Phase.RUNNING: ("●", "running"),
    Phase.PAUSED: ("‖", "paused"),
    Phase.STOPPING: ("◌", "stopping"),
    Phase.FINISHED: ("✓", "finished"),
    Phase.INTERRUPTED: ("■", "stopped"),
    Phase.FAILED: ("✗", "failed"),
}


def insight_lines(session: Session, width: int, palette: Palette) -> list[Text]:
    """What the session has learned, the newest first, and the person's notes to the generator."""
    out: list[Text] = []
    for note in reversed(session.notes):
        out += [
            line(("note ", palette.note), ("to the generator", palette.dim)),
            *prose(note, width, palette.text, 2),
        ]
    for insight in reversed(session.insights):
        if insight.retracted:
            sign, style, word = "⊘", palette.dim, "retracted"
        elif insight.effective:
            sign, style, word = "✓", palette.good, "helps"
        elif insight.change + insight.spread < 0:
            sign, style, word = "✗", palette.bad, "hurts"
        else:
            sign, style, word = "≈", palette.warn, "no gain"
        change = f"  {insight.change:+.2f} ± {insight.spread:.2f}  "
        sentence = _here(insight.sentence, session)
        told = "" if insight.strategy in sentence else insight.strategy
        strategy = fit(told, max(0, width - len(sign) - len(word) - len(change) - 1))
        out.append(line((f"{sign} {word}", style), (change, palette.title), (strategy.rstrip(), palette.dim)))
        out += prose(sentence, width, palette.dim if insight.retracted else palette.text, 2)
    return out or [line(("No insight yet. They come at the end of a round.", palette.dim))]


def _here(sentence: str, session: Session) -> str:
    """The sentence without the task, sizes and device that the title shows."""
    sizes = ", ".join(f"{name}={size}" for name, size in session.axes.items())
    return sentence.removeprefix(f"{session.task} ({sizes}) on {session.device}: ")


def log_line(entry: LogLine, palette: Palette) -> Text:
    """One entry: time, sign, text. The sign says what the colour says."""
    sign, style = {
        Level.INFO: (" ", palette.text),
        Level.GOOD: ("✓", palette.good),
        Level.WARN: ("?", palette.warn),
        Level.BAD: ("✗", palette.bad),
        Level.NOTE: ("◆", palette.note),
    }[entry.level]
    return line((right(clock(entry.elapsed), 7), palette.faint), (f" {sign} ", style), (entry.text, style))


def title_line(session: Session, width: int, palette: Palette, extra: str = "") -> Text:
    """Task, sizes, device, generator, and the phase at the right."""
    sign, word = PHASES[session.phase]
    style = {Phase.RUNNING: palette.good, Phase.FINISHED: palette.good, Phase.FAILED: palette.bad}.get(
        session.phase, palette.warn
    )
    state = f" {extra}{sign} {word}  {clock(session.elapsed)} "
    sizes = " ".join(f"{k}={v}" for k, v in session.axes.items())
    left = line(
        (" kshell ", palette.accent), (f" {session.task or '…'} ", palette.title), (sizes, palette.dim)
    )
    if session.device:
        left.append(f"  {session.device} · {session.generator} · seed {session.seed}", palette.dim)
    room = max(0, width - len(state))
    left.truncate(room, overflow="ellipsis", pad=True)
    return left + line((state, style))


def budget_line(session: Session, width: int, palette: Palette) -> Text:
    """Rounds, candidates, proofs, dollars, tokens, time and what is left; parts that do not fit are
    dropped, the last first."""
    budget = session.budget
    if budget is None:
        return line((" waiting for the session to start", palette.dim))
    total = max(1, budget.rounds * budget.group)
    head = f" round {max(session.round, budget.rounds_done)}/{budget.rounds} "
    parts = [f" {budget.candidates_done}/{total} kernels"]
    if session.over:
        parts.append("done")
    elif session.state.proving and budget.candidates_done >= total:
        parts.append("proving")
    elif session.eta_seconds is not None:
        parts.append(f"about {clock(session.eta_seconds)} left")
    cap = f"/{budget.max_proof_tries}" if budget.max_proof_tries is not None else ""
    parts.append(f"{budget.proof_tries}{cap} proof{'' if budget.proof_tries == 1 and not cap else 's'}")
    cap = f"/{clock(budget.max_seconds)}" if budget.max_seconds is not None else ""
    parts.append(f"{clock(max(budget.seconds, session.elapsed))}{cap}")
    cap = f"/{budget.max_usd:.2f}" if budget.max_usd is not None else ""
    parts.append(f"${budget.usd:.2f}{cap}")
    if budget.tokens or budget.max_tokens is not None:
        cap = f"/{budget.max_tokens:,}" if budget.max_tokens is not None else ""
        parts.append(f"{budget.tokens:,}{cap} tokens")
    text = parts[0]
    for part in parts[1:]:
        if len(head) + len(text) + len(part) + 3 + 10 <= width:
            text += f" · {part}"
    room = max(4, min(40, width - len(head) - len(text) - 1))
    filled, rest = bar(budget.candidates_done / total, room)
    return line((head, palette.text), (filled, palette.accent), (rest, palette.faint), (text, palette.dim))
