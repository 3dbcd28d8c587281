"""Benches: `kshell bench NAME` runs `kshell/bench/NAME.py` (`HELP`, `configure`, `run`)."""
