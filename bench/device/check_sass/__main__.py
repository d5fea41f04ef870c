"""Count the instructions per element of the entropy kernels, and what a thread and a block of them take.

Of the kernels that count pairs by partition, the instructions per position and what a thread and a block take.

usage: PYTHONPATH=bench python -m device.check_sass LIBRARY

LIBRARY is the built ``_cuda`` module (or any object that ``cuobjdump`` reads). The disassemblers come with the CUDA
toolkit, or from PyPI: ``nvidia-cuda-cuobjdump`` and ``nvidia-cuda-nvdisasm``. Exit code 1: a loop, or all that a short
row takes, is over its limit of instructions; a loop has fewer than four loads in flight; a kernel touches local memory
(registers that are spilled), or takes so many registers or so much shared memory that a multiprocessor holds fewer
threads than docs/gpu.md says. 2: nothing could be counted.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from device.check_sass.entropy import Loop, entropy_loops
from device.check_sass.listing import demangled, disassemble
from device.check_sass.pairs import PairKernel, PairLoop, pair_kernels, pair_loops


def main() -> int:
    """Print one line per kernel and architecture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path)
    arguments = parser.parse_args()
    try:
        listings, resources = disassemble(arguments.library)
        loops = [loop for listing in listings for loop in entropy_loops(listing)]
        tiles = [loop for listing in listings for loop in pair_loops(listing, demangled)]
        kernels = pair_kernels(demangled(resources))
    except (FileNotFoundError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    if not loops or not all(loop.elements for loop in loops):
        sys.stderr.write(f"{arguments.library} has no kernel of entropy with 16-byte loads in a loop\n")
        return 2
    sys.stdout.writelines(f"{one}\n" for one in (*loops, *tiles))
    if not kernels or not tiles:
        sys.stderr.write(f"{arguments.library} has no kernel of the partition\n")
        return 2
    sys.stdout.writelines(f"{kernel}\n" for kernel in kernels)
    found: tuple[Loop | PairLoop | PairKernel, ...] = (*loops, *tiles, *kernels)
    return int(any(one.complaint for one in found))


if __name__ == "__main__":
    sys.exit(main())
