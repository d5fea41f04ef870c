"""Continued BPE: the training of a tokenizer goes on, on a text that it was not trained on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import pairwise
from typing import TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.training.trainer import TieRule, WeightedPieces
from pyharness.features.adaptation.bpe.extendable import Extendable
from pyharness.features.adaptation.bpe.model_pieces import check_extendable, encoded
from pyharness.features.adaptation.editing.piece_rules import PieceRules, character_classes
from pyharness.features.adaptation.types import Extension
from pyharness.types import InputError, Tokens


class ExtendingOptions(TypedDict, total=False):
    """Options of :func:`extend`; what is left out has the value in parentheses."""

    tie_rule: TieRule  # of pairs with equal counts (smallest_ids), as in pyharness.bpe.train
    min_frequency: int  # pairs that occur less often are not merged (2)
    max_token_length: int | None  # in bytes; longer strings are not made (None)
    max_token_characters: int | None  # in characters (None)
    piece_rules: PieceRules | None  # what SentencePiece's trainer allows a piece to be (None: anything)
    # Asked about the text of a new string (U+FFFD for bytes that are no UTF-8, a space for the mark of one) when its
    # pair is the most frequent; no rule makes a string for which it is True (None)
    denies: Callable[[str], bool] | None
    whole_pieces: bool | None  # a piece that is a token is not merged (None: as the model has it)
    cascade: bool  # False: nothing merges what a rule makes of a string that the model has; rules form only (True)
    threads: int  # that encode the pieces (1)
    progress: Callable[[int], None] | None  # called now and then with the number of new tokens (None)


@dataclasses.dataclass(frozen=True, slots=True)
class Continued:
    """An extension, and the pieces as its training left them: what the extended model gives for them."""

    extension: Extension
    trained_on: NDArray[np.bool_]  # [pieces]: those that are not empty and have a weight
    states: Tokens  # document k: the k-th of them, in provisional ids


def extend(model: BpeModel, pieces: WeightedPieces, tokens: int, **options: Unpack[ExtendingOptions]) -> Extension:
    """Go on merging the most frequent pair of a corpus, from what the model makes of it.

    After every new rule, pieces are what the encoder of the model extended so far gives for them: a new rule may make
    a string that the model has and could not reach, which old rules then merge on. Such a rule does not count towards
    ``tokens``. A training for fewer tokens gives the beginning of one for more
    (:meth:`pyharness.types.Extension.first`).

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> model = model_of_training(trained, "gpt2", special=["<|end|>"])
    >>> extension = extend(model, WeightedPieces.of_bytes({b"hugs": 4, b"bugs": 3, b"run": 1}), 2)
    >>> extension.tokens, extension.rules.tolist(), extension.counts.tolist(), extension.complete
    ((b'hugs', b'bug'), [[257, 115, 260], [98, 256, 261]], [4, 3], True)

    Args:
        model: what to extend; symbols are bytes or characters, without prefix and suffix.
        pieces: of the corpus, over the 256 bytes, as ``ModelPieces`` counts
            them.
        tokens: strings to add.
        options: see :class:`ExtendingOptions`.

    Raises:
        InputError: the model cannot be extended, or an option is out of range.

    Source: docs/algorithms.md "Continued BPE"; arXiv 2512.03989.
    """
    return continued(model, pieces, tokens, **options).extension


def continued(model: BpeModel, pieces: WeightedPieces, tokens: int, **options: Unpack[ExtendingOptions]) -> Continued:
    """Do what :func:`extend` does, and tell the last state of the pieces as well.

    Raises:
        InputError: as :func:`extend`.
    """
    check_extending(model, tokens, options)
    whole = options.get("whole_pieces")
    if whole is None:
        whole = model.whole_pieces
    threads = options.get("threads", 1)
    states = encoded(model, pieces, whole_pieces=whole, threads=threads)
    extendable = Extendable.of(model, threads)
    rules = options.get("piece_rules")
    result = _core.extend_bpe(
        model=model.merges, symbols=states.ids, offsets=states.offsets, weights=pieces.weights,
        data=extendable.data, token_offsets=extendable.offsets, unreachable=extendable.unreachable,
        tokens=tokens, min_frequency=options.get("min_frequency", 2),
        max_token_length=options.get("max_token_length") or 0,
        max_token_characters=options.get("max_token_characters") or 0,
        tie_rule=options.get("tie_rule", "smallest_ids"), cascade=options.get("cascade", True),
        piece_rules=None if rules is None else (rules, *character_classes(extendable.characters)),
        denies=extendable.denier(options.get("denies")), progress=_relative(options.get("progress"), model.id_limit),
    )  # fmt: skip
    bounds = result["offsets"][model.id_limit :].tolist()
    text = result["data"].tobytes()
    strings = tuple(text[start:end] for start, end in pairwise(bounds))
    return Continued(
        Extension(model.id_limit, strings, result["rules"], result["counts"], complete=len(strings) == tokens),
        (np.diff(states.offsets) > 0) & (pieces.weights > 0),
        Tokens(result["symbols"], result["symbol_offsets"]),
    )


def _relative(progress: Callable[[int], None] | None, base: int) -> Callable[[int], None] | None:
    return None if progress is None else lambda ids: progress(ids - base)


def check_extending(model: BpeModel, tokens: int, options: ExtendingOptions) -> None:
    """Refuse what no pieces can mend.

    Raises:
        InputError: the model cannot be extended, or an option is out of range.
    """
    check_extendable(model)
    if not 0 <= tokens < (1 << 31) - model.id_limit:
        raise InputError(f"{tokens:,} tokens cannot be added to {model.id_limit:,} ids; there are at most 2^31 - 1")
    for name, value in (
        ("min_frequency", options.get("min_frequency")),
        ("max_token_length", options.get("max_token_length")),
        ("max_token_characters", options.get("max_token_characters")),
    ):
        if value is not None and not 1 <= value < 1 << 63:
            raise InputError(f"{name} is {value:,}; it must be at least 1 and below 2^63")
    if not options.get("cascade", True) and model.merges.rules is None:
        raise InputError("cascade=False is a reading of rules, and this model has ranks: leave it out")
