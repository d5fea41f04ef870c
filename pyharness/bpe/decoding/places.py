"""Where tokens stand in a text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.bpe.model.model import BpeModel
from pyharness.types import Ids, InputError


def spans(model: BpeModel, text: str | bytes, ids: Ids) -> NDArray[np.int64]:
    """int64 [tokens, 2]: start and end of each token of a text, in characters of a ``str``, in bytes of ``bytes``.

    Raises:
        InputError: the tokens do not spell the text.
    """
    data = text.encode() if isinstance(text, str) else text
    vocabulary = model.vocabulary
    lengths = np.diff(vocabulary.offsets)[ids]
    spelled = _core.decode(vocabulary.data, vocabulary.offsets, ids)
    if model.drop_space and spelled[:1] == b" ":
        spelled = spelled[1:]
        lengths[np.argmax(lengths > 0)] -= 1
    if spelled != data:
        raise InputError(_differs(data, spelled))
    ends = np.cumsum(lengths)
    starts = ends - lengths
    if isinstance(text, bytes):
        return np.column_stack((starts, ends))
    return _in_characters(data, starts, ends)


def starts_in_text(data: bytes, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64 [tokens]: for each of the tokens that make up a text, the first character that has bytes of it."""
    ends = np.cumsum(lengths)
    return _in_characters(data, ends - lengths, ends)[:, 0]


def _in_characters(data: bytes, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Characters that spans of bytes touch. Spans without bytes stand before the character that goes on there."""
    begun = np.zeros(len(data) + 2, np.int64)  # characters that begin before each byte; as if another came behind
    np.cumsum((np.frombuffer(data, np.uint8) & 0xC0) != 0x80, out=begun[1:-1])
    begun[-1] = begun[-2] + 1
    first = begun[starts + 1] - 1
    return np.column_stack((first, np.where(ends > starts, begun[ends], first)))


def _differs(data: bytes, spelled: bytes) -> str:
    same = next((at for at, pair in enumerate(zip(data, spelled, strict=False)) if pair[0] != pair[1]), None)
    at = min(len(data), len(spelled)) if same is None else same
    return (
        f"the tokens do not spell the text from byte {at} on ({data[at : at + 20]!r} became "
        f"{spelled[at : at + 20]!r}): the tokenizer changes text, and places in changed text are not known here"
    )
