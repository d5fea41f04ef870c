"""A GPT-2 of a few layers: how it is made and trained, on one core, from fixed seeds."""

from __future__ import annotations

import importlib
import json
import math
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HEAD = 64  # width of an attention head
WARM_UP = 0.05  # share of the steps
LAST = 0.1  # of the rate, at the last step
FACTS = "training.json"
NO_TARGET = -100  # that torch leaves out of the loss


@dataclass(frozen=True, slots=True)
class Shape:
    """Size of the network, and of the batches that it is trained on."""

    layers: int = 4
    width: int = 128
    context: int = 256
    batch: int = 2  # windows of ``context`` tokens in a step


def settle() -> None:
    """One thread, operations that give the same bits each time, and no bars of progress."""
    import torch

    transformers: Any = importlib.import_module("transformers")
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)


def fresh(shape: Shape, ids: int, beginning: int, seed: int) -> Any:
    """Return a network with the random weights of a seed; no dropout, one matrix for input and output."""
    import torch

    transformers: Any = importlib.import_module("transformers")
    torch.manual_seed(seed)
    config = transformers.GPT2Config(
        vocab_size=ids, n_positions=shape.context, n_embd=shape.width, n_layer=shape.layers,
        n_head=max(1, shape.width // HEAD), bos_token_id=beginning, eos_token_id=beginning,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
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
    import torch

    inputs, targets = (torch.from_numpy(part) for part in windows(stream, shape.context))
    steps = -(-len(inputs) // shape.batch)
    optimizer = torch.optim.AdamW(network.parameters(), lr=rate, betas=(0.9, 0.95), weight_decay=0.01)
    network.train()
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = rate * _share(step, steps)
        part = slice(step * shape.batch, (step + 1) * shape.batch)
        logits = network(input_ids=inputs[part], use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets[part].flatten(), ignore_index=NO_TARGET)
        optimizer.zero_grad(set_to_none=True)
        backward: Any = loss.backward  # torch has no type for it
        backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
    return steps


def _share(step: int, steps: int) -> float:
    warm = max(1, round(steps * WARM_UP))
    if step < warm:
        return (step + 1) / warm
    return LAST + (1 - LAST) * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm))) / 2
