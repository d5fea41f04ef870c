"""Tokens go from a tokenizer file, and others come into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyharness.bpe.model.model import BpeModel
from pyharness.features.adaptation.bpe.checking import check_extended, check_pruned
from pyharness.features.adaptation.bpe.placing import place
from pyharness.features.adaptation.bpe.pruning import id_map
from pyharness.features.adaptation.editing.files import extend_file, prune_file
from pyharness.features.adaptation.types import Extension, IdMap, Placement
from pyharness.types import Ids


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
    """Put the strings and rules of an extension into a file, and check what comes of it.

    Args:
        data: the file.
        model: what :func:`pyharness.bpe.import_model` makes of it.
        extension: of the model.
        label: what errors call the file.
        texts: what the library of the format, if it is installed, has to encode as we do.
        reuse: as in :func:`pyharness.features.adaptation.bpe.placing.place`.
        multiple_of: likewise.
        reachable: as in :func:`pyharness.features.adaptation.bpe.checking.check_extended`.

    Raises:
        InputError: the file cannot be edited so; what comes of it is not what is meant.
    """
    placement = place(model, len(extension.tokens), reuse=reuse, multiple_of=multiple_of)
    edited = extended(data, model, extension, placement, label)
    return Put(
        edited, check_extended(edited, model, extension, placement, texts, label, reachable=reachable), placement
    )


def extended(data: bytes, model: BpeModel, extension: Extension, placement: Placement, label: str) -> bytes:
    """Put the strings and rules of an extension into a file; whoever calls checks what comes of it.

    Raises:
        InputError: the file cannot be edited so.
    """
    strings = [*model.merges.strings(), *extension.tokens]
    rules = [(strings[left], strings[right]) for left, right, _ in extension.rules.tolist()]
    return extend_file(data, list(zip(placement.ids.tolist(), extension.tokens, strict=True)), rules, label)
