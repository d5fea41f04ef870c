"""Extensions and prunings of tokenizer files, made up, and what an edited file must be."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from pyharness.bpe import BpeModel, BpeTokenizer
from pyharness.features.adaptation.bpe.extension import Extension
from pyharness.features.adaptation.id_maps import IdMap
from pyharness.types import TokenKind

Tokens = list[tuple[int, bytes]]
Rules = list[tuple[bytes, bytes]]


def strings_of(model: BpeModel) -> list[bytes]:
    """Strings of a model's merges, by id."""
    data = model.merges.data.tobytes()
    return [data[start:end] for start, end in pairwise(model.merges.offsets.tolist())]


def made_up(model: BpeModel, count: int, generator: random.Random, longest: int = 30) -> tuple[Tokens, Rules]:
    """New tokens behind the largest id, and a rule for each: of two old ones, or of older new ones."""
    strings = strings_of(model)
    known = set(strings) | {token.content.encode() for token in model.added}
    parts = [strings[token] for token in np.flatnonzero(model.merges.tested)]
    tokens: Tokens = []
    rules: Rules = []
    for _ in range(count * 200):
        left, right = generator.choice(parts), generator.choice(parts)
        if len(tokens) == count:
            break
        if left + right not in known and len(left + right) <= longest:
            known.add(left + right)
            parts.append(left + right)
            tokens.append((model.id_limit + len(tokens), left + right))
            rules.append((left, right))
    return tokens, rules


def without_leaves(model: BpeModel, share: float, generator: random.Random) -> IdMap:
    """Map that removes some tokens that no other is made of; of models with ranks, any that are merged."""
    merges = model.merges
    removable = merges.tested & ~merges.atomic & (model.vocabulary.kinds == TokenKind.NORMAL)
    if merges.rules is not None:
        removable[merges.rules[:, :2]] = False
    leaves = np.flatnonzero(removable).tolist()
    return without(model, generator.sample(leaves, int(len(leaves) * share)))


def without(model: BpeModel, gone: Iterable[int]) -> IdMap:
    """Map that removes some ids and gaps, and moves the others down."""
    kept = model.vocabulary.kinds != TokenKind.ABSENT
    kept[np.array(list(gone), np.int64)] = False
    return IdMap(np.where(kept, np.cumsum(kept) - 1, -1), int(kept.sum()))


def changed_keys(old: Any, new: Any, path: str = "") -> set[str]:
    """Paths of the keys whose values differ between two JSON values; elements of arrays have no name."""
    if isinstance(old, dict) and isinstance(new, dict):
        both = [(f"{path}.{key}".removeprefix("."), old.get(key), new.get(key)) for key in (*old, *new)]
        return {found for name, before, after in both for found in changed_keys(before, after, name)}
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return {found for before, after in zip(old, new, strict=True) for found in changed_keys(before, after, path)}
    return set() if old == new and type(old) is type(new) else {path}


def texts_of(model: BpeModel, new: Sequence[bytes], generator: random.Random) -> list[str]:
    """Texts in which strings occur, whole, joined and in pieces."""
    strings = [string.decode(errors="ignore").replace("▁", " ") for string in new]
    lines = [" ".join(generator.choices(strings, k=8)) for _ in range(20)] if strings else []
    lines += ["".join(generator.choices(strings, k=8)) for _ in range(20)] if strings else []
    return [*strings, *lines, "Hello world, it's 12345\n\n\tx = [i]  ", "日本語 中文 العَرَ 🇪🇪 é", ""]


def ids_of(model: BpeModel, texts: Sequence[str]) -> list[list[int]]:
    """Ids that our encoder gives."""
    tokens = BpeTokenizer(model).encode_batch(list(texts))
    return [tokens.document(index).tolist() for index in range(len(texts))]


def extension_of(model: BpeModel, tokens: Tokens, pairs: Rules) -> Extension:
    """Tokens and rules in provisional ids. An added token may read as one that rules are of."""
    strings = strings_of(model)
    number = {strings[token]: token for token in np.flatnonzero(model.merges.tested).tolist()}
    number |= {string: token for token, string in tokens}
    rules = np.array([(number[left], number[right], number[left + right]) for left, right in pairs], np.uint32)
    counts = np.ones(len(pairs), np.uint64)
    return Extension(model.id_limit, tuple(dict(tokens).values()), rules.reshape(-1, 3), counts, complete=True)
