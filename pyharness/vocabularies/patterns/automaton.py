"""Deterministic automata that keep the priorities of a backtracking engine, over classes of characters.

A state of the automaton is the list of the program's states that the backtracking engine could be in, best first. The
next symbol is known before a state is left, so looks ahead by one character cost nothing. Where the list reaches the
end of the pattern, the worse states behind it are dropped, and the match ends before the next character. An empty
match at the start of a piece does not count.

Source: Cox, "Regular Expression Matching: the Virtual Machine Approach" (2009), for the order of states.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness.vocabularies.patterns.code_points import LIMIT, CodePoints
from pyharness.vocabularies.patterns.parser import parse
from pyharness.vocabularies.patterns.program import Fork, Look, Match, Program, Step, program, spells
from pyharness.vocabularies.patterns.reader import full_foldings
from pyharness.vocabularies.patterns.syntax import Ahead, Dialect, Node, Uncompilable

MOST_STATES = 2_000
MOST_CLASSES = 200
MOST_WORK = 4_000_000  # program states visited: about 2 s

Places: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Classes:
    """Equivalence classes of code points, which no set of the pattern separates.

    Symbols are the classes, then the end of the text, then a newline that ends the text.
    """

    firsts: NDArray[np.int64]  # int64 [runs]: first code point of each run of one class, from 0 on
    numbers: NDArray[np.int64]  # int64 [runs]: class of each run
    count: int
    members: Mapping[CodePoints, frozenset[int]]  # classes in each set of the pattern

    @property
    def end(self) -> int:
        """Symbol of the end of the text."""
        return self.count

    @property
    def last_newline(self) -> int:
        """Symbol of a newline that ends the text."""
        return self.count + 1

    def of(self, point: int) -> int:
        """Return the class of a code point."""
        return int(self.numbers[np.searchsorted(self.firsts, point, side="right") - 1])

    def word(self, text: str) -> tuple[int, ...]:
        """Return the class of each character."""
        runs = np.searchsorted(self.firsts, np.array(list(map(ord, text)), np.int64), side="right") - 1
        return tuple(self.numbers[runs].tolist())

    def first_members(self, number: int, most: int) -> list[str]:
        """Return the first characters of a class by code point, at most ``most``."""
        ends = [*self.firsts[1:].tolist(), LIMIT]
        runs = [range(self.firsts[run], ends[run]) for run in np.flatnonzero(self.numbers == number).tolist()]
        points = (point for run in runs for point in run if not 0xD800 <= point < 0xE000)
        return list(map(chr, islice(points, most)))

    def taken(self, points: CodePoints) -> frozenset[int]:
        """Return the symbols that a step over a set takes."""
        return self.members[points] | ({self.last_newline} if 10 in points else set())

    def allowed(self, ahead: Ahead) -> frozenset[int]:
        """Return the symbols that a look-ahead allows."""
        ends = [self.end] * ahead.at_end + [self.last_newline] * ahead.at_last_newline
        return self.members[ahead.points] | frozenset(ends)


@dataclass(slots=True)
class Automaton:
    """``moves[state][symbol]``: whether a match ends before the symbol, and the state after it (-1: none).

    State 0 is the start of a piece.
    """

    classes: Classes
    moves: list[list[tuple[bool, int]]] = field(default_factory=list)
    nullable: bool = False  # the pattern can match nothing before some symbol, even where another match is better


def classes_of(program: Program) -> Classes:
    """Partition the code points by the sets of a program.

    Raises:
        Uncompilable: there are too many classes.
    """
    reads = (state for state in program.states if isinstance(state, Step | Look))
    points_of = {state.characters.points if isinstance(state, Step) else state.ahead.points for state in reads}
    sets = sorted(points_of, key=lambda points: points.edges)
    firsts = np.unique(np.array([0, *(edge for points in sets for edge in points.edges if edge < LIMIT)], np.int64))
    inside = np.array([points.contains(firsts) for points in sets], np.bool_).reshape(len(sets), len(firsts))
    rows, numbers = np.unique(inside.T, axis=0, return_inverse=True)
    if len(rows) > MOST_CLASSES:
        raise Uncompilable(f"it tells more than {MOST_CLASSES} classes of characters apart")
    members = {points: frozenset(np.flatnonzero(rows[:, i]).tolist()) for i, points in enumerate(sets)}
    return Classes(firsts, numbers.reshape(-1).astype(np.int64), len(rows), members)


def automaton(program: Program) -> Automaton:
    """Build the automaton of a program.

    Raises:
        Uncompilable: it grows too large, or there are too many classes.
    """
    return _Determinising(program).run()


class _Determinising:
    def __init__(self, program: Program) -> None:
        self.program, self.classes = program, classes_of(program)
        symbols = range(self.classes.count + 2)
        self.taken = {
            place: self.classes.taken(state.characters.points)
            for place, state in enumerate(program.states)
            if isinstance(state, Step)
        }
        self.allowed = {
            place: self.classes.allowed(state.ahead)
            for place, state in enumerate(program.states)
            if isinstance(state, Look)
        }
        looks = set(self.allowed.values())
        self.kinds: dict[frozenset[frozenset[int]], list[int]] = {}  # symbols, grouped by the looks that allow them
        for symbol in symbols:
            self.kinds.setdefault(frozenset(look for look in looks if symbol in look), []).append(symbol)
        self.work = 0

    def run(self) -> Automaton:
        machine = Automaton(self.classes)
        numbers: dict[Places, int] = {(self.program.start,): 0}
        waiting: list[Places] = [(self.program.start,)]
        for places in waiting:  # grows while it runs
            row: list[tuple[bool, int]] = [(False, -1)] * (self.classes.count + 2)
            for symbols in self.kinds.values():
                steps, matched = self._closure(places, symbols[0], starts=places == waiting[0])
                machine.nullable |= matched and places == waiting[0]
                for symbol in symbols:
                    after = self._after(steps, symbol)
                    if after and after not in numbers:
                        numbers[after] = len(waiting)
                        waiting.append(after)
                    row[symbol] = (matched, numbers[after] if after else -1)
            machine.moves.append(row)
            if len(waiting) > MOST_STATES or self.work > MOST_WORK:
                raise Uncompilable("its automaton grows too large")
        return machine

    def _closure(self, places: Places, symbol: int, *, starts: bool) -> tuple[list[int], bool]:
        """Return the steps that can be taken before a symbol, best first, and whether the pattern matches before it.

        At the start of a piece an empty match does not count, and worse alternatives stay.
        """
        steps: list[int] = []
        seen: set[int] = set()
        waiting = list(reversed(places))
        matched = False
        while waiting:
            place = waiting.pop()
            if place in seen:
                continue
            seen.add(place)
            self.work += 1
            state = self.program.states[place]
            if isinstance(state, Step):
                steps.append(place)
            elif isinstance(state, Fork):
                waiting.extend(reversed(state.to))
            elif isinstance(state, Match):
                matched = True
                if not starts:
                    break
            elif symbol in self.allowed[place]:
                waiting.append(state.to)
        return steps, matched

    def _after(self, steps: Iterable[int], symbol: int) -> Places:
        self.work += 1
        nexts: dict[int, None] = {}
        for place in steps:
            state = self.program.states[place]
            if isinstance(state, Step) and symbol in self.taken[place]:
                nexts[state.to] = None
        return tuple(nexts)


def machine_of(expression: str, dialect: Dialect) -> Automaton:
    """Build the automaton of a pattern.

    Raises:
        Uncompilable: with the reason why no automaton reproduces the engine.
    """
    version_1 = dialect == "regex" and "&&" in expression
    return machine_of_tree(parse(expression, dialect), dialect, full_case=version_1 or dialect == "oniguruma")


def machine_of_tree(node: Node, dialect: Dialect, *, full_case: bool) -> Automaton:
    """Build the automaton of a tree. ``full_case``: ignoring case, the engine equates one character with several.

    Raises:
        Uncompilable: with the reason.
    """
    states = program(node)
    if full_case and any(spells(states.states, text) for text in full_foldings()):
        raise Uncompilable("text that one character is equal to where case is ignored")
    machine = automaton(states)
    # `regex` alone goes on to look for a match that is not empty, unless an atomic or possessive part ends the pattern.
    if machine.nullable and (dialect != "regex" or not states.takes_back):
        raise Uncompilable("it can match nothing")
    return machine
