"""Writes what the GPU campaign measured into the README and the docs.

    python bench/report.py [--check]

Reads bench/results/{campaign_h200,campaign_proofs,searchers}.json; writes docs/gpu.md, docs/gpu_search.svg
and the part of README.md between its markers. --check writes nothing and fails where a file differs."""

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
BEGIN, END = "<!-- gpu: written by bench/report.py -->\n", "<!-- gpu: end -->\n"
CONTENDERS = ("eager", "compile", "vendor")
NAMES = {"default": "published", "large": "large"}


def read(name: str) -> Any:
    """A results file."""
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def milliseconds(ms: float) -> str:
    """Microseconds below a millisecond, three digits."""
    return f"{ms:.3g} ms" if ms >= 1 else f"{1e3 * ms:.3g} µs"


def fastest(result: dict[str, Any]) -> dict[str, Any]:
    """The kernel that was compared with the baselines."""
    found: dict[str, Any] = next(k for k in result["kept"] if k["id"] == result["compared"]["candidate"])
    return found


def proof(result: dict[str, Any], kernel: dict[str, Any], proofs: dict[str, Any]) -> str:
    """`proven`, `unproven` or `not tried`."""
    said = proofs.get(f"{result['task']}/{result['sizes']}/{kernel['id']}")
    return str(said["status"]) if said else "not tried"


def quickest_proven(result: dict[str, Any], proofs: dict[str, Any]) -> dict[str, Any] | None:
    """The fastest kept kernel whose proof closed."""
    kept = sorted((k for k in result["kept"] if k["agrees"]), key=lambda k: float(k["ms"]))
    return next((k for k in kept if proof(result, k, proofs) == "proven"), None)


