"""Construction of a tokenizer from the result of a training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.model.text_splitter import TextSplitter
from pyharness.bpe.training.trainer import TrainedBpe
from pyharness.types import DemolitionRule, Ids, InputError, MergeModel, TokenKind, Vocabulary
from pyharness.vocabularies.files.merge_model import byte_level_model, symbol_model
from pyharness.vocabularies.huggingface.file import AddedToken


class AffixedTokens:
    """Base symbols and tokens of a training with affixes.

    ``bare``: base symbols without prefix and suffix. ``alphabet``: all base symbols as they are written. ``texts``: the
    text that each token stands for.
    """

    def __init__(self, trained: TrainedBpe) -> None:
        size = trained.alphabet_size
        bare = range(size) if trained.bare is None else trained.bare.tolist()
        self._trained = trained
        self._symbols = [[symbol] for symbol in range(size)]
        for left, right, result in trained.rules.tolist():
            if result == len(self._symbols):  # or else such a token exists already
                self._symbols.append(self._symbols[left] + self._symbols[right])
        self.bare = [trained[symbol] for symbol in np.unique(bare).tolist()]
        self.alphabet = {trained[symbol]: symbol for symbol in range(size)}
        self.texts = [b"".join(trained[bare[symbol]] for symbol in symbols) for symbols in self._symbols]

    def merge_model(self, vocabulary: Vocabulary) -> MergeModel:
        """Return the rules form. Strings have the prefix and not the suffix, as in a model read from tokenizer.json."""
        suffix = self._trained.suffix.encode()
        strings: list[bytes] = []
        for token, (*_, last) in enumerate(self._symbols):
            at_end = len(self._trained[last]) >= len(self.texts[last]) + len(suffix)
            strings.append(self._trained[token].removesuffix(suffix if at_end else b""))
        more = len(vocabulary) - len(strings)
        strings += [vocabulary[token] for token in range(len(strings), len(vocabulary))]
        return symbol_model(strings, [*self._symbols, *([[]] * more)], vocabulary.kinds, rules=self._trained.rules)


def model_of_training(
    trained: TrainedBpe,
    splitter: TextSplitter | str,
    *,
    special: Sequence[str] = (),
    unknown: str | None = None,
    demolition: DemolitionRule = "eq6",
    origin: Mapping[str, Any] | None = None,
) -> BpeModel:
    """Build a tokenizer from the result of a training.

    Output ids are the tokens that are no scaffold, in rank order without gaps, then the special tokens.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> model = model_of_training(trained, "gpt2", special=["<|end|>"])
    >>> model.id_limit, model.vocab_size, dict(model.special)
    (260, 259, {'<|end|>': 259})

    Args:
        trained: over the 256 bytes, in any order, or over characters.
        splitter: the splitter of the training text.
        special: contents of special tokens.
        unknown: the special token that stands for a character outside the alphabet; without one it is left out.
        demolition: how scaffold tokens are written, for Scaffold-BPE.
        origin: provenance of the training; JSON values.

    Raises:
        InputError: special tokens are empty, no text, occur twice, or lack ``unknown``; base symbols are neither the
            256 bytes nor different characters, or there are none; Scaffold-BPE has an unknown token.
    """
    _check_special(special, unknown)
    if not len(trained):
        raise InputError("the training gave no token: its alphabet is empty")
    if unknown is not None and trained.scaffold.any():
        raise InputError(f"Scaffold-BPE has no unknown token; train it over bytes instead of giving {unknown!r}")
    scaffold = bool(trained.scaffold.any())
    data = [trained[token] for token in range(len(trained))]
    affixed = None if trained.bare is None else AffixedTokens(trained)
    texts = data if affixed is None else affixed.texts
    written = [token for token, flag in zip(texts, trained.scaffold.tolist(), strict=True) if not flag]
    added = tuple(AddedToken(len(written) + index, content, special=True) for index, content in enumerate(special))
    tokens = dict(enumerate([*written, *(content.encode() for content in special)]))
    kinds = {token.id: TokenKind.UNKNOWN if token.content == unknown else TokenKind.SPECIAL for token in added}
    vocabulary = Vocabulary.from_tokens(tokens, kinds)
    internal = Vocabulary.from_tokens(dict(enumerate(data)), {}) if scaffold else vocabulary
    bare = _alphabet(data[: trained.alphabet_size] if affixed is None else affixed.bare)
    in_bytes = len(bare) == 256 and all(len(symbol) == 1 for symbol in bare)
    if affixed is None:
        alphabet, merges = bare, _merge_model(internal, bare, trained, in_bytes=in_bytes)
    else:
        alphabet, merges = affixed.alphabet, affixed.merge_model(vocabulary)
    return BpeModel(
        algorithm="scaffold-bpe" if scaffold else "bpe",
        vocabulary=vocabulary,
        merges=merges,
        alphabet=alphabet,
        expansion=output_ids(trained.demolition(demolition), trained.scaffold) if scaffold else None,
        demolition=demolition if scaffold else None,
        symbols="bytes" if in_bytes else "characters",
        splitter=splitter if isinstance(splitter, str) else splitter.name,
        dialect="regex" if isinstance(splitter, str) else splitter.dialect,
        added=added,
        unknown=None if unknown is None else len(written) + list(special).index(unknown),
        prefix=trained.prefix,
        suffix=trained.suffix,
        round_trip="exact" if in_bytes and affixed is None else "lossy",
        origin=dict(origin or {}),
    )


def _merge_model(
    internal: Vocabulary, alphabet: Mapping[bytes, int], trained: TrainedBpe, *, in_bytes: bool
) -> MergeModel:
    if in_bytes:
        numbers = np.array([alphabet[bytes([byte])] for byte in range(256)], np.uint32)
        return byte_level_model(internal, numbers, rules=trained.rules)
    base = [[alphabet[character.encode()] for character in trained[token].decode()] for token in range(len(trained))]
    base += [[]] * (len(internal) - len(trained))
    strings = [internal[token] for token in range(len(internal))]
    return symbol_model(strings, base, internal.kinds, rules=trained.rules)


def _alphabet(symbols: Sequence[bytes]) -> dict[bytes, int]:
    """Number the base symbols; refuse symbols that are neither the 256 bytes nor distinct characters."""
    alphabet = {data: symbol for symbol, data in enumerate(symbols)}
    if len(alphabet) < len(symbols):
        twice = next(data for symbol, data in enumerate(symbols) if alphabet[data] != symbol)
        raise InputError(f"the base symbol {twice!r} is there twice; give every symbol once")
    if len(alphabet) != 256 or any(len(data) != 1 for data in alphabet):
        for data in alphabet:
            if len(data.decode(errors="ignore")) != 1 or data.decode(errors="replace").encode() != data:
                raise InputError(
                    f"the base symbol {data!r} is not a character, and the {len(alphabet):,} base symbols are not the "
                    "256 bytes; train over all bytes, or over characters"
                )
    return alphabet


def output_ids(expansion: tuple[Ids, NDArray[np.int64]], scaffold: NDArray[np.bool_]) -> tuple[Ids, NDArray[np.int64]]:
    """Number the tokens of a demolition as they are written: without gaps, in rank order."""
    ids, offsets = expansion
    numbers = np.cumsum(~scaffold) - 1
    return numbers[ids].astype(np.uint32), offsets


def _check_special(special: Sequence[str], unknown: str | None) -> None:
    if len(set(special)) != len(special) or "" in special:
        raise InputError(f"special tokens must be different and not empty: {list(special)}")
    for content in special:
        if any(0xD800 <= ord(character) < 0xE000 for character in content):
            raise InputError(f"the special token {content!r} has half a surrogate pair: it is not text")
    if unknown is not None and unknown not in special:
        raise InputError(f"the unknown token {unknown!r} is none of the special tokens: {list(special)}")
