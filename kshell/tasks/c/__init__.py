"""Tasks from C: a loop nest is executed symbolically and said again as a PyTorch reference."""

from kshell.tasks.c.task import Reading, read

__all__ = ["Reading", "read"]
