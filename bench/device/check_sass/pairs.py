"""What a thread and a block of the kernels take that count pairs by partition, in a compiled library.

And the instructions of their loops, those included that only a few warps or positions execute.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from device.check_sass.ways import Instruction, count, functions

REGISTERS = 65_536  # of a multiprocessor
PER_THREAD, MOST_BUCKET_BITS = 8, 14  # positions of a thread in a tile; of the number of buckets
BLOCK, FIRST_BLOCK = 512, 1024  # threads of a block; of the first pass over pairs without weights
BINS, PAGES = 18 * 128, 6 * 128  # bytes of a block: of a tile's bins, and of its pages
SHARED_BYTES = {"sm_80": 164 * 1024}  # of a multiprocessor; later ones have 228 KiB
RESERVED_BYTES = 1024  # of a block, by the driver; counted in the listing of sm_90 and later
HOT_SETS = {"sm_80": 8021}  # of 12 bytes, as many as the rest of 163 KiB holds; later ones have 227 KiB
KERNEL = re.compile(
    r"^ *Function (?:void )?((?:scatter_to_pages|scatter_by_bucket|count_parts)<.*>)\(.*\n +REG:(\d+) STACK:(\d+) "
    r"SHARED:(\d+) LOCAL:(\d+)",
    re.MULTILINE,
)
FLAG = r"(?:\(bool\))?(?:true|1)"


@dataclass(frozen=True, slots=True)
class PairKernel:
    """A kernel of the partition, and the blocks of it that a multiprocessor holds at once."""

    architecture: str
    name: str  # scatter_to_pages, scatter_by_bucket or count_parts, with its types
    registers: int
    local: int  # bytes of a thread
    shared: int  # bytes of a block, known when it is compiled

    @property
    def is_first(self) -> bool:
        """Whether it is the first pass, of which one block takes a multiprocessor."""
        return self.name.startswith("scatter_to_pages")

    @property
    def wide(self) -> bool:
        """Whether what is left of a pair takes 8 bytes."""
        return bool(re.search(r"to_pages<.*, unsigned long long,|(by_bucket|parts)<unsigned long long,", self.name))

    @property
    def weighted(self) -> bool:
        """Whether pairs have weights."""
        return bool(re.search(rf"RowPairs|, {FLAG}>,|(by_bucket|parts)<unsigned \w+(?: long)?, {FLAG}", self.name))

    @property
    def has_hot_pairs(self) -> bool:
        """Whether it looks pairs up in the table of hot ones."""
        return self.is_first and bool(re.search(rf", {FLAG}>$", self.name))

    @property
    def threads(self) -> int:
        """Threads of a block at most."""
        return FIRST_BLOCK if self.is_first and not self.weighted else BLOCK

    @property
    def table(self) -> int:
        """Bytes of shared memory that a launch asks for at most: the numbers of csrc/kernels/pairs/partition."""
        rest, weight = 8 if self.wide else 4, 8 if self.weighted else 0
        if self.name.startswith("count_parts"):
            slot = rest + (weight or 4)
            return slot * (4096 if slot > 12 else 8192)
        tile = self.threads * PER_THREAD * (rest + weight) + BINS
        if not self.is_first:
            return tile
        return tile + PAGES + (2 << MOST_BUCKET_BITS) + 12 * self.has_hot_pairs * HOT_SETS.get(self.architecture, 13653)

    @property
    def blocks(self) -> int:
        """Blocks that a multiprocessor holds at once."""
        registers = -(-self.registers // 8) * 8 * self.threads
        shared = self.table + max(self.shared, RESERVED_BYTES + self.shared % RESERVED_BYTES)
        return min(REGISTERS // registers, SHARED_BYTES.get(self.architecture, 228 * 1024) // shared)

    @property
    def needed_blocks(self) -> int:
        """The fewest that will do; what takes 12 bytes a slot or 16 a position does with one."""
        if self.name.startswith("count_parts"):
            return 1 if self.architecture == "sm_80" and self.table > 64 * 1024 else 2
        return 1 if self.is_first or (self.wide and self.weighted) else 2

    def __str__(self) -> str:
        """Say all of it in a line."""
        memory = f"{self.table} + {self.shared} bytes of shared memory"
        takes = f"{self.registers} registers, {memory}, {self.blocks * self.threads} threads"
        return f"{self.architecture:8} {self.name}: {takes}: {self.complaint or 'ok'}"

    @property
    def complaint(self) -> str | None:
        """Name its fault; None without one."""
        if self.local:
            return "uses local memory"
        return None if self.blocks >= self.needed_blocks else f"leaves room for fewer than {self.needed_blocks} blocks"


def pair_kernels(resources: str) -> list[PairKernel]:
    """Find them in what ``cuobjdump -res-usage`` says of a library, with names as in C++."""
    found = []
    for section in re.split(r"^arch = ", resources, flags=re.MULTILINE)[1:]:
        for name, registers, stack, shared, local in KERNEL.findall(section.replace("pyharness::kernels::", "")):
            found.append(PairKernel(section.split()[0], name, int(registers), int(stack) + int(local), int(shared)))
    return found


# Of 4-byte rests without weights: instructions a position at most, with hot pairs; the last one with segments, too.
LIMITS = {"scatter_to_pages": 145.0, "scatter_by_bucket": 70.0, "count_parts": 85.0, "by segment": 185.0}
MAIN = re.compile(
    rf"(?P<name>scatter_to_pages)<ChunkPairs<(?P<segments>{FLAG}|\S+), \S+>, unsigned int, {FLAG}>"
    r"|(?P<other>scatter_by_bucket|count_parts)<unsigned int, (?:\(bool\))?(?:false|0)"
)
GLOBAL_LOAD, SHARED_ADD, BARRIER = re.compile(r"\bLDG\b"), re.compile(r"\bATOMS\b"), re.compile(r"\bBAR\.SYNC\b")
READ_AHEAD = 4  # rests that a thread of count_parts reads at once


@dataclass(frozen=True, slots=True)
class PairLoop:
    """A kernel's loop over tiles, or over the rests of a bucket."""

    architecture: str
    name: str
    instructions: int
    positions: int  # of a thread

    @property
    def each(self) -> float:
        """Instructions a position."""
        return self.instructions / self.positions

    def __str__(self) -> str:
        """Say all of it in a line."""
        return f"{self.architecture:8} {self.name}: {self.each:.1f} instructions a position: {self.complaint or 'ok'}"

    @property
    def complaint(self) -> str | None:
        """Name its fault; None without one."""
        if not self.instructions:
            return "has no such loop"
        return f"is over {LIMITS[self.name]:g}" if self.each > LIMITS[self.name] else None


def pair_loops(sass: str, names: Callable[[str], str]) -> list[PairLoop]:
    """Find the loops of the main kernels in a disassembly; ``names`` gives a mangled name as in C++."""
    found = []
    for architecture, mangled, body in functions(sass):
        if not (match := MAIN.search(names(mangled).replace("pyharness::kernels::", ""))):
            continue
        name = match["other"] or ("by segment" if re.fullmatch(FLAG, match["segments"]) else match["name"])
        if name == "count_parts":
            parts = [one for one in _loops(body) if min(count(GLOBAL_LOAD, one), count(SHARED_ADD, one)) >= READ_AHEAD]
            found.append(PairLoop(architecture, name, min(map(len, parts), default=0), READ_AHEAD))
        else:
            tiles = [one for one in _loops(body) if count(BARRIER, one)]
            found.append(PairLoop(architecture, name, max(map(len, tiles), default=0), PER_THREAD))
    return found


def _loops(body: Sequence[Instruction]) -> list[list[Instruction]]:
    targets = [(one.branch_target, one.address) for one in body if one.branch_target is not None]
    return [[one for one in body if first <= one.address <= last] for first, last in targets if first < last]
