"""Count the instructions per element of the entropy kernels' inner loops, and what a thread and a block of them take.

Of the kernels that count pairs by partition, what a thread and a block take.

usage: PYTHONPATH=bench python -m device.check_sass LIBRARY

LIBRARY is the built ``_cuda`` module (or any object that ``cuobjdump`` reads). The disassemblers come with the CUDA
toolkit, or from PyPI: ``nvidia-cuda-cuobjdump`` and ``nvidia-cuda-nvdisasm``. Exit code 1: a loop is over its limit of
instructions or has fewer than four loads in flight, or a kernel touches local memory (registers that are spilled), or
takes so many registers or so much shared memory that a multiprocessor holds fewer threads than docs/gpu.md says; 2:
nothing could be counted.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from device.pair_kernels import pair_kernels

BYTES_PER_LOAD = 16
ELEMENT_BYTES = {"__nv_bfloat16": 2, "__half": 2, "float": 4}
LOADS_IN_FLIGHT = 4
# Instructions per element by its bytes and the outputs; at the copy rate of an H200 there is room for about 15 per
# element of 2 bytes, and 30 per one of 4: docs/gpu.md.
LIMITS = {(2, "entropy"): 9.0, (2, "all"): 10.0, (4, "entropy"): 9.0, (4, "all"): 11.0}
BLOCK = 256  # threads
REGISTERS, SHARED_BYTES = 65_536, 100 * 1024  # of a multiprocessor; of shared memory the least since sm_80
# Threads that a multiprocessor holds at once, by kernel and outputs. On other architectures the compiler pairs
# registers, and long rows get 1,280.
THREADS = {
    ("entropy_rows", "entropy"): 2048,
    ("entropy_rows", "all"): 1536,
    ("entropy_short_rows", "entropy"): 1280,
    ("entropy_short_rows", "all"): 1024,
}
MOST_THREADS = {"sm_80": 2048, "sm_90": 2048}
KERNEL = re.compile(r"(?P<name>entropy_(?:short_)?rows)<(?P<type>\w+), \(?(?:bool\))?(?P<top>true|false|1|0)>")
RESOURCES = re.compile(r"^ *Function (\S+):\s+REG:(\d+) STACK:\d+ SHARED:(\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One line of ``cuobjdump -sass``."""

    address: int
    text: str

    @property
    def branch_target(self) -> int | None:
        """Address that a branch goes to."""
        match = re.search(r"\bBRA\b.*?(0x[0-9a-f]+)", self.text)
        return int(match[1], 16) if match else None


