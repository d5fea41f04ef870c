"""Loads a causal language model: from safetensors, without its own code, if it fits and is causal."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np

from pyharness.features.language_models.causal import CausalModel, Head
from pyharness.features.language_models.folder import ModelFolder, obtain
from pyharness.features.language_models.windows import Layout
from pyharness.plugins import libraries
from pyharness.system.environment import available_memory_bytes
from pyharness.types import InputError, Unsupported

PROBED = 16  # tokens that a model is tried on
FLOAT32_ULPS = 16  # for sums in another order; 16-bit logits must agree to the bit
CAUSAL_SHARE = {"float32": 1e-3, "bfloat16": 0.05, "float16": 0.01}  # of the largest logit
DTYPES = {"float32": 4, "bfloat16": 2, "float16": 2}  # bytes of a number
_LOADED: dict[tuple[str, str, str], CausalModel] = {}  # one at most: the next corpus of a row needs the same model


def probed(model: CausalModel) -> CausalModel:
    """Return the model with its ``head`` determined; refuse a model whose predictions depend on later tokens.

    Raises:
        InputError: they do.
    """
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
        if apart > CAUSAL_SHARE[model.dtype] * float(whole.abs().max()):  # NaN does not compare: scoring reports it
            raise InputError(
                f"language model {model.folder.name!r} is not causal: its predictions change with the text after them"
            )
        quickest = head_of(model, batch, logits)
    return replace(model, head=quickest)


def head_of(model: CausalModel, batch: Layout, logits: Any) -> Head:
    """Find the quickest way that gives the logits [windows, longest, columns] of a batch, in float32 up to rounding."""
    import torch

    head = model.network.get_output_embeddings()
    if model.network.base_model is model.network:
        return "whole"
    output = model.network.base_model(**model.inputs(batch))
    hidden = getattr(output, "last_hidden_state", None)
    if hidden is None:
        return "whole"
    scored = torch.from_numpy(batch.scored).to(model.device)
    linear = isinstance(head, torch.nn.Linear) and hidden.shape[-1] == head.weight.shape[1]
    if linear and _same(model, head(hidden)[scored], logits[scored]):
        return "linear"
    try:
        rows = model.logits_of(type(output), hidden.flatten(0, 1)).view_as(logits)
    except Exception:  # its head takes more than hidden states: a missing argument raises whatever the class raises
        return "whole"
    return "rows" if _same(model, rows[scored], logits[scored]) else "whole"


def _same(model: CausalModel, ours: Any, logits: Any) -> bool:
    import torch

    ulps = FLOAT32_ULPS * torch.finfo(torch.float32).eps if model.dtype == "float32" else 0.0
    return bool((ours.float() - logits).abs().max() <= ulps * logits.abs().max())


def load(name: str, device: str, dtype: str) -> CausalModel:
    """Load a model from a folder, the Hub's cache or the Hub. The last model stays loaded.

    Args:
        name: folder, or ``ORGANISATION/NAME[@revision]``.
        device: ``cpu`` or ``cuda``.
        dtype: ``float32``, ``bfloat16`` or ``float16``: of the converted weights and of the computation.

    Raises:
        Unsupported: torch or transformers is not installed, or torch has no CUDA.
        InputError: not found, no safetensors, incomplete, refused by transformers, not causal, or larger than free
            memory.
    """
    key = name, device, dtype
    if key not in _LOADED:
        _LOADED.clear()  # two models at once may not fit
        _LOADED[key] = _load(name, device, dtype)
    return _LOADED[key]


def _load(name: str, device: str, dtype: str) -> CausalModel:
    require_libraries()
    os.environ["USE_HUB_KERNELS"] = "NO"  # read when transformers is imported: the Hub's kernels are code, too
    _require_device(device)
    folder = obtain(name)
    folder.check_layers()
    network_class, config = _class_of(folder)
    _check_size(folder, device, dtype)
    network = _from_folder(folder, network_class, config, device, dtype)
    columns = int(network.get_output_embeddings().weight.shape[0])
    text = config.get_text_config()  # the configuration itself, unless the model also takes images or sound
    bos = getattr(text, "bos_token_id", None)
    model = CausalModel(
        folder=folder,
        network=network,
        device=device,
        dtype=dtype,
        columns=columns,
        longest=_longest(folder, getattr(text, "max_position_embeddings", None)),
        # Some configurations carry a default id beyond a small vocabulary, for which there is no embedding.
        bos=bos if isinstance(bos, int) and 0 <= bos < columns else None,
        head="whole",
    )
    return probed(model)


def require_libraries() -> None:
    """Raise ``Unsupported`` where torch or transformers is not installed."""
    for library in ("torch", "transformers"):
        libraries.require("a language model", library, ("torch", "hub"), error=Unsupported)


def _require_device(device: str) -> None:
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise Unsupported(f"this torch ({torch.__version__}) finds no GPU; install its CUDA build, or use --device cpu")


def _class_of(folder: ModelFolder) -> tuple[Any, Any]:
    """Return the class of a causal model and its configuration; refuse what transformers does not know by itself."""
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as KNOWN

    kind, named = str(folder.config.get("model_type"))[:60], folder.config.get("architectures")
    if kind not in KNOWN or not isinstance(named, list) or KNOWN[kind] not in named:
        own_code = " and brings code of its own, which is never run" if "auto_map" in folder.config else ""
        raise InputError(
            f"language model {folder.name!r} is not a causal language model that transformers knows: its config.json "
            f"says model_type {kind!r}, architectures {str(named)[:80]}{own_code}"
        )
    try:
        config = AutoConfig.from_pretrained(folder.path, trust_remote_code=False, local_files_only=True)
        return AutoModelForCausalLM._model_mapping[type(config)], config
    except Exception as error:  # a broken configuration raises whatever its class raises
        raise refused(folder, error) from None


def _longest(folder: ModelFolder, positions: Any) -> int | None:
    if positions is not None and (not isinstance(positions, int) or positions < 2):
        raise InputError(
            f"language model {folder.name!r}: max_position_embeddings = {positions!r} is not a number of tokens from 2"
        )
    return positions


def _check_size(folder: ModelFolder, device: str, dtype: str) -> None:
    import torch

    free = {"cpu": available_memory_bytes()}  # weights for a GPU come through here, too
    if device == "cuda":
        torch.cuda.empty_cache()  # memory of the previous model
        free["cuda"] = torch.cuda.mem_get_info()[0]
    needed = folder.parameters() * DTYPES[dtype]
    for place, most in free.items():
        if most is not None and needed > most:
            raise InputError(
                f"language model {folder.name!r} needs {needed / 1e9:,.2f} GB as {dtype}, and {most / 1e9:,.2f} GB are "
                f"free on {place}; take a smaller model" + (", or dtype=bfloat16" if dtype == "float32" else "")
            )


def _from_folder(folder: ModelFolder, network_class: Any, config: Any, device: str, dtype: str) -> Any:
    import torch

    try:
        network, about = network_class.from_pretrained(
            folder.path,
            config=config,
            dtype=getattr(torch, dtype),
            # Given here, so that no configuration can name a kernel to be fetched and run.
            attn_implementation="sdpa" if network_class._supports_sdpa else "eager",
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
            output_loading_info=True,
        )
    except Exception as error:  # sizes that do not fit, quantisation libraries, torn files: a dozen kinds
        raise refused(folder, error) from None
    if absent := sorted({*about["missing_keys"], *(str(key) for key in about["mismatched_keys"])}):
        raise InputError(
            f"language model {folder.name!r} lacks {len(absent)} weights, such as {absent[0]!r}, which would be "
            "random: it is not a complete causal language model"
        )
    return network.to(device).eval().requires_grad_(False)


def refused(folder: ModelFolder, error: Exception) -> InputError:
    """Return the error for what transformers raised, in one line."""
    reason = " ".join(str(error).split())[:300]
    return InputError(f"language model {folder.name!r} was refused by transformers: {type(error).__name__}: {reason}")
