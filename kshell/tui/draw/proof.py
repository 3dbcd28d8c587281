"""The proof pane: obligations as they close, the statement, why a proof is stuck, the certificate."""

from rich.text import Text

from insights_db.records import Certificate, Obligation, ProofStatus
from kshell.tui.draw.population import proof_cell
from kshell.tui.draw.text import bar, fit, line, prose
from kshell.tui.palette import Palette
from kshell.tui.row import Row


def proof_lines(row: Row | None, elapsed: float, width: int, palette: Palette) -> list[Text]:
    """The pane's lines. `elapsed` is the session's, in seconds of work."""
    if row is None:
        return [line(("No kernel selected.", palette.dim))]
    out = [_title(row, elapsed, palette)]
    if row.obligations_total:
        filled, rest = bar(row.obligations_closed / row.obligations_total, max(4, width - 2))
        out.append(line((filled, palette.good), (rest, palette.faint)))
    if row.counterexample:
        out += _counterexample(row, width, palette)
    for obligation in row.obligations.values():
        out += _obligation(obligation, width, palette)
    missing = row.obligations_total - len(row.obligations)
    if row.proof is ProofStatus.RUNNING and missing > 0:
        out.append(line((f"◌ {missing} more to decide", palette.dim)))
    record = row.proof_record
    if record and record.reason:
        out += [Text(""), line(("Why not", palette.title)), *prose(record.reason, width, palette.warn, 2)]
    if record and record.statement:
        out += [Text(""), line(("Theorem", palette.title)), *prose(record.statement, width, palette.text, 2)]
    if row.attacks:
        out += [Text(""), line(("Attacks", palette.title))]
        for name, said in row.attacks.items():
            out += prose(f"{name}: {said}", width, palette.bad if said == "refuted" else palette.dim, 2)
    if row.certificate:
        out += _certificate(row.certificate, row.export, width, palette)
    elif record and record.file:
        out += [Text(""), line(("Lean file  ", palette.dim), (record.file, palette.text))]
    if row.proof is ProofStatus.NONE and not row.counterexample:
        out += [
            Text(""),
            *prose(
                "Only a proven kernel is promoted and exported. Press v to prove this one.",
                width,
                palette.dim,
            ),
        ]
    return out


def _title(row: Row, elapsed: float, palette: Palette) -> Text:
    state, style = proof_cell(row, palette)
    state = "no proof yet" if row.proof is ProofStatus.NONE else state
    parts = [(f"{row.label}  ", palette.title), (state, style)]
    if row.proof_record:
        parts.append((f"  in {row.proof_record.seconds:.1f} s", palette.dim))
    elif row.proof is ProofStatus.RUNNING:
        parts.append((f"  {max(0.0, elapsed - row.proof_started):.0f} s", palette.dim))
    if row.checker:
        parts.append((f"  {row.checker}", palette.dim))
    return line(*parts)


def _obligation(obligation: Obligation, width: int, palette: Palette) -> list[Text]:
    sign, style = {
        ProofStatus.PROVEN: ("✓", palette.good),
        ProofStatus.RUNNING: ("◐", palette.note),
        ProofStatus.REFUTED: ("✗", palette.bad),
    }.get(obligation.status, ("?", palette.warn))
    place = f"line {obligation.line}" if obligation.line else ""
    tail = f"{place:>9} {obligation.seconds:6.1f} s"
    room = max(8, width - len(tail) - 3)
    rows = prose(obligation.title, room, palette.text)
    out = [line((f"{sign} ", style), (fit(rows[0].plain, room), palette.text), (tail, palette.dim))]
    out += [line("  ") + more for more in rows[1:]]
    if obligation.message and obligation.status is not ProofStatus.PROVEN:
        out += prose(obligation.message, width, palette.warn, 4)
    return out


def _counterexample(row: Row, width: int, palette: Palette) -> list[Text]:
    found = row.counterexample
    assert found is not None
    out = [Text(""), line((f"✗ {found.fault}", palette.bad)), *prose(found.message, width, palette.text, 2)]
    if found.axes:
        out += prose("at " + " ".join(f"{k}={v}" for k, v in found.axes.items()), width, palette.dim, 2)
    if found.inputs:
        out += prose(f"inputs {found.inputs}", width, palette.dim, 2)
    if found.expected is not None and found.got is not None:
        where = f"{found.output}[{found.index}] " if found.output else ""
        out += prose(f"{where}is {found.got:.7g}, should be {found.expected:.7g}", width, palette.text, 2)
    for point in found.points:
        thread = f" thread {point.thread} block {point.block}" if point.thread else ""
        out += prose(f"line {point.line}{thread}: {point.text.strip()}", width, palette.dim, 2)
    return [*out, Text("")]


def _certificate(certificate: Certificate, export: str, width: int, palette: Palette) -> list[Text]:
    out = [Text(""), line(("Certificate", palette.title))]
    out += prose(
        f"theorem {certificate.theorem}, {certificate.obligations} obligations", width, palette.text, 2
    )
    out += prose(f"checked by {certificate.checker}, {certificate.toolchain}", width, palette.dim, 2)
    out += prose("axioms " + (", ".join(certificate.axioms) or "none"), width, palette.dim, 2)
    for part in certificate.assumptions:
        out += prose(f"{part.kind}: {part.part} ({part.why})", width, palette.dim, 2)
    if export:
        out += [line(("  exported to ", palette.dim), (export, palette.good))]
    return out
