"""The byte length of every id, and whether lengths of ids add up to the UTF-8 bytes of a text.

The length of an id is what it adds to decoded text in the middle of a text: of ``▁the`` it is 4, of ``<0x41>`` 1, of a
part of a character its own bytes. A tokenizer that puts a space before every text (a dummy space) has that space in the
first token: it is no byte of the text. Decoding an id alone and counting bytes is the *naive* length. It is wrong for
parts of characters, which become U+FFFD (3 bytes), and for SentencePiece pieces, which lose their space.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness import tokenizers
from pyharness.corpora import open_corpus
from pyharness.corpora.streaming import batches, keyed
from pyharness.types import HasPipeline, HasVocabulary, Ids, Tally, Tokenizer, TokenKind, Unsupported, Vocabulary
from pyharness.vocabularies.sentencepiece_file import SPACE

Claim: TypeAlias = Literal["every text", "not every text", "open"]
Lengths: TypeAlias = "NDArray[np.int64]"
SAMPLE = "sample"
_NO_TEXT = (TokenKind.SPECIAL, TokenKind.UNKNOWN, TokenKind.ABSENT)  # kinds of ids that stand for no bytes of a text
_BATCH_CHARACTERS = 1 << 20
_MOST_CONTENTS = 100  # of added tokens that are tried
# What may change the bytes of a text, with a text that shows it.
PROBES = (
    ("a text of letters", "ab"),
    ("spaces between words", "a b"),
    ("spaces before the text", " a"),
    ("spaces behind the text", "a "),
    ("runs of spaces", "a  b"),
    ("ends of lines", "a\nb"),
    ("tabs", "a\tb"),
    ("capital letters", "A"),
    ("letters with accents", "é"),
    ("marks that follow their letter (NFC)", "e\u0301"),
    ("ligatures and wide letters (NFKC)", "ﬁＡ"),
    ("control characters", "a\x01b"),
    ("the character ▁, used for a space", f"a{SPACE}b"),
    ("characters of rare scripts", "\U00012000"),
    ("characters that are not assigned", "\ue000"),
    ("the text of a byte piece", "<0x41>"),
)


@dataclass(frozen=True, slots=True)
class Loss:
    """A text whose lengths of ids do not add up to its UTF-8 bytes, as its library encodes it."""

    cause: str
    text: str
    bytes: int  # UTF-8 bytes of the text
    total: int  # sum of the lengths of its ids, without the dummy space


@dataclass(frozen=True, slots=True)
class Sums:
    """Documents that were read, and those of which the lengths do not add up to their bytes."""

    documents: int
    bytes: int
    unequal: int
    total: int  # sum over all documents
    naive: int | None  # the same sum of naive lengths; None: not counted


@dataclass(frozen=True, slots=True, eq=False)
class ByteLengths:
    """Byte lengths of the ids of one row.

    ``lengths`` int64 [n]: bytes in the middle of a text. ``leading`` bool [n]: the id starts with a space, which is not
    of the text where the id comes first and the row has a ``dummy_space``.
    """

    row: str
    vocabulary: Vocabulary
    lengths: Lengths
    leading: NDArray[np.bool_]
    dummy_space: bool

    @property
    def of_text(self) -> NDArray[np.bool_]:
        """Whether an id stands for bytes of a text: bool [n]; not so special, unknown and absent ids."""
        return ~np.isin(self.vocabulary.kinds, _NO_TEXT)

    def without_special(self) -> Lengths:
        """Return lengths with 0 for ids that stand for no bytes of a text, as losses by byte count them."""
        return np.where(self.of_text, self.lengths, 0)

    def without_dummy_space(self, values: Lengths) -> Lengths:
        """Return lengths as they are where each id is the first of a text."""
        return (values - (self.leading & self.dummy_space)).clip(0)

    def total(self, ids: Ids) -> int:
        """Add up the lengths of the ids of one text, without its dummy space."""
        return int(self.lengths[ids].sum() - self.leading[ids[:1]].sum() * self.dummy_space)


def byte_lengths(row: str, tokenizer: Tokenizer) -> ByteLengths:
    """Return the lengths of a loaded row.

    Raises:
        Unsupported: the row hides the bytes of its tokens.
    """
    if not isinstance(tokenizer, HasVocabulary):
        raise Unsupported(f"{row!r} does not give the bytes of its tokens; take the row without the engine")
    vocabulary = tokenizer.vocabulary()
    lengths = np.diff(vocabulary.offsets).astype(np.int64)
    leading = np.zeros(len(lengths), np.bool_)
    filled = np.flatnonzero(lengths)
    leading[filled] = vocabulary.data[vocabulary.offsets[filled]] == ord(" ")
    ids = tokenizer.encode_batch(["ab"]).ids.tolist()
    dummy_space = b"".join(vocabulary[token] for token in ids) == b" ab"
    return ByteLengths(row, vocabulary, lengths, leading, dummy_space)


def naive_lengths(tokenizer: Tokenizer, vocabulary: Vocabulary) -> Lengths:
    """Return what one gets by decoding every id alone to text: int64 [n], -1 for absent ids.

    It is here to be compared with: see the module.
    """
    naive = np.full(len(vocabulary), -1, np.int64)
    for token in np.flatnonzero(vocabulary.kinds != TokenKind.ABSENT).tolist():
        alone = tokenizer.decode(np.array([token], np.uint32))
        naive[token] = len(alone.decode("utf-8", "replace").encode())
    return naive


# ---------------------------------------------------------------------------------------------- do they add up?


def losses(lengths: ByteLengths, tokenizer: Tokenizer) -> list[Loss]:
    """Try probes, and return those whose lengths do not add up, with what they show.

    Empty ids for a text that is not empty are a loss, too.
    """
    probes = [*PROBES, *_of_added(tokenizer)]
    tokens = tokenizer.encode_batch([text for _, text in probes])
    sums = [lengths.total(tokens.document(index)) for index in range(len(tokens))]
    return [
        Loss(cause, text, len(text.encode()), total)
        for (cause, text), total in zip(probes, sums, strict=True)
        if total != len(text.encode())
    ]


def _of_added(tokenizer: Tokenizer) -> Iterator[tuple[str, str]]:
    contents = tokenizer.added_tokens() if isinstance(tokenizer, HasPipeline) else {}
    for content in list(contents)[:_MOST_CONTENTS]:
        yield f"text next to the added token {content}", f"a {content} b"


def sums(lengths: ByteLengths, tokenizer: Tokenizer, corpora: Sequence[str], naive: Lengths | None = None) -> Sums:
    """Add up the lengths of all documents of corpora.

    Raises:
        InputError: a corpus cannot be read.
    """
    documents = size = unequal = total = naively = 0
    for name in corpora:
        tally = Tally()
        texts = (piece.text for piece in keyed(open_corpus(name), tally))
        for batch in batches(texts, size=_BATCH_CHARACTERS):
            tokens = tokenizer.encode_batch(batch)
            exact = [len(text.encode()) for text in batch]
            spelled = [lengths.total(tokens.document(index)) for index in range(len(batch))]
            documents, size, total = documents + len(batch), size + sum(exact), total + sum(spelled)
            unequal += sum(map(int.__ne__, exact, spelled))
            naively += 0 if naive is None else int(naive[tokens.ids].sum())
    return Sums(documents, size, unequal, total, None if naive is None else naively)


def claim(tokenizer: Tokenizer, lost: Sequence[Loss], read: Sums) -> Claim:
    """Return for which texts the lengths add up: every one only if the file promises it and nothing tried differs."""
    if lost or read.unequal:
        return "not every text"
    return "every text" if tokenizer.round_trip == "exact" else "open"


def load(spec: str) -> tuple[ByteLengths, Tokenizer]:
    """Load a row and its lengths.

    Raises:
        InputError: there is no such row, or it cannot run.
        Unsupported: the row has no vocabulary.
    """
    row = tokenizers.obtain(spec)
    if row.instead is not None:
        raise Unsupported(f"{spec!r} has no vocabulary: its units have no ids, so no id has a length")
    tokenizer = tokenizers.load(row)
    return byte_lengths(spec, tokenizer), tokenizer
