"""Bits per character of held-out works: with equal context for every vocabulary, and on windows of tokens.

A passage is encoded as a whole, so that no token is cut. Its tokens fall into stretches by where they start; each is
scored behind the tokens that start within a number of characters before its stretch. So every model predicts the same
text, and knows as many characters before it, to within a token. The end of a passage is not scored: tokens there would
be others if the text went on. A window of tokens, as the paper has it, holds more characters the larger the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from curriculum.vocabulary import Grown
from small_model.networks import NO_TARGET
from small_model.texts import HeldOut

BATCH = 64  # rows
END = 32  # characters of a passage that are not scored

Sums: TypeAlias = Mapping[str, list[float]]  # "nats" and "characters" of each group of works
Row: TypeAlias = tuple[Sequence[int], int]  # ids, and how many of them are given


@dataclass(frozen=True, slots=True)
class Passage:
    """The beginning of a held-out document."""

    text: str
    group: int  # of the work


def kept(text: str) -> str:
    """A text without all that is not printable ASCII or the end of a line, as the paper's is."""
    return "".join(one for one in text if one == "\n" or " " <= one <= "~")


def passages(held_out: HeldOut, keep: Callable[[str], str] = kept) -> list[Passage]:
    """All held-out texts, with their groups numbered from 0."""
    names = sorted(set(held_out.groups))
    pairs = zip(held_out.texts, held_out.groups, strict=True)
    return [Passage(keep(text), names.index(group)) for text, group in pairs]


def stretches(lengths: Sequence[int], given: int, scored: int) -> Iterator[tuple[int, int, int]]:
    """Stretches of a passage, as places of tokens: the first that is given, the first that is scored, and the end.

    Args:
        lengths: of its tokens, in characters.
        given: characters before a stretch that are known; the first ones of a passage are not scored.
        scored: characters of a stretch.
    """
    ends = np.cumsum(lengths)
    starts, last = ends - lengths, int(ends[-1]) - END if len(ends) else 0
    for start in range(given, last, scored):
        asked = (start - given, start, min(start + scored, last))
        first, middle, end = (int(one) for one in np.searchsorted(starts, asked))
        if middle < end:
            yield min(first, middle - 1), middle, end


def fixed(network: Any, vocabulary: Grown, texts: Sequence[Passage], given: int, scored: int) -> Sums:
    """Nats and characters of each group, with equal context."""
    rows: list[Row] = []
    sizes, groups = [], []
    for passage in texts:
        ids = vocabulary.encode(passage.text)
        lengths = [len(vocabulary.strings[token]) for token in ids]
        for first, middle, end in stretches(lengths, given, scored):
            rows.append((ids[first:end], middle - first))
            sizes.append(sum(lengths[middle:end]))
            groups.append(passage.group)
    return _sums(network, rows, sizes, groups)


def by_tokens(network: Any, vocabulary: Grown, texts: Sequence[Passage], context: int) -> Sums:
    """Nats and characters of each group, on windows of ``context`` tokens of all its text; the first is only given."""
    rows: list[Row] = []
    sizes, groups = [], []
    for group in sorted({one.group for one in texts}):
        ids = vocabulary.encode("".join(one.text for one in texts if one.group == group))
        for start, end in pairwise(range(0, len(ids) + 1, context)):
            rows.append((ids[start:end], 1))
            sizes.append(sum(len(vocabulary.strings[token]) for token in ids[start + 1 : end]))
            groups.append(group)
    return _sums(network, rows, sizes, groups)


def _sums(network: Any, rows: Sequence[Row], sizes: Sequence[int], groups: Sequence[int]) -> Sums:
    nats = np.concatenate([*_nats(network, rows)])
    return {"nats": np.bincount(groups, nats).tolist(), "characters": np.bincount(groups, sizes).tolist()}


def _nats(network: Any, rows: Sequence[Row]) -> Iterator[NDArray[np.float64]]:
    """Negative log-likelihood of each row, [rows of a batch]: of the tokens behind those that are given."""
    import torch

    network.eval()
    for start in range(0, len(rows), BATCH):
        batch = rows[start : start + BATCH]
        inputs = np.zeros((len(batch), max(len(ids) for ids, _ in batch) - 1), np.int64)
        targets = np.full_like(inputs, NO_TARGET)
        for row, (ids, given) in enumerate(batch):
            inputs[row, : len(ids) - 1] = ids[:-1]
            targets[row, given - 1 : len(ids) - 1] = ids[given:]
        with torch.no_grad():
            logits = network(input_ids=torch.from_numpy(inputs).to(network.device), use_cache=False).logits
            found = torch.nn.functional.cross_entropy(
                logits.flatten(0, 1), torch.from_numpy(targets).to(logits.device).flatten(),
                ignore_index=NO_TARGET, reduction="none",
            )  # fmt: skip
        yield found.double().reshape(targets.shape).sum(1).cpu().numpy()
    network.train()
