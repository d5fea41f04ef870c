"""Patterns as automata, where these surely do what the dialect's engine does."""

from __future__ import annotations

from pyharness.vocabularies.patterns.automaton import Automaton, automaton
from pyharness.vocabularies.patterns.parser import parse
from pyharness.vocabularies.patterns.program import Program, program, spells
from pyharness.vocabularies.patterns.reader import full_foldings
from pyharness.vocabularies.patterns.syntax import Dialect, Node, Uncompilable


def machine_of(expression: str, dialect: Dialect) -> Automaton:
    """Automaton of a pattern.

    Raises:
        Uncompilable: with the reason why no automaton does what the engine does.
    """
    version_1 = dialect == "regex" and "&&" in expression
    return machine_of_tree(parse(expression, dialect), dialect, full_case=version_1 or dialect == "oniguruma")


def machine_of_tree(node: Node, dialect: Dialect, *, full_case: bool) -> Automaton:
    """Automaton of a tree. ``full_case``: where case is ignored, the engine takes one character for several.

    Raises:
        Uncompilable: with the reason.
    """
    states = program(node)
    if full_case and any(spells(states.states, text) for text in full_foldings()):
        raise Uncompilable("text that one character is equal to where case is ignored")
    machine = automaton(states)
    _check_empty_matches(machine, states, dialect)
    return machine


def _check_empty_matches(machine: Automaton, states: Program, dialect: Dialect) -> None:
    """Only `regex` goes on to look for a match that is not empty where it has found an empty one."""
    if machine.nullable and (dialect != "regex" or not states.takes_back):
        raise Uncompilable("it can match nothing")
