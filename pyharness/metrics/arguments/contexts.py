"""Texts that may make a tokenizer emit a token: the search for arguments shows the possible neighbours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice, product

from pyharness.metrics.arguments.splitting import SplitArguments
from pyharness.types import TokenKind, Vocabulary
from pyharness.vocabularies.patterns.pieces import Word
from pyharness.vocabularies.stages import TokenForm

# A few letters, marks, digits, signs and spaces of every kind, for models with unknown characters.
KNOWN = "aAzZeq19/-=.,!?'\"_(#@$%&*+~^<>|`:; \n\r\t\u00a0\u0301жЖяאعक中のカ한ก٣Ⅷ²€→😀\u200dªʰǅ\u4e00"
MOST_WORDS = 48  # pairs of neighbours before and behind, as classes of characters, for each token
MOST_OF_A_CLASS = 96
MOST_PAIRS = 8  # on each side, if both sides have a neighbour


class ContextSearch:
    """Yields texts to try, the likeliest first.

    Args:
        vocabulary: its tokens of one character serve as neighbours, because the model knows them.
        splitting: which classes of characters leave a token whole.
    """

    def __init__(self, vocabulary: Vocabulary, splitting: SplitArguments | None) -> None:
        self._splitting = splitting if splitting is not None and splitting.steps else None
        self._characters: dict[int, list[str]] = defaultdict(list)
        characters = list(dict.fromkeys([*KNOWN, *_single_characters(vocabulary)]))
        for character in characters:
            number = 0 if self._splitting is None else self._splitting.steps[0][1].classes.word(character)[0]
            self._characters[number].append(character)
        for number, members in self._characters.items():
            self._characters[number] = _spread(members, MOST_OF_A_CLASS)

    def texts(self, text: str, forms: Sequence[TokenForm]) -> Iterator[str]:
        """Yield texts around the text of a token."""
        for before, behind in islice(self._neighbours(forms or [TokenForm(text)]), MOST_WORDS):
            left, right = self._spell(before), self._spell(behind)
            if before and behind:
                left, right = _spread(left, MOST_PAIRS), _spread(right, MOST_PAIRS)
            for one, other in product(left, right):
                yield one + text + other

    def _neighbours(self, forms: Sequence[TokenForm]) -> Iterator[tuple[Word, Word]]:
        if self._splitting is None:
            yield from (((0,), ()), ((), (0,)), ((0,), (0,)), ((0, 0), ()))
            return
        for form in forms:
            yield from self._splitting.contexts(form)

    def _spell(self, word: Word) -> list[str]:
        """Return strings for a word of classes: the members of each class in turn, each at least once."""
        members = [self._characters.get(number, []) or self._first_members(number) for number in word]
        longest = max(map(len, members), default=1)
        return [
            "".join(one[place * step % len(one)] for step, one in enumerate(members, 1)) for place in range(longest)
        ]

    def _first_members(self, number: int) -> list[str]:
        assert self._splitting is not None  # noqa: S101 -- narrows the type: without steps, class 0 is never empty
        return self._splitting.steps[0][1].classes.first_members(number, MOST_PAIRS)


def _single_characters(vocabulary: Vocabulary) -> Iterator[str]:
    for token, kind in enumerate(vocabulary.kinds.tolist()):
        if kind == TokenKind.NORMAL and vocabulary.offsets[token + 1] - vocabulary.offsets[token] <= 4:
            text = vocabulary[token].decode(errors="replace")
            if len(text) == 1 and text != "\ufffd":
                yield text


def _spread(items: list[str], most: int) -> list[str]:
    """Return some items of a list: the first, and others evenly from the whole list."""
    return items if len(items) <= most else [items[place * len(items) // most] for place in range(most)]
