"""Removal and addition of tokens in a tokenizer file, with a check of the result.

The edited file is read again, and must be the intended model. If the format's library is installed and can be compared,
it must also encode some texts as we do. A file that fails raises ``InputError``, before anything is written.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.formats.imports import import_model
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.model.reachability import NEVER, remembered_self_tokenization
from pyharness.features.adaptation.bpe.extension import Extension
from pyharness.features.adaptation.bpe.placement import Placement, place
from pyharness.features.adaptation.bpe.pruning import id_map
from pyharness.features.adaptation.editing.files import extend_file, prune_file
from pyharness.features.adaptation.id_maps import IdMap
from pyharness.types import Ids, InputError, MergeModel, TokenKind, Vocabulary
from pyharness.vocabularies.patterns.split_patterns import SPLIT_PATTERNS
from pyharness.vocabularies.rank_file import read_ranks, read_tekken

_IN_MODEL = (TokenKind.NORMAL, TokenKind.UNUSED, TokenKind.BYTE_FALLBACK)  # kinds whose strings in ``merges`` stay
_SAME = ("algorithm", "symbols", "splitter", "dialect", "normalizer", "decoder", "drop_space", "fuse_unknown", "prefix",
         "suffix", "whole_pieces", "round_trip")  # fmt: skip
_LIBRARIES = {
    "huggingface": "tokenizers",
    "rank_file": "tiktoken",
    "tekken": "tiktoken",
    "sentencepiece": "sentencepiece",
}


@dataclass(frozen=True, slots=True)
class Pruned:
    """A file without some tokens."""

    data: bytes
    model: BpeModel
    ids: IdMap  # from the original


@dataclass(frozen=True, slots=True)
class Put:
    """A file with new tokens."""

    data: bytes
    model: BpeModel
    placement: Placement


def prune(data: bytes, model: BpeModel, removed: Ids, label: str, texts: Sequence[str] = ()) -> Pruned:
    """Remove tokens from a file, and check the result.

    Args:
        data: the file.
        model: its model, by :func:`pyharness.bpe.import_model`.
        removed: ids of the tokens to remove.
        label: name of the file in errors.
        texts: texts that the format's library, if installed, must encode as we do.

    Raises:
        InputError: the file cannot be edited so, or the edited file fails :func:`check_pruned`.
    """
    ids = id_map(model, removed)
    edited = prune_file(data, ids, label)
    return Pruned(edited, check_pruned(edited, model, ids, texts, label), ids)


def put(
    data: bytes,
    model: BpeModel,
    extension: Extension,
    label: str,
    texts: Sequence[str] = (),
    *,
    reuse: str | None = None,
    multiple_of: int = 1,
    reachable: bool = True,
) -> Put:
    """Put the strings and rules of an extension into a file, and check the result.

    Args:
        data: the file.
        model: its model, by :func:`pyharness.bpe.import_model`.
        extension: extension of the model.
        label: name of the file in errors.
        texts: texts that the format's library, if installed, must encode as we do.
        reuse: as in :func:`pyharness.features.adaptation.bpe.placement.place`.
        multiple_of: likewise.
        reachable: as in :func:`check_extended`.

    Raises:
        InputError: the ids cannot be given, the file cannot be edited so, or it then fails :func:`check_extended`.
    """
    placement = place(model, len(extension.tokens), reuse=reuse, multiple_of=multiple_of)
    edited = extended(data, model, extension, placement, label)
    result = check_extended(edited, model, extension, placement, texts, label, reachable=reachable)
    return Put(edited, result, placement)


def extended(data: bytes, model: BpeModel, extension: Extension, placement: Placement, label: str) -> bytes:
    """Put the strings and rules of an extension into a file; the caller checks the result.

    Raises:
        InputError: the file cannot be edited so.
    """
    strings = [*model.merges.strings(), *extension.tokens]
    rules = [(strings[left], strings[right]) for left, right, _ in extension.rules.tolist()]
    return extend_file(data, list(zip(placement.ids.tolist(), extension.tokens, strict=True)), rules, label)


def check_library(data: bytes, model: BpeModel, texts: Sequence[str], label: str) -> str | None:
    """Refuse a file that its library cannot load, or for which its ids differ from ours.

    Args:
        data: the file.
        model: its model, by :func:`pyharness.bpe.import_model`.
        texts: texts to encode; special tokens in them are plain text.
        label: name of the file in errors.

    Returns:
        The library that agrees. None where there is none for the format, where it is not installed, or where it is not
        comparable: tiktoken leaves out text that a custom split pattern does not match.

    Raises:
        InputError: the library refuses the file, or disagrees.
    """
    kind = str(model.origin.get("kind"))
    library = _LIBRARIES.get(kind)
    pattern = _expression(model) if library == "tiktoken" else ""
    if library is None or pattern is None or find_spec(library) is None:
        return None
    try:
        theirs = _ids(kind, data, model, pattern, texts)
    except Exception as error:  # libraries may raise anything
        raise InputError(f"{label}: {library} refuses the adapted file: {str(error)[:200]}") from None
    ours = BpeTokenizer(model).encode_batch(texts)
    for index, (text, ids) in enumerate(zip(texts, theirs, strict=True)):
        if ours.document(index).tolist() != ids:
            raise InputError(f"{label}: {library} gives other ids with the adapted file: {text[:60]!r}")
    return library


def _expression(model: BpeModel) -> str | None:
    pattern = SPLIT_PATTERNS.get(model.splitter) if isinstance(model.splitter, str) else None
    return pattern.expressions[0] if pattern is not None and len(pattern.expressions) == 1 else None


def _ids(kind: str, data: bytes, model: BpeModel, pattern: str, texts: Sequence[str]) -> list[list[int]]:
    if kind == "huggingface":
        return _of_tokenizers(data, model, texts)
    if kind == "sentencepiece":
        import sentencepiece

        pieces: list[list[int]] = sentencepiece.SentencePieceProcessor(model_proto=data).encode(list(texts))
        return pieces
    import tiktoken

    ranks = read_ranks(data, "it") if kind == "rank_file" else dict(read_tekken(data, "it").ranks)
    encoding = tiktoken.Encoding("adapted", pat_str=pattern, mergeable_ranks=ranks, special_tokens=dict(model.special))
    return encoding.encode_ordinary_batch(list(texts))


def _of_tokenizers(data: bytes, model: BpeModel, texts: Sequence[str]) -> list[list[int]]:
    import tokenizers

    library: Any = tokenizers.Tokenizer.from_buffer(data)
    for token in model.added:
        if (token_id := library.token_to_id(token.content)) != token.id:
            raise ValueError(f"it gives the id {token_id} to {token.content!r}, which has {token.id}")
    library.no_padding()
    library.no_truncation()
    library.encode_special_tokens = True
    library.model.dropout = None
    return [encoded.ids for encoded in library.encode_batch(list(texts), add_special_tokens=False)]


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
    """Check an extended file, and return its model: the base, without tokens of reused ids, and the extension.

    No kept token becomes unreachable. No new token is unreachable, unless ``reachable`` is False.

    Args:
        data: the edited file.
        base: the model that was extended.
        extension: the new strings and rules.
        placement: the ids of the new strings.
        texts: texts that the format's library, if installed, must encode as we do.
        label: name of the file in errors.
        reachable: False where new tokens may be unreachable, as those of an algorithm for comparison.

    Raises:
        InputError: the file is another model, the library encodes differently, or merges do not give a token.
    """
    kept = np.arange(base.id_limit)
    kept[placement.ids[placement.ids < base.id_limit]] = -1
    where = np.concatenate((np.arange(base.id_limit), placement.ids.astype(np.int64)))
    strings = dict(zip(placement.ids.tolist(), extension.tokens, strict=True))
    model = _check(data, base, kept, where[extension.rules], strings, texts, label)
    _check_reachable(base, model, np.flatnonzero(kept >= 0), placement.ids if reachable else placement.ids[:0], label)
    return model


def check_pruned(data: bytes, base: BpeModel, ids: IdMap, texts: Sequence[str], label: str) -> BpeModel:
    """Check a pruned file, and return its model: the base's kept tokens, and all rules among them.

    Raises:
        InputError: the file is another model, or the library encodes differently.
    """
    return _check(data, base, ids.new, np.zeros((0, 3), np.int64), {}, texts, label)


def _check_reachable(base: BpeModel, model: BpeModel, kept: NDArray[np.int64], added: Ids, label: str) -> None:
    """Refuse a file whose merges do not give a new token, or a kept one that they gave in the base."""
    failed = remembered_self_tokenization(model.merges).failed
    lost = np.intersect1d(failed, kept)
    if len(lost):
        lost = np.setdiff1d(lost, remembered_self_tokenization(base.merges).failed)
    for tokens, what, advice in (
        (lost, "tokens of the base would become unreachable", "reuse other ids (--reuse), or none"),
        (np.intersect1d(failed, added), "new tokens would be unreachable", "learn fewer, or deny them (--deny)"),
    ):
        if len(tokens):
            some = ", ".join(repr(model.merges[token].decode(errors="replace")) for token in tokens[:3].tolist())
            raise InputError(f"{label}: {len(tokens):,} {what}, such as {some}: {advice}")


def _check(
    data: bytes,
    base: BpeModel,
    new: NDArray[np.int64],
    rules: NDArray[np.int64],
    strings: Mapping[int, bytes],
    texts: Sequence[str],
    label: str,
) -> BpeModel:
    model = _import(data, base, new, label)
    differing = [name for name in _SAME if getattr(model, name) != getattr(base, name)]
    moved = {old: int(token) for old, token in enumerate(new) if token >= 0}
    added = [dataclasses.replace(token, id=moved[token.id]) for token in base.added if token.id in moved]
    if list(model.added) != added:
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
        raise InputError(f"{label}: the adapted file has another model than intended ({', '.join(differing)} differ)")
    check_library(data, model, texts, label)
    return model


def _import(data: bytes, base: BpeModel, new: NDArray[np.int64], label: str) -> BpeModel:
    if base.origin.get("kind") != "rank_file" or not isinstance(base.splitter, str):
        return import_model(data, label=label)
    special = {content: int(new[token]) for content, token in base.special.items() if new[token] >= 0}
    return import_model(data, label=label, pattern=base.splitter, special=special)


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
    """Whether two lists of tokens have equal strings."""
    lengths = np.diff(ours.offsets)[our_ids]
    if not np.array_equal(lengths, np.diff(theirs.offsets)[their_ids]):
        return False
    inside = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    pairs = (ours, our_ids), (theirs, their_ids)
    return np.array_equal(*(table.data[np.repeat(table.offsets[ids], lengths) + inside] for table, ids in pairs))


def _differing_order(
    model: BpeModel, base: BpeModel, new: NDArray[np.int64], rules: NDArray[np.int64], strings: Mapping[int, bytes]
) -> list[str]:
    if base.merges.rules is not None:
        kept = new[base.merges.rules]
        expected = np.concatenate((kept[(kept >= 0).all(axis=1)], rules))
        return [] if model.merges.rules is not None and np.array_equal(model.merges.rules, expected) else ["rules"]
    if base.merges.ranks is None or model.merges.ranks is None:
        return ["ranks"]
    wanted = np.full(model.id_limit, NEVER, np.int64)
    wanted[new[new >= 0]] = base.merges.ranks[new >= 0]
    behind = int(wanted[wanted != NEVER].max(initial=0)) + 1
    for rank, (token, string) in enumerate(strings.items(), behind):
        if not _is_symbol(base, string):
            wanted[token] = rank
    return [] if np.array_equal(_dense(wanted), _dense(model.merges.ranks)) else ["ranks"]


def _is_symbol(base: BpeModel, string: bytes) -> bool:
    """Whether a new string is a single character, which no rule makes."""
    return base.symbols == "characters" and not base.in_letters and len(string.decode(errors="replace")) == 1


def _dense(ranks: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return ranks without gaps; -1 for no rank."""
    dense = np.full(len(ranks), -1, np.int64)
    ranked = ranks != NEVER
    dense[ranked] = np.unique(ranks[ranked], return_inverse=True)[1]
    return dense
