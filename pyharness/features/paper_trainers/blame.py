"""Merges that join morphemes, and tokens that are knocked out for it (Bauwens and Delobelle 2024, BPE-knockout).

A merge closes a boundary each time it is applied to a gold word. Its blame ratio is the share of those that are
boundaries of morphemes. A token whose merge has too high a ratio is knocked out: the merges that use it take its parts
instead, in the place they had, and so become merges of three tokens and more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pyharness.bpe import TextSplitter
from pyharness.features.morphology.formats import GoldWord
from pyharness.features.morphology.gold import boundaries
from pyharness.features.paper_trainers.event_model import Event, EventModel
from pyharness.features.paper_trainers.event_tokenizer import EventEncoder


@dataclass(frozen=True, slots=True)
class Blame:
    """What the merges of a model did to gold words."""

    closed: Mapping[int, int]  # number of the merge -> boundaries of any kind that it closed
    wrong: Mapping[int, int]  # number of the merge -> boundaries of morphemes among them

    def ratio(self, merge: int) -> float:
        """Return the blame ratio of a merge; 0 if no word uses it."""
        return self.wrong.get(merge, 0) / self.closed[merge] if self.closed.get(merge) else 0.0


def blame_of(model: EventModel, words: Iterable[GoldWord], *, space: bool) -> Blame:
    """Encode gold words, each behind a space or alone, and count what each merge closes."""
    splitter, encoder = TextSplitter(model.splitter, dialect=model.dialect), EventEncoder(model)
    closed: Counter[int] = Counter()
    wrong: Counter[int] = Counter()
    known: dict[bytes, list[int]] = {}
    for word in words:
        data = b" " * space + word.word.encode()
        gold = {space + place for place in boundaries(word.morphemes)}
        for start, end in pairwise([0, *splitter.split_batch([data]).ends.tolist()]):
            piece = data[start:end]
            if piece not in known:
                known[piece] = encoder.closing(piece)
            for place, merge in enumerate(known[piece]):
                if merge >= 0:
                    closed[merge] += 1
                    wrong[merge] += start + place in gold
    return Blame(closed, wrong)


def knocked_out(events: Sequence[Event], tokens: frozenset[int]) -> tuple[Event, ...]:
    """Return merges without those of some tokens, whose parts stand for them in all others.

    >>> ab, abc, abcd = 256, 257, 258
    >>> merges = Event((97, 98), (ab,)), Event((ab, 99), (abc,)), Event((abc, 100), (abcd,))
    >>> knocked_out(merges, frozenset({ab, abc}))
    (Event(before=(97, 98, 99, 100), after=(258,)),)
    """
    parts: dict[int, tuple[int, ...]] = {}
    for event in reversed(events):  # of several merges of a token the first counts
        parts[event.after[0]] = event.before
    return tuple(
        Event(_written(event.before, parts, tokens), event.after) for event in events if event.after[0] not in tokens
    )


def _written(before: Sequence[int], parts: Mapping[int, Sequence[int]], tokens: frozenset[int]) -> tuple[int, ...]:
    written: list[int] = []
    waiting = list(reversed(before))
    while waiting:
        token = waiting.pop()
        if token in tokens:
            waiting.extend(reversed(parts[token]))
        else:
            written.append(token)
    return tuple(written)
