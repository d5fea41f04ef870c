"""Language models that cannot be had, cannot be loaded, or are none: each is one error that says why."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import language_models as tiny
from language_models import TEXTS, edited, measured, values
from pyharness import kernels
from pyharness.features.language_models import loader
from pyharness.features.language_models.folder import find
from pyharness.types import InputError, Unsupported

pytest.importorskip("torch", reason="needs the extra torch")
pytest.importorskip("transformers", reason="needs the extra hub")


def without_safetensors(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def cut_off(folder: Path) -> None:
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[: len(data) // 2])


def other_header(header: bytes) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)

    return write


def adapter(folder: Path) -> None:
    (folder / "adapter_config.json").write_text("{}", "utf-8")


def without_configuration(folder: Path) -> None:
    (folder / "config.json").unlink()


def with_index(**shards: Any) -> Callable[[Path], None]:
    """Weights in shards that an index names."""

    def write(folder: Path) -> None:
        (folder / "model.safetensors").rename(folder / "model-1.safetensors")
        (folder / "model.safetensors.index.json").write_text(
            json.dumps({"metadata": {}, "weight_map": shards}), "utf-8"
        )

    return write


def of_ranks(folder: Path) -> None:
    (folder / "shard-00000-model-00001-of-00001.safetensors").write_bytes(b"")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (without_safetensors, r"lacks model\.safetensors: .*has pytorch_model\.bin\b.*\bpickles\b"),
        (cut_off, r"model\.safetensors\b.*\bwhole\b"),
        (other_header(b"[" * 500), "header is broken"),
        (other_header(b'{"a": {"shape": ["x"]}}'), "header is broken"),
        (other_header(b'{"a": {"shape": [1e999]}}'), "header is broken"),
        (other_header(b""), r"model\.safetensors\b.*\bcut off"),
        (adapter, "is an adapter"),
        (without_configuration, "has no config.json"),
        (lambda folder: edited(folder, architectures=["GPT2Model"]), "causal language model.*GPT2Model"),
        (lambda folder: edited(folder, architectures=None), "causal language model.*config.json"),
        (lambda folder: edited(folder, model_type="mine", auto_map={"AutoModel": "a.B"}), "mine.*never run"),
        (lambda folder: edited(folder, n_embd="wide"), "refused by transformers"),
        (lambda folder: edited(folder, n_embd=64), "refused by transformers|lacks .* weights"),
        (lambda folder: edited(folder, n_layer=3), "lacks 12 weights"),
        (lambda folder: edited(folder, n_layer=10**9), "n_layer = 1,000,000,000, but 28 tensors"),
        (lambda folder: edited(folder, vocab_size=2**31), "refused by transformers"),
        (lambda folder: edited(folder, vocab_size=-1), "refused by transformers"),
        (lambda folder: edited(folder, quantization_config={"quant_method": "fp8"}), "is quantised"),
        (lambda folder: edited(folder, text={"quantization_config": {}}), "is quantised"),
        (lambda folder: edited(folder, transformers_weights="other.safetensors"), "weights other than"),
        (of_ranks, "distributed checkpoint"),
        (with_index(a="model-1.safetensors", b="model-2.safetensors"), "lacks model-2.safetensors: fetch it again"),
        (with_index(a="../model.safetensors"), "index.json is broken"),
        (with_index(a="/model.safetensors"), "index.json is broken"),
        (with_index(a=1, b="model-1.safetensors"), "index.json is broken"),
        (with_index(a={}), "index.json is broken"),
        (with_index(), "index.json is broken"),
    ],
)
def test_folders_that_are_no_models(tmp_path: Path, damage: Callable[[Path], Any], message: str) -> None:
    damage(tiny.build(tmp_path))
    with pytest.raises(InputError, match=message):
        measured(tmp_path, TEXTS)


@pytest.mark.parametrize("tokens", [-5, 0, 1])
def test_a_context_that_cannot_be(tmp_path: Path, tokens: int) -> None:
    folder = edited(tiny.build(tmp_path, "llama"), max_position_embeddings=tokens)
    with pytest.raises(InputError, match=rf"max_position_embeddings = {tokens}\b.* 2\b"):
        measured(folder, TEXTS)


def test_weights_in_shards(tmp_path: Path) -> None:
    whole = values(measured(tiny.build(tmp_path), TEXTS))
    with_index(a="model-1.safetensors")(tmp_path)
    loader._LOADED.clear()
    assert values(measured(tmp_path, TEXTS)) == whole


def test_kernels_of_the_hub_are_never_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Transformers fetches and runs them for some architectures unless it is told not to before it is imported."""
    monkeypatch.setenv("USE_HUB_KERNELS", "YES")
    loader._LOADED.clear()
    measured(tiny.build(tmp_path), ["hello"])
    assert os.environ["USE_HUB_KERNELS"] == "NO"


