"""Extension of a tokenizer: continued BPE, and naive extension for comparison.

Continued BPE continues the training of a tokenizer on a new text. Naive extension takes the strings of a separate
training, with all their rules.

Source: docs/algorithms.md "Continued BPE" and "Naive extension"; arXiv 2512.03989, and its code.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.model.reachability import NEVER, remembered_self_tokenization, self_tokenization
from pyharness.bpe.training.trainer import WeightedPieces
from pyharness.features.adaptation.bpe.model_pieces import (
    MARK,
    PieceRules,
    character_classes,
    check_extendable,
    encoded,
)
from pyharness.types import Ids, InputError, MergeModel, Offsets, TieRule, TokenKind, Tokens, Vocabulary, offsets_of
from pyharness.vocabularies.files.merge_model import byte_level_model, symbol_model

_MERGED = (TokenKind.NORMAL, TokenKind.UNUSED)  # no new rule takes or makes tokens of other kinds
AUXILIARY_SIZE = 64_000  # tokens of the separate training, as in the paper


@dataclass(frozen=True, slots=True)
class Extension:
    """New strings of a model, and the rules that make them, ranked after all of its own.

    String ``tokens[k]`` has the provisional id ``base_ids + k``; a :class:`Placement` gives its id in a file. Row ``r``
    of ``rules`` merges ``rules[r, 0]`` and ``rules[r, 1]`` into ``rules[r, 2]``, an old id where the model already has
    the string. Its pair had ``counts[r]`` occurrences when it was chosen; in a naive extension, counts are 0.
    """

    base_ids: int  # of the model: its largest id + 1
    tokens: tuple[bytes, ...]  # in the form of ``MergeModel.data``, in the order of their making
    rules: Ids  # uint32 [rules, 3], in the order of their ranks
    counts: NDArray[np.uint64]  # [rules]
    complete: bool  # False: there were fewer strings than requested

    def first(self, tokens: int) -> Extension:
        """Return the extension by at most so many strings: the rules up to the last that makes one of them.

        A training for fewer tokens ends with the rule of its last string. So later rules for old strings are left out.
        """
        if tokens > len(self.tokens):
            return self
        limit = self.base_ids + tokens
        kept = np.flatnonzero((self.rules < limit).all(axis=1))
        merging = np.flatnonzero(self.rules[kept, 2] >= self.base_ids)
        kept = kept[: int(merging[-1]) + 1 if len(merging) else 0]
        return Extension(self.base_ids, self.tokens[:tokens], self.rules[kept], self.counts[kept], complete=True)


class ExtendingOptions(TypedDict, total=False):
    """Options of :func:`extend`; defaults are in parentheses."""

    tie_rule: TieRule  # of pairs with equal counts (smallest_ids), as in pyharness.bpe.train
    min_frequency: int  # rarer pairs are not merged (2)
    max_token_length: int | None  # in bytes; longer strings are not made (None)
    max_token_characters: int | None  # in characters (None)
    piece_rules: PieceRules | None  # SentencePiece's rules for pieces (None: no rules)
    # Called with the text of a new string when its pair is the most frequent; no rule makes a string for which it is
    # True. In the text, invalid UTF-8 is U+FFFD, and the mark of a space is a space (None)
    denies: Callable[[str], bool] | None
    whole_pieces: bool | None  # a piece that is a token is not merged (None: the model's setting)
    cascade: bool  # False: old strings from new rules merge no further; rules form only (True)
    threads: int  # to encode the pieces (1)
    progress: Callable[[int], None] | None  # called from time to time with the number of new tokens (None)


@dataclass(frozen=True, slots=True)
class Continued:
    """An extension, and the final state of its pieces: the extended model's ids for them."""

    extension: Extension
    trained_on: NDArray[np.bool_]  # [pieces]: whether a piece is not empty and has a weight
    states: Tokens  # document k: the k-th trained piece, in provisional ids


def extend(model: BpeModel, pieces: WeightedPieces, tokens: int, **options: Unpack[ExtendingOptions]) -> Extension:
    """Continue to merge the most frequent pair of a corpus, from the model's encoding of it.

    After every new rule, pieces equal the encoding by the model extended so far (unless ``whole_pieces`` or ``cascade``
    is given). A new rule may make a string that the model has but could not reach, and old rules may then merge it
    further. Such a rule does not count towards ``tokens``. A training for fewer tokens gives a prefix of one for more
    (:meth:`Extension.first`).

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> model = model_of_training(trained, "gpt2", special=["<|end|>"])
    >>> extension = extend(model, WeightedPieces.of_bytes({b"hugs": 4, b"bugs": 3, b"run": 1}), 2)
    >>> extension.tokens, extension.rules.tolist(), extension.counts.tolist(), extension.complete
    ((b'hugs', b'bug'), [[257, 115, 260], [98, 256, 261]], [4, 3], True)

    Args:
        model: what to extend; symbols are bytes or characters, without prefix and suffix.
        pieces: pieces of the corpus, over the 256 bytes, as ``ModelPieces`` counts them.
        tokens: strings to add.
        options: see :class:`ExtendingOptions`.

    Raises:
        InputError: the model cannot be extended, or an option is out of range.

    Source: docs/algorithms.md "Continued BPE"; arXiv 2512.03989.
    """
    return continued(model, pieces, tokens, **options).extension


