"""Automata as arrays for the native splitter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness.vocabularies.files.byte_alphabet import BYTE_ALPHABET
from pyharness.vocabularies.patterns.automaton import Automaton, Classes, machine_of, machine_of_tree
from pyharness.vocabularies.patterns.syntax import Dialect, Node

Removed: TypeAlias = Literal["nothing", "matches", "gaps"]

BLOCK = 64  # code points that differ only in the last byte of their UTF-8 form
FAILS, START, GAP = range(3)  # rows; the others are states inside a match
MATCHED, CUT, LEAVES_GAP, FLAG_BITS = 1, 2, 4, 3


@dataclass(frozen=True, slots=True)
class SplitTable:
    """The compiled table of one pattern.

    ``entries[row * symbols + symbol]`` is the next row, shifted by three bits, and flags: a match ends before the
    symbol (1); the piece ends there, and the next row starts a new piece (2); the piece is text outside any match (4).
    The last two symbols are the end of the text and a newline that ends it.
    """

    blocks: NDArray[np.uint16]  # [0x110000 / 64]: block of classes for each 64 code points; empty where bytes are read
    classes: NDArray[np.uint8]  # class of every code point of each block; or of the 256 bytes
    entries: NDArray[np.uint32]
    symbols: int
    last_newline: bool  # whether a newline that ends the text is a symbol of its own
    removed: Removed


def compiled(expression: str, dialect: Dialect) -> SplitTable:
    """Compile a pattern that isolates its matches.

    Raises:
        Uncompilable: with the reason why the pattern cannot be run by tables.
    """
    return _table(machine_of(expression, dialect), "nothing", reads_bytes=False)


def split_table(
    node: Node, dialect: Dialect, *, removed: Removed = "nothing", reads_bytes: bool = False, full_case: bool = False
) -> SplitTable:
    """Build the table of a tree. ``reads_bytes``: characters stand for bytes, in the alphabet of GPT-2.

    Raises:
        Uncompilable: with the reason.
    """
    return _table(machine_of_tree(node, dialect, full_case=full_case), removed, reads_bytes=reads_bytes)


def _table(machine: Automaton, removed: Removed, *, reads_bytes: bool) -> SplitTable:
    if reads_bytes:
        blocks = np.zeros(0, np.uint16)
        classes = np.array([machine.classes.of(ord(BYTE_ALPHABET[byte])) for byte in range(256)], np.uint8)
    else:
        blocks, classes = _blocks(machine.classes)
    entries = _entries(machine)
    newline = bool((entries[:, -1] != entries[:, machine.classes.of(10)]).any())
    return SplitTable(blocks, classes, entries.reshape(-1), entries.shape[1], newline, removed)


def _blocks(classes: Classes) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    lengths = np.diff([*classes.firsts.tolist(), 0x110000])
    points = np.repeat(classes.numbers, lengths).astype(np.uint8).reshape(-1, BLOCK)
    distinct: dict[bytes, int] = {}
    blocks = [distinct.setdefault(block.tobytes(), len(distinct)) for block in points]
    return np.array(blocks, np.uint16), np.frombuffer(b"".join(distinct), np.uint8)


def _entries(machine: Automaton) -> NDArray[np.uint32]:
    """Return the entries: uint32 [rows, symbols]."""
    end = machine.classes.end
    rows = [START, *range(GAP + 1, GAP + len(machine.moves))]  # of the automaton's states
    first = [rows[to] if to >= 0 else GAP for _, to in machine.moves[0]]  # row in which each symbol starts a piece
    entries = np.zeros((GAP + len(machine.moves), machine.classes.count + 2), np.uint32)
    entries[START] = np.array(first, np.uint32) << FLAG_BITS
    leaves = [CUT | LEAVES_GAP if row != GAP or symbol == end else 0 for symbol, row in enumerate(first)]
    entries[GAP] = entries[START] | np.array(leaves, np.uint32)
    for row, moves in zip(rows[1:], machine.moves[1:], strict=True):
        for symbol, (matched, to) in enumerate(moves):
            if to >= 0:
                entries[row, symbol] = rows[to] << FLAG_BITS | (MATCHED if matched else 0)
            elif matched:
                entries[row, symbol] = first[symbol] << FLAG_BITS | CUT
    return entries
