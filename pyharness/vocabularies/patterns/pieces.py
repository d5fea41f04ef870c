"""Which characters can be together in one piece of a split pattern, from its automaton.

No supported pattern looks back, so the match that starts at a position depends only on the text from there on. Every
piece of every text is therefore the first piece of another text. It is enough to know what the first match of some text
can contain: docs/metrics.md, "Reachability".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from pyharness.vocabularies.patterns.automaton import machine_of
from pyharness.vocabularies.patterns.syntax import Dialect, Uncompilable

Word: TypeAlias = tuple[int, ...]  # classes of characters
START, NOTHING = 0, -1  # states: the start of a piece, and where no match continues


class PieceAutomaton:
    """All states that some text leads the first match of a pattern to, by number.

    Args:
        expression: the pattern.
        dialect: the engine that defines its meaning.

    Raises:
        Uncompilable: it uses unsupported syntax, matches an empty text, needs too many states, or reads a newline at
            the end of a text differently from others.
    """

    def __init__(self, expression: str, dialect: Dialect) -> None:
        machine = machine_of(expression, dialect)
        self.classes = machine.classes
        if machine.nullable:
            raise Uncompilable("it can match nothing")
        newline, last_newline = self.classes.of(10), self.classes.last_newline
        if any(row[newline] != row[last_newline] for row in machine.moves):
            raise Uncompilable("a newline at the end of the text is read differently from others")
        self._ends = [[matched for matched, _ in row] for row in machine.moves]  # by symbol: a match ends before it
        alive = [any(matched or to != NOTHING for matched, to in row) for row in machine.moves]
        symbols = range(self.classes.count)
        self._steps = [
            [to if (to := row[symbol][1]) != NOTHING and alive[to] else NOTHING for symbol in symbols]
            for row in machine.moves
        ]
        self.words = self._explore()  # a shortest text that leads to each state
        self._runs: dict[tuple[frozenset[int], int], frozenset[int]] = {}
        self.inside = frozenset(self.words) - {START}
        self.everywhere = frozenset(self.words)

    def after(self, states: frozenset[int], word: Sequence[int]) -> frozenset[int]:
        """Return the states that a text leads to from any of some states."""
        for number in word:
            if not states:
                break
            key = (states, number)
            if key not in self._runs:
                self._runs[key] = frozenset(self._steps[state][number] for state in states) - {NOTHING}
            states = self._runs[key]
        return states

    def ends_here(self, states: frozenset[int]) -> bool:
        """Return whether a match can end in one of some states."""
        return any(any(self._ends[state]) for state in states)

    def goes_on(self, states: frozenset[int]) -> bool:
        """Return whether a match may take another character after one of some states."""
        return any(to != NOTHING for state in states for to in self._steps[state])

    def contexts(self, word: Word, *, inside: bool) -> Iterator[tuple[Word, Word]]:
        """Yield texts before and after a word with which it is in one match, shortest before it first."""
        for state, before in self.words.items():
            reached = self.after(frozenset({state}), word)
            if reached and (before or not inside):
                (after,) = reached
                for behind in self._endings(after):
                    yield before, behind

    def may_start_no_match(self) -> int:
        """Return, as bits, the classes of characters that may start no match, so that they can be between matches."""
        hopeless = {NOTHING}  # states from which some text continues without a match
        while True:
            more = {state for state in self.words if state not in hopeless and self._may_fail(state, hopeless)}
            if not more:
                break
            hopeless |= more
        return sum(1 << number for number, state in enumerate(self._steps[START]) if state in hopeless)

    def _may_fail(self, state: int, hopeless: set[int]) -> bool:
        if not self._ends[state][self.classes.end]:
            return True
        steps = enumerate(self._steps[state])
        return any(after in hopeless and not self._ends[state][number] for number, after in steps)

    def _endings(self, state: int) -> Iterator[Word]:
        end = self.classes.end
        if self._ends[state][end]:
            yield ()
        for number, after in enumerate(self._steps[state]):
            if self._ends[state][number] or (after != NOTHING and self._ends[after][end]):
                yield (number,)

    def _explore(self) -> dict[int, Word]:
        words: dict[int, Word] = {START: ()}
        waiting = [START]
        for state in waiting:
            for number, after in enumerate(self._steps[state]):
                if after != NOTHING and after not in words:
                    words[after] = (*words[state], number)
                    waiting.append(after)
        return words
