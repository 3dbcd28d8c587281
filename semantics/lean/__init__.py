"""Emission to Lean: core programs and specs as terms, and the obligations of a proof as theorems."""
