"""What the machine code of the kernels is held to."""
