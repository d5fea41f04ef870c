"""Reads an edited file again, and refuses it unless it is the model that was meant: a wrong one is never written."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.analysis.self_tokenization import remembered_self_tokenization
from pyharness.bpe.formats.importing import import_model
from pyharness.bpe.model.model import BpeModel
from pyharness.features.adaptation.bpe.library import check_library
from pyharness.features.adaptation.types import Extension, IdMap, Placement
from pyharness.types import Ids, InputError, MergeModel, TokenKind, Vocabulary
from pyharness.vocabularies.huggingface.file import AddedToken

_NEVER = np.iinfo(np.uint32).max
_NONE = np.empty(0, np.uint32)
_IN_MODEL = (TokenKind.NORMAL, TokenKind.UNUSED, TokenKind.BYTE_FALLBACK)  # others may come into the model's list
_SAME = ("algorithm", "symbols", "splitter", "dialect", "normalizer", "decoder", "drop_space", "fuse_unknown", "prefix",
         "suffix", "whole_pieces", "round_trip")  # fmt: skip


def check_extended(
    data: bytes,
    base: BpeModel,
    extension: Extension,
    placement: Placement,
    texts: Sequence[str],
    label: str,
    *,
    reachable: bool = True,
) -> BpeModel:
    """Model of an extended file, which has all of the base (but for tokens whose ids are used again) and what is new.

    No token that stays becomes unreachable by that, and no new one is.

    Args:
        data: the edited file.
        base: the model that was extended.
        extension: what is new.
        placement: the ids of its strings.
        texts: what the library of the format, if it is installed, has to encode as we do.
        label: what errors call the file.
        reachable: False where new tokens may be unreachable: those of another algorithm, which is compared with.

    Raises:
        InputError: it is another model, the library reads it otherwise, or merges do not give a token.
    """
    kept = np.arange(base.id_limit)
    kept[placement.ids[placement.ids < base.id_limit]] = -1
    where = np.concatenate((np.arange(base.id_limit), placement.ids.astype(np.int64)))
    strings = dict(zip(placement.ids.tolist(), extension.tokens, strict=True))
    model = _checked(data, base, kept, where[extension.rules], strings, texts, label)
    _check_reachable(base, model, np.flatnonzero(kept >= 0), placement.ids if reachable else _NONE, label)
    return model


def check_pruned(data: bytes, base: BpeModel, ids: IdMap, texts: Sequence[str], label: str) -> BpeModel:
    """Model of a pruned file, which has all of the base that a map leaves, and all of its rules that still can be.

    Raises:
        InputError: as :func:`check_extended`.
    """
    return _checked(data, base, ids.new, np.zeros((0, 3), np.int64), {}, texts, label)


def _check_reachable(base: BpeModel, model: BpeModel, kept: NDArray[np.int64], added: Ids, label: str) -> None:
    """Refuse a file whose merges do not give a new token, or not any more one that they gave in the base."""
    failed = remembered_self_tokenization(model.merges).failed
    lost = np.intersect1d(failed, kept)
    if len(lost):
        lost = np.setdiff1d(lost, remembered_self_tokenization(base.merges).failed)
    for tokens, what, advice in (
        (lost, "tokens of the base could not be made any more", "use other ids again (--reuse), or none"),
        (np.intersect1d(failed, added), "new tokens could never be made", "learn fewer, or deny them (--deny)"),
    ):
        if len(tokens):
            some = ", ".join(repr(model.merges[token].decode(errors="replace")) for token in tokens[:3].tolist())
            raise InputError(f"{label}: {len(tokens):,} {what}, such as {some}: {advice}")


def _checked(
    data: bytes,
    base: BpeModel,
    new: NDArray[np.int64],
    rules: NDArray[np.int64],
    strings: Mapping[int, bytes],
    texts: Sequence[str],
    label: str,
) -> BpeModel:
    model = _imported(data, base, new, label)
    differing = [name for name in _SAME if getattr(model, name) != getattr(base, name)]
    moved = {old: int(token) for old, token in enumerate(new) if token >= 0}
    if list(model.added) != _added(base, moved):
        differing.append("added tokens")
    alphabet = {symbol: moved.get(token) for symbol, token in base.alphabet.items() if token in moved}
    if model.alphabet != alphabet | {string: token for token, string in strings.items() if _is_symbol(base, string)}:
        differing.append("symbols")
    if model.unknown != (None if base.unknown is None else moved.get(base.unknown)):
        differing.append("unknown token")
    if model.fallback != tuple(moved.get(token, -1) for token in base.fallback):
        differing.append("fallback")
    differing += _differing_tokens(model, base, new, strings)
    differing += _differing_order(model, base, new, rules, strings)
    if differing:
        raise InputError(f"{label}: the adapted file is another model than is meant ({', '.join(differing)} differ)")
    check_library(data, model, texts, label)
    return model


def _imported(data: bytes, base: BpeModel, new: NDArray[np.int64], label: str) -> BpeModel:
    if base.origin.get("kind") != "rank_file" or not isinstance(base.splitter, str):
        return import_model(data, label=label)
    special = {content: int(new[token]) for content, token in base.special.items() if new[token] >= 0}
    return import_model(data, label=label, pattern=base.splitter, special=special)


def _added(base: BpeModel, moved: Mapping[int, int]) -> list[AddedToken]:
    return [dataclasses.replace(token, id=moved[token.id]) for token in base.added if token.id in moved]


def _differing_tokens(
    model: BpeModel, base: BpeModel, new: NDArray[np.int64], strings: Mapping[int, bytes]
) -> list[str]:
    old = np.flatnonzero(new >= 0)
    old = old[base.vocabulary.kinds[old] != TokenKind.ABSENT]
    kept, kinds = new[old], base.vocabulary.kinds[old]
    expected = np.full(
        1 + max(model.id_limit - 1, kept.max(initial=0), max(strings, default=0)), TokenKind.ABSENT, np.uint8
    )
    expected[kept] = kinds
    expected[list(strings)] = TokenKind.NORMAL
    if not np.array_equal(model.vocabulary.kinds, expected):
        return ["kinds of tokens"]
    merged = np.isin(kinds, _IN_MODEL)
    same = _same_strings(model.vocabulary, kept, base.vocabulary, old)
    same = same and _same_strings(model.merges, kept[merged], base.merges, old[merged])
    return [] if same and all(model.merges[token] == string for token, string in strings.items()) else ["strings"]


def _same_strings(
    ours: Vocabulary | MergeModel, our_ids: NDArray[np.int64], theirs: Vocabulary | MergeModel, their_ids: NDArray[Any]
) -> bool:
    """Whether tokens have the strings of others, in turn."""
    lengths = np.diff(ours.offsets)[our_ids]
    if not np.array_equal(lengths, np.diff(theirs.offsets)[their_ids]):
        return False
    inside = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    one, other = (
        table.data[np.repeat(table.offsets[ids], lengths) + inside]
        for table, ids in ((ours, our_ids), (theirs, their_ids))
    )
    return np.array_equal(one, other)


def _differing_order(
    model: BpeModel, base: BpeModel, new: NDArray[np.int64], rules: NDArray[np.int64], strings: Mapping[int, bytes]
) -> list[str]:
    if base.merges.rules is not None:
        kept = new[base.merges.rules]
        expected = np.concatenate((kept[(kept >= 0).all(axis=1)], rules))
        return [] if model.merges.rules is not None and np.array_equal(model.merges.rules, expected) else ["rules"]
    if base.merges.ranks is None or model.merges.ranks is None:
        return ["ranks"]
    wanted = np.full(model.id_limit, _NEVER, np.int64)
    wanted[new[new >= 0]] = base.merges.ranks[new >= 0]
    behind = int(wanted[wanted != _NEVER].max(initial=0)) + 1
    for place, (token, string) in enumerate(strings.items()):
        if not _is_symbol(base, string):
            wanted[token] = behind + place
    return [] if np.array_equal(_dense(wanted), _dense(model.merges.ranks)) else ["ranks"]


def _is_symbol(base: BpeModel, string: bytes) -> bool:
    """Whether a new string is one of a single character, which no rule makes."""
    return base.symbols == "characters" and not base.in_letters and len(string.decode(errors="replace")) == 1


def _dense(ranks: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Ranks without gaps, and -1 where there is none."""
    dense = np.full(len(ranks), -1, np.int64)
    ranked = ranks != _NEVER
    dense[ranked] = np.unique(ranks[ranked], return_inverse=True)[1]
    return dense
