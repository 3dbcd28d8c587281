"""CUDA program scaffolds, the CPU shim, and the parametrised kernel families of the built-in generator."""
