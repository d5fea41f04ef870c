"""Construction of a tokenizer's stages from a model: normaliser, added tokens, splitter, encoder."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

import numpy as np

from pyharness.bpe.encoding import normalizer
from pyharness.bpe.encoding.added_tokens import AddedTokens
from pyharness.bpe.encoding.encoders import Method, ModelEncoder, SymbolEncoder, TextEncoder
from pyharness.bpe.encoding.pre_tokenizer import PreTokenizer, puts_mark_first
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.model.text_splitter import TextSplitter
from pyharness.bpe.model.unused_pieces import expansion_of_unused
from pyharness.plugins.registry import suggest
from pyharness.types import InputError
from pyharness.vocabularies.huggingface.file import flat_stages
from pyharness.vocabularies.patterns.syntax import Dialect
from pyharness.vocabularies.sentencepiece_file import SentencePieceNormalizer
from pyharness.vocabularies.stages import SplitStep, Stages, TokenForm, byte_forms, spelled_once, split_steps


def check(model: BpeModel, method: str, dropout: float, seed: int) -> None:
    """Refuse options that are out of range, exclude each other, or are not defined for the model.

    Raises:
        InputError: an option is refused, or the model looks up whole pieces and its symbols have affixes.
    """
    if method not in get_args(Method):
        raise suggest("method of encoding", method, get_args(Method))
    if not 0.0 <= dropout <= 1.0:
        raise InputError(f"dropout is {dropout}; it is a probability, from 0 to 1")
    if not 0 <= seed < 1 << 64:
        raise InputError(f"seed is {seed}; it must be from 0 to 2^64 - 1")
    if method == "longest_match" and dropout:
        raise InputError("dropout discards merges, and longest_match makes none: leave one out")
    if (model.prefix or model.suffix) and (method == "longest_match" or model.whole_pieces):
        what = "longest_match is" if method == "longest_match" else "whole pieces are"
        raise InputError(f"{what} not defined for a model whose symbols carry {model.prefix or model.suffix!r}")


def start_keeper_of(model: BpeModel) -> normalizer.KeepsStart | None:
    """Return the function that tells whether normalising keeps a text's start; None if certain or without effect."""
    if not isinstance(model.normalizer, Mapping) or isinstance(model.splitter, str):
        return None
    matters = puts_mark_first(model.splitter) and not normalizer.keeps_start(model.normalizer)
    return normalizer.start_keeper(model.normalizer) if matters else None


def normalizer_of(model: BpeModel) -> normalizer.Normalize | None:
    """Return the normaliser of a model; None if it has none."""
    if model.normalizer is None:
        return None
    if isinstance(model.normalizer, SentencePieceNormalizer):
        user_defined = [token.content for token in model.added if not token.special]
        return normalizer.sentencepiece_normalizer(model.normalizer, user_defined)
    return normalizer.huggingface_normalizer(model.normalizer)


def added_tokens_of(
    model: BpeModel, normalize: normalizer.Normalize | None, allowed: frozenset[str]
) -> tuple[AddedTokens, AddedTokens]:
    """Return the tokens to search before and after normalising; of the special ones, those ``allowed`` are mapped.

    The other special tokens are matched too, and treated as text, where they can cover added tokens that are not
    special, as in ``tokenizers``. ``tiktoken``, whose added tokens are all special, does not search for them.
    """
    off = frozenset(token.id for token in model.added if token.special and token.content not in allowed)
    added = model.added
    if all(token.special for token in added):
        added = tuple(token for token in added if token.id not in off)
    if isinstance(model.normalizer, SentencePieceNormalizer):  # the pieces occur in normalised text, unchanged
        control = [token for token in added if token.special]
        return AddedTokens(control, off), AddedTokens([token for token in added if not token.special])
    raw = [token for token in added if not token.normalized]
    normal = [token for token in added if token.normalized]
    if normalize is not None:
        normal = [dataclasses.replace(token, content=normalize(token.content)) for token in normal]
    return AddedTokens(raw, off), AddedTokens(normal, off)


