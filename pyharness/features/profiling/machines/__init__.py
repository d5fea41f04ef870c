"""Machines for profiles: a processor or a CUDA device."""
