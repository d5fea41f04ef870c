"""Models to extend, drawn at random, and what extending makes of a model: in memory, without a file."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

import numpy as np

from oracles.bpe import NEVER, Rule
from oracles.extending import Grown
from pyharness.bpe.model.model import BpeModel
from pyharness.features.adaptation.bpe.extension import Extension
from pyharness.types import MergeModel, TokenKind, Vocabulary, offsets_of
from pyharness.vocabularies.files.merge_model import byte_level_model

LONGEST = 9  # bytes of a token
SPECIAL = 0.1  # share of tokens that no rule may make


def random_base(generator: random.Random, *, ranks: bool, special_share: float = SPECIAL) -> tuple[BpeModel, Grown]:
    """Byte-level model of few letters, and the same for the oracle.

    Ids have gaps and no order. Rules may be missing, listed in any order, and make one string in two ways, so that
    tokens cannot be reached. Some tokens are special.
    """
    alphabet = generator.choice([b"a", b"ab", b"abc", b"abcd", b"ab\xe4\xb8\xad"])
    strings = [bytes([byte]) for byte in alphabet]
    pairs: dict[tuple[bytes, bytes], None] = {}
    for _ in range(generator.choice([0, 6, 14, 30])):
        left, right = generator.choice(strings), generator.choice(strings)
        if len(left + right) < LONGEST:
            pairs[left, right] = None
            strings += [left + right] * (left + right not in strings)
    share = generator.choice([0.3, 0.6, 1.0])
    kept = [pair for pair in pairs if generator.random() < share]
    if ranks:
        strings = [string for string in strings if len(string) == 1 or generator.random() < share]
        kept = []
    if generator.random() < 0.5:
        generator.shuffle(kept)
    ids = generator.sample(range(len(strings) + generator.choice([0, 5])), len(strings))
    if generator.random() < 0.5:
        ids.sort()
    tokens = dict(zip(ids, strings, strict=True))
    number = {string: token for token, string in tokens.items()}
    rules = [(number[left], number[right], number[left + right]) for left, right in kept]
    parts = {token for rule in rules for token in rule}
    special = {
        token
        for token, string in tokens.items()
        if len(string) > 1 and (ranks or token not in parts) and generator.random() < special_share
    }
    order = [token for token in tokens if token not in special and len(tokens[token]) > 1]
    generator.shuffle(order)
    ranked = {token: rank for rank, token in enumerate(order)}
    whole = generator.random() < 0.5
    base = Grown(
        {token: string for token, string in tokens.items() if token not in special},
        None if ranks else rules, ranked if ranks else None, whole,
    )  # fmt: skip
    return byte_model(tokens, rules=base.rules, ranks=base.ranks, special=special, whole_pieces=whole), base


def byte_model(
    tokens: Mapping[int, bytes],
    *,
    rules: Sequence[Rule] | None = None,
    ranks: Mapping[int, int] | None = None,
    special: Collection[int] = (),
    whole_pieces: bool = False,
) -> BpeModel:
    """Byte-level model of ``id -> bytes``; missing ids are gaps, tokens of one byte are the alphabet."""
    vocabulary = Vocabulary.from_tokens(dict(tokens), dict.fromkeys(special, TokenKind.SPECIAL))
    alphabet = {string: token for token, string in tokens.items() if len(string) == 1}
    byte_ids = np.array([alphabet.get(bytes([byte]), NEVER) for byte in range(256)], np.uint32)
    merges = byte_level_model(
        vocabulary, byte_ids,
        rules=None if rules is None else np.array(rules, np.uint32).reshape(-1, 3),
        ranks=None if ranks is None else np.array([ranks.get(t, NEVER) for t in range(len(vocabulary))], np.uint32),
    )  # fmt: skip
    return BpeModel(vocabulary=vocabulary, merges=merges, alphabet=alphabet, splitter="none", whole_pieces=whole_pieces)


def extended_merges(model: BpeModel, extension: Extension) -> MergeModel:
    """Merges of the extended model, in provisional ids; new ones come last."""
    merges = model.merges
    base = [merges.base[start:end].tolist() for start, end in pairwise(merges.base_offsets.tolist())]
    base += [[model.alphabet[symbol] for symbol in _symbols(model, token)] for token in extension.tokens]
    added = len(extension.tokens)
    ranks = merges.ranks
    if ranks is not None:
        first = max((rank for rank in ranks.tolist() if rank != NEVER), default=0) + 1
        ranks = np.concatenate((ranks, np.arange(first, first + added, dtype=np.uint32)))
    return MergeModel(
        data=np.concatenate((merges.data, np.frombuffer(b"".join(extension.tokens), np.uint8))),
        offsets=np.concatenate((merges.offsets[:-1], merges.offsets[-1] + offsets_of([*map(len, extension.tokens)]))),
        base=np.array([symbol for symbols in base for symbol in symbols], np.uint32),
        base_offsets=offsets_of([len(symbols) for symbols in base]),
        tested=np.concatenate((merges.tested, np.ones(added, np.bool_))),
        atomic=np.concatenate((merges.atomic, np.zeros(added, np.bool_))),
        rules=None if merges.rules is None else np.concatenate((merges.rules, extension.rules)).astype(np.uint32),
        ranks=ranks,
    )


def _symbols(model: BpeModel, token: bytes) -> list[bytes]:
    if model.symbols == "bytes":
        return [bytes([byte]) for byte in token]
    return [character.encode() for character in token.decode()]


def extended_model(model: BpeModel, extension: Extension) -> BpeModel:
    """The extended model, in provisional ids."""
    vocabulary, added = model.vocabulary, len(extension.tokens)
    texts = extension.tokens
    if model.symbols == "characters":
        texts = tuple(text.replace("▁".encode(), b" ") for text in texts)
    grown = Vocabulary(
        np.concatenate((vocabulary.data, np.frombuffer(b"".join(texts), np.uint8))),
        np.concatenate((vocabulary.offsets[:-1], vocabulary.offsets[-1] + offsets_of([*map(len, texts)]))),
        np.concatenate((vocabulary.kinds, np.full(added, TokenKind.NORMAL, np.uint8))),
    )
    return dataclasses.replace(model, vocabulary=grown, merges=extended_merges(model, extension))
