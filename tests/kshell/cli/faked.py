"""kshell on the engine's doubles: `faked.py WAIT JOURNAL VERB ...`. WAIT is the seconds a stage takes."""

import sys
from pathlib import Path

from kshell import wiring
from kshell.cli import main
from tests.kshell.engine import fakes

if __name__ == "__main__":
    journal = fakes.Journal(Path(sys.argv[2]))
    wiring.parts = lambda settings: fakes.parts(journal, float(sys.argv[1]))
    sys.exit(main(sys.argv[3:]))