def test_a_model_that_sees_what_follows(tmp_path: Path) -> None:
    import torch

    transformers: Any = importlib.import_module("transformers")
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=tiny.IDS, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48,
        initializer_range=0.2, is_decoder=True,
    )  # fmt: skip
    transformers.BertLMHeadModel(config).save_pretrained(tmp_path)
    assert measured(tmp_path, ["hello"], row="raw_bytes").status == "ok"
    loader._LOADED.clear()
    with pytest.raises(InputError, match="is not causal"):
        measured(edited(tmp_path, is_decoder=False), ["hello"], row="raw_bytes")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"context": 1}, r"context = 1\b.* 2\b"),
        ({"context": 4, "stride": 5}, r"stride = 5\b.*\bcontext = 4\b"),
        ({"stride": 33}, r"stride = 33\b.*\bcontext\D* 32\b"),
        ({"context": 33}, r"context = 33\b.* 32 tokens\b"),
        ({"batch_tokens": 0}, r"batch_tokens = 0\b"),
        ({"dtype": "float8"}, "unknown dtype 'float8'; known: auto, float32"),
        ({"model": "/no/such/folder"}, "no language model '/no/such/folder'"),
        ({"model": "a b"}, "no language model 'a b'"),
        ({"model": __file__}, r"models\.py'.*\bfolder"),
        ({"model": "~nobody_at_all/model"}, "no language model"),
        ({"model": "a" * 5000}, r"language model 'aaaa.*: "),
        ({"model": "a\0b"}, "no language model"),
    ],
)
def test_parameters_that_cannot_be(tmp_path: Path, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        measured(tiny.build(tmp_path), TEXTS, **parameters)


def test_an_offline_hub_is_one_error_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError, match=r"HF_HUB_OFFLINE is set; fetch it .*hf download some/model --local-dir"):
        measured(tiny.build(tmp_path), TEXTS, model="some/model")
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    for variable in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(InputError, match=r"127.0.0.1:9 .* cannot be reached; fetch it"):
        measured(tiny.build(tmp_path), TEXTS, model="some/model@main")


def test_a_model_in_the_hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    home, folder = tmp_path / "cache" / "models--some--model", tiny.build(tmp_path)
    (home / "refs").mkdir(parents=True)
    (home / "refs" / "main").write_text("c0ffee", "utf-8")
    (home / "snapshots").mkdir()
    (home / "snapshots" / "c0ffee").symlink_to(folder)
    result = measured(folder, TEXTS, model="some/model")
    assert values(result) == values(measured(folder, TEXTS))
    assert result.details["model"]["name"] == "some/model"
    with_index(a="model-1.safetensors", b="model-2.safetensors")(folder)
    assert find("some/model") is None, "a broken download goes on"


def test_a_model_larger_than_free_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loader._LOADED.clear()
    monkeypatch.setattr("pyharness.features.language_models.loader.available_memory_bytes", lambda: 1000)
    with pytest.raises(InputError, match=r"0\.00 GB\b.*\bfloat32\b.*\b0\.00 GB\b.*\bcpu\b.*\bdtype=bfloat16"):
        measured(tiny.build(tmp_path), TEXTS)


def test_no_memory_while_scoring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise MemoryError("4 GB wanted")

    monkeypatch.setattr(kernels, "linear_entropy", full)
    with pytest.raises(InputError, match=r"\bcpu \(4 GB wanted\).*\bbatch_tokens="):
        measured(tiny.build(tmp_path), TEXTS)


@pytest.mark.parametrize("library", ["torch", "transformers"])
def test_missing_libraries_skip_the_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == library else real(name, *rest))
    loader._LOADED.clear()
    with pytest.raises(Unsupported, match=rf"needs {library}, .*pip install 'pyharness\[torch,hub\]'"):
        measured(tiny.build(tmp_path), TEXTS)
