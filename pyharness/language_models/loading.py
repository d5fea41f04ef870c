"""Loads a causal language model: from safetensors, without code of its own, when it fits, and only if it is one."""

from __future__ import annotations

import os
from typing import Any

from pyharness.language_models.causal import CausalModel
from pyharness.language_models.finding import obtain
from pyharness.language_models.folder import ModelFolder
from pyharness.language_models.probing import probed
from pyharness.plugins import libraries
from pyharness.system.environment import available_memory_bytes
from pyharness.types import InputError, Unsupported

DTYPES = {"float32": 4, "bfloat16": 2, "float16": 2}  # bytes of a number

_LOADED: dict[tuple[str, str, str], CausalModel] = {}  # one at most: the next corpus of a row needs the same model


def load(name: str, device: str, dtype: str) -> CausalModel:
    """Load a model from a folder, the Hub's cache or the Hub; the last one loaded is kept.

    Args:
        name: folder, or ``ORGANISATION/NAME[@revision]``.
        device: ``cpu`` or ``cuda``.
        dtype: ``float32``, ``bfloat16`` or ``float16``: what weights are converted to, and computed in.

    Raises:
        Unsupported: torch or transformers is not installed, or torch has no CUDA.
        InputError: not found, no safetensors, not causal, or larger than free memory.
    """
    key = name, device, dtype
    if key not in _LOADED:
        _LOADED.clear()  # two models at once may not fit
        _LOADED[key] = _load(name, device, dtype)
    return _LOADED[key]


def _load(name: str, device: str, dtype: str) -> CausalModel:
    require_libraries()
    os.environ["USE_HUB_KERNELS"] = "NO"  # read when transformers is imported: kernels of the Hub are code, too
    _require_device(device)
    folder = obtain(name)
    folder.check_layers()
    network_class, config = _class_of(folder)
    _check_size(folder, device, dtype)
    network = _from_folder(folder, network_class, config, device, dtype)
    columns = int(network.get_output_embeddings().weight.shape[0])
    text = config.get_text_config()  # itself, unless the model also sees or hears
    bos = getattr(text, "bos_token_id", None)
    model = CausalModel(
        folder=folder,
        network=network,
        device=device,
        dtype=dtype,
        columns=columns,
        longest=_longest(folder, getattr(text, "max_position_embeddings", None)),
        # Some configurations carry a default beyond a small vocabulary, which no embedding stands for.
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
    """Class of a causal model and its configuration; what transformers does not know by itself is refused."""
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as KNOWN

    kind, named = str(folder.config.get("model_type"))[:60], folder.config.get("architectures")
    if kind not in KNOWN or not isinstance(named, list) or KNOWN[kind] not in named:
        own_code = " and brings code of its own, which is never run" if "auto_map" in folder.config else ""
        raise InputError(
            f"language model {folder.name!r} is no causal language model that transformers knows: its config.json "
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
            f"language model {folder.name!r}: max_position_embeddings = {positions!r} is no number of tokens from 2"
        )
    return positions


def _check_size(folder: ModelFolder, device: str, dtype: str) -> None:
    import torch

    free = {"cpu": available_memory_bytes()}  # weights for a GPU come through here, too
    if device == "cuda":
        torch.cuda.empty_cache()  # of the model before
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
            # Said here, so that no configuration can name a kernel to be fetched and run.
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
            f"language model {folder.name!r} lacks {len(absent)} weights that it would be given at random, such as "
            f"{absent[0]!r}: it is no whole causal language model"
        )
    return network.to(device).eval().requires_grad_(False)


def refused(folder: ModelFolder, error: Exception) -> InputError:
    """Return what transformers said, in one line."""
    reason = " ".join(str(error).split())[:300]
    return InputError(f"language model {folder.name!r} was refused by transformers: {type(error).__name__}: {reason}")
