"""A GPT-2 of a few layers: how it is made and trained, on one core, from fixed seeds."""

from __future__ import annotations

import importlib
import json
import math
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FACTS = "training.json"
NO_TARGET = -100  # that torch leaves out of the loss


@dataclass(frozen=True, slots=True)
class Shape:
    """Size of the network, and of the batches that it is trained on."""

    layers: int = 4
    width: int = 128
    context: int = 256
    batch: int = 2  # windows of ``context`` tokens in a step
    head: int = 64  # width of an attention head


@dataclass(frozen=True, slots=True)
class Recipe:
    """How AdamW is driven: the rate rises, falls as a cosine, and stays where it ends."""

    rate: float
    last: float = 0.1  # of the rate, where its fall ends
    warm_up: float = 0.05  # share of the steps of the fall
    falls_over: int | None = None  # steps; None: all
    betas: tuple[float, float] = (0.9, 0.95)
    decay: float = 0.01

    def share(self, step: int, steps: int) -> float:
        """Share of the rate at a step of so many."""
        steps = self.falls_over or steps
        warm = max(1, round(steps * self.warm_up))
        if step < warm:
            return (step + 1) / warm
        falling = max(1, steps - warm)
        return self.last + (1 - self.last) * (1 + math.cos(math.pi * min(step - warm, falling) / falling)) / 2


def settle() -> None:
    """One thread, operations that give the same bits each time, and no bars of progress."""
    import torch

    transformers: Any = importlib.import_module("transformers")
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)


def fresh(shape: Shape, ids: int, beginning: int, seed: int, dropout: float = 0.0) -> Any:
    """Return a network with the random weights of a seed; one matrix for input and output."""
    import torch

    transformers: Any = importlib.import_module("transformers")
    torch.manual_seed(seed)
    config = transformers.GPT2Config(
        vocab_size=ids, n_positions=shape.context, n_embd=shape.width, n_layer=shape.layers,
        n_head=max(1, shape.width // shape.head), bos_token_id=beginning, eos_token_id=beginning,
        resid_pdrop=dropout, embd_pdrop=dropout, attn_pdrop=dropout,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config)


def loaded(folder: Path) -> Any:
    """Return the network of a folder, for training."""
    transformers: Any = importlib.import_module("transformers")
    return transformers.GPT2LMHeadModel.from_pretrained(folder, local_files_only=True)


def save(network: Any, facts: Mapping[str, Any], folder: Path) -> None:
    """Write the folder of a network, and how it was trained: it has its name when it is whole."""
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    network.save_pretrained(part)
    (part / FACTS).write_text(json.dumps(facts), encoding="utf-8")
    part.rename(folder)


def facts_of(folder: Path) -> dict[str, Any]:
    """Return how the network of a folder was trained."""
    facts: dict[str, Any] = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    return facts


def windows(stream: NDArray[np.int64], context: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Inputs and targets, [windows, context] each: every token but the first is a target once."""
    missing = -(len(stream) - 1) % context
    inputs = np.concatenate((stream[:-1], np.zeros(missing, np.int64))).reshape(-1, context)
    targets = np.concatenate((stream[1:], np.full(missing, NO_TARGET))).reshape(-1, context)
    return inputs, targets


def train(network: Any, stream: NDArray[np.int64], shape: Shape, rate: float) -> int:
    """Read a stream once, in its order; returns optimiser steps. The rate rises, then falls as a cosine."""
    inputs, targets = windows(stream, shape.context)
    steps = -(-len(inputs) // shape.batch)
    parts = (slice(step * shape.batch, (step + 1) * shape.batch) for step in range(steps))
    learn(network, ((inputs[part], targets[part]) for part in parts), steps, Recipe(rate))
    return steps


def learn(
    network: Any,
    batches: Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]],
    steps: int,
    recipe: Recipe,
    watch: Callable[[int], None] | None = None,
) -> None:
    """Take so many optimiser steps, one for each batch of inputs and targets; ``watch`` sees the network after each."""
    import torch

    optimizer = torch.optim.AdamW(network.parameters(), lr=recipe.rate, betas=recipe.betas, weight_decay=recipe.decay)
    network.train()
    for step, batch in enumerate(batches):
        inputs, targets = (torch.from_numpy(part).to(network.device) for part in batch)
        optimizer.param_groups[0]["lr"] = recipe.rate * recipe.share(step, steps)
        logits = network(input_ids=inputs, use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=NO_TARGET)
        optimizer.zero_grad(set_to_none=True)
        backward: Any = loss.backward  # torch has no type for it
        backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        if watch is not None:
            watch(step + 1)
