"""Adapted checkpoints in transformers: nothing is missing or new, and old ids have the same logits, to the bit."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import language_models as tiny
from checkpoints.made import PADDED, applied, extended, hashes, of_json, tensors_of
from pyharness.features.adaptation.id_maps import IdMap
from pyharness.features.adaptation.surgery.initialisation import PlanRequest, plan_of_map, plan_of_tokenizers
from pyharness.features.adaptation.surgery.matrices import VocabularyMatrices
from pyharness.features.adaptation.surgery.plan import EmbeddingPlan
from pyharness.features.language_models.folder import ModelFolder
from tokenizer_files import byte_level

torch: Any = pytest.importorskip("torch")
transformers: Any = pytest.importorskip("transformers")

MERGES = (("hello", "Ġ"), ("Ġw", "o"), ("hello", "hello"))  # 259 32, 260 111, 259 259
MEANS = {263: (259, 32), 264: (260, 111), 265: (259, 259)}
IDS = [*b"some old text ", 256, 257, 258, 259, 260, 261]
KINDS = {  # matrices of each, in its file
    "tied": {"transformer.wte.weight"},
    "untied": {"model.embed_tokens.weight", "lm_head.weight"},
    "biased": {"model.embed_tokens.weight", "lm_head.weight", "lm_head.bias"},
    "masked": {"bert.embeddings.word_embeddings.weight", "cls.predictions.bias"},
}


def family_of(kind: str) -> Any:
    return transformers.AutoModelForMaskedLM if kind == "masked" else transformers.AutoModelForCausalLM


def built(kind: str, folder: Path, dtype: str = "float32", **options: Any) -> Path:
    shape = {"vocab_size": PADDED, "bos_token_id": 261, "eos_token_id": [261, 5], "pad_token_id": 262}
    size = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}
    if kind == "tied":
        config = tiny.configuration("gpt2", **shape)
    elif kind == "untied":
        config = tiny.configuration("llama", **shape, tie_word_embeddings=False)
    elif kind == "biased":
        config = transformers.PhiConfig(**shape, **size, initializer_range=0.2)
    elif kind == "masked":
        config = transformers.BertConfig(**shape, **size, architectures=["BertForMaskedLM"])
    torch.manual_seed(7)
    model = (transformers.AutoModelForMaskedLM if kind == "masked" else transformers.AutoModelForCausalLM).from_config(
        config
    )
    if getattr(model.get_output_embeddings(), "bias", None) is not None:
        torch.nn.init.normal_(model.get_output_embeddings().bias)
    model.to(getattr(torch, dtype)).save_pretrained(folder, **options)
    return folder


def loaded(folder: Path, kind: str) -> Any:
    model, about = family_of(kind).from_pretrained(folder, dtype="auto", output_loading_info=True)
    assert not any(about.values()), about
    return model.eval()


def logits(folder: Path, kind: str, ids: list[int]) -> Any:
    with torch.no_grad():
        return loaded(folder, kind)(torch.tensor([ids])).logits[0]


def plan_for(folder: Path, **options: Any) -> EmbeddingPlan:
    model = ModelFolder.read("m", folder)
    request = PlanRequest(rows=VocabularyMatrices.of(model).rows, checkpoint=model.digest(), **options)
    return plan_of_tokenizers(of_json(byte_level()), of_json(extended(*MERGES)), request)


def mean_of(rows: NDArray[Any], dtype: Any) -> NDArray[Any]:
    found: NDArray[Any] = torch.tensor(rows).double().mean(0).to(dtype).float().numpy()
    return found


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [(kind, "float32") for kind in KINDS] + [("tied", "float16"), ("untied", "float16"), ("biased", "bfloat16")],
)
def test_an_adapted_model(kind: str, dtype: str, tmp_path: Path) -> None:
    old = built(kind, tmp_path / "old", dtype)
    found = VocabularyMatrices.of(ModelFolder.read("m", old))
    assert set(found.roles) == KINDS[kind]
    new = applied(old, plan_for(old, multiple_of=64), tmp_path / "new")
    before, after = tensors_of(old), tensors_of(new)
    assert before.keys() == after.keys()
    for name in found.roles:
        assert after[name].shape == (320, *before[name].shape[1:])
        kept = [row for row in range(PADDED) if row not in MEANS]
        np.testing.assert_array_equal(after[name][kept], before[name][kept])
        for row, parts in MEANS.items():
            np.testing.assert_array_equal(after[name][row], mean_of(before[name][list(parts)], getattr(torch, dtype)))
        np.testing.assert_array_equal(after[name][319], mean_of(before[name][:263], getattr(torch, dtype)))
    others = hashes(old).keys() - found.roles.keys()
    assert others
    assert {name: hashes(new)[name] for name in others} == {name: hashes(old)[name] for name in others}
    assert json.loads((new / "config.json").read_text())["vocab_size"] == 320
    assert torch.equal(logits(new, kind, IDS)[:, :263], logits(old, kind, IDS)[:, :263])
    assert logits(new, kind, [*IDS, *MEANS]).isfinite().all()


def test_shards_and_their_index(tmp_path: Path) -> None:
    old = built("untied", tmp_path / "old", max_shard_size="30KB")
    new = applied(old, plan_for(old, multiple_of=64), tmp_path / "new")
    shards = sorted(path.name for path in old.glob("*.safetensors"))
    assert len(shards) > 2
    assert shards == sorted(path.name for path in new.glob("*.safetensors"))
    index, before = (json.loads((folder / "model.safetensors.index.json").read_text()) for folder in (new, old))
    assert index["weight_map"] == before["weight_map"]
    sizes = [tensor.nbytes for tensor in tensors_of(new).values()]
    assert index["metadata"]["total_size"] == sum(sizes) > before["metadata"]["total_size"]
    assert torch.equal(logits(new, "untied", IDS)[:, :263], logits(old, "untied", IDS)[:, :263])


@pytest.mark.parametrize("older", [False, True])
def test_the_prefix_of_a_body_alone(older: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Old files have the names of the body, without the prefix of the whole model; old libraries know no more names."""
    old = built("tied", tmp_path / "old")
    safetensors: Any = importlib.import_module("safetensors.torch")
    tensors = safetensors.load_file(old / "model.safetensors")
    short = {name.removeprefix("transformer."): tensor for name, tensor in tensors.items()}
    safetensors.save_file(short, old / "model.safetensors", {"format": "pt"})
    if older:
        monkeypatch.setitem(sys.modules, "transformers.conversion_mapping", None)
    assert dict(VocabularyMatrices.of(ModelFolder.read("m", old)).roles) == {"wte.weight": 0}


