"""Tries a loaded model on a few tokens: is it causal, and what are its logits?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pyharness.language_models.causal import CausalModel, Head
from pyharness.language_models.windows import Layout
from pyharness.types import InputError

PROBED = 16  # tokens that a model is tried on
FLOAT32_ULPS = 16  # a sum in another order; 16-bit logits must agree to the bit
CAUSAL_SHARE = {"float32": 1e-3, "bfloat16": 0.05, "float16": 0.01}  # of the largest logit


def probed(model: CausalModel) -> CausalModel:
    """Return the model, with ``head`` found out; refuse one whose predictions change with what follows."""
    import torch

    length = min(PROBED, model.longest or PROBED)
    ids = np.arange(2 * length, dtype=np.int64).reshape(2, length) % length * 7919 % model.columns
    attended = np.ones_like(ids)
    ids[1, length // 2 :], attended[1, length // 2 :] = 0, 0
    batch = Layout(ids, attended, attended.astype(np.bool_), ids[attended == 1])
    with torch.inference_mode():
        logits = model.logits(batch).float()
        whole, part = logits[0, : length // 2], logits[1, : length // 2]
        apart = float((whole - part).abs().max())
        if apart > CAUSAL_SHARE[model.dtype] * float(whole.abs().max()):  # NaN is not: scoring reports it
            raise InputError(
                f"language model {model.folder.name!r} is not causal: its predictions change with the text after them"
            )
        found = head_of(model, batch, logits)
    return replace(model, head=found)


def head_of(model: CausalModel, batch: Layout, logits: Any) -> Head:
    """Find the quickest way to the logits [windows, longest, columns] of a batch that gives them, and not others."""
    import torch

    head = model.network.get_output_embeddings()
    if model.network.base_model is model.network:
        return "whole"
    output = model.network.base_model(**model.inputs(batch))
    hidden = getattr(output, "last_hidden_state", None)
    if hidden is None:
        return "whole"
    known = torch.from_numpy(batch.scored).to(model.device)
    linear = isinstance(head, torch.nn.Linear) and hidden.shape[-1] == head.weight.shape[1]
    if linear and _same(model, head(hidden)[known], logits[known]):
        return "linear"
    try:
        rows = model.logits_of(type(output), hidden.flatten(0, 1)).view_as(logits)
    except Exception:  # its head takes more than hidden states: what is missing raises whatever the class raises
        return "whole"
    return "rows" if _same(model, rows[known], logits[known]) else "whole"


def _same(model: CausalModel, ours: Any, logits: Any) -> bool:
    import torch

    ulps = FLOAT32_ULPS * torch.finfo(torch.float32).eps if model.dtype == "float32" else 0.0
    return bool((ours.float() - logits).abs().max() <= ulps * logits.abs().max())
