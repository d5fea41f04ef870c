"""Arguments that a token is unreachable: their kinds, and those from added tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pyharness.vocabularies.huggingface.file import AddedToken
from pyharness.vocabularies.stages import Stages, TokenForm

Kind: TypeAlias = Literal[
    "merges_alone",
    "better_path",
    "longer_than_words",
    "added_token_inside",
    "normal_form",
    "character_never_made",
    "string_replaced",
    "ideograph_alone",
    "always_cut",
]
# ASCII that NFC makes from other characters: from U+037E, U+1FEF and U+212A.
_MADE_BY_NFC = frozenset(";`K")


@dataclass(frozen=True, slots=True)
class Argument:
    """Why no text makes a tokenizer emit a token."""

    kind: Kind
    text: str  # one line


class AddedTokenArguments:
    """Arguments from added tokens: wherever one occurs, leftmost-longest search removes it, or one that overlaps it.

    There is no argument if the other may be found and then read as text (special tokens in measurements, and
    ``single_word`` ones inside words). Nor is there one if the normaliser may spell the token after the search.
    """

    def __init__(self, stages: Stages) -> None:
        self._inserted = stages.inserted
        raw = [token for token in stages.added if not token.normalized]
        # The pieces of a SentencePiece model stand in normalised text as they are.
        normalize = str if stages.normalizer is None else stages.normalize
        normal = [(normalize(token.content), token) for token in stages.added if token.normalized]
        contents = _sure([(token.content, token) for token in raw if token.content])
        self._sure = [content for content in contents if _stays(content, stages.normalizer)]
        self._sure += _sure([(content, token) for content, token in normal if content])

    def of(self, form: TokenForm) -> Argument | None:
        """Return an argument about one form of a token."""
        parts = form.text.translate(dict.fromkeys(map(ord, self._inserted), "\0")).split("\0")
        inside = next((content for content in self._sure if any(content in part for part in parts)), None)
        if inside is None:
            return None
        return Argument("added_token_inside", f"the added token {inside!r} in it, or one over it, is cut out first")


def _sure(tokens: Sequence[tuple[str, AddedToken]]) -> list[str]:
    """Return contents that never stay whole: the search removes at least a part of each."""
    unsure = [content for content, token in tokens if token.special or token.single_word]
    sure = [content for content, token in tokens if not (token.special or token.single_word)]
    return [content for content in sure if not any(_overlap(content, other) for other in unsure)]


def _overlap(first: str, second: str) -> bool:
    """Return whether two strings can share a character in a text."""
    if first in second or second in first:
        return True
    shorter = min(len(first), len(second))
    return any(first[-length:] == second[:length] or second[-length:] == first[:length] for length in range(1, shorter))


def _stays(content: str, normalizer: Sequence[Mapping[str, Any]] | None) -> bool:
    """Return whether a string of normalised text was in the text before, where the search found it."""
    if normalizer is None:
        return False
    only_nfc = all(step["type"] == "NFC" for step in normalizer)
    return not normalizer or (only_nfc and content.isascii() and not _MADE_BY_NFC & set(content))
