"""Instructions per element of the entropy kernels, and what a thread and a block of them take."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from device.check_sass.listing import demangled
from device.check_sass.ways import EXPONENTIAL, LOAD, LOCAL, Block, Instruction, Ways, Work, count, functions

BYTES_PER_LOAD = 16
ELEMENT_BYTES = {"__nv_bfloat16": 2, "__half": 2, "float": 4}
LOADS_IN_FLIGHT = 4
# Instructions per element by its bytes and the outputs; at the copy rate of an H200 there is room for about 15 per
# element of 2 bytes, and 30 per one of 4: docs/gpu.md. In the loop, and of rows of 260 logits all that is executed.
LIMITS = {(2, "entropy"): 8.0, (2, "all"): 9.0, (4, "entropy"): 9.5, (4, "all"): 11.0}
SHORT_ROW = 260
SHORT_LIMITS = {(2, "entropy"): 11.0, (2, "all"): 13.0, (4, "entropy"): 16.0, (4, "all"): 19.0}
LANES = {2: 4, 4: 8}  # that share such a row: csrc/kernels/entropy/layout.hpp
ROWS_OF_LANES = 4  # that they take one after the other, in blocks of 256 threads and rows
BLOCK = 256  # threads
REGISTERS, SHARED_BYTES = 65_536, 100 * 1024  # of a multiprocessor; of shared memory the least since sm_80
# Threads that a multiprocessor holds at once, by kernel and outputs.
THREADS = {
    ("entropy_rows", "entropy"): 1536,
    ("entropy_rows", "all"): 1280,
    ("entropy_short_rows", "entropy"): 1024,
    ("entropy_short_rows", "all"): 1024,
}
KERNEL = re.compile(
    r"(?P<name>entropy_(?:short_)?rows)<(?P<type>\w+), "
    r"\(?(?:bool\))?(?P<top>true|false|1|0)(?:, (?:\(int\))?(?P<lanes>\d+))?>"
)
RESOURCES = re.compile(r"^ *Function (\S+):\s+REG:(\d+) STACK:\d+ SHARED:(\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Loop:
    """The loop of a kernel that adds four loads of logits: the longest way round it."""

    architecture: str
    kernel: str  # entropy_rows or entropy_short_rows
    lanes: int  # of a short row; else 0
    element: str
    outputs: str  # "entropy" or "all"
    instructions: int
    elements: int
    bytes: int  # of an element
    in_flight: int  # 16-byte loads under way at once
    short_row: (
        float | None
    )  # instructions per element of rows of 260 logits, all told; None where other lanes take them
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
        return THREADS[self.kernel, self.outputs]

    @property
    def complaint(self) -> str | None:
        """The fault of the loop or its kernel; None without one."""
        if self.local:
            return "uses local memory"
        if self.in_flight < LOADS_IN_FLIGHT:
            return f"has fewer than {LOADS_IN_FLIGHT} loads in flight"
        if self.per_element > (most := LIMITS[self.bytes, self.outputs]):
            return f"is over {most:g}"
        if self.short_row is not None and self.short_row > (most := SHORT_LIMITS[self.bytes, self.outputs]):
            return f"takes over {most:g} for rows of {SHORT_ROW}"
        if self.threads is not None and self.threads < self.needed_threads:
            return f"leaves room for fewer than {self.needed_threads} threads"
        return None

    def __str__(self) -> str:
        rows = "" if self.short_row is None else f", {self.short_row:5.2f} for rows of {SHORT_ROW}"
        return (
            f"{self.architecture:8} {self.kernel:18} {self.lanes or '':2} {self.element:9} {self.outputs:8} "
            f"{self.instructions:4} instructions for {self.elements:3} elements: {self.per_element:5.2f} each{rows}, "
            f"{self.in_flight} loads in flight, {self.registers} registers, {self.threads} threads: "
            f"{self.complaint or 'ok'}"
        )


def loads_in_flight(blocks: Sequence[Block]) -> int:
    """Count the loads that no exponential comes between, which needs what is loaded."""
    most = loads = 0
    for one in (instruction for block in blocks for instruction in block.instructions):
        loads = 0 if EXPONENTIAL.search(one.text) else loads + (LOAD.search(one.text) is not None)
        most = max(most, loads)
    return most


def exponentials_of(turns: int, size: int) -> int:
    """Count the exponentials of the block that adds so many loads of elements of this size: one is of the rescale."""
    return turns * BYTES_PER_LOAD // size + 1


def batch_loop(ways: Ways, size: int) -> tuple[int, tuple[int, int]]:
    """Return the instructions of the longest way round a loop that adds four loads, and where the loop is."""
    work = Work((exponentials_of(LOADS_IN_FLIGHT, size),), masks=4, stores=0)
    loops = [(ways.round(loop, work), loop) for loop in ways.loops()]
    # The loop over rows has such a way too, and further blocks.
    return min((loop for loop in loops if loop[0]), default=(0, (0, 0)))


def short_row(ways: Ways, size: int) -> float:
    """Return the instructions of a lane per element of a row of 260 logits: all that is executed, for rows in a row.

    Such a row is 33 or 34 words. Its lanes take nine turns, a batch of four and the last five; of their first word and
    of the last they mask what is not the row's. The kernel's begin and the last step are shared by the rows of a lane.
    """
    loop = max(ways.loops(), key=lambda loop: loop[1] - loop[0])
    row = ways.round(loop, Work((exponentials_of(4, size), exponentials_of(5, size)), masks=8, stores=0))
    begin = ways.longest(0, loop[0], Work((), masks=0, stores=0))
    finish = min(filter(None, (ways.shortest(after, stores=1) for after in ways.leave(loop))), default=0)
    return (row + (begin + finish) / ROWS_OF_LANES) * LANES[size] / SHORT_ROW


def entropy_loops(sass: str) -> list[Loop]:
    """Find the inner loop of every kernel that reads rows, in a disassembly and its list of resources."""
    resources = {name: (int(registers), int(shared)) for name, registers, shared in RESOURCES.findall(sass)}
    found = ((code, name, KERNEL.search(demangled(name)), body) for code, name, body in functions(sass))
    return [
        loop_of(architecture, match, body, *resources.get(mangled, (None, 0)))
        for architecture, mangled, match, body in found
        if match
    ]


def loop_of(
    architecture: str, match: re.Match[str], body: list[Instruction], registers: int | None, shared: int
) -> Loop:
    """Measure one kernel."""
    size, lanes = ELEMENT_BYTES[match["type"]], int(match["lanes"] or 0)
    ways = Ways(body)
    instructions, (first, last) = batch_loop(ways, size)
    return Loop(
        architecture=architecture,
        kernel=match["name"],
        lanes=lanes,
        element=match["type"].removeprefix("__nv_").removeprefix("__"),
        outputs="all" if match["top"] in ("true", "1") else "entropy",
        instructions=instructions,
        elements=LOADS_IN_FLIGHT * BYTES_PER_LOAD // size if instructions else 0,
        bytes=size,
        in_flight=loads_in_flight(ways.blocks[first : last + 1]),
        short_row=short_row(ways, size) if lanes == LANES[size] else None,
        local=count(LOCAL, body),
        registers=registers,
        shared=shared,
    )
