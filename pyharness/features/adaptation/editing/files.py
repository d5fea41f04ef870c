"""Adds tokens to a tokenizer file of any kind that has merges, or takes some away."""

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
    """Add tokens to a tokenizer.json, rank file, tekken file or SentencePiece model; with none, the bytes are the same.

    Args:
        data: the file.
        tokens: ids and strings, as ``MergeModel.data`` has them, in the order of their ranks.
        rules: pairs of strings in the order of their ranks, of a tokenizer.json; elsewhere the order of the tokens is
            that of the ranks, and this is not read.
        label: what errors call the file.

    Raises:
        InputError: the file is damaged, or of a kind that is not edited; it cannot have these tokens.
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
    raise _not_edited(kind, label)


def prune_file(data: bytes, ids: IdMap, label: str) -> bytes:
    """Take tokens away, with all rules that use or make one, and number the others anew; special tokens stay.

    Args:
        data: a file as for :func:`extend_file`.
        ids: -1 for every token that goes; new ids of the others, in the old order.
        label: what errors call the file.

    Raises:
        InputError: the file is damaged, or of a kind that is not edited; the map is not one of its ids, or leaves out
            what it needs.
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
    raise _not_edited(kind, label)


def _not_edited(kind: vocabulary_file.Kind, label: str) -> InputError:
    if kind == "vocab_and_merges":
        return InputError(f"{label} is one of two files (vocab.json, merges.txt): give the tokenizer.json of the model")
    what = "a model of this program" if kind == "pyharness" else "a minbpe model"
    return InputError(f"{label} is {what}, which is not edited: export it as tokenizer.json first, and give that")
