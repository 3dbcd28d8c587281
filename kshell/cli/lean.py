"""`kshell lean install|status|build`: the checker of proofs on this machine."""

import argparse
import asyncio
import json
import sys

HELP = """Install the embedded Lean, say which Lean is used, or build the Lean package.

A Lean of the series in lean/lean-toolchain on PATH (or named by KSHELL_LEAN) is used first. Without
one, `install` fetches the embedded build and verifies it. Both `install` and `build` compile the
package, which is kept by the hash of its sources. `status` also says what checker processes are kept
from on this machine: the network, other programs, files outside their own folder."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("install", "status", "build"), help="what to do")
    parser.add_argument(
        "--embedded", action="store_true", help="install the embedded Lean although there is another"
    )
    parser.add_argument("--no-build", action="store_true", help="install only; do not compile the package")


def run(args: argparse.Namespace) -> int:
    if args.action == "status":
        return _status(args.json)
    from kshell.lean import install, toolchain

    found = toolchain.native()
    if args.action == "install" and (found is None or args.embedded):
        found = install.install(_say)
    found = found or toolchain.find()
    tree = "" if args.no_build else str(asyncio.run(_build(found)))
    if args.json:
        print(json.dumps({"toolchain": found.id, "program": str(found.program), "package": tree}))
    else:
        print(f"{found.id}: ready" + (", package built" if tree else ""))
    return 0


def _status(as_json: bool) -> int:
    from kshell.lean import confine, package, toolchain

    found = toolchain.native() or toolchain.embedded()
    state = {
        "toolchain": found.id if found else None,
        "program": str(found.program) if found else None,
        "store": str(toolchain.store()),
        "package": str(toolchain.package_root()),
        "package_hash": package.package_hash(),
        "wanted": toolchain.wanted_series(),
        "confined": ", ".join(confine.enforced()) or None,
    }
    if as_json:
        print(json.dumps(state))
    else:
        print(f"toolchain  {state['toolchain'] or 'none: run `kshell lean install`'}")
        for name in ("program", "store", "package", "package_hash", "confined"):
            print(f"{name:<13}{state[name] or '-'}")
    return 0 if found else 1


async def _build(found: "object") -> "object":
    from kshell.lean import package, toolchain
    from kshell.lean.runner import LeanRunner

    assert isinstance(found, toolchain.Toolchain)

    def progress(done: int, total: int, module: str) -> None:
        _say(f"compiling the Lean package {done}/{total} {module}".rstrip())

    return await package.build(LeanRunner(found), progress)


def _say(text: str) -> None:
    print(f"[lean] {text}", file=sys.stderr, flush=True)
