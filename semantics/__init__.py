"""The CUDA C subset, its meaning, the tensor spec language, and emission to Lean."""
