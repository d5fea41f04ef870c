"""A corpus as a model's merges get it: normalised, split pieces without added tokens; and counts of tokens.

At the end, SentencePiece's rules for pieces.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.bpe.encoding.pipeline import ModelTexts
from pyharness.bpe.encoding.stages import is_byte_level
from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.model.reachability import NEVER
from pyharness.bpe.model.text_splitter import Pieces, TextSplitter
from pyharness.bpe.training.piece_counter import PieceCounter
from pyharness.bpe.training.trainer import WeightedPieces
from pyharness.types import Ids, InputError, MergeModel, Tokens
from pyharness.vocabularies.patterns.code_points import table
from pyharness.vocabularies.sentencepiece_file import SentencePieceNormalizer, fields

MARK = "▁"  # SentencePiece's mark for a space
_FIELDS = {21: "by_script", 22: "by_whitespace", 23: "by_number", 24: "whitespace_last", 25: "digits_alone",
           26: "whitespace_only", 20: "longest"}  # fmt: skip
_INHERITED, _HAN = 0, 1  # numbers of scripts; others are larger
_AS_HAN = ("hiragana", "katakana")
_LONG_VOWEL = 0x30FC
_DIGITS = (0x30, 0x3A, 0xFF10, 0xFF1A)  # of ASCII and full-width; SentencePiece treats others as letters


class ModelPieces:
    """Counter of the distinct pieces of texts in batches, like :class:`PieceCounter`.

    Special and other added tokens are cut out and never counted. Where ``▁`` stands for a space, pieces are cut before
    runs of it, or after them where it ends tokens. This needs that no token crosses such a place: no new token will
    either. There is no cut if ``rules`` allow white space anywhere in a piece, or if the model looks up whole pieces.
    ``max_bytes``: most memory for the distinct pieces.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> pieces = ModelPieces(model_of_training(trained, "gpt2", special=["<|end|>"]))
    >>> pieces.add(["a hug<|end|> hug"])
    >>> counted = pieces.pieces()
    >>> bytes(counted.symbols.tolist()), counted.weights.tolist()
    (b'a hug', [1, 2])

    Raises:
        InputError: the model cannot be run, or cannot be extended (:func:`check_extendable`).
    """

    def __init__(self, model: BpeModel, rules: PieceRules | None = None, *, max_bytes: int = 4 << 30) -> None:
        check_extendable(model)
        self._texts = ModelTexts(model)
        self._special = frozenset(model.special)
        marks = mark_pattern(model) if rules is None or rules.by_whitespace else None
        self._splitter = None if marks is None else TextSplitter(marks)
        self._max_bytes = max_bytes
        self._counter: PieceCounter | None = None

    def add(self, texts: Sequence[str | bytes], threads: int = 1) -> None:
        """Count the pieces of some texts.

        Raises:
            InputError, ValueError, TypeError: as :meth:`PieceCounter.add` and :meth:`BpeTokenizer.encode_batch`.
        """
        texts, cut = self._texts.cut(self._texts.stretches(texts, threads, self._special))
        if self._splitter is not None and isinstance(cut, TextSplitter) and cut.name != "none":
            cut = cut.split_batch(texts, threads)
        if isinstance(cut, Pieces):
            self._counter = self._counter or PieceCounter(self._splitter or TextSplitter("none"), self._max_bytes)
            parts = []
            for index, text in enumerate(texts):
                data = text.encode() if isinstance(text, str) else text
                parts += [data[start:end] for start, end in pairwise([0, *cut.of(index).tolist()])]
            self._counter.add(parts, threads)
        else:
            self._counter = self._counter or PieceCounter(self._splitter or cut, self._max_bytes)
            self._counter.add(texts, threads)

    def pieces(self) -> WeightedPieces:
        """Return the counted pieces over the 256 bytes, in the order of first occurrence."""
        return WeightedPieces.of_bytes({}) if self._counter is None else self._counter.pieces()


def check_extendable(model: BpeModel) -> None:
    """Refuse models for which continued training is not defined.

    Raises:
        InputError: the model has scaffold tokens, or symbols with a prefix or a suffix.
    """
    if model.expansion is not None:
        raise InputError("a model of Scaffold-BPE cannot be extended: its scaffold tokens are never written")
    if model.prefix or model.suffix:
        raise InputError(
            f"the symbols of this model carry {model.prefix or model.suffix!r}, which extending does not know: give a "
            "model of plain symbols"
        )


def mark_pattern(model: BpeModel) -> str | None:
    """Return the expression that cuts the model's pieces at the marks of white space.

    None where the model has no marks, where tokens cross them, or where whole pieces are looked up: parts of a piece
    are not looked up, and only the lookup may give a piece that is a token.
    """
    if model.whole_pieces or model.symbols != "characters" or MARK.encode() not in model.alphabet:
        return None
    merges = model.merges
    merged = merges.tested.copy()
    if merges.rules is not None:
        merged[merges.rules[:, 2]] = True  # including added tokens
    elif merges.ranks is not None:
        merged |= merges.ranks != NEVER  # including unused tokens
    every = merges.strings()
    strings = [every[token].decode(errors="replace") for token in np.flatnonzero(merged).tolist()]
    first, last = f"{MARK}+[^{MARK}]*|[^{MARK}]+", f"[^{MARK}]*{MARK}+|[^{MARK}]+"
    if isinstance(model.normalizer, SentencePieceNormalizer) and model.normalizer.whitespace_as_suffix:
        return None if any(re.search(f"{MARK}[^{MARK}]", string) for string in strings) else last
    return None if any(re.search(f"[^{MARK}]{MARK}", string) for string in strings) else first


def encoded(model: BpeModel, pieces: WeightedPieces, *, whole_pieces: bool, threads: int = 1) -> Tokens:
    """Encode pieces over bytes: document ``i`` is piece ``i`` in the ids of the model.

    ``whole_pieces``: a piece that is a token becomes that token, without merges.
    """
    letters = pieces.data[pieces.data_offsets[:-1]]
    in_order = np.array_equal(letters, np.arange(256))
    data = pieces.symbols.astype(np.uint8) if in_order else letters[pieces.symbols]
    if is_byte_level(model):
        return Tokens(*_merger(model.merges, whole_pieces).encode_batch(data, pieces.offsets, threads))
    encoder = _core.SymbolEncoder(
        model.merges, characters=model.symbols == "characters", alphabet=list(model.alphabet.items()), prefix=b"",
        suffix=b"", fallback=np.array(model.fallback, np.int64).astype(np.uint32), unknown=model.unknown,
        fuse_unknown=model.fuse_unknown, whole_pieces=whole_pieces, longest_match=False, expansion=None,
    )  # fmt: skip
    return Tokens(*encoder.encode_pieces(data, pieces.offsets, threads))


_MERGERS: WeakKeyDictionary[MergeModel, dict[bool, _core.PieceMerger]] = WeakKeyDictionary()


def _merger(merges: MergeModel, whole_pieces: bool) -> _core.PieceMerger:
    """Return the merger of a model's pieces; its tables live as long as the model."""
    kept = _MERGERS.setdefault(merges, {})
    if whole_pieces not in kept:
        kept[whole_pieces] = _core.PieceMerger(merges, whole_pieces)
    return kept[whole_pieces]


