"""Tiny language models with random weights and their tokenizer, built here; and what they ought to score."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyharness import corpora, tokenizers
from pyharness.benchmarks import Findings, Work, benchmarks
from pyharness.features.language_models.next_token_entropy import settle
from pyharness.types import Case, Ids
from tokenizer_files import byte_level

END_OF_TEXT = 261  # of tokenizer_files.byte_level, whose vocabulary has 263 ids
IDS = 263
CONTEXT = 32
TEXTS = [
    "hello hello world, he held the wheel: hello.",
    "h",
    "Ünïcödé 日本 and   spaces\n\nhello hello " * 3,
    "x",
    "whole wellhello",
    "!?",
]


def configuration(kind: str, **changes: Any) -> Any:
    """Two layers of width 32; weights ten times larger than usual, so that predictions are far from even."""
    transformers: Any = importlib.import_module("transformers")
    shared = {"vocab_size": IDS, "bos_token_id": END_OF_TEXT, "eos_token_id": END_OF_TEXT, "initializer_range": 0.2}
    if kind == "gpt2":
        options = {"n_positions": CONTEXT, "n_embd": 32, "n_layer": 2, "n_head": 2, **shared, **changes}
        return transformers.GPT2Config(**options)
    shape = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}
    limits = {"num_key_value_heads": 1, "max_position_embeddings": CONTEXT, "head_dim": 16}
    options = {**shape, **limits, **shared, **changes}
    return {"llama": transformers.LlamaConfig, "gemma2": transformers.Gemma2Config}[kind](**options)


def build(folder: Path, kind: str = "gpt2", seed: int = 7, *, tokenizer: bool = True, **changes: Any) -> Path:
    """Save a model of the seed, and its tokenizer beside it."""
    import torch

    transformers: Any = importlib.import_module("transformers")
    torch.manual_seed(seed)
    model = transformers.AutoModelForCausalLM.from_config(configuration(kind, **changes))
    model.save_pretrained(folder)
    if tokenizer:
        (folder / "tokenizer.json").write_text(json.dumps(byte_level()), encoding="utf-8")
    return folder


def largest_tensor(call: Callable[[], object]) -> int:
    """Bytes of the largest tensor that torch makes within a call: views of others are none."""
    torch: Any = importlib.import_module("torch")
    mode: Any = importlib.import_module("torch.utils._python_dispatch").TorchDispatchMode
    sizes = [0]

    def note(self: object, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        given = {one.untyped_storage().data_ptr() for one in args if isinstance(one, torch.Tensor)}
        several = made if isinstance(made, tuple | list) else [made]
        storages = [one.untyped_storage() for one in several if isinstance(one, torch.Tensor)]
        sizes.extend(one.nbytes() for one in storages if one.data_ptr() not in given)
        return made

    noting: Any = type("Noting", (mode,), {"__torch_dispatch__": note})
    with noting():
        call()
    return max(sizes)


def oracle(
    folder: Path, ids: Ids, bos: int | None, context: int, stride: int, columns: int | None = None
) -> tuple[list[float], list[float]]:
    """Entropy and NLL in bits of every token (NaN: not scored): a loop over tokens, in float64, without batches.

    Token t is in the first window that reaches it: they start at 0, stride, 2 stride, ... and hold ``context`` inputs.
    """
    import torch

    transformers: Any = importlib.import_module("transformers")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
    sequence = ([] if bos is None else [bos]) + ids.tolist()
    entropies, nlls = [math.nan] * len(ids), [math.nan] * len(ids)
    predicted: dict[int, Any] = {}
    for target in range(1, len(sequence)):
        start = next(start for start in range(0, len(sequence), stride) if start + context >= target)
        if start not in predicted:
            with torch.no_grad():
                predicted[start] = model(torch.tensor([sequence[start : start + context]])).logits[0]
        log_p = torch.log_softmax(predicted[start][target - 1 - start, :columns], -1)
        token = target - (bos is not None)
        entropies[token] = -float((log_p.exp() * log_p).sum()) / math.log(2)
        nlls[token] = -float(log_p[sequence[target]]) / math.log(2)
    return entropies, nlls


def edited(folder: Path, **changes: Any) -> Path:
    """Change the configuration on disk."""
    config = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, **changes}), "utf-8")
    return folder


def written(path: Path, texts: list[str]) -> str:
    """Specification of a corpus of these documents."""
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    return f"path:{path}"


def measured(folder: Path, texts: list[str], row: str | None = None, device: str = "cpu", **parameters: Any) -> Any:
    """Findings of the benchmark on texts, in this process."""
    corpus = written(folder / "texts.jsonl", texts)
    spec = tokenizers.resolve(row or f"file:{folder / 'tokenizer.json'}")
    declared = benchmarks()["next_token_entropy"]
    settled = settle({**declared.parameters, "model": str(folder), **parameters}, spec, device)
    case = Case(declared.name, spec.name, corpus, settled)
    return declared.run(Work(case, spec, lambda: tokenizers.load(spec), corpora.open_corpus(corpus), 1, device=device))


def values(findings: Findings) -> dict[tuple[str, str | None], float]:
    """Numbers by metric and part, of a case that has some."""
    assert findings.status == "ok", findings.reason
    return {(one.metric, one.part): float(one.value) for one in findings.measurements if one.value is not None}
