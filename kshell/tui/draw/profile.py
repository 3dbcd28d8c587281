"""The profile pane: latency with spread, the session's best by round, roofline, resources."""

from rich.text import Text

from kshell.tui.draw.text import bar, fit, line, prose, sparkline
from kshell.tui.model import Session
from kshell.tui.palette import Palette
from kshell.tui.row import Row
from kshell.tui.units import milliseconds


def profile_lines(session: Session, row: Row | None, width: int, palette: Palette) -> list[Text]:
    """The pane's lines for one candidate."""
    if row is None:
        return [line(("No kernel selected.", palette.dim))]
    out = [_title(row, palette), *_baseline(row, width, palette), *_roofline(row, width, palette), Text("")]
    out += _rounds(session, width, palette)
    out += _ladder(session, row, width, palette)
    out += _checks(row, width, palette)
    out += _resources(row, width, palette)
    return out


def _title(row: Row, palette: Palette) -> Text:
    timed = row.profile
    if timed is None:
        return line((f"{row.label}  ", palette.title), ("not timed", palette.dim))
    if not timed.ok:
        return line((f"{row.label}  ", palette.title), (f"✗ {timed.reason or 'timing failed'}", palette.bad))
    return line(
        (f"{row.label}  ", palette.title),
        (milliseconds(timed.median_ms), palette.accent),
        (f" ± {milliseconds(timed.iqr_ms)}", palette.dim),
        (f"  {timed.speedup:.2f}x the baseline", palette.text),
        (f"  {timed.samples} samples", palette.dim),
    )


def _baseline(row: Row, width: int, palette: Palette) -> list[Text]:
    timed = row.profile
    if timed is None or not timed.ok or not timed.baseline:
        return []
    return prose(f"baseline {milliseconds(timed.baseline_ms)}  {timed.baseline}", width, palette.dim)


def _roofline(row: Row, width: int, palette: Palette) -> list[Text]:
    share = row.profile.roofline if row.profile and row.profile.ok else None
    if share is None:
        return []
    filled, rest = bar(share, max(8, width - 22))
    return [
        line(
            ("roofline ", palette.dim),
            (filled, palette.accent),
            (rest, palette.faint),
            (f" {share:.0%}", palette.text),
        )
    ]


def _rounds(session: Session, width: int, palette: Palette) -> list[Text]:
    best = [session.round_best_ms[k] for k in sorted(session.round_best_ms)]
    if not best:
        return []
    room = max(4, width - 40)
    wide = max(1, min(4, room // len(best)))
    text = "".join(block * wide for block in sparkline(best, room // wide))
    return [
        line(
            ("best by round  ", palette.dim),
            (milliseconds(best[0]) + " ", palette.text),
            (text, palette.accent),
            (" " + milliseconds(best[-1]), palette.text),
        )
    ]


def _ladder(session: Session, row: Row, width: int, palette: Palette) -> list[Text]:
    """This candidate beside the baseline and the fastest few, as bars of latency."""
    timed = [r for r in session.rows.values() if r.median_ms is not None]
    if not timed:
        return []
    timed.sort(key=lambda r: r.median_ms or 0.0)
    shown = timed[:4] + ([row] if row.median_ms is not None and row not in timed[:4] else [])
    entries = [
        (r.label + (" ★" if r.id == session.best else ""), r.median_ms or 0.0, r is row) for r in shown
    ]
    reference = next((r.profile for r in timed if r.profile and r.profile.baseline_ms), None)
    if reference:
        entries.append((reference.baseline, reference.baseline_ms, False))
    top = max(value for _, value, _ in entries) or 1.0
    room = max(6, width - 30)
    out = []
    for name, value, current in sorted(entries, key=lambda entry: entry[1]):
        style = palette.accent if current else palette.dim
        filled = "━" * max(1, round(value / top * room))
        sign = "❯ " if current else "  "
        label = sign + fit(name, 15) + " "
        out.append(line((label, style), (filled + " ", style), (milliseconds(value), palette.text)))
    return [Text(""), line(("latency", palette.dim)), *out]


def _checks(row: Row, width: int, palette: Palette) -> list[Text]:
    valid = row.validation
    if valid is None:
        return []
    out = [Text("")]
    if valid.ok:
        worst = max((case.max_rel for case in valid.cases), default=0.0)
        far = f"worst {worst:.1e} relative" if worst else "exact"
        out.append(line(("validation  ", palette.dim), (f"✓ {len(valid.cases)} cases, {far}", palette.text)))
    else:
        out.append(line(("validation  ", palette.dim), ("✗ wrong", palette.bad)))
        out += prose(valid.reason, width, palette.bad, 2)
    for case in valid.cases:
        if not case.ok:
            sizes = " ".join(f"{k}={v}" for k, v in case.axes.items())
            out += prose(
                f"{case.name} at {sizes}: {case.message or f'off by {case.max_abs:.2e}'}",
                width,
                palette.dim,
                2,
            )
    return out


def _resources(row: Row, width: int, palette: Palette) -> list[Text]:
    out: list[Text] = []
    if row.compile:
        command = fit(f"compile  {row.compile.seconds:.2f} s  {row.compile.command}", width)
        out.append(line((command.rstrip(), palette.dim)))
        for key, value in row.compile.report.items():
            out.append(line((f"  {key.replace('_', ' '):<22}", palette.dim), (f"{value:g}", palette.text)))
    if row.profile and row.profile.counters:
        out.append(line((f"counters  {row.profile.source_of_counters}", palette.dim)))
        for key, value in row.profile.counters.items():
            out.append(line((f"  {key:<34}", palette.dim), (f"{value:g}", palette.text)))
    return out
