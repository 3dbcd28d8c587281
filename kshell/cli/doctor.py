"""`kshell doctor`: check this machine."""

import argparse
import json

HELP = """Check this machine and say what to do for each part.

Exit code 0: everything that is needed is there; 2: something needed is missing."""


def configure(parser: argparse.ArgumentParser) -> None:
    pass


def run(args: argparse.Namespace) -> int:
    from kshell.doctor import examine

    findings = examine()
    good = all(finding.ok for finding in findings if finding.needed)
    if args.json:
        print(json.dumps({"ok": good, "parts": [finding.as_json() for finding in findings]}))
        return 0 if good else 2
    for finding in findings:
        mark = "ok" if finding.ok else "MISSING" if finding.needed else "without"
        print(f"{mark:<8} {finding.part:<14} {finding.found}")
        if not finding.ok:
            print(f"{'':<23} -> {finding.advice}")
    print("ready" if good else "not ready: see the lines marked MISSING")
    return 0 if good else 2
