"""Symbolic execution of the core IR: proposes what a proof needs (register values, loop invariants,
owner maps). Nothing here is trusted; Lean decides."""
