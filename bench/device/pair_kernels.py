"""What a thread and a block of the kernels take that count pairs by partition, in a compiled library."""

from __future__ import annotations

import re
from dataclasses import dataclass

REGISTERS = 65_536  # of a multiprocessor
BLOCK, TILE, MOST_BUCKET_BITS = 512, 4096, 14  # threads of a block, its positions; of the number of buckets
SHARED_BYTES = {"sm_80": 164 * 1024}  # of a multiprocessor; later ones have 228 KiB
RESERVED_BYTES = 1024  # of a block, by the driver; counted in the listing of sm_90 and later
KERNEL = re.compile(
    r"^ *Function (?:void )?((?:measure_buckets|scatter|count_parts)<.*>)\(.*\n +REG:(\d+) STACK:(\d+) SHARED:(\d+) "
    r"LOCAL:(\d+)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class PairKernel:
    """A kernel of the partition, and the blocks of it that a multiprocessor holds at once."""

    architecture: str
    name: str  # measure_buckets, scatter or count_parts, with its types
    registers: int
    local: int  # bytes of a thread
    shared: int  # bytes of a block, known when it is compiled

    @property
    def wide(self) -> bool:
        """Whether what is left of a pair takes 8 bytes."""
        of_first_pass = self.name.startswith("scatter<First") and self.name.endswith(", unsigned long long> >")
        return of_first_pass or bool(re.match(r"(count_parts|scatter<SecondPass)<unsigned long long", self.name))

    @property
    def weighted(self) -> bool:
        """Whether pairs have weights."""
        return bool(re.search(r"RowPairs|\b(true|1)>|<unsigned (int|long long), (true|1)", self.name))

    @property
    def table(self) -> int:
        """Bytes of shared memory that a launch asks for at most: the numbers of csrc/kernels/pairs."""
        rest, weight = 8 if self.wide else 4, 8 if self.weighted else 0
        if self.name.startswith("measure_buckets"):
            return 4 << MOST_BUCKET_BITS
        if self.name.startswith("scatter"):
            return TILE * (rest + weight + 1)
        slot = rest + (weight or 4)
        return slot * (4096 if slot > 12 else 8192)

    @property
    def blocks(self) -> int:
        """Blocks that a multiprocessor holds at once."""
        registers = -(-self.registers // 8) * 8 * BLOCK
        shared = self.table + max(self.shared, RESERVED_BYTES + self.shared % RESERVED_BYTES)
        return min(REGISTERS // registers, SHARED_BYTES.get(self.architecture, 228 * 1024) // shared)

    @property
    def needed_blocks(self) -> int:
        """The fewest that will do; what takes 12 bytes a slot or 17 a position does with one."""
        if self.name.startswith("scatter"):
            return 1 if self.wide and self.weighted else 2
        return 1 if self.architecture == "sm_80" and self.table > 64 * 1024 else 2

    def __str__(self) -> str:
        """Say all of it in a line."""
        memory = f"{self.table} + {self.shared} bytes of shared memory"
        takes = f"{self.registers} registers, {memory}, {self.blocks * BLOCK} threads"
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