def splitters_of(model: BpeModel) -> tuple[TextSplitter | None, PreTokenizer | None]:
    """Return a splitter whose pieces are the text, or else a pre-tokenizer that changes the text; the other is None."""
    if isinstance(model.splitter, str):
        return TextSplitter(model.splitter, dialect=model.dialect), None
    pre_tokenizer = PreTokenizer(model.splitter, byte_level=model.symbols == "bytes")
    return (None, pre_tokenizer) if pre_tokenizer.splitter is None else (pre_tokenizer.splitter, None)


def examined_stages(model: BpeModel, normalize: normalizer.Normalize | None, *, plain: bool) -> Stages:
    """Return the stages before the model as data. ``plain``: merges are neither dropped nor replaced."""
    readable = model.normalizer is None or isinstance(model.normalizer, Mapping)
    steps = flat_stages(model.normalizer) if readable else None
    splits, inserted = _split_steps(model)
    return Stages(
        normalize=str if normalize is None else normalize,
        normalizer=steps,
        splits=splits,
        # Of a SentencePiece model: its pieces occur in normalised text.
        added=model.added if readable else [dataclasses.replace(token, normalized=True) for token in model.added],
        forms=_forms(model, steps or ()),
        model="bpe" if plain and model.expansion is None and not (model.prefix or model.suffix) else "other",
        whole_pieces=model.whole_pieces,
        inserted=inserted,
        spelled_once=_spelled_once(model),
    )


def _spelled_once(model: BpeModel) -> Callable[[int], bool]:
    if model.symbols == "bytes":
        return spelled_once(model.merges.__getitem__, model.fallback, model.unknown)
    return spelled_once(lambda token: model.merges[token].decode(errors="replace"), model.fallback, model.unknown)


def _split_steps(model: BpeModel) -> tuple[tuple[SplitStep, ...], str]:
    if not isinstance(model.splitter, str):
        return split_steps(flat_stages(model.splitter))
    splitter = TextSplitter(model.splitter, dialect=model.dialect)
    dialects: Mapping[str, Dialect] = {"native": "fancy_regex", "compiled": model.dialect, "regex": "regex"}
    return tuple(SplitStep(expression, dialects[splitter.engine]) for expression in splitter.expressions), ""


def _forms(model: BpeModel, normalizer: Sequence[Mapping[str, Any]]) -> Callable[[int], Sequence[TokenForm]]:
    """Return the function from a token to its forms: none where tokens carry a mark or use another alphabet."""
    marked = model.prefix or model.suffix or model.expansion is not None
    if marked or any(step["type"] == "ByteLevel" for step in normalizer):
        return lambda _: ()
    if model.symbols == "bytes":
        return byte_forms(model.vocabulary)

    def forms(token: int) -> Sequence[TokenForm]:
        return [TokenForm(model.merges[token].decode(errors="replace"))]

    return forms


def encoder_of(
    model: BpeModel, method: Method, splitter: TextSplitter | None, *, dropout: float, seed: int
) -> ModelEncoder:
    """Return the fast encoder if it can run the model with these options, or else the one for all models.

    ``splitter`` is the model's own.
    """
    if method == "merge" and not dropout and is_byte_level(model):
        expansion = model.expansion or expansion_of_unused(model)
        return TextEncoder(model.merges, splitter, whole_pieces=model.whole_pieces, expansion=expansion)
    return SymbolEncoder(model, splitter, method=method, dropout=dropout, seed=seed)


def is_byte_level(model: BpeModel) -> bool:
    """Return whether :class:`TextEncoder` can run the model."""
    symbols = model.byte_ids
    if symbols is None or model.fallback:
        return False
    return model.unknown is None or bool((symbols != np.iinfo(np.uint32).max).all())
