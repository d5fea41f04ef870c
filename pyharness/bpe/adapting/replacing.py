"""Tokens go and others come: a tokenizer file of a fixed size, made for another text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

from pyharness.bpe.adapting.checking import check_extended, check_pruned
from pyharness.bpe.adapting.extending import ExtendingOptions, extend
from pyharness.bpe.adapting.placing import place
from pyharness.bpe.adapting.pruning import first_of, id_map
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.training.trainer import WeightedPieces
from pyharness.types import Extension, IdMap, Ids, InputError, Placement, TokenKind
from pyharness.vocabularies.editing.files import extend_file, prune_file


@dataclass(frozen=True, slots=True)
class Pruned:
    """A file without some tokens."""

    data: bytes
    model: BpeModel
    ids: IdMap  # from the original


@dataclass(frozen=True, slots=True)
class Replaced:
    """A file without some tokens, and with others."""

    data: bytes
    model: BpeModel
    ids: IdMap  # from the original, of tokens that stay
    extension: Extension  # of the pruned model
    placement: Placement


def prune(data: bytes, model: BpeModel, removed: Ids, label: str, texts: Sequence[str] = ()) -> Pruned:
    """Take tokens out of a file, and check what is left.

    Args:
        data: the file.
        model: what :func:`pyharness.bpe.import_model` makes of it.
        removed: ids.
        label: what errors call the file.
        texts: what the library of the format, if it is installed, has to encode as we do.

    Raises:
        InputError: the file cannot be edited so; what comes of it is not what is meant.
    """
    ids = id_map(model, removed)
    edited = prune_file(data, ids, label)
    return Pruned(edited, check_pruned(edited, model, ids, texts, label), ids)


def replace(
    data: bytes,
    model: BpeModel,
    order: Ids,
    pieces: WeightedPieces,
    tokens: int,
    label: str,
    *,
    size: int | None = None,
    texts: Sequence[str] = (),
    **options: Unpack[ExtendingOptions],
) -> Replaced:
    """Prune to ``size - tokens``, then extend by ``tokens``.

    Args:
        data: the file.
        model: what :func:`pyharness.bpe.import_model` makes of it.
        order: of removal, as of :func:`pyharness.bpe.adapting.pruning.leaf_order`.
        pieces: what is learnt from, as the model splits it; pruning does not change how it does.
        tokens: to learn. If the pieces have fewer, the file stays as much below ``size``.
        label: what errors call the file.
        size: tokens of any kind in the end; None: as many as there are.
        texts: what the library of the format, if it is installed, has to encode as we do.
        options: of :func:`pyharness.bpe.adapting.extending.extend`.

    Raises:
        InputError: there are not so many tokens that can go; the file cannot be edited so.
    """
    size = int((model.vocabulary.kinds != TokenKind.ABSENT).sum()) if size is None else size
    if not 0 <= tokens <= size:
        raise InputError(f"{tokens:,} new tokens do not fit into {size:,}")
    pruned = prune(data, model, first_of(model, order, size=size - tokens), label)
    extension = extend(pruned.model, pieces, tokens, **options)
    placement = place(pruned.model, len(extension.tokens))
    edited = extended(pruned.data, pruned.model, extension, placement, label)
    reachable = options.get("cascade", True)
    result = check_extended(edited, pruned.model, extension, placement, texts, label, reachable=reachable)
    return Replaced(edited, result, pruned.ids, extension, placement)


def extended(data: bytes, model: BpeModel, extension: Extension, placement: Placement, label: str) -> bytes:
    """Put the strings and rules of an extension into a file; whoever calls checks what comes of it.

    Raises:
        InputError: the file cannot be edited so.
    """
    strings = [*model.merges.strings(), *extension.tokens]
    rules = [(strings[left], strings[right]) for left, right, _ in extension.rules.tolist()]
    return extend_file(data, list(zip(placement.ids.tolist(), extension.tokens, strict=True)), rules, label)
