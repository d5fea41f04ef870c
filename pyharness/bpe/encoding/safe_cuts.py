"""Positions at which a text can be cut so that the concatenated ids of the parts are those of the whole.

A split pattern matches from left to right and looks ahead, never back. So a cut is safe if a match begins there
whatever precedes it, and if no match before it looks further. For every pattern of ``SPLIT_PATTERNS`` but ``none`` such
positions are:

- before a space that does not follow white space: only a match that begins there has a space after another character.
  Patterns look ahead only from white space (``(?!\\S)``, ``$``), or from numbers to see whether another one follows;
- before a newline that follows a letter or a number: neither continues with it, unlike punctuation;
- after a newline, between a character that is no white space and a letter: GPT-2's pattern splits longer runs by what
  follows them, and o200k's continues with ``/``;
- before punctuation that follows a letter, except the apostrophe of ``'s`` and where pieces end at white space only.

In normal form C no character after these positions joins what precedes it. A letter may turn into a letter and a mark,
and a mark continues with a newline as punctuation does. So there, the letter or number before a newline or punctuation
must be ASCII.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyharness.bpe.model.model import BpeModel
from pyharness.vocabularies.huggingface.file import AddedToken, flat_stages
from pyharness.vocabularies.patterns.split_patterns import SPLIT_PATTERNS

SPACE, NEWLINE = b" ", b"\n"
PUNCTUATION = tuple(character.encode() for character in '.,;:!?()[]{}<>"=+*&|-/@#$%^~`\\_。，、！？；：')
_PATTERNS = frozenset(SPLIT_PATTERNS) - {"none"}
_LONGEST_CHARACTER = 4  # bytes


@dataclass(frozen=True, slots=True)
class SafeCuts:
    """Finder of the last safe cut in a text, of which more may come.

    ``tokens`` are contents of added tokens that must not be cut. ``ascii_only`` says whether the letter or number
    before a newline or punctuation must be ASCII. ``punctuation`` lists the characters before which, and after a
    letter, cuts are safe.
    """

    tokens: Sequence[bytes] = ()
    ascii_only: bool = False
    punctuation: Sequence[bytes] = PUNCTUATION

    def last(self, data: bytes, start: int = 0) -> int:
        """Return the last byte after ``start`` before which ``data`` can be cut; 0: none."""
        stop = len(data) - max((len(token) for token in self.tokens), default=0)
        places = [self._last_before(data, sign, start, stop) for sign in (SPACE, NEWLINE, *self.punctuation)]
        return max(*places, self._last_line(data, start, stop))

    def _last_before(self, data: bytes, sign: bytes, start: int, stop: int) -> int:
        at = data.rfind(sign, start + 1, stop)
        while at > 0:
            if self._ends_well(data, at, sign) and not self._within_token(data, at):
                return at
            at = data.rfind(sign, start + 1, at + len(sign) - 1)
        return 0

    def _ends_well(self, data: bytes, at: int, sign: bytes) -> bool:
        """Return whether the match before a sign ends there."""
        before = _character_before(data, at)
        if sign == SPACE:
            return bool(before) and not before.isspace()
        return (before.isalpha() or (sign == NEWLINE and before.isalnum())) and not (
            self.ascii_only and not before.isascii()
        )

    def _last_line(self, data: bytes, start: int, stop: int) -> int:
        at = data.rfind(NEWLINE, start + 1, stop - 1)
        while at > 0:
            before = _character_before(data, at)
            behind = data[at + 1 : at + 1 + _LONGEST_CHARACTER].decode(errors="replace")[:1]
            if before and not before.isspace() and behind.isalpha() and not self._within_token(data, at + 1):
                return at + 1
            at = data.rfind(NEWLINE, start + 1, at)
        return 0

    def _within_token(self, data: bytes, at: int) -> bool:
        return any(data.find(token, max(0, at - len(token) + 1), at + len(token) - 1) >= 0 for token in self.tokens)


def safe_cuts(model: BpeModel, splitter: str, *, searched: Sequence[AddedToken]) -> SafeCuts | None:
    """Return safe cuts for a model that searches texts for ``searched`` added tokens; None if none are known.

    ``splitter`` is the name of the model's split pattern.
    """
    stages = flat_stages(model.normalizer) if isinstance(model.normalizer, Mapping) else None
    normal_form = stages is not None and all(step["type"] == "NFC" for step in stages)
    if splitter not in _PATTERNS or not (model.normalizer is None or normal_form) or model.fuse_unknown:
        return None
    if any(token.lstrip or token.rstrip or token.single_word for token in searched):
        return None  # they depend on adjacent characters
    if normal_form and any(token.normalized for token in searched):
        return None
    contents = tuple(token.content.encode() for token in searched if token.content)
    return SafeCuts(contents, normal_form, () if splitter == "whitespace" else PUNCTUATION)


def _character_before(data: bytes, at: int) -> str:
    return data[max(0, at - _LONGEST_CHARACTER) : at].decode(errors="replace")[-1:]
