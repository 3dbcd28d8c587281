"""Proving candidates, certificates, audits."""
