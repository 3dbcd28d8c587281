"""kshell with the generator of a model on the engine's doubles: `modelled.py JOURNAL VERB ...`. The model is
what KSHELL_API_BASE serves."""

import sys
from pathlib import Path

from kshell import wiring
from kshell.cli import main
from tests.kshell.engine import fakes

if __name__ == "__main__":
    journal = fakes.Journal(Path(sys.argv[1]))
    wiring.evaluator = lambda settings: fakes.FakeEvaluator(journal)
    wiring.verifiers = lambda device=None: (fakes.FakeVerifier(journal),)
    wiring.unfit = lambda task, sizes: None
    wiring.prover = lambda: fakes.FakeProver(journal)
    sys.exit(main(sys.argv[2:]))
