"""Feed-forward parts that grow: attention over parameters (Pattention, arXiv 2410.23168), with the scale held.

The repository of the paper scales by the root of the number of keys, so that adding keys of zero changes what comes
out. Here the scale stays that of the first keys, and keys are kept in the parts in which they were added: sums are
then formed in one order, and growth changes no bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

SPREAD = 0.02  # standard deviation of new weights, as GPT-2 has it


def pattention(inputs: Any, keys: Iterable[Any], values: Iterable[Any], scale: float) -> Any:
    """Weigh values by gelu of the normed likeness of inputs and keys.

    Args:
        inputs: [.., width].
        keys: parts, [keys, width] each.
        values: a part for each of these, [keys, width out].
        scale: what weights of norm 1 are multiplied by, before gelu.
    """
    import torch

    likeness = [inputs @ part.T for part in keys]
    norm = sum((one * one).sum(-1, keepdim=True) for one in likeness).clamp_min(1e-30).sqrt()
    weights = (torch.nn.functional.gelu(one / norm * scale) for one in likeness)
    return sum(weight @ part for weight, part in zip(weights, values, strict=True))


def give_body(network: Any, keys: int) -> None:
    """Replace the feed-forward part of every layer by Pattention with so many keys, random as torch's seed has it."""
    import torch

    chance = torch.default_generator
    for block in network.transformer.h:
        block.mlp = _module(network.config.n_embd, math.sqrt(keys))
        _add(block.mlp, _drawn(keys, block.mlp, chance), chance)


def grow_body(network: Any, keys: int, seed: int) -> None:
    """Give every layer so many keys of zero more: what comes out of the network stays the same, bit for bit."""
    import torch

    chance = torch.Generator().manual_seed(seed)
    for block in network.transformer.h:
        _add(block.mlp, torch.zeros(keys, block.mlp.width), chance)


def _module(width: int, scale: float) -> Any:
    import torch

    class Pattention(torch.nn.Module):
        """Keys and values in the parts in which they were added."""

        def __init__(self) -> None:
            super().__init__()
            self.keys, self.values = torch.nn.ParameterList(), torch.nn.ParameterList()
            self.width, self.scale = width, scale

        def forward(self, inputs: Any) -> Any:
            return pattention(inputs, self.keys, self.values, self.scale)

    return Pattention()


def _drawn(keys: int, body: Any, chance: Any) -> Any:
    import torch

    return torch.randn((keys, body.width), generator=chance) * SPREAD


def _add(body: Any, keys: Any, chance: Any) -> None:
    import torch

    body.keys.append(torch.nn.Parameter(keys))
    body.values.append(torch.nn.Parameter(_drawn(len(keys), body, chance)))