class TokenCounter:
    """Counter of the model's tokens in texts that come in batches.

    A special token that a text spells counts as one token. No post-processor adds tokens around a text.
    ``whole_pieces``: whether a piece that is a token is looked up before any merge; None: the model's setting.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> counter = TokenCounter(model_of_training(trained, "gpt2", special=["<|end|>"]))
    >>> counter.add(["hug", "pughug<|end|>"])
    >>> counter.counts[256:].tolist()
    [0, 2, 1, 1]
    """

    def __init__(self, model: BpeModel, *, whole_pieces: bool | None = None) -> None:
        whole = model.whole_pieces if whole_pieces is None else whole_pieces
        self._tokenizer = BpeTokenizer(dataclasses.replace(model, whole_pieces=whole))
        self.counts: NDArray[np.uint64] = np.zeros(model.id_limit, np.uint64)

    def add(self, texts: Sequence[str | bytes], threads: int = 1) -> None:
        """Count the tokens of some texts.

        Raises:
            InputError, ValueError, TypeError: as :meth:`BpeTokenizer.encode_batch`.
        """
        tokens = self._tokenizer.encode_batch(texts, threads, allowed_special="all")
        groups = np.zeros(len(tokens), np.uint8)
        _core.token_frequency(tokens.ids, tokens.offsets, groups, self.counts[np.newaxis])


