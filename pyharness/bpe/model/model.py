"""A BPE tokenizer as data: all that decides the ids of a text, without code that runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from pyharness.types import DemolitionRule, Ids, MergeModel, Offsets, RoundTrip, TokenKind, Vocabulary
from pyharness.vocabularies.huggingface.file import AddedToken
from pyharness.vocabularies.huggingface.traits import writes_bytes
from pyharness.vocabularies.patterns.syntax import Dialect
from pyharness.vocabularies.sentencepiece_file import SentencePieceNormalizer

Algorithm: TypeAlias = Literal["bpe", "scaffold-bpe"]
Symbols: TypeAlias = Literal["bytes", "characters"]
Spaces: TypeAlias = Literal["spaces"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BpeModel:
    """All that decides the ids of a text. The steps below are in the order of application.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> model = model_of_training(trained, "gpt2")
    >>> model.splitter, model.symbols, model.id_limit, model.round_trip
    ('gpt2', 'bytes', 259, 'exact')
    >>> model.alphabet[b"u"], model.vocabulary[258], model.kind(258).name
    (117, b'pug', 'NORMAL')

    Two numberings: *output ids* index ``vocabulary``; *internal ids* index ``merges``, and ``alphabet``, ``fallback``
    and ``unknown`` contain them. They are the same unless ``expansion`` is set.

    1. ``added`` tokens are cut out of the text: those with ``normalized`` False before the normaliser, the others
       after it; special ones only on request. In a SentencePiece model they are its control pieces (special, cut out
       before the normaliser) and its user-defined pieces (cut out after it; it leaves them unchanged).
    2. ``normalizer``: None, a ``normalizer`` of tokenizer.json, or the normaliser of a SentencePiece file.
    3. ``splitter``: a name or expression for :class:`pyharness.bpe.TextSplitter` (the pieces are the text's own), or a
       ``pre_tokenizer`` of tokenizer.json for :class:`pyharness.bpe.encoding.pre_tokenizer.PreTokenizer`. The latter
       gives strings of the file: with symbols "bytes" they are written in the byte alphabet of GPT-2.
    4. A piece becomes symbols, one per byte or character. ``prefix`` precedes every symbol of a piece but the first,
       ``suffix`` follows the last; the result, as bytes, is looked up in ``alphabet``. A missing symbol becomes the
       ``fallback`` ids of its bytes (prefix and suffix included), if all have one. Otherwise it becomes ``unknown``,
       one for a run of them with ``fuse_unknown``; without an unknown token it is left out.
    5. ``merges`` are applied to the symbols, lowest rank first, leftmost first. With ``whole_pieces`` a piece that is a
       token is that token, whatever the rules say. In a model with ranks (SentencePiece) missing symbols become bytes
       or ``unknown`` after merging and not before, so neither of these merges there.
    6. ``expansion``: internal id ``t`` is written as ``ids[offsets[t]:offsets[t + 1]]``. Tokens of the kind UNUSED that
       have a rank are written as the parts of their merge.

    Decoding joins the bytes of ``vocabulary``; with ``drop_space`` one leading space of the whole text is dropped. With
    the normaliser of a SentencePiece file it follows that library: control pieces are empty, the unknown piece reads
    " ⁇ ", and more leading spaces are dropped if the normaliser removes extra white space. A ``decoder`` is set only
    where the file specifies otherwise: a decoder of tokenizer.json, which ``tokenizers`` runs, or "spaces". The latter
    means that a tokenizer.json has no decoder: tokens are joined as written, with a space between two.
    """

    algorithm: Algorithm = "bpe"
    vocabulary: Vocabulary
    merges: MergeModel
    alphabet: Mapping[bytes, int]
    expansion: tuple[Ids, Offsets] | None = None
    demolition: DemolitionRule | None = None  # rule of the expansion; set if and only if the expansion is
    symbols: Symbols = "bytes"
    splitter: str | Mapping[str, Any]
    dialect: Dialect = "regex"  # of a splitter that is an expression
    normalizer: Mapping[str, Any] | SentencePieceNormalizer | None = None
    decoder: Mapping[str, Any] | Spaces | None = None
    drop_space: bool = False
    added: tuple[AddedToken, ...] = ()
    unknown: int | None = None
    fuse_unknown: bool = False
    fallback: tuple[int, ...] = ()  # the id of each of the 256 bytes, -1 where it has none; or empty
    prefix: str = ""
    suffix: str = ""
    whole_pieces: bool = False
    round_trip: RoundTrip = "exact"
    notes: tuple[str, ...] = ()  # remarks about the file, for people
    origin: Mapping[str, Any] = field(default_factory=dict)  # provenance; JSON values

    @property
    def id_limit(self) -> int:
        """Largest output id + 1."""
        return len(self.vocabulary)

    @property
    def vocab_size(self) -> int:
        """Number of output ids that are neither special nor unknown nor gaps."""
        return int(self.vocabulary.counted.sum())

    @property
    def special(self) -> Mapping[str, int]:
        """Content of the special tokens, and their output ids."""
        return {token.content: token.id for token in self.added if token.special}

    @property
    def scaffold(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """bool [internal ids]: tokens that are merged but never written."""
        if self.expansion is None:
            return np.zeros(len(self.merges.tested), np.bool_)
        # Scaffold tokens have at least two parts, and all other tokens are written as themselves.
        return np.diff(self.expansion[1]) > 1

    @property
    def byte_ids(self) -> Ids | None:
        """uint32 [256]: the symbol of each byte (2**32 - 1: none); None unless symbols are bytes without affixes."""
        if self.symbols != "bytes" or self.prefix or self.suffix:
            return None
        missing = np.iinfo(np.uint32).max
        return np.array([self.alphabet.get(bytes([byte]), missing) for byte in range(256)], np.uint32)

    @property
    def in_letters(self) -> bool:
        """Whether the normaliser writes text in the byte alphabet of GPT-2, so that characters are its letters."""
        normalizer = self.normalizer
        return not isinstance(normalizer, SentencePieceNormalizer) and writes_bytes(normalizer)

    def kind(self, token: int) -> TokenKind:
        """Return the kind of an output id."""
        return TokenKind(self.vocabulary.kinds[token])
