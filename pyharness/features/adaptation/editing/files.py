"""Adds tokens to a tokenizer.json, rank file, tekken file or SentencePiece model, or removes some."""

from __future__ import annotations

from collections.abc import Sequence

from pyharness.features.adaptation.editing import huggingface as huggingface
from pyharness.features.adaptation.editing import ranks as rank_file
from pyharness.features.adaptation.editing import ranks as tekken
from pyharness.features.adaptation.editing import sentencepiece as sentencepiece
from pyharness.features.adaptation.id_maps import IdMap
from pyharness.types import InputError
from pyharness.vocabularies.files import vocabulary_file


def extend_file(
    data: bytes, tokens: Sequence[tuple[int, bytes]], rules: Sequence[tuple[bytes, bytes]], label: str
) -> bytes:
    """Add tokens to a tokenizer.json, rank file, tekken file or SentencePiece model; without any, keep the bytes.

    Args:
        data: the file.
        tokens: ids and strings (in the form of ``MergeModel.data``), by rank.
        rules: pairs of strings by rank, for a tokenizer.json. Other formats ignore them: there the order of the tokens
        gives the ranks.
        label: name of the file in errors.

    Raises:
        InputError: the file is damaged, of a kind without an editor, or cannot have these tokens.
    """
    kind = vocabulary_file.detect(data, label)
    if kind == "huggingface":
        return huggingface.extend_file(data, tokens, rules, label)
    if kind == "rank_file":
        return rank_file.extend_ranks(data, tokens, label)
    if kind == "tekken":
        return tekken.extend_tekken(data, tokens, label)
    if kind == "sentencepiece":
        return sentencepiece.extend_model(data, tokens, label)
    raise _not_editable(kind, label)


def prune_file(data: bytes, ids: IdMap, label: str) -> bytes:
    """Remove tokens with all rules that use or make one, and renumber the others.

    Args:
        data: a file as for :func:`extend_file`.
        ids: -1 for every removed token; new ids of the others, in the old order.
        label: name of the file in errors.

    Raises:
        InputError: the file is damaged, or of a kind without an editor; the map does not fit its ids, or removes a
        token that it needs.
    """
    kind = vocabulary_file.detect(data, label)
    if kind == "huggingface":
        return huggingface.prune_file(data, ids, label)
    if kind == "rank_file":
        return rank_file.prune_ranks(data, ids, label)
    if kind == "tekken":
        return tekken.prune_tekken(data, ids, label)
    if kind == "sentencepiece":
        return sentencepiece.prune_model(data, ids, label)
    raise _not_editable(kind, label)


def _not_editable(kind: vocabulary_file.Kind, label: str) -> InputError:
    if kind == "vocab_and_merges":
        return InputError(f"{label} is one of two files (vocab.json, merges.txt): give the tokenizer.json of the model")
    if kind in ("curriculum", "events"):
        return InputError(f"{label} is a model of {kind}: it can neither be edited, nor exported to a format that can")
    what = "a model of this program" if kind == "pyharness" else "a minbpe model"
    return InputError(f"{label} is {what}, which is not edited: train with --export tokenizer.json, and give that")
