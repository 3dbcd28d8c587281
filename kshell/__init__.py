"""kshell: the terminal shell in which GPU kernels evolve until they are fast and proven."""

__version__ = "0.1.0"
