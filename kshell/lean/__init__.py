"""The Lean checker: which one there is, how it is installed, run, and how the package is built for it."""
