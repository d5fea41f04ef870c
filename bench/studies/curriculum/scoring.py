"""Bits per character of held-out works: on fixed windows of characters, and on windows of tokens as the paper has it.

A fixed window is the same text for every vocabulary: some characters that are given, and some that are scored; both are
encoded by themselves, so no token crosses. Every model then knows the same characters before those that it predicts. A
window of tokens holds more characters the larger the vocabulary is, which favours the large ones.
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

BATCH = 64  # windows

Sums: TypeAlias = Mapping[str, list[float]]  # "nats" and "characters" of each group of works


@dataclass(frozen=True, slots=True)
class Window:
    """Characters that are given, and those that are scored."""

    given: str
    scored: str
    group: int  # of the work


def kept(text: str) -> str:
    """A text without all that is not printable ASCII or the end of a line, as the paper's is."""
    return "".join(one for one in text if one == "\n" or " " <= one <= "~")


def windows(held_out: HeldOut, given: int, scored: int, keep: Callable[[str], str] = kept) -> list[Window]:
    """Cut the held-out texts, each from its beginning; what is left at its end is not used."""
    found, names = [], sorted(set(held_out.groups))
    for text, group in zip(map(keep, held_out.texts), held_out.groups, strict=True):
        starts = range(0, len(text) - given - scored + 1, given + scored)
        cuts = [(start, start + given, start + given + scored) for start in starts]
        found += [Window(text[a:b], text[b:c], names.index(group)) for a, b, c in cuts]
    return found


def fixed(network: Any, vocabulary: Grown, texts: Sequence[Window]) -> Sums:
    """Nats and characters of each group, on fixed windows."""
    pairs = [(vocabulary.encode(one.given), vocabulary.encode(one.scored)) for one in texts]
    rows = [(given + scored, len(given) - 1) for given, scored in pairs]
    return _sums(network, rows, [len(one.scored) for one in texts], [one.group for one in texts])


def by_tokens(network: Any, vocabulary: Grown, texts: Sequence[Window], context: int) -> Sums:
    """Nats and characters of each group, on windows of ``context`` tokens of all its text; the first is only given."""
    rows, sizes, groups = [], [], []
    for group in sorted({one.group for one in texts}):
        ids = vocabulary.encode("".join(one.given + one.scored for one in texts if one.group == group))
        for start, end in pairwise(range(0, len(ids) + 1, context)):
            rows.append((ids[start:end], 0))
            sizes.append(sum(len(vocabulary.strings[token]) for token in ids[start + 1 : end]))
            groups.append(group)
    return _sums(network, rows, sizes, groups)


def _sums(network: Any, rows: Sequence[tuple[list[int], int]], sizes: Sequence[int], groups: Sequence[int]) -> Sums:
    nats = np.concatenate([*_nats(network, rows)])
    count = max(groups) + 1
    return {
        "nats": np.bincount(groups, nats, count).tolist(),
        "characters": np.bincount(groups, sizes, count).tolist(),
    }


def _nats(network: Any, rows: Sequence[tuple[list[int], int]]) -> Iterator[NDArray[np.float64]]:
    """Negative log-likelihood of each row, [rows of a batch]: of the tokens behind the one that is named."""
    import torch

    network.eval()
    for start in range(0, len(rows), BATCH):
        batch = rows[start : start + BATCH]
        inputs = np.zeros((len(batch), max(len(ids) for ids, _ in batch) - 1), np.int64)
        targets = np.full_like(inputs, NO_TARGET)
        for row, (ids, last_given) in enumerate(batch):
            inputs[row, : len(ids) - 1] = ids[:-1]
            targets[row, last_given : len(ids) - 1] = ids[last_given + 1 :]
        with torch.no_grad():
            logits = network(input_ids=torch.from_numpy(inputs).to(network.device), use_cache=False).logits
            found = torch.nn.functional.cross_entropy(
                logits.flatten(0, 1), torch.from_numpy(targets).to(logits.device).flatten(),
                ignore_index=NO_TARGET, reduction="none",
            )  # fmt: skip
        yield found.double().reshape(targets.shape).sum(1).cpu().numpy()
    network.train()
