"""Agents behind a language model: client, ledger, prompts, roles."""
