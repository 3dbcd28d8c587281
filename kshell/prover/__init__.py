"""Proving candidates, certificates, audits."""

from kshell.prover.prover import LeanProver

__all__ = ["LeanProver"]
