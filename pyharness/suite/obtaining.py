"""Rows of a suite, with those that are trained here trained: side by side, and one after another what learns once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from pyharness import tokenizers
from pyharness.suite.declaration import Entry, Suite
from pyharness.suite.strangers import blamed, checked_row
from pyharness.system import threads
from pyharness.system.environment import cores
from pyharness.tokenizers.training.process import Trainings
from pyharness.types import InputError, TokenizerSpec, TrainingProgress

Listening = Callable[[str, TrainingProgress], None]


def obtained(suite: Suite, listening: Listening | None, problems: list[str]) -> Mapping[str, TokenizerSpec]:
    """Rows by label, as declared; what is wrong with the others is added to ``problems``."""
    found: dict[str, TokenizerSpec | InputError] = {}
    lock = threading.Lock()

    def obtain(entries: Sequence[Entry], trainings: Trainings) -> None:
        with trainings.used():
            for entry in entries:
                heard = None if listening is None else _heard(listening, entry, lock)
                found[entry.label] = _row(entry, partial(tokenizers.obtain, progress=heard))

    number = min(suite.workers, cores())
    threads.share_out(
        _in_turn(suite.tokenizers), [Trainings(number) for _ in range(number)], obtain, Trainings.stop, Trainings.leave
    )
    in_order = {entry.label: found[entry.label] for entry in suite.tokenizers}
    problems += [str(error) for error in in_order.values() if isinstance(error, InputError)]
    return {label: row for label, row in in_order.items() if isinstance(row, TokenizerSpec)}


def resolved(suite: Suite, problems: list[str]) -> Mapping[str, TokenizerSpec]:
    """Rows as they can be described without making or downloading anything."""
    found = {entry.label: _row(entry, tokenizers.foreseen) for entry in suite.tokenizers}
    problems += [str(error) for error in found.values() if isinstance(error, InputError)]
    return {label: row for label, row in found.items() if isinstance(row, TokenizerSpec)}


def _in_turn(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Entries that share what they learn, in the order in which that serves all."""
    turns = {entry.label: tokenizers.precedence(entry.spec) for entry in entries}
    together: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: turns[entry.label][1]):
        together.setdefault(turns[entry.label][0], []).append(entry)
    return list(together.values())


def _heard(listening: Listening, entry: Entry, lock: threading.Lock) -> Callable[[TrainingProgress], None]:
    def hear(progress: TrainingProgress) -> None:
        with lock:
            listening(entry.label, progress)

    return hear


def _row(entry: Entry, describe: Callable[[str], TokenizerSpec]) -> TokenizerSpec | InputError:
    try:
        with blamed(f"tokenizer {entry.label!r}"):
            return checked_row(entry.label, describe(entry.spec))
    except InputError as error:
        return error
