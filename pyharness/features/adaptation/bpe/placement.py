"""Ids of new tokens: above the largest id of a model, or from reserved tokens and gaps.

The base must not emit reserved tokens whose ids are reused.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.model.reachability import NEVER, ModelVerdict, self_tokenization
from pyharness.types import Ids, InputError, TokenKind


@dataclass(frozen=True, slots=True)
class Placement:
    """Ids of an extension's strings."""

    ids: Ids  # uint32 [tokens]: distinct, and none that a token keeps
    size: int  # number of ids with gaps and padding: at least the largest id + 1


def place(
    model: BpeModel, count: int, *, reuse: str | None = None, multiple_of: int = 1, emitted: Ids | None = None
) -> Placement:
    """Give ids to new tokens. Tokens that stay keep theirs.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> model = model_of_training(trained, "gpt2", special=["<|end|>", "<|reserved_0|>"])
    >>> place(model, 3, multiple_of=8)
    Placement(ids=array([261, 262, 263], dtype=uint32), size=264)
    >>> place(model, 3, reuse=r"<.reserved_\\d+.>").ids.tolist()
    [260, 261, 262]

    Args:
        model: the model to extend.
        count: new tokens, in the order of their ranks.
        reuse: regular expression for a token's whole content. Ids are taken, lowest first, from matching added
        tokens, from matching unused tokens that no merge makes, and from gaps. Where ids are ranks, only those
        above all ranks are taken. The old tokens leave the file. None: new ids follow the largest.
        multiple_of: the number of ids is rounded up to a multiple of it; padding has no tokens.
        emitted: ids that occur in a text; to take one of them is an error.

    Raises:
        InputError: the expression is invalid or matches nothing; an id to take is among the emitted ones;
            ``multiple_of`` is not from 1 to 2^24 - 1.
    """
    if not 1 <= multiple_of < 1 << 24:
        raise InputError(f"the number of ids cannot be a multiple of {multiple_of:,}; give 1 to {(1 << 24) - 1:,}")
    free = [] if reuse is None else sorted(_free(model, compiled("reuse", reuse)))
    taken = np.array(free[:count], np.uint32)
    used = taken if emitted is None else taken[np.isin(taken, emitted)]
    if emitted is not None and len(used):
        content = model.vocabulary[int(used[0])].decode(errors="replace")
        raise InputError(f"--reuse would take id {used[0]} of {content!r}, which occurs in the text; narrow it")
    behind = np.arange(model.id_limit, model.id_limit + count - len(taken), dtype=np.uint32)
    ids = np.concatenate((taken, behind))
    return Placement(ids, -(-(model.id_limit + len(behind)) // multiple_of) * multiple_of)


def compiled(name: str, expression: str) -> re.Pattern[str]:
    """Compile a user's expression; ``name``: its option.

    Raises:
        InputError: the expression is invalid.
    """
    try:
        return re.compile(expression)
    except (re.error, RecursionError, OverflowError) as error:
        raise InputError(f"{name} {expression[:60]!r} is not a regular expression: {error}") from None


def _free(model: BpeModel, pattern: re.Pattern[str]) -> Iterator[int]:
    """Yield ids that may be taken."""
    contents = {token.id: token.content for token in model.added}
    contents |= {token: model.vocabulary[token].decode(errors="replace") for token in _idle(model)}
    matching = {token for token, content in contents.items() if token != model.unknown and pattern.fullmatch(content)}
    if not matching:
        some = ", ".join(repr(content) for content in list(contents.values())[-3:]) or "none"
        raise InputError(
            f"--reuse {pattern.pattern!r} matches no added or unused token whole that no merge gives; there are: {some}"
        )
    lowest, ranks = 0, model.merges.ranks
    if ranks is not None:  # an id that is a rank must rank a new token after all others
        ranked = np.flatnonzero(ranks != NEVER)
        if len(ranked) and np.array_equal(ranks[ranked], ranked):
            lowest = int(ranked[-1]) + 1
    absent = np.flatnonzero(model.vocabulary.kinds == TokenKind.ABSENT).tolist()
    yield from (token for token in {*matching, *absent} if token >= lowest)


def _idle(model: BpeModel) -> list[int]:
    """Return unused tokens that no merge makes and that are no symbols: others may be parts of used tokens."""
    unused: NDArray[np.bool_] = model.vocabulary.kinds == TokenKind.UNUSED
    if not unused.any():
        return []
    unused[list(model.alphabet.values())] = False
    tested = self_tokenization(dataclasses.replace(model.merges, tested=unused))
    idle: list[int] = np.flatnonzero(unused & (tested.verdict == ModelVerdict.UNDERIVABLE)).tolist()
    return idle


def reserved(model: BpeModel, pattern: str | None) -> dict[int, str]:
    """Return ids and contents of the added and unused tokens that match ``pattern`` and whose ids may be reused.

    Raises:
        InputError: the expression is invalid, or no token matches.
    """
    added, kinds = {token.id: token.content for token in model.added}, model.vocabulary.kinds
    tokens = [token for token in _taken(model, pattern).tolist() if token in added or kinds[token] != TokenKind.ABSENT]
    return {token: added.get(token) or model.vocabulary[token].decode(errors="replace") for token in tokens}


def _taken(model: BpeModel, pattern: str | None) -> Ids:
    if pattern is None:
        return np.empty(0, np.uint32)
    ids = place(model, model.id_limit, reuse=pattern).ids
    return ids[ids < model.id_limit]


class Emitted:
    """Check that the base emits no id to reuse for any text of the corpus, special tokens included."""

    def __init__(self, model: BpeModel, pattern: str | None) -> None:
        """Find the ids.

        Raises:
            InputError: as :func:`reserved`.
        """
        self._model, self._pattern = model, pattern
        self._free = _taken(model, pattern)
        self._tokenizer = BpeTokenizer(model) if len(self._free) else None

    def checked(self, add: Callable[[list[str], int], None]) -> Callable[[list[str], int], None]:
        """Wrap ``add`` so that it raises ``InputError`` for batches of texts in which one of the ids occurs."""
        tokenizer = self._tokenizer
        if tokenizer is None:
            return add

        def add_checked(texts: list[str], threads: int) -> None:
            ids = tokenizer.encode_batch(texts, threads, allowed_special="all").ids
            if np.isin(self._free, ids).any():
                place(self._model, self._model.id_limit, reuse=self._pattern, emitted=ids)  # raises, and names one
            add(texts, threads)

        return add_checked
