"""References of the Level-1 tasks: one KernelBench-style PyTorch file each."""
