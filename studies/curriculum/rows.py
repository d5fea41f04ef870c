"""First rows of new tokens, in the one matrix that a network has for input and output."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from curriculum.vocabulary import Grown

METHODS = ("last_row", "hidden", "fvt", "random")


def widen(network: Any, rows: Any) -> None:
    """Give a network more tokens; ``rows``: float32 [new tokens, width]."""
    import torch

    old = network.transformer.wte.weight.data
    network.resize_token_embeddings(len(old) + len(rows), mean_resizing=False)
    network.transformer.wte.weight.data = torch.cat((old, rows.to(old)))
    network.tie_weights()


def new_rows(network: Any, method: str, old: Grown, new: Grown, sample: Sequence[str], seed: int) -> Any:
    """Rows of the tokens that ``new`` has beyond ``old``, float32 [new tokens, width].

    - ``last_row``: the row of its last old token, as the released code copies it;
    - ``hidden``: the last hidden state at its last old token, mean over its places in a sample, as the paper says;
    - ``fvt``: the mean of the rows of its old tokens;
    - ``random``: normal, with mean and deviation of the old rows, column by column.
    """
    import torch

    table = network.transformer.wte.weight.data
    if method == "random":
        chance = torch.Generator().manual_seed(seed)
        drawn = torch.randn((len(new.strings) - len(old.strings), table.shape[1]), generator=chance)
        return drawn.to(table) * table.std(0) + table.mean(0)
    parts = [old.encode(string) for string in new.strings[len(old.strings) :]]
    if method == "fvt":
        return torch.stack([table[part].mean(0) for part in parts])
    last = table[[part[-1] for part in parts]]
    return last if method == "last_row" else _hidden(network, old, new, sample, last)


def _hidden(network: Any, old: Grown, new: Grown, sample: Sequence[str], last: Any) -> Any:
    """Means of hidden states; a token that the sample does not have takes its last row."""
    import torch

    first, sums, counts = len(old.strings), torch.zeros_like(last), np.zeros(len(last))
    network.eval()
    for text in sample:
        ids, grown = old.encode(text), new.encode(text)
        by_end = {end: token - first for end, token in zip(_ends(new, grown), grown, strict=True) if token >= first}
        with torch.no_grad():
            states = network.transformer(input_ids=torch.tensor([ids], device=last.device)).last_hidden_state[0]
        for place, end in enumerate(_ends(old, ids)):
            if (token := by_end.get(end)) is not None:
                sums[token] += states[place]
                counts[token] += 1
    seen = torch.from_numpy(counts > 0).to(last.device)
    means = sums / torch.from_numpy(np.maximum(counts, 1)).to(last)[:, None]
    return torch.where(seen[:, None], means, last)


def _ends(vocabulary: Grown, ids: Sequence[int]) -> list[int]:
    """Where each token ends, in characters."""
    return list(accumulate(len(vocabulary.strings[token]) for token in ids))
