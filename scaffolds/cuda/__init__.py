"""Candidates as CUDA programs: device text for NVRTC, and the self-contained host program for nvcc."""
