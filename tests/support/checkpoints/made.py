"""Small checkpoints, safetensors written by hand, and what an adaptation makes of them."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe import BpeModel, import_model
from pyharness.features.adaptation.surgery.checkpoint import adapted_files
from pyharness.features.adaptation.surgery.matrices import VocabularyMatrices
from pyharness.features.adaptation.surgery.plan import EmbeddingPlan
from pyharness.features.language_models.folder import ModelFolder
from pyharness.features.language_models.weights_file import WeightsFile, header_of
from pyharness.system.folders import write_folder
from pyharness.types import Vocabulary
from pyharness.vocabularies.files.merge_model import byte_level_model
from tokenizer_files import byte_level

PADDED = 272  # rows; the tokenizer has 263 ids
DTYPES = {"<f4": "F32", "<f2": "F16", "<u2": "BF16", "<i4": "I32"}
NUMPY = {name: dtype for dtype, name in DTYPES.items()}


def weights(tensors: Mapping[str, NDArray[Any]], metadata: Any = None) -> bytes:
    """Return a safetensors file; arrays of uint16 are bfloat16."""
    head = [(name, DTYPES[one.dtype.str], one.shape, one.nbytes) for name, one in tensors.items()]
    return header_of(head, metadata) + b"".join(one.tobytes() for one in tensors.values())


def nameless(folder: Path, tensors: Mapping[str, NDArray[Any]], **config: Any) -> Path:
    """Write a model that transformers does not know: its matrices must be named."""
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(weights(tensors))
    rows = next(iter(tensors.values())).shape[0]
    (folder / "config.json").write_text(json.dumps({"model_type": "mine", "vocab_size": rows, **config}))
    return folder


def extended(*merges: tuple[str, str]) -> dict[str, Any]:
    """Return the tokenizer.json of ``byte_level`` with more rules, whose tokens follow its largest id."""
    content = byte_level()
    vocab = content["model"]["vocab"]
    vocab.update({token["content"]: token["id"] for token in content["added_tokens"]})
    for left, right in merges:
        vocab[left + right] = len(vocab)
        content["model"]["merges"].append(f"{left} {right}")
    return content


def of_json(content: Mapping[str, Any]) -> BpeModel:
    return import_model(json.dumps(content).encode())


def of_rules(vocabulary: Mapping[int, bytes], rules: list[tuple[int, int, int]]) -> BpeModel:
    """Model over bytes of a vocabulary and rules."""
    table = Vocabulary.from_tokens(vocabulary, {})
    array = np.array(rules, np.uint32).reshape(-1, 3)
    merges = byte_level_model(table, np.arange(256, dtype=np.uint32), rules=array)
    return BpeModel(
        vocabulary=table, merges=merges, alphabet={bytes([byte]): byte for byte in range(256)}, splitter="none"
    )


def applied(folder: Path, plan: EmbeddingPlan, out: Path, *names: str) -> Path:
    model = ModelFolder.read(str(folder), folder)
    write_folder(out, adapted_files(model, plan, VocabularyMatrices.of(model, names)))
    return out


def tensors_of(folder: Path) -> dict[str, NDArray[Any]]:
    """Return all tensors as the library reads them, which needs no torch; bfloat16 as float32."""
    library: Any = importlib.import_module("safetensors")
    files = [library.deserialize(path.read_bytes()) for path in sorted(folder.glob("*.safetensors"))]
    return {name: _array(**tensor) for file in files for name, tensor in file}


def _array(dtype: str, shape: list[int], data: bytes) -> NDArray[Any]:
    values: NDArray[Any] = np.frombuffer(data, NUMPY[dtype]).reshape(shape)
    return (values.astype("<u4") << 16).view("<f4") if dtype == "BF16" else values


def hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of the bytes of each tensor."""
    found = {}
    for path in folder.glob("*.safetensors"):
        data = path.read_bytes()
        for tensor in WeightsFile.read(path).tensors.values():
            found[tensor.name] = hashlib.sha256(data[tensor.start : tensor.end]).hexdigest()
    return found
