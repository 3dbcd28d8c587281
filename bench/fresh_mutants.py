"""How much do the falsifier and the validator miss, when nobody chose the kernels?

    python bench/fresh_mutants.py --out FILE [--seed 11] [--part K/N]

Two mutants of each family of each task, by different rules, drawn at random and kept whatever becomes of
them, are judged by the falsifier (the interpreter, against the exact specification) and by the validator of
device cpu (the compiled kernel on hidden inputs, against the reference in float64), neither knowing of the
other. What only one of them refuses is what the other missed. A mutant that both accept may be right."""

import argparse
import asyncio
import json
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from agents.falsifier import oracle_of_specs
from kshell import tasks
from kshell.bench import mutants, verifier
from kshell.harness.cpu import CpuEvaluator
from kshell.tasks import reference


async def judged(seed: int, first: int, step: int, cache: Path) -> list[dict[str, Any]]:
    """Every mutant with what was said of it."""
    oracle = oracle_of_specs(tasks.spec_of, reference.compute)
    device = CpuEvaluator(reference.compute, cache, spec=tasks.spec_of)
    found = []
    for place, original in list(enumerate(mutants.originals([], 100)))[first - 1 :: step]:
        drawn = mutants.sample(original.source, 5, seed)  # one a rule, where the rule applies
        for mutant in (drawn[place % len(drawn)], drawn[(place + 2) % len(drawn)]):
            name = f"{original.task.name} {original.variant} line {mutant.line}: {mutant.label}"
            kernel = verifier.Labelled(name, mutant.source, original.task, original.workload, False)
            said = await asyncio.to_thread(verifier.by_language_and_falsifier, kernel, oracle, 4.0)
            if "language" not in said:
                said |= await verifier.by_validator(kernel, device)
            found.append({"name": name, "said": {k: v[:160] for k, v in said.items()}})
            print(name, "|", *said.items(), flush=True)
    return found


def summary(results: list[dict[str, Any]]) -> dict[str, int]:
    """Counts of who refused."""
    asked = [set(r["said"]) for r in results if "language" not in r["said"]]
    return {
        "mutants": len(results),
        "outside_the_language": len(results) - len(asked),
        "both": sum({"falsifier", "validator"} <= s for s in asked),
        "falsifier_only": sum("falsifier" in s and "validator" not in s for s in asked),
        "validator_only": sum("validator" in s and "falsifier" not in s for s in asked),
        "neither": sum(not s & {"falsifier", "validator"} for s in asked),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--part", default="1/1", help="K/N: every N-th family, from the K-th")
    options = parser.parse_args()
    first, _, step = options.part.partition("/")
    with tempfile.TemporaryDirectory(prefix="kshell-mutants-") as cache:
        results = asyncio.run(judged(options.seed, int(first), int(step), Path(cache)))
    record = {
        "device": "cpu",
        "seed": options.seed,
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "summary": summary(results),
        "results": results,
    }
    options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(record["summary"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
