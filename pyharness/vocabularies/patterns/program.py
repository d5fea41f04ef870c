"""Trees as programs: states in the order in which a backtracking engine tries them (Thompson's construction)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from pyharness.vocabularies.patterns.code_points import CodePoints
from pyharness.vocabularies.patterns.syntax import Ahead, Atomic, Characters, Choice, Node, Repeat, Series, Uncompilable

MOST_STATES = 2_000


@dataclass(slots=True)
class Step:
    """Takes one character and continues."""

    characters: Characters
    to: int


@dataclass(slots=True)
class Look:
    """Continues if the next symbol allows it."""

    ahead: Ahead
    to: int


@dataclass(slots=True)
class Fork:
    """Continues in several ways, best first."""

    to: list[int]


@dataclass(slots=True)
class Match:
    """The pattern has matched."""


State: TypeAlias = Step | Look | Fork | Match


@dataclass(slots=True)
class Program:
    """States by number. ``start`` is where matching starts; ``takes_back``: no atomic or possessive part ends it."""

    states: list[State] = field(default_factory=list)
    start: int = 0
    takes_back: bool = True


def program(node: Node) -> Program:
    """Build the program of a tree.

    Raises:
        Uncompilable: there are too many states; or an atomic or possessive part before the end of the pattern repeats
            more than one class, or is no repeat and can match in several ways.
    """
    building = _Building()
    first = building.node(node, building.add(Match()), last=True)
    building.program.start = building.add(Fork([first]))  # a state of its own: a loop must not return to it
    return building.program


class _Building:
    """Builds nodes backwards: each gets the state that comes after it."""

    def __init__(self) -> None:
        self.program = Program()

    def add(self, state: State) -> int:
        if len(self.program.states) >= MOST_STATES:
            raise Uncompilable(f"it needs more than {MOST_STATES:,} states")
        self.program.states.append(state)
        return len(self.program.states) - 1

    def node(self, node: Node, to: int, *, last: bool) -> int:
        """Return the first state of a node. ``last``: only the end of the match comes after it."""
        if isinstance(node, Characters):
            return self.add(Step(node, to))
        if isinstance(node, Ahead):
            return self.add(Look(node, to))
        if isinstance(node, Choice):
            return self.add(Fork([self.node(option, to, last=last) for option in node.options]))
        if isinstance(node, Series):
            for item in reversed(node.items):
                to = self.node(item, to, last=last)
                last = False
            return to
        if isinstance(node, Atomic):
            return self._atomic(node.body, to, last=last)
        if node.kind == "possessive":
            return self._possessive(node, to, last=last)
        return self._repeat(node, to)

    def _repeat(self, node: Repeat, to: int) -> int:
        def fork(body: int, after: int) -> list[int]:
            return [body, after] if node.kind == "greedy" else [after, body]

        if node.most is None:
            loop = Fork([])
            entry = self.add(loop)
            loop.to = fork(self.node(node.body, entry, last=False), to)
            to = entry
        else:
            after = to
            for _ in range(node.most - node.least):
                to = self.add(Fork(fork(self.node(node.body, to, last=False), after)))
        for _ in range(node.least):
            to = self.node(node.body, to, last=False)
        return to

    def _atomic(self, body: Node, to: int, *, last: bool) -> int:
        if isinstance(body, Repeat) and body.kind == "greedy":
            return self._possessive(body, to, last=last)
        if last:  # the match is over: nothing takes it back
            self.program.takes_back = False
            return self.node(body, to, last=True)
        if _one_way(body):
            return self.node(body, to, last=False)
        raise Uncompilable("an atomic group of more than one class")

    def _possessive(self, node: Repeat, to: int, *, last: bool) -> int:
        """Build a possessive repeat.

        One that does not end the pattern repeats one class. It ends before another class, or after ``most``.
        """
        greedy = Repeat(node.body, node.least, node.most)
        if last:
            self.program.takes_back = False
            return self._repeat(greedy, to)
        if not isinstance(node.body, Characters):
            raise Uncompilable("a possessive repeat of more than one class")
        points = node.body.points
        over = Ahead(~points, at_end=True, at_last_newline=10 not in points)
        stop = self.add(Look(over, to))
        if node.most is None:
            return self._repeat(greedy, stop)
        for _ in range(node.most - node.least):
            to = self.add(Fork([self.add(Step(node.body, to)), stop]))
        for _ in range(node.least):
            to = self.add(Step(node.body, to))
        return to


def _one_way(node: Node) -> bool:
    """Return whether a node matches in at most one way."""
    if isinstance(node, Series):
        return all(map(_one_way, node.items))
    if isinstance(node, Repeat):
        return node.least == node.most and _one_way(node.body)
    return isinstance(node, Characters | Ahead)


def spells(states: list[State], text: tuple[CodePoints, ...]) -> bool:
    """Return whether steps that ignore case can take the sets of a text in sequence."""
    return any(_spells_from(states, at, text) for at in range(len(states)))


def _spells_from(states: list[State], at: int, text: tuple[CodePoints, ...]) -> bool:
    places = {at}
    for index, character in enumerate(text):
        steps = [state for state in map(states.__getitem__, places) if isinstance(state, Step)]
        after = {step.to for step in steps if step.characters.any_case and step.characters.points & character}
        places = _reach(states, after) if index + 1 < len(text) else after
    return bool(places)


def _reach(states: list[State], places: set[int]) -> set[int]:
    waiting, seen = list(places), set(places)
    while waiting:
        state = states[waiting.pop()]
        nexts = state.to if isinstance(state, Fork) else [state.to] if isinstance(state, Look) else []
        waiting += [place for place in nexts if place not in seen]
        seen.update(nexts)
    return seen