def continued(model: BpeModel, pieces: WeightedPieces, tokens: int, **options: Unpack[ExtendingOptions]) -> Continued:
    """Extend a model as :func:`extend`, and also return the final state of the pieces.

    Raises:
        InputError: as :func:`extend`.
    """
    check_extending(model, tokens, options)
    whole, threads = options.get("whole_pieces"), options.get("threads", 1)
    states = encoded(model, pieces, whole_pieces=model.whole_pieces if whole is None else whole, threads=threads)
    extendable = Extendable.of(model, threads)
    rules, progress = options.get("piece_rules"), options.get("progress")
    result = _core.extend_bpe(
        model=model.merges, symbols=states.ids, offsets=states.offsets, weights=pieces.weights,
        data=extendable.data, token_offsets=extendable.offsets, unreachable=extendable.unreachable,
        tokens=tokens, min_frequency=options.get("min_frequency", 2),
        max_token_length=options.get("max_token_length") or 0,
        max_token_characters=options.get("max_token_characters") or 0,
        tie_rule=options.get("tie_rule", "smallest_ids"), cascade=options.get("cascade", True),
        piece_rules=None if rules is None else (rules, *character_classes(extendable.characters)),
        denies=extendable.denier(options.get("denies")),
        progress=None if progress is None else lambda ids: progress(ids - model.id_limit),
    )  # fmt: skip
    bounds = result["offsets"][model.id_limit :].tolist()
    text = result["data"].tobytes()
    strings = tuple(text[start:end] for start, end in pairwise(bounds))
    return Continued(
        Extension(model.id_limit, strings, result["rules"], result["counts"], complete=len(strings) == tokens),
        (np.diff(states.offsets) > 0) & (pieces.weights > 0),
        Tokens(result["symbols"], result["symbol_offsets"]),
    )


def check_extending(model: BpeModel, tokens: int, options: ExtendingOptions) -> None:
    """Refuse a request that fails on any pieces.

    Raises:
        InputError: the model cannot be extended, or an option is out of range.
    """
    check_extendable(model)
    if not 0 <= tokens < (1 << 31) - model.id_limit:
        raise InputError(f"{tokens:,} tokens cannot be added to {model.id_limit:,} ids; there are at most 2^31 - 1")
    for name in ("min_frequency", "max_token_length", "max_token_characters"):
        value = options.get(name)
        if isinstance(value, int) and not 1 <= value < 1 << 63:
            raise InputError(f"{name} is {value:,}; it must be at least 1 and below 2^63")
    if not options.get("cascade", True) and model.merges.rules is None:
        raise InputError("only models with rules can do without cascade, and this one has ranks: leave it on")


def extend_naively(
    model: BpeModel,
    pieces: WeightedPieces,
    tokens: int,
    *,
    auxiliary_size: int = AUXILIARY_SIZE,
    **options: Unpack[ExtendingOptions],
) -> Extension:
    """Train a separate tokenizer on the pieces and append its strings that the model lacks, in their order.

    In the rules form each string gets all rules whose two parts are strings of the extended model, the longer left part
    first. In the ranks form its position is its rank, and there are no rules.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> model = model_of_training(trained, "gpt2")
    >>> extension = extend_naively(model, WeightedPieces.of_bytes({b"hugs": 4, b"bugs": 3}), 2)
    >>> extension.tokens, extension.rules.tolist()  # "ug" is there already
    ((b'ugs', b'hugs'), [[256, 115, 259], [257, 115, 260], [104, 259, 260]])

    Args:
        model: what to extend; symbols are bytes or characters, without prefix and suffix.
        pieces: pieces of the corpus, over the 256 bytes.
        tokens: strings to add.
        auxiliary_size: tokens of the separate training, including its symbols, which are the model's.
        options: options of the separate training, see :class:`ExtendingOptions`.

    Raises:
        InputError: as :func:`extend`.
    """
    check_naive(model, tokens, auxiliary_size)
    strings = _strings(model)
    other = extend(_bare(model), pieces, auxiliary_size - len(model.alphabet), **options)
    reserved = Extendable.of(model).reserved
    new = tuple(token for token in other.tokens if token not in strings and token not in reserved)[:tokens]
    rules = np.array([*_rules(model, strings, new)], np.uint32).reshape(-1, 3)
    return Extension(model.id_limit, new, rules, np.zeros(len(rules), np.uint64), complete=len(new) == tokens)


def check_naive(model: BpeModel, tokens: int, auxiliary_size: int) -> None:
    """Refuse a request that fails on any pieces.

    Raises:
        InputError: as :func:`extend_naively`.
    """
    if auxiliary_size < len(model.alphabet):
        raise InputError(f"auxiliary_size is {auxiliary_size:,}; the symbols alone are {len(model.alphabet):,}")
    check_extending(model, tokens, ExtendingOptions())