def test_tied_matrices_that_are_both_in_the_file(tmp_path: Path) -> None:
    old = built("tied", tmp_path / "old")
    safetensors: Any = importlib.import_module("safetensors.torch")
    tensors = safetensors.load_file(old / "model.safetensors")
    tensors["lm_head.weight"] = tensors["transformer.wte.weight"].clone()
    safetensors.save_file(tensors, old / "model.safetensors", {"format": "pt"})
    new = applied(old, plan_for(old, method="random"), tmp_path / "new")
    after = tensors_of(new)
    np.testing.assert_array_equal(after["lm_head.weight"], after["transformer.wte.weight"])
    loaded(new, "tied")


def test_random_rows_have_the_columns_of_the_old(tmp_path: Path) -> None:
    old = built("untied", tmp_path / "old")
    model = ModelFolder.read("m", old)
    found = []
    for number, seed in enumerate((1, 1, 2)):
        request = PlanRequest(rows=PADDED, checkpoint=model.digest(), method="random", seed=seed)
        plan = plan_of_map(IdMap(np.arange(263), 5000), request)
        found.append(tensors_of(applied(old, plan, tmp_path / str(number))))
    first, again, other = found
    name = "model.embed_tokens.weight"
    np.testing.assert_array_equal(first[name], again[name])
    assert not np.array_equal(first[name][263:], other[name][263:])
    assert not np.array_equal(first[name][263:], first["lm_head.weight"][263:])
    both = [(first[key][263:5000] - first[key][263:5000].mean(0)).ravel() for key in (name, "lm_head.weight")]
    assert abs(np.corrcoef(*both)[0, 1]) < 0.1
    drawn, rows = first[name][263:5000], tensors_of(old)[name][:263]
    scale = rows.std(axis=0)
    assert np.abs((drawn.mean(axis=0) - rows.mean(axis=0)) / scale).max() < 6 / np.sqrt(len(drawn))
    assert np.abs(drawn.std(axis=0) / scale - 1).max() < 6 / np.sqrt(2 * len(drawn))


