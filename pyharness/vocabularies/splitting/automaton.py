"""A split pattern as a finite automaton over classes of characters: what can stand together in one piece.

No pattern that is read here looks back, so the match that starts at a place depends on the text from there on only, and
every piece of every text is the first piece of another text. It is therefore enough to know what the first match of
some text can hold.

A state is the ordered list of threads that a backtracking matcher would try, best first (the construction of Pike's
matcher: R. Cox, "Regular Expression Matching: the Virtual Machine Approach", 2009). A thread is a place in the
expression and the classes that may come next for it to live, which is how looking ahead by one character and possessive
repeats are expressed. A thread that has matched ends all that come after it. There are finitely many states, and
``PieceAutomaton`` holds all that any text leads to: docs/metrics.md, "Reachability".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pyharness.vocabularies.splitting.character_classes import CharacterClasses
from pyharness.vocabularies.splitting.expressions import (
    Characters,
    Choice,
    Dialect,
    End,
    InTurn,
    Next,
    Node,
    Repeat,
    Unexaminable,
    parse,
)

Word: TypeAlias = tuple[int, ...]  # classes of characters
State: TypeAlias = tuple[tuple[int, int], ...]  # (place, classes that may come next), best first
MOST_PLACES = 4096
MOST_STATES = 4096
MOST_WORK = 1 << 21  # threads followed while all states are looked for: some seconds
_MATCH = 0  # the place where an expression has matched
NOTHING: State = ()


@dataclass(slots=True)
class _Place:
    """Takes a character of ``takes`` and goes to ``to[0]``; with ``takes`` None goes to all of ``to``, best first.

    ``needs``: the classes of which the next character must be.
    """

    takes: int | None
    needs: int
    to: tuple[int, ...]


class PieceAutomaton:
    """All states that some text leads the first match of a pattern to.

    Args:
        expression: the pattern.
        dialect: the engine whose reading of it counts.

    Raises:
        Unexaminable: it uses what cannot be examined, matches nothing at all somewhere, or needs too many states.
    """

    def __init__(self, expression: str, dialect: Dialect) -> None:
        node = parse(expression, dialect)
        self.classes = CharacterClasses([*_leaves(node), r"\n"])
        self._work = 0
        self._places: list[_Place] = [_Place(None, self.classes.all, ())]
        start = self._compile(node, _MATCH)
        self.start: State = self._closed([(start, self.classes.all)])
        if any(place == _MATCH for place, _ in self.start):
            raise Unexaminable("the split pattern matches the empty text")
        self._steps: dict[State, list[State]] = {}
        self.words: dict[State, Word] = {self.start: ()}  # a shortest text that leads to each state
        self._explore()
        self._runs: dict[tuple[frozenset[State], int], frozenset[State]] = {}
        self.inside = frozenset(state for steps in self._steps.values() for state in steps if state)
        self.everywhere = self.inside | {self.start}

    def after(self, states: frozenset[State], word: Sequence[int]) -> frozenset[State]:
        """States that a text leads to from any of some."""
        for number in word:
            if not states:
                break
            key = (states, number)
            if key not in self._runs:
                reached = frozenset(self._steps[state][number] for state in states)
                self._runs[key] = reached - {NOTHING}
            states = self._runs[key]
        return states

    def ends_here(self, states: frozenset[State]) -> bool:
        """Whether a match can end where one of some states is."""
        return any(place == _MATCH for state in states for place, _ in state)

    def goes_on(self, states: frozenset[State]) -> bool:
        """Whether a match may take another character after one of some states."""
        return any(place != _MATCH for state in states for place, _ in state)

    def contexts(self, word: Word, *, inside: bool) -> Iterator[tuple[Word, Word]]:
        """Texts before and behind a word with which it stands in one match, shortest before it first."""
        for state, before in self.words.items():
            reached = self.after(frozenset({state}), word)
            if reached and (before or not inside):
                (after,) = reached
                for behind in self._endings(after):
                    yield before, behind

    def may_start_no_match(self) -> int:
        """Classes of the characters that may start no match, so that they can stand between matches."""
        hopeless: set[State] = {NOTHING}  # some text goes on from here without a match
        while True:
            more = {state for state in self._steps if state not in hopeless and self._may_fail(state, hopeless)}
            if not more:
                break
            hopeless |= more
        return sum(1 << number for number, state in enumerate(self._steps[self.start]) if state in hopeless)

    def _may_fail(self, state: State, hopeless: set[State]) -> bool:
        if not self._can_end(state, self.classes.end):
            return True
        steps = enumerate(self._steps[state])
        return any(after in hopeless and not self._can_end(state, 1 << number) for number, after in steps)

    def _endings(self, state: State) -> Iterator[Word]:
        if self._can_end(state, self.classes.end):
            yield ()
        for number, after in enumerate(self._steps[state]):
            if self._can_end(state, 1 << number) or self._can_end(after, self.classes.end):
                yield (number,)

    def _can_end(self, state: State, classes: int) -> bool:
        return any(place == _MATCH and allowed & classes for place, allowed in state)

    def _explore(self) -> None:
        waiting = [self.start]
        for state in waiting:
            self._steps[state] = [self._step(state, number) for number in range(self.classes.count)]
            for number, after in enumerate(self._steps[state]):
                if after and after not in self.words:
                    self.words[after] = (*self.words[state], number)
                    waiting.append(after)
            if len(self.words) > MOST_STATES:
                raise Unexaminable(f"a split pattern of more than {MOST_STATES:,} states")

    def _step(self, state: State, number: int) -> State:
        threads = []
        for place, allowed in state:
            if not allowed >> number & 1:
                continue
            if place == _MATCH:
                break
            threads.append((self._places[place].to[0], self.classes.all))
        return self._closed(threads)

    def _closed(self, threads: Sequence[tuple[int, int]]) -> State:
        """Follow threads to where they take a character or have matched; what cannot live is left out."""
        found: dict[tuple[int, int], None] = {}
        waiting = list(reversed(threads))
        seen: set[tuple[int, int]] = set()
        while waiting:
            number, allowed = thread = waiting.pop()
            if thread in seen:
                continue  # as a better thread
            seen.add(thread)
            place = self._places[number]
            allowed &= place.needs
            if number == _MATCH or place.takes is not None:
                allowed &= self.classes.all if place.takes is None else place.takes
                if allowed:
                    found.setdefault((number, allowed))
                if number == _MATCH and allowed == self.classes.all:
                    break
            elif allowed:
                waiting += [(to, allowed) for to in reversed(place.to)]
        self._work += len(seen)
        if self._work > MOST_WORK:
            raise Unexaminable("a split pattern that takes too long to examine")
        return tuple(found)

    def _add(self, place: _Place) -> int:
        if len(self._places) >= MOST_PLACES:
            raise Unexaminable("a split pattern with too many repeats")
        self._places.append(place)
        return len(self._places) - 1

    def _split(self, *to: int) -> int:
        return self._add(_Place(None, self.classes.all, to))

    def _compile(self, node: Node, after: int) -> int:
        """Return the place where a node starts that goes on at ``after``."""
        if isinstance(node, Characters):
            return self._add(_Place(self.classes.mask(node.leaf), self.classes.all, (after,)))
        if isinstance(node, InTurn):
            for item in reversed(node.items):
                after = self._compile(item, after)
            return after
        if isinstance(node, Choice):
            return self._split(*(self._compile(item, after) for item in node.items))
        if isinstance(node, Repeat):
            return self._compile_repeat(node, after)
        return self._add(_Place(None, self._needed(node), (after,)))

    def _needed(self, node: Next | End) -> int:
        if isinstance(node, End):
            return self.classes.end | (self.classes.mask(r"\n") if node.or_newline else 0)
        inside = self.classes.mask(node.leaf)
        return self.classes.all & ~inside if node.negative else inside

    def _compile_repeat(self, node: Repeat, after: int) -> int:
        if node.most is None and _may_be_empty(node.item):
            raise Unexaminable("a split pattern that repeats what may be empty")
        leave = after
        if node.mode == "possessive" and isinstance(node.item, Characters):
            # To take all there is means that no more of it comes next.
            others = self.classes.all & ~self.classes.mask(node.item.leaf)
            leave = self._add(_Place(None, others, (after,)))
        if node.most is None:
            start = self._split()  # its ends are known only now
            again = self._compile(node.item, start)
            self._places[start].to = (leave, again) if node.mode == "lazy" else (again, leave)
        else:
            start = after
            for _ in range(node.most - node.least):
                once = self._compile(node.item, start)
                start = self._split(leave, once) if node.mode == "lazy" else self._split(once, leave)
        for _ in range(node.least):
            start = self._compile(node.item, start)
        return start


def _leaves(node: Node) -> Iterator[str]:
    if isinstance(node, (Characters, Next)):
        yield node.leaf
    elif isinstance(node, (InTurn, Choice)):
        for item in node.items:
            yield from _leaves(item)
    elif isinstance(node, Repeat):
        yield from _leaves(node.item)


def _may_be_empty(node: Node) -> bool:
    if isinstance(node, Characters):
        return False
    if isinstance(node, InTurn):
        return all(map(_may_be_empty, node.items))
    if isinstance(node, Choice):
        return any(map(_may_be_empty, node.items))
    if isinstance(node, Repeat):
        return node.least == 0 or _may_be_empty(node.item)
    return True