def _strings(model: BpeModel) -> dict[bytes, int]:
    """Return the ids of the strings that merges may take and make; the first of equal ones."""
    merges = Extendable.of(model)
    text, ends = merges.data.tobytes(), merges.offsets.tolist()
    strings = [text[start:end] for start, end in pairwise(ends)]
    return {string: token for token, string in reversed([*enumerate(strings)]) if string}


def _rules(model: BpeModel, known: Mapping[bytes, int], new: tuple[bytes, ...]) -> Iterator[tuple[int, int, int]]:
    if model.merges.rules is None:
        return
    ids = {**known, **{string: model.id_limit + index for index, string in enumerate(new)}}
    ruled = {(left, right) for left, right, _ in model.merges.rules.tolist()}
    for string in new:
        for cut in range(len(string) - 1, 0, -1):
            pair = ids.get(string[:cut]), ids.get(string[cut:])
            if pair[0] is not None and pair[1] is not None and pair not in ruled:
                ruled.add((pair[0], pair[1]))
                yield pair[0], pair[1], ids[string]


def _bare(model: BpeModel) -> BpeModel:
    """Return a model with only its symbols, in byte order, and no merges; it splits text as before.

    Symbols that are characters are followed by an unknown token.
    """
    symbols = sorted(model.alphabet)
    tokens = dict(enumerate(symbols))
    number = {symbol: token for token, symbol in tokens.items()}
    unknown = None if model.symbols == "bytes" else len(symbols)
    kinds = {} if unknown is None else {unknown: TokenKind.UNKNOWN}
    vocabulary = Vocabulary.from_tokens({**tokens, **dict.fromkeys(kinds, b"")}, kinds)
    none = np.zeros((0, 3), np.uint32)
    if unknown is None:
        byte_ids = np.array([number.get(bytes([byte]), NEVER) for byte in range(256)], np.uint32)
        merges = byte_level_model(vocabulary, byte_ids, rules=none)
    else:
        strings, base = [*symbols, b""], [[token] for token in range(len(symbols) + 1)]
        merges = symbol_model(strings, base, vocabulary.kinds, rules=none)
    return dataclasses.replace(
        model, vocabulary=vocabulary, merges=merges, alphabet=number, added=(), unknown=unknown, fuse_unknown=False,
        fallback=(), whole_pieces=False, algorithm="bpe",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Extendable:
    """Strings of the ids that merges may take and make; empty for other ids. String ``t`` is ``data[offsets[t]:...]``.

    ``reserved``: strings of the other ids, which no rule may make.
    """

    data: NDArray[np.uint8]
    offsets: Offsets  # int64 [ids + 1]
    unreachable: Ids  # ranks form: tokens not made by merging their own symbols; rules form: none
    reserved: frozenset[bytes]
    marked: bool  # whether SentencePiece's mark stands for a space

    @classmethod
    def of(cls, model: BpeModel, threads: int = 1) -> Extendable:
        """Read the strings of a model.

        Raises:
            InputError: the model cannot be extended.
        """
        check_extendable(model)
        merges = model.merges
        lengths = np.diff(merges.offsets)
        usable = np.isin(model.vocabulary.kinds, _MERGED) & (lengths > 0)
        if merges.ranks is not None:
            usable &= merges.atomic | (merges.ranks != NEVER)
        others = np.flatnonzero(~usable & (lengths > 0))
        strings = {merges[token] for token in others.tolist()}
        kept = merges.data[np.repeat(usable, lengths)]
        space = model.alphabet.get(MARK.encode())
        return cls(
            kept,
            offsets_of(np.where(usable, lengths, 0)),
            _unreachable(merges, threads),
            frozenset(strings | {token.content.encode() for token in model.added}),
            marked=space is not None and model.vocabulary[space] == b" ",
        )

    @property
    def characters(self) -> set[str]:
        """Return all characters of the strings."""
        return set(self.data.tobytes().decode(errors="replace"))

    def denier(self, denies: Callable[[str], bool] | None) -> Callable[[bytes], bool] | None:
        """Return a function that tells whether a string must not be made, also by its text; None if any may."""
        if denies is None:
            return self.reserved.__contains__ if self.reserved else None

        def denied(string: bytes) -> bool:
            text = string.decode(errors="replace")
            return string in self.reserved or denies(text.replace(MARK, " ") if self.marked else text)

        return denied


def _unreachable(merges: MergeModel, threads: int) -> Ids:
    if merges.ranks is None:
        return np.zeros(0, np.uint32)
    tested = merges.tested | (merges.ranks != NEVER)
    if np.array_equal(tested, merges.tested):
        return remembered_self_tokenization(merges, threads).failed.astype(np.uint32)
    return self_tokenization(dataclasses.replace(merges, tested=tested), threads).failed.astype(np.uint32)