def test_ids_that_move_are_followed_in_the_configuration(tmp_path: Path) -> None:
    old = built("untied", tmp_path / "old")
    said = {"eos_token_id": [261, 5], "suppress_tokens": [9], "stop_token_ids": [8], "top_k": 9}
    languages = {"lang_to_id": {"<|en|>": 7, "<|et|>": 6}, "label_to_id": {"good": 1}}
    (old / "generation_config.json").write_text(json.dumps({**said, **languages}))
    model = ModelFolder.read("m", old)
    moved = np.arange(263)[::-1].copy()
    new = applied(
        old, plan_of_map(IdMap(moved, 263), PlanRequest(rows=PADDED, checkpoint=model.digest())), tmp_path / "new"
    )
    config = json.loads((new / "config.json").read_text())
    assert (config["bos_token_id"], config["eos_token_id"], config["pad_token_id"]) == (1, [1, 257], 0)
    generation = json.loads((new / "generation_config.json").read_text())
    said = {"eos_token_id": [1, 257], "suppress_tokens": [253], "stop_token_ids": [254], "top_k": 9}
    languages = {"lang_to_id": {"<|en|>": 255, "<|et|>": 256}, "label_to_id": {"good": 1}}
    assert generation == {**said, **languages}
    expected = logits(old, "untied", IDS)[:, :263]
    assert torch.equal(logits(new, "untied", [262 - token for token in IDS])[:, :263].flip(1), expected)


def test_a_map_that_drops_rows_no_text_uses(tmp_path: Path) -> None:
    old = built("tied", tmp_path / "old")
    model = ModelFolder.read("m", old)
    kept = sorted({*IDS, 5, 262})
    new_ids = np.full(PADDED, -1)
    new_ids[kept] = range(len(kept))
    plan = plan_of_map(IdMap(new_ids, len(kept)), PlanRequest(rows=PADDED, checkpoint=model.digest()))
    new = applied(old, plan, tmp_path / "new")
    found = logits(new, "tied", [kept.index(token) for token in IDS])
    assert found.shape[1] == len(kept)
    assert torch.equal(found, logits(old, "tied", IDS)[:, kept])


def test_a_text_model_within_another(tmp_path: Path) -> None:
    """The size of the vocabulary stands in the configuration of the text model."""
    text = tiny.configuration("llama", vocab_size=PADDED, pad_token_id=262).to_dict()
    vision = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 1}
    config = transformers.LlavaConfig(
        text_config=text, vision_config={**vision, "image_size": 8, "patch_size": 4, "model_type": "clip_vision_model"},
        image_token_index=262,
    )  # fmt: skip
    torch.manual_seed(7)
    old, new = tmp_path / "old", tmp_path / "new"
    transformers.LlavaForConditionalGeneration(config).save_pretrained(old)
    applied(old, plan_for(old), new)
    assert json.loads((new / "config.json").read_text())["text_config"]["vocab_size"] == PADDED
    applied(old, plan_for(old, multiple_of=64), tmp_path / "more")
    family = transformers.LlavaForConditionalGeneration
    model, about = family.from_pretrained(tmp_path / "more", output_loading_info=True)
    assert not any(about.values()), about
    assert model.get_input_embeddings().weight.shape[0] == 320
    shutil.rmtree(old)