@dataclass(frozen=True, slots=True)
class Loop:
    """The loop of a kernel that loads most: instructions from its first to its branch back."""

    architecture: str
    kernel: str  # entropy_rows or entropy_short_rows
    element: str
    outputs: str  # "entropy" or "all"
    instructions: int
    elements: int
    bytes: int  # of an element
    in_flight: int  # 16-byte loads under way at once
    local: int  # instructions that touch local memory, in the whole kernel
    registers: int | None  # of a thread; None where the listing has no resources
    shared: int  # bytes of a block

    @property
    def per_element(self) -> float:
        """Instructions per element."""
        return self.instructions / self.elements

    @property
    def threads(self) -> int | None:
        """Threads that a multiprocessor holds at once."""
        if self.registers is None:
            return None
        allocated = -(-self.registers // 8) * 8  # registers are handed out in eights
        return min(REGISTERS // allocated // BLOCK, SHARED_BYTES // max(1, self.shared)) * BLOCK

    @property
    def needed_threads(self) -> int:
        """The fewest threads that will do."""
        return min(THREADS[self.kernel, self.outputs], MOST_THREADS.get(self.architecture, 1280))


def functions(sass: str) -> Iterator[tuple[str, str, list[Instruction]]]:
    """Split a disassembly into (architecture, mangled name, instructions)."""
    architecture = ""
    for section in re.split(r"^\s*Function : ", sass, flags=re.MULTILINE):
        name, _, text = section.partition("\n")
        if architecture:
            lines = re.findall(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?);", text, flags=re.MULTILINE)
            yield architecture, name.strip(), [Instruction(int(address, 16), line) for address, line in lines]
        if architectures := re.findall(r"code for (sm_\w+)", section):  # of the functions that follow
            architecture = architectures[-1]


def inner_loop(body: list[Instruction]) -> list[Instruction]:
    """Return the instructions of the shortest backward branch over four streamed loads, else over most of them."""
    best: list[Instruction] = []
    for branch in body:
        target = branch.branch_target
        if target is None or target >= branch.address:
            continue
        loop = [one for one in body if target <= one.address <= branch.address]
        counts = [min(loads(one), LOADS_IN_FLIGHT) for one in (loop, best)]
        if counts[0] and (counts[0], -len(loop)) > (counts[1], -len(best)):
            best = loop
    return best


def loads(instructions: list[Instruction]) -> int:
    """Count global loads of 16 bytes that leave the cache first (``__ldcs``): the others are of states."""
    return sum(bool(re.search(r"\bLDG\.\S*EF\.\S*128", one.text)) for one in instructions)


def loads_in_flight(loop: list[Instruction]) -> int:
    """Count the loads before the first exponential, which needs what they load."""
    first = next((index for index, one in enumerate(loop) if "MUFU.EX2" in one.text), len(loop))
    return loads(loop[:first])


def entropy_loops(sass: str) -> list[Loop]:
    """Find the inner loop of every kernel that reads rows, in a disassembly and its list of resources."""
    loops = []
    resources = {name: (int(registers), int(shared)) for name, registers, shared in RESOURCES.findall(sass)}
    for architecture, mangled, body in functions(sass):
        match = KERNEL.search(demangled(mangled))
        if not match:
            continue
        loop = inner_loop(body)
        registers, shared = resources.get(mangled, (None, 0))
        loops.append(
            Loop(
                architecture=architecture,
                kernel=match["name"],
                element=match["type"].removeprefix("__nv_").removeprefix("__"),
                outputs="all" if match["top"] in ("true", "1") else "entropy",
                instructions=len(loop),
                elements=loads(loop) * BYTES_PER_LOAD // ELEMENT_BYTES[match["type"]],
                bytes=ELEMENT_BYTES[match["type"]],
                in_flight=loads_in_flight(loop),
                local=sum(bool(re.search(r"\b(LDL|STL)\b", one.text)) for one in body),
                registers=registers,
                shared=shared,
            )
        )
    return loops


def demangled(text: str) -> str:
    """Return a text with the C++ names; cuobjdump prints mangled ones."""
    return subprocess.run(["c++filt"], input=text, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S607


def disassembler() -> str:
    """Find cuobjdump, on the PATH or in the wheel of that name, with the nvdisasm that it runs beside it."""
    wheels = (str(folder) for entry in sys.path for folder in Path(entry).glob("nvidia/*/bin"))
    for folder in (None, *wheels):
        program = shutil.which("cuobjdump", path=folder)
        if program and shutil.which("nvdisasm", path=folder):
            return program
    raise FileNotFoundError("no cuobjdump with nvdisasm: pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm")


def disassemble(library: Path) -> tuple[list[str], str]:
    """Return the machine code of the entropy kernels and what they take, by architecture; and what all kernels take."""
    tool = Path(disassembler())
    path = os.pathsep.join((str(tool.parent), os.environ.get("PATH", "")))
    with TemporaryDirectory() as folder:

        def run(*arguments: str) -> str:
            done = subprocess.run(
                [str(tool), *arguments],
                capture_output=True,
                text=True,
                check=False,
                cwd=folder,
                env={**os.environ, "PATH": path},
            )
            if done.returncode:
                raise ValueError(f"cuobjdump cannot read {library}: {done.stderr.strip()}")
            return done.stdout

        # Alone, where the build has kept the source's name: a whole library takes 12 s, most of them for CUB's kernels.
        run("-xelf", "entropy.", str(library.resolve()))
        cubins = sorted(Path(folder).glob("*.cubin"))
        listings = [run("-sass", str(path)) + run("-res-usage", str(path)) for path in cubins or [library.resolve()]]
        return listings, run("-res-usage", str(library.resolve()))


def complaint(loop: Loop) -> str | None:
    """Name the fault of a loop or its kernel; None without one."""
    if loop.local:
        return "uses local memory"
    if loop.in_flight < LOADS_IN_FLIGHT:
        return f"has fewer than {LOADS_IN_FLIGHT} loads in flight"
    if loop.per_element > (most := LIMITS[loop.bytes, loop.outputs]):
        return f"is over {most:g}"
    if loop.threads is not None and loop.threads < loop.needed_threads:
        return f"leaves room for fewer than {loop.needed_threads} threads"
    return None


def main() -> int:
    """Print one line per kernel and architecture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path)
    arguments = parser.parse_args()
    try:
        listings, resources = disassemble(arguments.library)
        loops = [loop for listing in listings for loop in entropy_loops(listing)]
        kernels = pair_kernels(demangled(resources))
    except (FileNotFoundError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    if not loops or not all(loop.elements for loop in loops):
        sys.stderr.write(f"{arguments.library} has no kernel of entropy with 16-byte loads in a loop\n")
        return 2
    for loop in loops:
        sys.stdout.write(
            f"{loop.architecture:8} {loop.kernel:18} {loop.element:9} {loop.outputs:8} {loop.instructions:4} "
            f"instructions for {loop.elements:3} elements: {loop.per_element:5.2f} each, {loop.in_flight} loads in "
            f"flight, {loop.registers} registers, {loop.threads} threads: {complaint(loop) or 'ok'}\n"
        )
    if not kernels:
        sys.stderr.write(f"{arguments.library} has no kernel of the partition\n")
        return 2
    sys.stdout.writelines(f"{kernel}\n" for kernel in kernels)
    return int(any(complaint(loop) for loop in loops) or any(kernel.complaint for kernel in kernels))


if __name__ == "__main__":
    sys.exit(main())
