"""Tries a loaded model on a few tokens: is it causal, and what are its logits?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pyharness.language_models.causal import CausalModel
from pyharness.language_models.windows import Layout
from pyharness.types import InputError

PROBED = 16  # tokens that a model is tried on
FLOAT32_ULPS = 16  # a sum in another order; 16-bit logits must agree to the bit
CAUSAL_SHARE = {"float32": 1e-3, "bfloat16": 0.05, "float16": 0.01}  # of the largest logit


def probed(model: CausalModel) -> CausalModel:
    """Return the model, with ``from_hidden`` found out; refuse one whose predictions change with what follows."""
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
        same = _is_linear(model, batch, logits)
    return replace(model, from_hidden=same)


def _is_linear(model: CausalModel, batch: Layout, logits: Any) -> bool:
    """Tell whether logits are hidden @ weight^T + bias: no soft cap, no scale, no other surprise."""
    import torch

    head = model.network.get_output_embeddings()
    if not isinstance(head, torch.nn.Linear) or model.network.base_model is model.network:
        return False
    output = model.network.base_model(**model.inputs(batch))
    hidden = getattr(output, "last_hidden_state", None)
    if hidden is None or hidden.shape[-1] != head.weight.shape[1]:
        return False
    known = torch.from_numpy(batch.scored).to(model.device)
    apart = (head(hidden).float() - logits)[known].abs().max()
    ulps = FLOAT32_ULPS * torch.finfo(torch.float32).eps if model.dtype == "float32" else 0.0
    return bool(apart <= ulps * logits[known].abs().max())
