"""Count the instructions per element of the entropy kernel's inner loop, from the disassembly of a build.

usage: python bench/device/check_sass.py LIBRARY [--limit 11]

LIBRARY is the built ``_cuda`` module (or any object that ``cuobjdump`` reads). The disassemblers come with the CUDA
toolkit, or from PyPI: ``nvidia-cuda-cuobjdump`` and ``nvidia-cuda-nvdisasm``. Exit code 1: a loop is over the limit,
has fewer than four loads in flight, or its kernel touches local memory; 2: nothing could be counted.
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

BYTES_PER_LOAD = 16
ELEMENT_BYTES = {"__nv_bfloat16": 2, "__half": 2, "float": 4}
LOADS_IN_FLIGHT = 4
LIMIT_BF16 = 11.0  # a bf16 element has room for about 15 at the copy rate of an H200: docs/gpu.md
KERNEL = re.compile(r"entropy_rows<(?P<type>\w+), \(?(?:bool\))?(?P<top>true|false|1|0)>")


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
    kernel: str
    element: str
    outputs: str  # "entropy" or "all"
    instructions: int
    elements: int
    in_flight: int  # 16-byte loads under way at once
    local: int  # instructions that touch local memory, in the whole kernel

    @property
    def per_element(self) -> float:
        """Instructions per element."""
        return self.instructions / self.elements


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
    """Return the instructions of the backward branch that spans most 16-byte loads, the shortest of equals."""
    best: list[Instruction] = []
    for branch in body:
        target = branch.branch_target
        if target is None or target >= branch.address:
            continue
        loop = [one for one in body if target <= one.address <= branch.address]
        if (loads(loop), -len(loop)) > (loads(best), -len(best)) and loads(loop):
            best = loop
    return best


def loads(instructions: list[Instruction]) -> int:
    """Count global loads of 16 bytes."""
    return sum(bool(re.search(r"\bLDG\.\S*128", one.text)) for one in instructions)


def loads_in_flight(loop: list[Instruction]) -> int:
    """Count the loads before the first exponential, which needs what they load."""
    first = next((index for index, one in enumerate(loop) if "MUFU.EX2" in one.text), len(loop))
    return loads(loop[:first])


def entropy_loops(sass: str) -> list[Loop]:
    """Find the inner loop of every ``entropy_rows`` kernel in a disassembly."""
    loops = []
    for architecture, mangled, body in functions(sass):
        match = KERNEL.search(demangled(mangled))
        if not match:
            continue
        loop = inner_loop(body)
        loops.append(
            Loop(
                architecture=architecture,
                kernel=mangled,
                element=match["type"].removeprefix("__nv_").removeprefix("__"),
                outputs="all" if match["top"] in ("true", "1") else "entropy",
                instructions=len(loop),
                elements=loads(loop) * BYTES_PER_LOAD // ELEMENT_BYTES[match["type"]],
                in_flight=loads_in_flight(loop),
                local=sum(bool(re.search(r"\b(LDL|STL)\b", one.text)) for one in body),
            )
        )
    return loops


def demangled(name: str) -> str:
    """Return the C++ name; cuobjdump prints mangled ones."""
    return subprocess.run(["c++filt", name], capture_output=True, text=True, check=True).stdout.strip()  # noqa: S607


def disassembler() -> str:
    """Find cuobjdump, on the PATH or in the wheel of that name, with the nvdisasm that it runs beside it."""
    wheels = (str(folder) for entry in sys.path for folder in Path(entry).glob("nvidia/*/bin"))
    for folder in (None, *wheels):
        program = shutil.which("cuobjdump", path=folder)
        if program and shutil.which("nvdisasm", path=folder):
            return program
    raise FileNotFoundError("no cuobjdump with nvdisasm: pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm")


def disassemble(library: Path) -> str:
    """Return the machine code of the entropy kernels for all architectures in ``library``."""
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
        return "".join(run("-sass", str(path)) for path in cubins or [library.resolve()])


def complaint(loop: Loop, limit: float) -> str | None:
    """Name the fault of a loop; None without one."""
    if loop.local:
        return "uses local memory"
    if loop.in_flight < LOADS_IN_FLIGHT:
        return f"has fewer than {LOADS_IN_FLIGHT} loads in flight"
    if loop.element == "bfloat16" and loop.per_element > limit:
        return f"is over {limit:g}"
    return None


def main() -> int:
    """Print one line per kernel and architecture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path)
    parser.add_argument("--limit", type=float, default=LIMIT_BF16, help="instructions per bf16 element")
    arguments = parser.parse_args()
    try:
        loops = entropy_loops(disassemble(arguments.library))
    except (FileNotFoundError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    if not loops or not all(loop.elements for loop in loops):
        sys.stderr.write(f"{arguments.library} has no entropy_rows kernel with 16-byte loads in a loop\n")
        return 2
    for loop in loops:
        sys.stdout.write(
            f"{loop.architecture:8} {loop.element:9} {loop.outputs:8} {loop.instructions:4} instructions for "
            f"{loop.elements:3} elements: {loop.per_element:5.2f} each, {loop.in_flight} loads in flight: "
            f"{complaint(loop, arguments.limit) or 'ok'}\n"
        )
    return int(any(complaint(loop, arguments.limit) for loop in loops))


if __name__ == "__main__":
    sys.exit(main())