@dataclass(frozen=True, slots=True)
class PieceRules:
    """SentencePiece's rules for trained pieces: fields of ``TrainerSpec``, with its defaults. White space is ``▁``.

    Source: sentencepiece_model.proto, and ``IsValidSentencePiece`` of trainer_interface.cc (0.2).
    """

    by_script: bool = True  # split_by_unicode_script: no two scripts in a piece; Kana are Han
    by_number: bool = True  # split_by_number: digits have a script (Common); otherwise they go with any
    by_whitespace: bool = True  # split_by_whitespace: white space only at the beginning of a piece
    digits_alone: bool = False  # split_digits: a digit is a piece of its own
    whitespace_last: bool = False  # treat_whitespace_as_suffix: only at the end of a piece
    whitespace_only: bool = False  # allow_whitespace_only_pieces: runs of it may be pieces
    longest: int = 16  # max_sentencepiece_length, in characters


def read_piece_rules(data: bytes, label: str) -> PieceRules:
    """Read the rules for the pieces of a model file; absent fields have their defaults.

    Raises:
        InputError: the file is damaged, or its greatest length of a piece is below 1.
    """
    members: dict[str, int | bytes] = {}
    for number, value in fields(data, label):
        if number == 2 and isinstance(value, bytes):
            members |= {_FIELDS[field]: content for field, content in fields(value, label) if field in _FIELDS}
    longest = members.pop("longest", 16)
    if not isinstance(longest, int) or not 1 <= longest < 1 << 31:
        raise InputError(f"{label}: max_sentencepiece_length is {longest!r}; it is at least 1")
    return PieceRules(**{name: bool(value) for name, value in members.items()}, longest=longest)


def character_classes(characters: Iterable[str]) -> tuple[Ids, Ids, NDArray[np.bool_]]:
    """Return the code points of characters, ascending, with the number of each one's script, and whether it is a digit.

    Script 0 is Inherited, 1 is Han, Hiragana and Katakana. Digits are ASCII or full-width. The scripts are those of
    Unicode 16.0; SentencePiece may have older ones.
    """
    points = np.unique(np.array([ord(character) for character in characters], np.uint32))
    scripts = np.full(len(points), _HAN + 1, np.uint32)  # characters without a script share one number
    for number, edges in enumerate(_scripts(), _HAN + 2):
        scripts[_inside(points, edges)] = number
    for name in ("han", *_AS_HAN):
        scripts[_inside(points, table().sets["sc", name])] = _HAN
    scripts[points == _LONG_VOWEL] = _HAN
    scripts[_inside(points, table().sets["sc", "inherited"])] = _INHERITED
    return points, scripts, _inside(points, _DIGITS)


def _scripts() -> Iterator[tuple[int, ...]]:
    yield from dict.fromkeys(edges for (kind, _), edges in table().sets.items() if kind == "sc")


def _inside(points: Ids, edges: tuple[int, ...]) -> NDArray[np.bool_]:
    return np.asarray(np.searchsorted(np.array(edges), points, side="right") % 2 == 1)