def table(campaign: dict[str, Any], proofs: dict[str, Any]) -> str:
    """A row a task and size."""
    lines = [
        "| task | size | median (spread) | of ceiling | eager | compile | vendor | search | proof |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for result in campaign["results"]:
        if not result["compared"]:
            continue
        contenders = result["compared"]["contenders"]
        own = contenders["candidate"]
        ratios = [
            f"{contenders[n]['median_ms'] / own['median_ms']:.2f}x" if n in contenders else ""
            for n in CONTENDERS
        ]
        cells = [
            result["task"],
            NAMES[result["sizes"]],
            f"{milliseconds(own['median_ms'])} ({milliseconds(own['iqr_ms'])})",
            f"{100 * result['compared']['profile']['roofline']:.0f} %",
            *ratios,
            f"{result['evaluations']} in {result['search_seconds']:.0f} s",
            proof(result, fastest(result), proofs),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def proven_table(campaign: dict[str, Any], proofs: dict[str, Any]) -> str:
    """The fastest kernel and the fastest proven one, side by side."""
    lines = ["| task | size | fastest | fastest proven |", "|---|---|---|---|"]
    for result in campaign["results"]:
        if not result["compared"]:
            continue
        best, proven = fastest(result), quickest_proven(result, proofs)
        tried = [k for k in result["kept"] if proof(result, k, proofs) != "not tried"]
        other = f"none of {len(tried)} tried" if tried else "not tried"
        said = f"{proven['family']}, {milliseconds(proven['ms'])}" if proven else other
        one = f"{best['family']}, {milliseconds(best['ms'])}"
        lines.append(f"| {result['task']} | {NAMES[result['sizes']]} | {one} | {said} |")
    return "\n".join(lines) + "\n"


def notes(campaign: dict[str, Any]) -> str:
    """What is special about a row."""
    found = [
        f"{r['task']}, {NAMES[r['sizes']]} size: {r['note']}.\n" for r in campaign["results"] if r.get("note")
    ]
    return "\n".join([*found, ""]) if found else ""


def sizes(campaign: dict[str, Any]) -> str:
    """The sizes behind the two words."""
    rows: dict[str, dict[str, str]] = {}
    for result in campaign["results"]:
        axes = ", ".join(f"{k}={v}" for k, v in result["axes"].items())
        rows.setdefault(result["task"], {})[result["sizes"]] = axes
    lines = ["| task | published | large |", "|---|---|---|"]
    lines += [f"| {t} | {r.get('default', '')} | {r.get('large', '')} |" for t, r in rows.items()]
    return "\n".join(lines) + "\n"


def middle(counts: list[int | None], budget: int) -> float:
    """Median evaluations; a search that did not arrive counts as the budget."""
    return statistics.median(budget if c is None else c for c in counts)


def search_table(searchers: dict[str, Any]) -> str:
    """Median evaluations and misses of every searcher on every space."""
    results = searchers["results"]
    names = list(results[0]["evaluations"])
    head = [f"{r['task']} ({r['near']} of {r['points']} are near)" for r in results]
    lines = ["| search | " + " | ".join(head) + " |", "|---" * (len(head) + 1) + "|"]
    for name in names:
        cells = []
        for r in results:
            counts = r["evaluations"].get(name, [])
            missed = sum(c is None for c in counts)
            text = f"{middle(counts, r['budget']):g}" if counts else ""
            cells.append(text + (f" ({missed} of {len(counts)} missed)" if missed else ""))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def search_plot(searchers: dict[str, Any]) -> str:
    """Bars of the median evaluations, one group a space."""
    results = searchers["results"]
    names = list(results[0]["evaluations"])
    longest = max(middle(c, r["budget"]) for r in results for c in r["evaluations"].values())
    parts, y = [], 10
    for r in results:
        parts.append(f'<text x="10" y="{y + 14}" font-weight="bold">{r["task"]}, {r["points"]} points</text>')
        y += 22
        for name in names:
            if name not in r["evaluations"]:
                continue
            value = middle(r["evaluations"][name], r["budget"])
            width = 430 * value / longest
            fill = "#2a7f62" if name == "built-in" else "#9aa5b1"
            parts.append(f'<text x="10" y="{y + 13}">{name}</text>')
            parts.append(f'<rect x="170" y="{y + 2}" width="{width:.1f}" height="14" fill="{fill}"/>')
            parts.append(f'<text x="{176 + width:.1f}" y="{y + 13}">{value:g}</text>')
            y += 20
        y += 12
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="660" height="{y}" viewBox="0 0 660 {y}" '
        f'font-family="sans-serif" font-size="12">\n<rect width="660" height="{y}" fill="white"/>\n'
        f"{body}\n</svg>\n"
    )


def page(campaign: dict[str, Any], proofs: dict[str, Any], searchers: dict[str, Any]) -> str:
    """docs/gpu.md."""
    ceilings = campaign["ceilings"]
    return f"""# The Level-1 suite on a Hopper GPU

Written by `python bench/report.py` from `bench/results/`; measured {campaign["measured_at"][:10]} on one
{campaign["device"]["name"]} with `bench/campaign_gpu.py`, all of a row in the same run.

Measured ceilings: {ceilings["copy_bytes_per_s"] / 1e12:.2f} TB/s for a copy (read plus written),
{ceilings["fp32_flop_per_s"] / 1e12:.1f} TFLOP/s in fp32. Reading alone is faster than a copy, so a kernel
that writes next to nothing can pass 100 %. "compile" is torch.compile (max-autotune without CUDA graphs),
"vendor" the library's own function; a ratio above 1 means that kshell's kernel is the faster. TF32 is off.
Every sample starts with a cold second-level cache; the spread is the interquartile range. At the published
sizes most tasks take hardly longer than an empty launch.

{table(campaign, proofs)}
The search is the built-in generator's, with no model: proposals are timed alone, the fastest are checked
against the reference in float64 on the device at the same size, and the first that agrees is timed again,
interleaved with the baselines.

{notes(campaign)}{sizes(campaign)}
## Fastest and proven

`bench/prove_kept.py` tries the automatic proof of the kernels that a search kept, the fastest first. "Not
tried" is not "unprovable".

{proven_table(campaign, proofs)}
## How good is the search

Whole spaces were timed on the device, every schedule of every family at the published size, and the
searches replayed over them (`bench/searchers.py`). Counted are the distinct evaluations until one within 5 %
of the best of the space; the number is the median over seeds, and a search that does not arrive counts as
its budget of {searchers["results"][0]["budget"]}. The other searches are strategies of kernel_tuner in its
simulation mode, with their default settings; it is not a dependency of kshell. With few seeds (5; 100 for
random sampling) small differences mean nothing.

{search_table(searchers)}
![Evaluations to within 5 % of the best](gpu_search.svg)
"""


def part(campaign: dict[str, Any], proofs: dict[str, Any]) -> str:
    """What stands in the README."""
    return f"""Measured {campaign["measured_at"][:10]} on one {campaign["device"]["name"]}: the fastest kernel
that the built-in search found, its share of the measured ceiling, and how many times faster it is than torch
eager, torch.compile (max-autotune) and the vendor library in the same run. How it was measured, and more:
[docs/gpu.md](docs/gpu.md).

{table(campaign, proofs)}"""


def files() -> dict[Path, str]:
    """Every file to its text."""
    campaign, proofs = read("campaign_h200.json"), read("campaign_proofs.json")
    searchers = read("searchers.json")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    before, rest = readme.split(BEGIN)
    _, after = rest.split(END)
    return {
        ROOT / "docs" / "gpu.md": page(campaign, proofs, searchers),
        ROOT / "docs" / "gpu_search.svg": search_plot(searchers),
        ROOT / "README.md": before + BEGIN + part(campaign, proofs) + END + after,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail where a file differs")
    options = parser.parse_args()
    stale = [p for p, text in files().items() if not p.exists() or p.read_text(encoding="utf-8") != text]
    if options.check:
        for path in stale:
            print(f"{path.name} is not what the results say; run python bench/report.py")
        return 1 if stale else 0
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
