"""Machine code as ``cuobjdump -sass`` prints it: its instructions, and the longest ways through them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

EXPONENTIAL = re.compile(r"\bMUFU\.EX2\b")
# Loads of 16 bytes that leave the cache first (``__ldcs``): of logits. The others are of states.
LOAD = re.compile(r"\bLDG\.\S*EF\.\S*128")
SINGLE_LOAD = re.compile(r"\bLDG\.\S*CONSTANT")
PRODUCT = re.compile(r"\bFMUL\b")
MASK = re.compile(r"\bSHF\.L\.\S*HI .*0xffffffff")
STORE = re.compile(r"\bSTG\b")
LOCAL = re.compile(r"\b(LDL|STL)\b")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One line of ``cuobjdump -sass``."""

    address: int
    text: str

    @property
    def branch_target(self) -> int | None:
        """Address that a branch goes to, or a call: some loops end with one.

        Not that of ``BRA.DIV``, for lanes that have come apart: here none have.
        """
        match = re.search(r"\b(?:BRA(?!\.DIV)|CALL)\b.*?(0x[0-9a-f]+)", self.text)
        return int(match[1], 16) if match else None

    @property
    def is_conditional(self) -> bool:
        """Whether threads may go on behind a branch or an exit."""
        return (
            self.text.startswith("@") or "CALL" in self.text or re.search(r"\bBRA\.?\S* !?U?P\d", self.text) is not None
        )

    @property
    def jumps(self) -> bool:
        """Whether threads go on at a place from a table."""
        return re.search(r"\bBRX\b", self.text) is not None

    @property
    def ends(self) -> bool:
        """Whether threads end here, or return from a subroutine."""
        return re.search(r"\b(EXIT|RET)\b", self.text) is not None


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


def count(pattern: re.Pattern[str], instructions: Sequence[Instruction]) -> int:
    """Count the instructions that match."""
    return sum(pattern.search(one.text) is not None for one in instructions)


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions that are all executed if the first one is, what of them counts, and the blocks that may follow."""

    instructions: tuple[Instruction, ...]
    next: tuple[int, ...]
    exponentials: int
    masks: int
    stores: int

    @property
    def adds(self) -> bool:
        """Whether loads of logits are added here; the merges of states have an exponential each."""
        return self.exponentials > 3

    @property
    def is_rare(self) -> bool:
        """Whether no usual row comes here.

        Extreme logits are subtracted and scaled one by one, with a product for each exponential. Logits at the ends of
        the memory of all rows are read one by one, through the read-only cache.
        """
        products = count(PRODUCT, self.instructions)
        extreme = self.adds and products >= self.exponentials
        return extreme or count(SINGLE_LOAD, self.instructions) > 0

    @property
    def ends(self) -> bool:
        """Whether threads end here."""
        return self.instructions[-1].ends and "EXIT" in self.instructions[-1].text


@dataclass(frozen=True, slots=True)
class Work:
    """What a way contains: blocks with so many exponentials, in order; and at most so many masks' parts and stores."""

    exponentials: tuple[int, ...]
    masks: int
    stores: int


class Ways:
    """The ways through one kernel. Lanes of a warp take both sides of a branch in turn: the longest way counts."""

    def __init__(self, body: Sequence[Instruction]) -> None:
        self.blocks = blocks_of(body)

    def loops(self) -> list[tuple[int, int]]:
        """Return the first and the last block of loops that load logits, in order of their ends."""
        return [
            (first, last)
            for last, block in enumerate(self.blocks)
            for first in block.next
            if first <= last and any(count(LOAD, part.instructions) for part in self.blocks[first : last + 1])
        ]

    def leave(self, loop: tuple[int, int]) -> set[int]:
        """Return the blocks that a loop is left for."""
        inside = range(loop[0], loop[1] + 1)
        return {other for at in inside for other in self.blocks[at].next if other not in inside}

    def round(self, loop: tuple[int, int], work: Work) -> int:
        """Return the instructions of the longest way round a loop with this work; 0: there is none."""
        return self.longest(loop[0], loop[0], work, range(loop[0], loop[1] + 1))

    def longest(self, start: int, goal: int, work: Work, through: range | None = None) -> int:
        """Return the instructions of the longest way with this work to before the goal; 0: there is none.

        All its blocks are in ``through``, which are all by default.
        """
        known: dict[tuple[int, int, int, int], int] = {}

        def from_block(at: int, done: int, masks: int, stores: int) -> int:
            block = self.blocks[at]
            masks, stores = masks + block.masks, stores + block.stores
            if block.adds:
                if work.exponentials[done : done + 1] != (block.exponentials,):
                    return IMPOSSIBLE
                done += 1
            if masks > work.masks or stores > work.stores or block.is_rare:
                return IMPOSSIBLE
            key = (at, done, masks, stores)
            if key not in known:
                known[key] = IMPOSSIBLE  # coming back without having added would go round for ever
                end = 0 if done == len(work.exponentials) else IMPOSSIBLE
                following = [
                    end if other == goal else from_block(other, done, masks, stores)
                    for other in block.next
                    if through is None or other in through
                ]
                known[key] = max(following, default=IMPOSSIBLE) + len(block.instructions)
            return known[key]

        return max(0, from_block(start, 0, 0, 0))

    def shortest(self, start: int, stores: int) -> int:
        """Return the instructions of the shortest way with so many stores from a block to where threads end."""
        waiting = [(len(self.blocks[start].instructions), start, self.blocks[start].stores)]
        seen = set()
        while waiting:
            length, at, stored = heappop(waiting)
            block = self.blocks[at]
            if block.ends and stored == stores:
                return length
            if (at, stored) in seen or stored > stores:
                continue
            seen.add((at, stored))
            for other in block.next:
                more = self.blocks[other]
                heappush(waiting, (length + len(more.instructions), other, stored + more.stores))
        return 0


IMPOSSIBLE = -(1 << 40)


def blocks_of(body: Sequence[Instruction]) -> list[Block]:
    """Cut a kernel where threads come together or part."""
    targets = {one.branch_target for one in body}
    leaves = [one.branch_target is not None or one.ends or one.jumps for one in body]
    cuts = [0, *(at for at in range(1, len(body)) if body[at].address in targets or leaves[at - 1])]
    parts = [tuple(body[first:last]) for first, last in zip(cuts, [*cuts[1:], len(body)], strict=True)]
    places = {part[0].address: at for at, part in enumerate(parts)}
    following: list[list[int]] = []
    for at, part in enumerate(parts):
        last = part[-1]
        goes_on = not leaves[cuts[at] + len(part) - 1] or last.is_conditional
        after = [at + 1] if goes_on and at + 1 < len(parts) else []
        following.append(after if last.branch_target is None else [*after, places[last.branch_target]])
    # A table's places are not in the machine code: those that nothing else leads to.
    reached = {0, *(other for some in following for other in some)}
    for at, part in enumerate(parts):
        if part[-1].jumps:
            following[at] += [other for other in range(len(parts)) if other not in reached]
    return [
        Block(part, tuple(some), count(EXPONENTIAL, part), count(MASK, part), count(STORE, part))
        for part, some in zip(parts, following, strict=True)
    ]
