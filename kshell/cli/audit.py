"""`kshell audit CERTIFICATE`: check a certificate again from nothing."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from insights_db.records import Obligation

HELP = (
    "Check a certificate again from nothing: parse its source, emit the theorem, compare the statement and "
    "every definition, run Lean, walk the axioms. Exit code 0: it holds; 1: it does not, with the reason."
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("certificate", metavar="CERTIFICATE", help="certificate.json of an export")
    parser.add_argument(
        "--task", metavar="T", help="a task name or a manifest file (default: the name in the certificate)"
    )


def run(args: argparse.Namespace) -> int:
    import asyncio

    from kshell import wiring
    from kshell.lean import toolchain
    from kshell.lean.runner import LeanRunner
    from kshell.prover.audit import audit, read_certificate, without_lean

    certificate = read_certificate(Path(args.certificate))
    task = wiring.task(args.task or certificate.task)
    findings = without_lean(certificate, task)
    if all(finding.ok for finding in findings):
        runner = LeanRunner(toolchain.find())

        def closed(obligation: "Obligation", total: int) -> None:
            if not args.json:
                text = f"{obligation.name} of {total}: {obligation.title}: {obligation.status.value}"
                print(text, file=sys.stderr, flush=True)

        result = asyncio.run(audit(certificate, task, runner, closed))
        findings, checker, reason = list(result.findings), result.checker, result.reason
    else:
        checker = ""
        reason = next(f"{one.name}: {one.detail}" for one in findings if not one.ok)
    if args.json:
        rows = [{"name": one.name, "ok": one.ok, "detail": one.detail} for one in findings]
        print(json.dumps({"ok": not reason, "reason": reason, "checker": checker, "findings": rows}))
    else:
        for one in findings:
            print(f"{'ok  ' if one.ok else 'FAIL'} {one.name}{': ' + one.detail if one.detail else ''}")
        axes = " ".join(f"{name}={value}" for name, value in certificate.axes.items())
        print(
            f"the certificate does not hold: {reason}"
            if reason
            else f"holds: {certificate.task} {axes}, by {checker}"
        )
    return 1 if reason else 0
