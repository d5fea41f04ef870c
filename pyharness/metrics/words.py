"""``continued_word_share``: which words of a sample are cut into two or more tokens."""

from __future__ import annotations

from collections import Counter

import regex

from pyharness.types import HasVocabulary, Measurement, Tokenizer

SEGMENT = regex.compile(r"(?V1w)\b")
WORD_LIKE = regex.compile(r"[\p{L}\p{N}]")
_UNSEGMENTED = regex.compile(
    r"[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Han}\p{Hiragana}\p{Katakana}]"
)
METRIC = "continued_word_share"


def measure(tokenizer: Tokenizer, texts: list[str]) -> Measurement:
    """Words (UAX #29, with a letter or number) of two or more tokens / words.

    Each word is encoded alone, behind one space where the tokenizer marks spaces.
    """
    words = Counter(
        segment for text in texts for segment in SEGMENT.split(text) if segment and WORD_LIKE.search(segment)
    )
    if not words:
        return Measurement(METRIC, None, reason="the sample of documents has no words")
    total = words.total()
    if 2 * sum(count for word, count in words.items() if _UNSEGMENTED.search(word)) > total:
        reason = "the text is mostly in a script written without spaces, where UAX #29 cuts characters"
        return Measurement(METRIC, None, reason=reason)
    prefix = " " if marks_spaces(tokenizer) else ""
    distinct = list(words)
    lengths = tokenizer.encode_batch([prefix + word for word in distinct]).offsets
    continued = sum(
        words[word] for word, start, stop in zip(distinct, lengths[:-1], lengths[1:], strict=True) if stop - start > 1
    )
    return Measurement(METRIC, continued / total)


def marks_spaces(tokenizer: Tokenizer) -> bool:
    """Tell whether a word in running text carries its leading space, and the tokenizer does not add one by itself."""
    if not isinstance(tokenizer, HasVocabulary):
        alone, spaced = (len(tokenizer.encode_batch([text]).ids) for text in ("the", " the"))
        return bool(spaced <= alone)
    vocabulary = tokenizer.vocabulary()
    first, second = (
        b"".join(vocabulary[int(token)] for token in tokenizer.encode_batch([text]).ids[:1]) for text in ("the", " the")
    )
    return not first.startswith(b" ") and second.startswith(b" ") and len(second) > 1
