"""`python -m kshell` is `kshell`."""

import sys

from kshell.cli import main

if __name__ == "__main__":
    sys.exit(main())
